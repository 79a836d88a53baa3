package projector

import (
	"context"
	"errors"
	"io"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// Base is the state at the horizon at which a log begins.
type Base struct {
	Horizon fanfold.Horizon // at least Seq and Digest
	Erasure uint64          // the list of erasures that it has; 0 for none
	// Open returns the file, which is read to its end. The error is Unavailable.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// load fills the read model with a base, and makes the fold that goes on from there. The base is nil for a log that begins with its first
// event. A base from before the rebuilding's erasure is amended.
func (r *rebuilding) load(ctx context.Context, base *Base) error {
	if base == nil {
		plan, err := fold.NewPlan(model.Empty(), 0, nil)
		r.fold = r.p.newFold(plan, nil)
		return errors.Join(err, r.setErasure())
	}
	file, err := base.Open(ctx)
	if err != nil {
		return err
	}
	r.base, err = r.db.LoadBase(ctx, file, base.Horizon)
	if err == nil {
		_, err = io.Copy(io.Discard, file) // what is wrong with it is known at its end
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fanfold.Wrap(err, fanfold.CodeOf(err), "the base up to event %d cannot be read: %s", base.Horizon.Seq, reason(err))
	}
	plan, err := fold.LoadPlan(r.db.ReadUnshared)
	if r.erasure = max(r.erasure, base.Erasure); err == nil && base.Erasure < r.erasure {
		if err = r.amend(ctx, plan, base.Erasure); err == nil {
			plan, err = fold.LoadPlan(r.db.ReadUnshared)
		}
	}
	if err != nil {
		return err
	}
	r.fold, r.at = r.p.newFold(plan, nil), r.base.Seq
	return r.setErasure()
}

// beginWithBase makes the base the current read model, where that lacks events that the log may not have any more. It returns the errors of the
// log and the base.
func (p *Projector) beginWithBase(ctx context.Context) error {
	base, err := p.log.Base(ctx)
	if err != nil || base == nil || p.store.Applied.Seq() >= base.Horizon.Seq {
		return err
	}
	p.opt.Logger.Info("the read model begins with the base, for the log begins after it", "event", base.Horizon.Seq, "applied", p.store.Applied.Seq())
	db, err := p.store.Build()
	if err != nil {
		return err
	}
	r := p.newRebuilding(db, p.asOf(), func() uint64 { return base.Horizon.Seq })
	if err := r.load(ctx, base); err != nil {
		return errors.Join(err, p.store.Discard(r.db))
	}
	p.folding.Lock()
	defer p.folding.Unlock()
	if p.store.Applied.Seq() >= base.Horizon.Seq { // a replay was faster
		return p.store.Discard(r.db)
	}
	return r.takeOver()
}

// Horizon returns the horizon at which the store begins, as the last folded compact event says. built is the last event of the base on which
// the read model is built, less than the horizon until a replay has built it anew. The error is the read model's.
func (p *Projector) Horizon() (h fanfold.Horizon, built uint64, err error) {
	err = p.store.Read(func(s *sqlite.Snapshot) error {
		h, built, err = s.Horizon()
		return err
	})
	return h, built, err
}
