package projector

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strconv"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// errOtherErasure ends the folding into a read model that is to be replaced by one as of another erasure.
var errOtherErasure = errors.New("the read model is as of another erasure")

// errErasedMeanwhile is the error of a replay during which an erasure came into force.
var errErasedMeanwhile = fanfold.Errorf(fanfold.Conflict, "an erasure came into force meanwhile: run it again")

// Erasure returns the last erase event whose substitutes the served read model has; 0 for none.
func (p *Projector) Erasure() uint64 { return p.erasure.Load() }

// asOf returns the erasure for which a read model is built to replace the current one.
func (p *Projector) asOf() uint64 {
	_, inForce := p.log.Erasures()
	return max(inForce, p.asked.Load(), p.erasure.Load())
}

// mustChangeOver tells whether an erasure is in force that the read model does not know of.
func (p *Projector) mustChangeOver() bool { return p.asOf() > p.erasure.Load() }

// beforeErased returns the events before the first that asks for a read model as of a later erasure, so that nothing is cut that was stored at once.
// upTo is that erasure, 0 where there is no such event.
func beforeErased(events []*fanfold.Event, erasure uint64) (before []*fanfold.Event, upTo uint64) {
	n := slices.IndexFunc(events, func(ev *fanfold.Event) bool { return ev.Kind == fanfold.KindErased && ev.Erased.UpTo > erasure })
	if n < 0 {
		return events, 0
	}
	whole, end := 0, batch.End{}
	for i, ev := range events[:n] {
		if end.Add(ev); end.Reached() {
			whole = i + 1
		}
	}
	return events[:whole], events[n].Erased.UpTo
}

// setErasure records the erasure that the read model has.
func (r *rebuilding) setErasure() error {
	if r.erasure == 0 {
		return nil
	}
	return r.db.SetErasure(r.erasure)
}

// amend brings a loaded base from an earlier erasure to the read model's erasure. The generation becomes another one, whose file never had what goes.
func (r *rebuilding) amend(ctx context.Context, plan *fold.Plan, from uint64) (err error) {
	defer batch.Recover(&err)
	erasures := r.p.log.ErasuresAfter(from, r.erasure)
	amendment := sqlite.Amendment{Erasure: r.erasure, Digest: amendedDigest(r.base.Seq, r.erasure), ForgetEvent: true}
	f := r.p.newFold(plan, nil)
	if _, err = r.db.Amend(amendment, func(tx *sqlite.Tx) error { return f.Amend(tx, erasures) }); err != nil {
		return err
	}
	clean, err := r.p.store.Build()
	if err != nil {
		return err
	}
	old := r.db
	r.db = clean
	r.base, err = old.MoveBase(ctx, clean)
	return errors.Join(err, r.p.store.Discard(old))
}

// amendedDigest returns what stands for the digest of all events up to a horizon once some of them are erased: nothing that was made of what they had.
func amendedDigest(horizon, erasure uint64) fanfold.Digest {
	return sha256.Sum256([]byte("fanfold base " + strconv.FormatUint(horizon, 10) + " erasure " + strconv.FormatUint(erasure, 10)))
}

// changeOver puts a read model in place as of the erasures that are in force, if the current one is as of earlier ones. It takes the prepared
// one, or builds one. It blocks until then.
func (p *Projector) changeOver(ctx context.Context) error {
	for p.mustChangeOver() {
		inForce := p.asOf()
		p.opt.Logger.Info("an erasure is in force, and the read model changes over", "erasure", inForce)
		w := p.erasing.take(inForce)
		if w == nil || w.erasure != inForce { // one as of a later erasure would show what no event says yet
			if err := p.rebuildErased(ctx); err != nil {
				return err
			}
			continue
		}
		if err := w.takeOver(ctx); err != nil {
			p.opt.Logger.Warn("the read model that was prepared for an erasure cannot be used, and is built anew", "erasure", inForce, "err", err)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := p.rebuildErased(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// rebuildErased builds a read model as of the erasures that are in force up to where the current one is, and puts it in that one's place. An error of the
// log is a readError.
func (p *Projector) rebuildErased(ctx context.Context) error {
	db, err := p.store.Build()
	if err != nil {
		return err
	}
	r := p.newRebuilding(db, p.asOf(), p.store.Applied.Seq)
	r.told = p.erasing.told
	swapping, err := r.run(ctx)
	if err != nil && !swapping {
		return &readError{errors.Join(err, p.store.Discard(r.db))}
	}
	return err
}
