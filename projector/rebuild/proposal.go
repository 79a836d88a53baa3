package rebuild

import (
	"context"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// proposals is what is known of announced models, and of their preparation on this node.
type proposals struct {
	mu        sync.Mutex
	pending   *model.Proposal // the model that is announced; nil for none
	lastEvent uint64          // the last event about models
	withdrawn *wire.Withdrawn
	settled   uint64        // the event that announced the last model that came to apply; 0 for none
	applied   uint64        // the event that applied it
	changed   chan struct{} // closed when pending changes

	states     *states          // one is shown while a model is announced
	activation *wire.Activation // of the last model that was prepared
	current    *coming
	cancel     context.CancelFunc // ends current
	ready      chan struct{}      // has an element where a preparation has become ready
}

// newProposals returns proposals that know nothing yet.
func newProposals(shown *states) proposals {
	return proposals{states: shown, changed: make(chan struct{}), ready: make(chan struct{}, 1)}
}

// Proposal returns the model that is announced, nil for none, and the last event about models.
func (b *Builder) Proposal() (proposal *model.Proposal, last uint64) {
	b.proposals.mu.Lock()
	defer b.proposals.mu.Unlock()
	return b.proposals.pending, b.proposals.lastEvent
}

// Ready returns a channel that has an element once this node has become ready for an announced model. The model may
// have been withdrawn since.
func (b *Builder) Ready() <-chan struct{} { return b.proposals.ready }

// Settled waits until the model that event seq announces applies, and returns the event that applied it. The error
// is Unprocessable, with the reason, where the model was withdrawn, or ctx's.
func (b *Builder) Settled(ctx context.Context, seq uint64) (applied uint64, err error) {
	ps := &b.proposals
	for {
		ps.mu.Lock()
		pending, changed := ps.pending, ps.changed
		settled, applied, withdrawn := ps.settled, ps.applied, ps.withdrawn
		ps.mu.Unlock()
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

// NoteModels reads what the read model says of announced models. withdrawal is the reason where the last event
// withdrew one, otherwise empty. The error is the read model's.
func (b *Builder) NoteModels(read func(func(*sqlite.Snapshot) error) error, withdrawal string) error {
	return read(func(s *sqlite.Snapshot) error {
		m, err := s.Model()
		if err == nil {
			b.proposals.set(m, withdrawal)
		}
		return err
	})
}

// set takes over what the read model says of models. If another model is announced now, or none, it ends the
// preparation that runs.
func (ps *proposals) set(m sqlite.StoredModel, withdrawal string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.lastEvent = m.Last
	if ps.pending != nil && ps.pending.Seq == m.Last && m.Next != nil {
		return
	}
	switch {
	case ps.pending == nil:
	case withdrawal != "":
		ps.withdrawn = &wire.Withdrawn{Model: ps.pending.Seq, Reason: withdrawal}
	case m.Seq > ps.pending.Seq:
		ps.settled, ps.applied = ps.pending.Seq, m.Seq
	}
	ps.cancelCurrent()
	ps.pending = nil
	ps.states.show(State{use: models})
	if m.Next != nil {
		ps.propose(m)
	}
	ps.notify()
}

// propose sets the announced model, which one that cannot be read is too. It is called with ps.mu held.
func (ps *proposals) propose(m sqlite.StoredModel) {
	shown := State{use: models, Model: m.Last, Phase: phaseWaiting, Started: time.Now().UTC()}
	parsed, err := modelfile.ParseAccepted(m.Next)
	if err != nil {
		shown.Phase, shown.Err = phaseFailed, err
		parsed = model.Empty()
	}
	ps.states.show(shown)
	parsed.Fold = m.NextFold
	ps.pending = &model.Proposal{Seq: m.Last, Model: parsed, Source: m.Next, Actor: m.NextActor}
}

// notify wakes who waits for a change of pending. It is called with ps.mu held.
func (ps *proposals) notify() {
	close(ps.changed)
	ps.changed = make(chan struct{})
}

// cancelCurrent ends the preparation that runs, if one does. It is called with ps.mu held.
func (ps *proposals) cancelCurrent() {
	if ps.cancel != nil {
		ps.cancel()
	}
	ps.cancel, ps.current = nil, nil
}

// restart ends the preparation that runs and has the model prepared again: from another generation, for one.
func (ps *proposals) restart() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.cancelCurrent()
	ps.notify()
}

// leave ends that a preparation is the current one.
func (ps *proposals) leave(w *coming) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.current == w {
		ps.current = nil
	}
}

// preparation returns the preparation that runs, nil for none.
func (ps *proposals) preparation() *coming {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.current
}

// beginWork returns the announced model, a channel that is closed when another takes its place, and a context for
// its preparation, nil where there is nothing to prepare.
func (ps *proposals) beginWork(ctx context.Context) (pending *model.Proposal, changed chan struct{}, work context.Context) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if s, _ := ps.states.get(models); ps.pending != nil && s.Phase != phaseFailed {
		ps.cancelCurrent()
		work, ps.cancel = context.WithCancel(ctx) //nolint:gosec // cancelCurrent calls it
	}
	return ps.pending, ps.changed, work
}

// Preparations returns how far the announced model is prepared, how the last one came to apply, and why the last one that was withdrawn does not; nil each for
// none.
func (b *Builder) Preparations() (preparing *wire.Preparation, activated *wire.Activation, withdrawn *wire.Withdrawn) {
	ps := &b.proposals
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if s, ok := ps.states.get(models); ok {
		preparing = &wire.Preparation{Model: s.Model, Phase: s.Phase, Done: s.Done, Total: s.Total, Changes: s.Changes, Started: s.Started}
		if s.Err != nil {
			preparing.Error = Reason(s.Err)
		}
	}
	return preparing, ps.activation, ps.withdrawn
}
