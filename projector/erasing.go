package projector

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
)

const (
	lookForErasure = 250 * time.Millisecond // between two looks whether there is something to prepare
	keepPrepared   = 15 * time.Second       // for which a prepared read model is kept although there are later erasures
)

// erasing is what the projector knows of the read model that it prepares for an erasure.
type erasing struct {
	mu      sync.Mutex
	current *erasedModel
	at      uint64 // the last event that was replayed
	target  uint64
	err     error // why none could be prepared; nil where one can
	missed  *missedViews
}

// missedViews are the documents whose views became others by an erasure as it came into force, of those that were changed after the position of ErasedViews.
type missedViews struct {
	erasure uint64
	keys    map[fanfold.Key]struct{}
}

// told notes how far a read model is.
func (e *erasing) told(seq, target uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at, e.target = seq, target
}

// begin makes a preparation the current one.
func (e *erasing) begin(w *erasedModel) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.current, e.at, e.target = w, 0, 0
}

// end notes how a preparation has ended.
func (e *erasing) end(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.current, e.err = nil, err
}

// take returns the preparation of an erasure or a later one, nil for none.
func (e *erasing) take(erasure uint64) *erasedModel {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current == nil || e.current.erasure < erasure {
		return nil
	}
	return e.current
}

// ErasurePreparation says how far a read model for an erasure is.
type ErasurePreparation struct {
	Erasure uint64 // the erasure that it has; 0 if none is built
	Ready   bool   // it follows the log, and may take over at any moment
	Seq     uint64 // the last event that was replayed
	Target  uint64
	Err     error // why the last one could not be built
}

// ErasurePreparation returns how far the read model is that is prepared for an erasure.
func (p *Projector) ErasurePreparation() ErasurePreparation {
	e := &p.erasing
	e.mu.Lock()
	defer e.mu.Unlock()
	out := ErasurePreparation{Seq: e.at, Target: e.target, Err: e.err}
	if e.current != nil {
		out.Erasure, out.Ready = e.current.erasure, e.current.isReady()
	}
	return out
}

// ErasurePrepared returns the erasure that the prepared read model has, or else the one that is served; 0 for none. A
// prepared one may take over at any moment.
func (p *Projector) ErasurePrepared() uint64 {
	erasure := p.erasure.Load()
	if s := p.ErasurePreparation(); s.Ready {
		erasure = max(erasure, s.Erasure)
	}
	return erasure
}

// erasedModel is a read model as of an erasure that is not in force yet. It follows the log beside the one that is served.
type erasedModel struct {
	p       *Projector
	erasure uint64
	ready   chan struct{} // closed once it is
	ended   chan struct{} // closed once it was taken, or cannot be used

	mu sync.Mutex       // held while it is worked on
	r  *rebuilding      // nil once it was swapped in, or discarded
	at fanfold.Position // up to which ErasedViews has compared views; 0 where it has not
}

// isReady tells whether it may take over.
func (w *erasedModel) isReady() bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

// prepareErasures prepares a read model as of the last erase event whenever that is not in force, until ctx ends. It tries again after a failure.
func (p *Projector) prepareErasures(ctx context.Context) {
	wait := pauseFailed
	for ctx.Err() == nil {
		last, _ := p.log.Erasures()
		if last <= p.asOf() || p.store.Applied.Seq() < last || !p.replay.beginErasing() {
			pause(ctx, lookForErasure)
			continue
		}
		err := p.prepareErasure(ctx, last)
		p.replay.endErasing()
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, fanfold.ErrRestarting) {
			p.opt.Logger.Info("the read model for an erasure is built anew, because the log's server was started again", "erasure", last)
			p.erasing.end(nil)
			pause(ctx, lookForErasure)
			continue
		}
		if p.erasing.end(err); err == nil {
			wait = pauseFailed
			continue
		}
		p.opt.Logger.Error("the read model for an erasure cannot be prepared, and is tried again", "erasure", last, "err", err)
		pause(ctx, wait)
		wait = min(2*wait, maxPauseFailed)
	}
}

// beginErasing begins to build a read model for an erasure. It returns false where a replay or a compaction runs.
func (r *replayState) beginErasing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy() {
		return false
	}
	r.erasing = true
	return true
}

// endErasing ends what beginErasing began.
func (r *replayState) endErasing() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.erasing = false
}

// prepareErasure prepares one read model and follows the log with it, until it is taken, or a later erasure asks for another one.
func (p *Projector) prepareErasure(ctx context.Context, erasure uint64) (err error) {
	w := &erasedModel{p: p, erasure: erasure, ready: make(chan struct{}), ended: make(chan struct{})}
	defer func() { err = errors.Join(err, w.discard()) }()
	if err := w.build(ctx); err != nil {
		return err
	}
	p.opt.Logger.Info("the read model is prepared for an erasure", "erasure", erasure)
	for since := time.Now(); ; {
		last, inForce := p.log.Erasures()
		if inForce < erasure && last > erasure && time.Since(since) > keepPrepared {
			return nil
		}
		select {
		case <-p.store.Applied.Changed(p.store.Applied.Seq()):
			pause(ctx, pauseReady)
		case <-time.After(lookForErasure):
		case <-w.ended:
			return nil
		case <-ctx.Done():
			return nil
		}
		if p.erasure.Load() >= erasure { // another read model has taken over
			return nil
		}
		if err := w.catchUp(ctx); err != nil {
			return err
		}
	}
}

// build replays the log up to where the read model is that is served. Whoever takes the preparation waits for it.
func (w *erasedModel) build(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	db, err := w.p.store.Build()
	if err != nil {
		return err
	}
	w.r = w.p.newRebuilding(db, w.erasure, w.p.store.Applied.Seq)
	w.r.told = w.p.erasing.told
	w.p.erasing.begin(w)
	if err := w.r.begin(ctx, w.p.log); err != nil {
		return err
	}
	if err := w.r.catchUp(ctx); err != nil {
		return err
	}
	if err := w.r.db.SyncFile(); err != nil {
		return err
	}
	close(w.ready)
	return w.r.catchUp(ctx)
}

// catchUp follows the log up to where the read model is that is served.
func (w *erasedModel) catchUp(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.r == nil {
		return nil
	}
	return w.r.catchUp(ctx)
}

// takeOver makes it the read model that is served. It waits until it is built.
func (w *erasedModel) takeOver(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.r
	if r == nil || !w.isReady() {
		return errGone
	}
	defer close(w.ended)
	if err := w.noteMissed(ctx); err != nil {
		return err
	}
	w.r = nil
	swapping, err := r.swapIn(ctx)
	r.feed.Stop()
	if err != nil && !swapping {
		return errors.Join(err, w.p.store.Discard(r.db))
	}
	return err
}

// discard removes what was not taken.
func (w *erasedModel) discard() error {
	w.p.erasing.leave(w)
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.r
	if r == nil {
		return nil
	}
	w.r = nil
	if r.feed != nil {
		r.feed.Stop()
	}
	return w.p.store.Discard(r.db)
}

// leave ends that a preparation is the current one.
func (e *erasing) leave(w *erasedModel) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current == w {
		e.current = nil
	}
}
