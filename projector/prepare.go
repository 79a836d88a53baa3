package projector

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/sqlite"
)

// Preparation is how far this node is with a model that is to come.
type Preparation struct {
	Model   uint64    `json:"model"` // the event that announces it
	Phase   string    `json:"phase"` // waiting, copying, computing, following, ready or failed
	Done    int64     `json:"done"`  // of the phase: pages, documents, or the last event followed
	Total   int64     `json:"total"`
	Changes int64     `json:"changes"` // documents that the model changes, as far as known
	Started time.Time `json:"started"`
	Error   string    `json:"error,omitempty"`
}

// Activation is how the last model that was prepared came to apply.
type Activation struct {
	Model     uint64  `json:"model"` // the event that applied it
	Documents int64   `json:"documents"`
	Seconds   float64 `json:"seconds"` // for which nothing was folded
}

// Withdrawn is the last model that was announced and did not come.
type Withdrawn struct {
	Model  uint64 `json:"model"` // the event that announced it
	Reason string `json:"reason"`
}

// preparing is what the projector knows of models to come.
type preparing struct {
	mu        sync.Mutex
	pending   *fanfold.Proposal
	last      uint64 // the last event about models
	withdrawn *Withdrawn
	settled   uint64 // the event that announced the last model that came to apply; 0 for none
	applied   uint64 // the event that applied it
	stop      context.CancelFunc
	changed   chan struct{} // closed when pending changes
	progress  *Preparation
	latest    *Activation
	current   *preparation
	ready     chan struct{} // has an element where a preparation has become ready
}

// Proposal returns the model that is to come, nil for none, and the last event about models.
func (p *Projector) Proposal() (proposal *fanfold.Proposal, last uint64) {
	p.coming.mu.Lock()
	defer p.coming.mu.Unlock()
	return p.coming.pending, p.coming.last
}

// Ready has an element when this node has become ready for a model that is to come. It may have been
// withdrawn since.
func (p *Projector) Ready() <-chan struct{} { return p.coming.ready }

// Settled waits until the model that event seq announces applies, and returns the event that applied it.
// An Unprocessable says why it does not come.
func (p *Projector) Settled(ctx context.Context, seq uint64) (applied uint64, err error) {
	c := &p.coming
	for {
		c.mu.Lock()
		pending, changed := c.pending, c.changed
		settled, applied, withdrawn := c.settled, c.applied, c.withdrawn
		c.mu.Unlock()
		switch {
		case settled == seq:
			return applied, nil
		case pending == nil || pending.Seq != seq:
			why := "see the log's events about models"
			if withdrawn != nil && withdrawn.Model == seq {
				why = withdrawn.Reason
			}
			return 0, fanfold.Errorf(fanfold.Unprocessable, "the model was withdrawn: %s", why)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// announce takes note of what the read model says of models.
func (p *Projector) announce(m sqlite.StoredModel, why string) {
	c := &p.coming
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = m.Last
	if c.pending != nil && c.pending.Seq == m.Last && m.Next != nil {
		return
	}
	switch {
	case c.pending == nil:
	case why != "":
		c.withdrawn = &Withdrawn{Model: c.pending.Seq, Reason: why}
	case m.Seq > c.pending.Seq:
		c.settled, c.applied = c.pending.Seq, m.Seq
	}
	c.end()
	c.pending, c.progress = nil, nil
	if m.Next != nil {
		c.progress = &Preparation{Model: m.Last, Phase: "waiting", Started: time.Now().UTC()}
		parsed, err := modelfile.ParseAccepted(m.Next)
		if err != nil {
			c.progress.Phase, c.progress.Error = "failed", reason(err)
			parsed = fanfold.EmptyModel()
		}
		c.pending = &fanfold.Proposal{Seq: m.Last, Model: parsed, Source: m.Next}
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// end ends the preparation that runs. It is called with c.mu held.
func (c *preparing) end() {
	if c.stop != nil {
		c.stop()
	}
	c.stop, c.current = nil, nil
}

// anew has a model that is to come prepared again: from another generation, for one.
func (c *preparing) anew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
	close(c.changed)
	c.changed = make(chan struct{})
}

// prepareAll prepares one model after the other until ctx ends.
func (p *Projector) prepareAll(ctx context.Context) {
	c := &p.coming
	wait := pauseFailed
	for {
		c.mu.Lock()
		pending, changed := c.pending, c.changed
		var work context.Context
		if pending != nil && c.progress.Phase != "failed" {
			c.end()
			work, c.stop = context.WithCancel(ctx) //nolint:gosec // end calls it
		}
		c.mu.Unlock()
		var again <-chan time.Time
		if work != nil {
			if err := p.prepare(work, pending); err != nil && work.Err() == nil {
				p.opt.Logger.Error("a model cannot be prepared", "model", pending.Seq, "err", err)
				phase := "failed"
				if fanfold.CodeOf(err) == fanfold.Unavailable {
					phase, again = "waiting", time.After(wait)
					wait = min(2*wait, mostPause)
				}
				p.progress(pending.Seq, func(s *Preparation) { s.Phase, s.Error = phase, reason(err) })
			}
		}
		select {
		case <-changed:
			wait = pauseFailed
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// progress changes what is told of a preparation.
func (p *Projector) progress(seq uint64, change func(s *Preparation)) {
	p.coming.mu.Lock()
	defer p.coming.mu.Unlock()
	if s := p.coming.progress; s != nil && s.Model == seq {
		change(s)
	}
}

// prepare prepares one model, and follows the log until it applies or ctx ends.
func (p *Projector) prepare(ctx context.Context, pending *fanfold.Proposal) error {
	for p.store.Applied.Seq()+behind < p.heard.Load() { // the log may have the model itself by now
		select {
		case <-p.store.Applied.Changed(p.store.Applied.Seq()):
		case <-ctx.Done():
			return ctx.Err()
		}
		if p.store.Applied.Err() != nil {
			return p.store.Applied.Err()
		}
	}
	w := &preparation{p: p, pending: pending, ctx: ctx, report: &report{}, fault: make(chan struct{}, 1)}
	defer w.end()
	p.coming.mu.Lock()
	if ctx.Err() != nil {
		p.coming.mu.Unlock()
		return ctx.Err()
	}
	w.mu.Lock()
	p.coming.current = w
	p.coming.mu.Unlock()
	w.failed = w.build()
	err := w.failed
	w.mu.Unlock()
	if err != nil {
		return err
	}
	p.opt.Logger.Info("a model is prepared", "model", pending.Seq)
	for {
		at, lag, err := w.round()
		if err == nil && lag < nearly && !w.ready.Load() {
			err = w.harden()
		}
		if errors.Is(err, errGone) {
			return nil
		}
		if err != nil {
			return err
		}
		if lag < nearly && !w.ready.Load() {
			w.ready.Store(true)
			p.progress(pending.Seq, func(s *Preparation) { s.Phase = "ready" })
			select {
			case p.coming.ready <- struct{}{}:
			default:
			}
		}
		select {
		case <-p.store.Applied.Changed(at):
		case <-w.fault:
		case <-ctx.Done():
			return ctx.Err()
		}
		if p.store.Applied.Err() != nil { // nothing is folded: look again later
			pause(ctx, pauseStopped)
		}
		if w.ready.Load() {
			pause(ctx, pauseReady)
		}
	}
}

const (
	behind       = 10_000 // events not folded yet with which a node prepares nothing
	nearly       = 1000   // events behind the read model with which a preparation is ready
	pauseReady   = 100 * time.Millisecond
	pauseStopped = time.Second
	pauseFailed  = 5 * time.Second
	mostPause    = 5 * time.Minute
)

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// activate makes the prepared read model the current one, as of the model event; where it is being
// built yet, it waits for that. It is called under Projector.folding, with everything before the event
// folded. done is false where the preparation is of another model, or ended: the event is to be folded
// like others.
func (p *Projector) activate(ctx context.Context, ev *fanfold.Event) (done bool, err error) {
	p.coming.mu.Lock()
	w := p.coming.current
	p.coming.mu.Unlock()
	if w == nil || !bytes.Equal(ev.Body, w.pending.Source) {
		return false, nil
	}
	began := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if w.usable() != nil || w.cmp.prev.seq != p.plan.Load().seq {
		return false, nil
	}
	next, documents, err := w.complete(ev)
	db := w.db
	w.db = nil
	if err != nil {
		if derr := p.store.Discard(db); derr != nil {
			p.opt.Logger.Warn("a prepared read model could not be removed", "err", derr)
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		p.opt.Logger.Warn("a prepared read model cannot be used, and the model is folded at once", "model", ev.Seq, "err", err)
		return false, nil
	}
	p.fold = nil // loaded again, should the swap end halfway
	if err := p.store.Swap(db); err != nil {
		return false, err
	}
	p.report.take(w.report, w.cmp.fresh)
	p.fold = p.newFold(next, &p.report)
	p.plan.Store(next)
	p.coming.mu.Lock()
	p.coming.latest = &Activation{Model: ev.Seq, Documents: documents, Seconds: time.Since(began).Seconds()}
	p.coming.mu.Unlock()
	return true, nil
}

// Broken lists what documents break of the new strict relations and unique members of the model that
// event seq announces, which of those that were written since it was announced it would hide members of,
// and whether it would change more documents than one event can. It brings the preparation to where the
// read model is. Gone where this node is not ready for that model.
func (p *Projector) Broken(seq uint64) (problems []fanfold.Problem, err error) {
	p.coming.mu.Lock()
	w := p.coming.current
	p.coming.mu.Unlock()
	if w == nil || w.pending.Seq != seq || !w.ready.Load() {
		return nil, errGone
	}
	if _, _, err := w.round(); err != nil {
		return nil, errGone // prepare finds the same
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.usable() != nil {
		return nil, errGone
	}
	defer func() { w.fail(err) }()
	problems = w.objections()
	err = w.db.Update(func(tx *sqlite.Tx) error {
		n, err := tx.CountPendingChanges()
		if err != nil {
			return err
		}
		if n > fanfold.MaxChanges {
			problems = append(problems, tooMany(n))
		}
		broken, err := w.cmp.broken(tx.Dangling, tx.SharedUniqueCandidates, tx.Snapshot().KeyOf)
		problems = append(problems, broken...)
		return err
	})
	return problems, err
}
