package projector

import (
	"context"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/sqlite"
)

// Withdrawn is the last model that was announced and did not come.
type Withdrawn struct {
	Model  uint64 `json:"model"` // the event that announced it
	Reason string `json:"reason"`
}

// preparing is what the projector knows of models to come.
type proposals struct {
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
	p.proposals.mu.Lock()
	defer p.proposals.mu.Unlock()
	return p.proposals.pending, p.proposals.last
}

// Ready has an element when this node has become ready for a model that is to come. It may have been
// withdrawn since.
func (p *Projector) Ready() <-chan struct{} { return p.proposals.ready }

// Settled waits until the model that event seq announces applies, and returns the event that applied it.
// An Unprocessable says why it does not come.
func (p *Projector) Settled(ctx context.Context, seq uint64) (applied uint64, err error) {
	c := &p.proposals
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
func (p *Projector) setProposal(m sqlite.StoredModel, why string) {
	c := &p.proposals
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
	c.cancelCurrent()
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
func (c *proposals) cancelCurrent() {
	if c.stop != nil {
		c.stop()
	}
	c.stop, c.current = nil, nil
}

// anew has a model that is to come prepared again: from another generation, for one.
func (c *proposals) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancelCurrent()
	close(c.changed)
	c.changed = make(chan struct{})
}

// prepareAll prepares one model after the other until ctx ends.
func (p *Projector) prepareAll(ctx context.Context) {
	c := &p.proposals
	wait := pauseFailed
	for {
		c.mu.Lock()
		pending, changed := c.pending, c.changed
		var work context.Context
		if pending != nil && c.progress.Phase != "failed" {
			c.cancelCurrent()
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
