package inspect

import (
	"context"
	"errors"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// maxDryRunBytes is the memory that the documents of a dry run take. One that needs more works on a copy of the read model.
const maxDryRunBytes = 64 << 20

// DryRun folds events as if they were the log's next ones, returns what they cause, with a sample of it, and keeps nothing. It works on a
// snapshot and keeps its writes in memory. If they are many, it works on a copy of the read model, which needs as much disk for that
// long. Folding never waits for it. One dry run is made at a time; the others wait. Patches go by the documents as they are. It returns
// ctx's error, NotFound if a patch's document is not there, and Conflict if a patch does not fit. FanoutLimit says that an event causes
// more changes than one may have.
func (i *Inspector) DryRun(ctx context.Context, events []*fanfold.Event, sample model.Sample) (*model.Fanout, error) {
	select {
	case i.dryRuns <- struct{}{}:
		defer func() { <-i.dryRuns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out, err := i.dryRunInMemory(ctx, events, sample)
	if errors.Is(err, sqlite.ErrRehearsalEnds) {
		return i.dryRunOnCopy(ctx, events, sample)
	}
	return out, err
}

// dryRunInMemory folds events on a snapshot. It returns ErrRehearsalEnds if they change much, and the errors of rehearse.
func (i *Inspector) dryRunInMemory(ctx context.Context, events []*fanfold.Event, sample model.Sample) (out *model.Fanout, err error) {
	sc, err := i.store.Scan()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sc.Close()) }()
	plan, err := i.planOf(sc.Snapshot)
	if err != nil {
		return nil, err
	}
	out = newFanout()
	opt := rehearsal(ctx, len(events), out)
	opt.Examples = fold.NewExamples(sample)
	err = rehearse(ctx, sc.Rehearse(sqlite.Rehearsal{MaxBytes: maxDryRunBytes}), fold.New(plan, opt), events, out)
	out.Examples = opt.Examples.List()
	return out, err
}

// planOf returns the plan of the model that a snapshot has: the one that applies, unless another came meanwhile.
func (i *Inspector) planOf(s *sqlite.Snapshot) (*fold.Plan, error) {
	m, err := s.Model()
	if pl := i.projector.Plan(); err != nil || pl.Seq == m.Seq {
		return pl, err
	}
	return fold.PlanOf(s)
}

// rehearsal returns how so many events are folded that are not kept, whose derived changes are counted in out. Only an event
// that is alone may be folded by set-oriented SQL, because others might read what that leaves out.
func rehearsal(ctx context.Context, events int, out *model.Fanout) fold.Options {
	opt := fold.Options{Fanout: out, Ended: ctx.Err}
	if events > 1 {
		opt.SetOrientedFrom = -1
	}
	return opt
}

// newEstimate returns a fold of so many events that are not kept, which counts in out at least as many derived changes as there
// are. Only an event that is alone may be estimated.
func newEstimate(ctx context.Context, pl *fold.Plan, events int, out *model.Fanout) *fold.Fold {
	opt := rehearsal(ctx, events, out)
	opt.Estimate = events == 1
	return fold.New(pl, opt)
}

// dryRunOnCopy folds events on a copy of the read model, and removes the copy. It returns the errors of rehearse and
// of the files.
func (i *Inspector) dryRunOnCopy(ctx context.Context, events []*fanfold.Event, sample model.Sample) (out *model.Fanout, err error) {
	db, err := i.store.Copy(ctx, func(int64, int64) {})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, i.store.Discard(db)) }()
	plan, err := fold.LoadPlan(db.ReadUnshared)
	if err != nil {
		return nil, err
	}
	out = newFanout()
	opt := fold.Options{Fanout: out, Ended: ctx.Err, Examples: fold.NewExamples(sample)}
	f := fold.New(plan, opt)
	err = db.Update(func(tx *sqlite.Tx) error {
		defer tx.EndWith(ctx)()
		return rehearse(ctx, tx, f, events, out)
	})
	out.Examples = opt.Examples.List()
	return out, err
}

// newFanout returns a count of no changes.
func newFanout() *model.Fanout {
	return &model.Fanout{Rules: map[string]int64{}, Collections: map[string]int64{}}
}

// rehearse folds events in a transaction that is not to be kept.
func rehearse(ctx context.Context, tx *sqlite.Tx, f *fold.Fold, events []*fanfold.Event, out *model.Fanout) error {
	cp := tx.Checkpoint()
	out.Position.Position = cp.At()
	for n, given := range events {
		if err := ctx.Err(); err != nil {
			return err
		}
		ev := *given
		ev.Seq, ev.Time, ev.Tx, ev.IdempotencyKey = cp.Seq+1+uint64(n), cp.Time, fanfold.TxPart{}, fanfold.IdempotencyKey{}
		if err := f.Rehearse(tx, &ev); err != nil {
			return err
		}
	}
	return nil
}
