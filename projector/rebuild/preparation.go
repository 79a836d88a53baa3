package rebuild

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/projector/fold"
)

// Ratio returns how far a preparation is, from 0 to 1, by rough shares of its phases; 1 for nil.
func Ratio(s *wire.Preparation) float64 {
	if s == nil {
		return 1
	}
	part := 0.0
	if s.Total > 0 {
		part = min(1, float64(s.Done)/float64(s.Total))
	}
	switch s.Phase {
	case Copying:
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
	phaseComputing = "computing"
	phaseFollowing = "following"
	phaseReady     = "ready"
	phaseFailed    = "failed"
)

const (
	maxLagToPrepare = 10_000 // events not folded yet with which a node prepares nothing
	readyLag        = 1000   // events that the read model may lack when a preparation is ready
	pauseStopped    = time.Second
)

// coming is a copy of the read model that was brought up to an announced model. It follows the log under that
// model while folding goes on under the model that applies.
type coming struct {
	b       *Builder
	pending *model.Proposal
	change  *fold.ModelChange // from the model that applies
	ctx     context.Context

	mu       sync.Mutex                   // held while it is worked on
	m        *build                       // nil once it was swapped in, or has ended
	begun    uint64                       // last event of the read model that was copied
	copied   fanfold.Position             // changes of the read model are taken over up to here
	failed   error                        // why it cannot be used any more; nil where it can
	problems map[string][]fanfold.Problem // what the model would hide or cannot compare, by document
	fault    chan struct{}                // has an element once failed is set
	report   *Report
	ready    atomic.Bool
}

// shown returns what is shown of it at first.
func (w *coming) shown() State { return State{use: models, Model: w.pending.Seq} }

// PrepareModels prepares one announced model after the other until ctx ends. It tries again what fails for want of room
// or of the log.
func (b *Builder) PrepareModels(ctx context.Context) {
	wait := pauseFailed
	for {
		pending, changed, work := b.proposals.beginWork(ctx)
		var retry <-chan time.Time
		if work != nil {
			if err := b.prepare(work, pending); err != nil && work.Err() == nil {
				b.logger.Error("a model cannot be prepared", "model", pending.Seq, "err", err)
				phase := phaseFailed
				if fanfold.CodeOf(err) == fanfold.Unavailable {
					phase, retry = phaseWaiting, time.After(wait)
					wait = min(2*wait, maxPauseFailed)
				}
				b.states.update(State{use: models, Model: pending.Seq}, func(s *State) { s.Phase, s.Err = phase, err })
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
func (b *Builder) prepare(ctx context.Context, pending *model.Proposal) error {
	if version := pending.Model.Fold; version != 0 {
		if err := fold.CheckVersion(version); err != nil {
			return fanfold.Wrap(err, fanfold.Unprocessable, "the model cannot be prepared: %s", fanfold.MessageOf(err))
		}
	}
	w := &coming{b: b, pending: pending, ctx: ctx, report: &Report{}, fault: make(chan struct{}, 1)}
	if err := w.waitNearEnd(); err != nil {
		return err
	}
	return b.build(ctx, comingModel(w))
}

// follow follows the log until the model applies or the context ends. The error says why the model cannot be prepared, or is ctx's.
func (w *coming) follow(context.Context, *build) error {
	defer w.end()
	w.b.logger.Info("a model is prepared", "model", w.pending.Seq)
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
func (w *coming) waitNearEnd() error {
	applied := w.b.store.Applied
	for applied.Seq()+maxLagToPrepare < w.b.served.LogEnd.Load() {
		select {
		case <-applied.Changed(applied.Seq()):
		case <-w.ctx.Done():
			return w.ctx.Err()
		}
		if applied.Err() != nil {
			return applied.Err()
		}
	}
	return nil
}

// begin makes the preparation the current one and builds its copy. It blocks for as long as that takes, with w.mu
// held, so that who activates the model waits for the copy.
func (w *coming) begin(_ context.Context, m *build) error {
	ps := &w.b.proposals
	ps.mu.Lock()
	if w.ctx.Err() != nil {
		ps.mu.Unlock()
		return w.ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ps.current = w
	ps.mu.Unlock()
	if w.failed = w.build(m); w.failed != nil {
		ps.leave(w)
		return w.failed
	}
	w.m = m
	return nil
}

// advance brings the preparation to where the read model is, and makes it ready once it is close. It returns the
// event at which the preparation is then.
func (w *coming) advance() (at uint64, err error) {
	at, lag, err := w.catchUp()
	if err != nil || lag >= readyLag || w.ready.Load() {
		return at, err
	}
	if err := w.syncFile(); err != nil {
		return at, err
	}
	w.ready.Store(true)
	w.b.states.update(w.shown(), func(s *State) { s.Phase = phaseReady })
	select {
	case w.b.proposals.ready <- struct{}{}:
	default: // whoever activates models has been told already
	}
	return at, nil
}

// waitForEvents waits until the read model is past event at, or the preparation has failed. Once it is ready, it
// follows the read model at some distance. The error is ctx's.
func (w *coming) waitForEvents(at uint64) error {
	applied := w.b.store.Applied
	select {
	case <-applied.Changed(at):
	case <-w.fault:
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
	if applied.Err() != nil { // nothing is folded: look again later
		batch.Pause(w.ctx, pauseStopped)
	}
	if w.ready.Load() {
		batch.Pause(w.ctx, pauseReady)
	}
	return nil
}

// fail notes that the preparation cannot be used any more, unless err is nil. It is called with w.mu held.
func (w *coming) fail(err error) {
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
func (w *coming) usable() error {
	if w.m == nil || w.ctx.Err() != nil {
		return errGone
	}
	return w.failed
}

// end ends the preparation. Nobody takes it any more.
func (w *coming) end() {
	w.b.proposals.leave(w)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.m = nil
}

// Activate makes the prepared read model the current one, as of the model event ev; where the copy is being built
// yet, it waits for that. It is called under Served, with everything before the event folded. done is
// false where there is no preparation of this model that can be used: the event is to be folded like others. It
// returns the errors of ctx and of the swap.
func (b *Builder) Activate(ctx context.Context, ev *fanfold.Event) (done bool, err error) {
	w := b.proposals.preparation()
	if w == nil || !bytes.Equal(ev.Body, w.pending.Source) || ev.Fold != w.pending.Model.Fold {
		return false, nil
	}
	began := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if w.usable() != nil || w.change.Prev.Seq != b.served.Plan.Load().Seq {
		return false, nil
	}
	next, documents, err := w.complete(ev)
	m := w.m
	w.m = nil
	if err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		b.logger.Warn("a prepared read model cannot be used, and the model is folded at once", "model", ev.Seq, "err", err)
		return false, nil
	}
	db := m.db
	m.db = nil
	if err := b.swap(db, b.NewFold(next, nil)); err != nil {
		return false, err
	}
	b.served.Report.adopt(w.report, w.change.EvaluatedAnew())
	b.proposals.mu.Lock()
	defer b.proposals.mu.Unlock()
	b.proposals.activation = &wire.Activation{Model: ev.Seq, Documents: documents, Seconds: time.Since(began).Seconds()}
	return true, nil
}

// Objections brings the preparation of the model that event seq announces to where the read model is, and lists the
// objections to that model. They are documents that break its new rules, documents written since whose members it
// would hide, and too many changed documents. The error is Gone where this node is not ready for that model.
func (b *Builder) Objections(seq uint64) (problems []fanfold.Problem, err error) {
	w := b.proposals.preparation()
	if w == nil || w.pending.Seq != seq || !w.ready.Load() {
		return nil, errGone
	}
	if _, _, err := w.catchUp(); err != nil {
		return nil, errGone // prepare finds the same
	}
	return w.objections()
}
