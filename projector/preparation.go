package projector

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/sqlite"
)

// Ratio returns how far a preparation is, from 0 to 1, by rough shares of its phases; 1 for nil.
func Ratio(s *Preparation) float64 {
	if s == nil {
		return 1
	}
	part := 0.0
	if s.Total > 0 {
		part = min(1, float64(s.Done)/float64(s.Total))
	}
	switch s.Phase {
	case phaseCopying:
		return 0.3 * part
	case phaseComputing:
		return 0.3 + 0.6*part
	case phaseFollowing:
		return 0.9
	case phaseReady:
		return 1
	}
	return 0
}

// The phases of a preparation. From following on the copy is at the model; a preparation that is ready can be
// activated at any moment.
const (
	phaseWaiting   = "waiting"
	phaseCopying   = "copying"
	phaseComputing = "computing"
	phaseFollowing = "following"
	phaseReady     = "ready"
	phaseFailed    = "failed"
)

const (
	maxLagToPrepare = 10_000 // events not folded yet with which a node prepares nothing
	readyLag        = 1000   // events that the read model may lack when a preparation is ready
	pauseReady      = 100 * time.Millisecond
	pauseStopped    = time.Second
	pauseFailed     = 5 * time.Second // the first pause after a failure; each is twice as long as the one before
	maxPauseFailed  = 5 * time.Minute
)

// preparation is a copy of the read model that was brought up to an announced model. It follows the log under that
// model while folding goes on under the model that applies.
type preparation struct {
	p       *Projector
	pending *model.Proposal
	change  *fold.ModelChange // from the model that applies
	ctx     context.Context

	mu       sync.Mutex // held while it is worked on
	db       *sqlite.DB // nil once it was swapped in, or discarded
	fold     *fold.Fold
	feed     *batch.Follower
	begun    uint64                       // last event of the read model that was copied
	at       uint64                       // last event followed
	erasure  uint64                       // the copy's erasure
	copied   fanfold.Position             // changes of the read model are taken over up to here
	failed   error                        // why it cannot be used any more; nil where it can
	problems map[string][]fanfold.Problem // what the model would hide or cannot compare, by document
	fault    chan struct{}                // has an element once failed is set
	report   *report
	ready    atomic.Bool
}

// errGone is the error of a preparation that has ended, or is not ready any more.
var errGone = fanfold.Errorf(fanfold.NotFound, "the model is not prepared")

// prepareAll prepares one announced model after the other until ctx ends. It tries again what fails for want of room
// or of the log.
func (p *Projector) prepareAll(ctx context.Context) {
	wait := pauseFailed
	for {
		pending, changed, work := p.proposals.beginWork(ctx)
		var retry <-chan time.Time
		if work != nil {
			if err := p.prepare(work, pending); err != nil && work.Err() == nil {
				p.opt.Logger.Error("a model cannot be prepared", "model", pending.Seq, "err", err)
				phase := phaseFailed
				if fanfold.CodeOf(err) == fanfold.Unavailable {
					phase, retry = phaseWaiting, time.After(wait)
					wait = min(2*wait, maxPauseFailed)
				}
				p.proposals.updateProgress(pending.Seq, func(s *Preparation) { s.Phase, s.Error = phase, rebuild.Reason(err) })
			}
		}
		select {
		case <-changed:
			wait = pauseFailed
		case <-retry:
		case <-ctx.Done():
			return
		}
	}
}

// prepare prepares one model, and follows the log until the model applies or ctx ends. The error says why the model
// cannot be prepared, or is ctx's.
func (p *Projector) prepare(ctx context.Context, pending *model.Proposal) error {
	if version := pending.Model.Fold; version != 0 {
		if err := fold.CheckVersion(version); err != nil {
			return fanfold.Wrap(err, fanfold.Unprocessable, "the model cannot be prepared: %s", fanfold.MessageOf(err))
		}
	}
	if err := p.waitNearEnd(ctx); err != nil {
		return err
	}
	w := &preparation{p: p, pending: pending, ctx: ctx, report: &report{}, fault: make(chan struct{}, 1)}
	defer w.discard()
	if err := w.begin(); err != nil {
		return err
	}
	p.opt.Logger.Info("a model is prepared", "model", pending.Seq)
	for {
		at, err := w.advance()
		if errors.Is(err, errGone) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := w.waitForEvents(at); err != nil {
			return err
		}
	}
}

// waitNearEnd waits until the read model is near the end of the log, which may have the model itself by then. The
// error is ctx's, or why nothing is folded.
func (p *Projector) waitNearEnd(ctx context.Context) error {
	applied := p.store.Applied
	for applied.Seq()+maxLagToPrepare < p.logEnd.Load() {
		select {
		case <-applied.Changed(applied.Seq()):
		case <-ctx.Done():
			return ctx.Err()
		}
		if applied.Err() != nil {
			return applied.Err()
		}
	}
	return nil
}

// begin makes the preparation the current one and builds its copy. It blocks for as long as that takes, with w.mu
// held, so that who activates the model waits for the copy.
func (w *preparation) begin() error {
	ps := &w.p.proposals
	ps.mu.Lock()
	if w.ctx.Err() != nil {
		ps.mu.Unlock()
		return w.ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ps.current = w
	ps.mu.Unlock()
	w.failed = w.build()
	return w.failed
}

// advance brings the preparation to where the read model is, and makes it ready once it is close. It returns the
// event at which the preparation is then.
func (w *preparation) advance() (at uint64, err error) {
	at, lag, err := w.catchUp()
	if err != nil || lag >= readyLag || w.ready.Load() {
		return at, err
	}
	if err := w.syncFile(); err != nil {
		return at, err
	}
	w.ready.Store(true)
	w.p.proposals.updateProgress(w.pending.Seq, func(s *Preparation) { s.Phase = phaseReady })
	select {
	case w.p.proposals.ready <- struct{}{}:
	default: // whoever activates models has been told already
	}
	return at, nil
}

// waitForEvents waits until the read model is past event at, or the preparation has failed. Once it is ready, it
// follows the read model at some distance. The error is ctx's.
func (w *preparation) waitForEvents(at uint64) error {
	applied := w.p.store.Applied
	select {
	case <-applied.Changed(at):
	case <-w.fault:
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
	if applied.Err() != nil { // nothing is folded: look again later
		pause(w.ctx, pauseStopped)
	}
	if w.ready.Load() {
		pause(w.ctx, pauseReady)
	}
	return nil
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// fail notes that the preparation cannot be used any more, unless err is nil. It is called with w.mu held.
func (w *preparation) fail(err error) {
	if err == nil {
		return
	}
	w.failed = err
	select {
	case w.fault <- struct{}{}:
	default:
	}
}

// usable returns why the preparation cannot be used, nil where it can. It is called with w.mu held.
func (w *preparation) usable() error {
	if w.db == nil || w.ctx.Err() != nil {
		return errGone
	}
	return w.failed
}

// discard ends the preparation, and removes its copy where that was not swapped in.
func (w *preparation) discard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.feed != nil {
		w.feed.Stop()
		w.feed = nil
	}
	if w.db != nil {
		w.p.discardCopy(w.db)
		w.db = nil
	}
	w.p.proposals.mu.Lock()
	defer w.p.proposals.mu.Unlock()
	if w.p.proposals.current == w {
		w.p.proposals.current = nil
	}
}

// discardCopy removes a copy of the read model. One that cannot be removed is logged.
func (p *Projector) discardCopy(db *sqlite.DB) {
	if err := p.store.Discard(db); err != nil {
		p.opt.Logger.Warn("a prepared read model could not be removed", "err", err)
	}
}

// activate makes the prepared read model the current one, as of the model event ev; where the copy is being built
// yet, it waits for that. It is called under Projector.served, with everything before the event folded. done is
// false where there is no preparation of this model that can be used: the event is to be folded like others. It
// returns the errors of ctx and of the swap.
func (p *Projector) activate(ctx context.Context, ev *fanfold.Event) (done bool, err error) {
	w := p.proposals.preparation()
	if w == nil || !bytes.Equal(ev.Body, w.pending.Source) || ev.Fold != w.pending.Model.Fold {
		return false, nil
	}
	began := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if w.usable() != nil || w.change.Prev.Seq != p.served.Plan.Load().Seq {
		return false, nil
	}
	next, documents, err := w.complete(ev)
	db := w.db
	w.db = nil
	if err != nil {
		p.discardCopy(db)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		p.opt.Logger.Warn("a prepared read model cannot be used, and the model is folded at once", "model", ev.Seq, "err", err)
		return false, nil
	}
	if err := p.swapPrepared(db, next, w); err != nil {
		return false, err
	}
	p.proposals.mu.Lock()
	defer p.proposals.mu.Unlock()
	p.proposals.activation = &Activation{Model: ev.Seq, Documents: documents, Seconds: time.Since(began).Seconds()}
	return true, nil
}

// swapPrepared makes a prepared file the current read model, and next the plan that is folded under.
func (p *Projector) swapPrepared(db *sqlite.DB, next *fold.Plan, w *preparation) error {
	if err := p.served.Swap(p.store, db, p.NewFold(next, &p.report)); err != nil {
		return err
	}
	p.report.adopt(w.report, w.change.EvaluatedAnew())
	return nil
}

// Objections brings the preparation of the model that event seq announces to where the read model is, and lists the
// objections to that model. They are documents that break its new rules, documents written since whose members it
// would hide, and too many changed documents. The error is Gone where this node is not ready for that model.
func (p *Projector) Objections(seq uint64) (problems []fanfold.Problem, err error) {
	w := p.proposals.preparation()
	if w == nil || w.pending.Seq != seq || !w.ready.Load() {
		return nil, errGone
	}
	if _, _, err := w.catchUp(); err != nil {
		return nil, errGone // prepare finds the same
	}
	return w.objections()
}
