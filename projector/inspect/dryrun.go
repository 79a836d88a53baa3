package inspect

import (
	"bytes"
	"context"
	"errors"
	"time"

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
	out = model.NewFanout()
	out.Position.Position = sc.Checkpoint.At()
	opt := rehearsal(ctx, len(events), out)
	opt.Examples = fold.NewExamples(sample)
	err = rehearse(ctx, sc.Rehearse(sqlite.Rehearsal{MaxBytes: maxDryRunBytes}), fold.New(plan, opt), events)
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
	out = model.NewFanout()
	opt := fold.Options{Fanout: out, Ended: ctx.Err, Examples: fold.NewExamples(sample)}
	f := fold.New(plan, opt)
	err = db.Update(func(tx *sqlite.Tx) error {
		defer tx.EndWith(ctx)()
		out.Position.Position = tx.Checkpoint().At()
		return rehearse(ctx, tx, f, events)
	})
	out.Examples = opt.Examples.List()
	return out, err
}

// rehearse folds events in a transaction that is not to be kept.
func rehearse(ctx context.Context, tx *sqlite.Tx, f *fold.Fold, events []*fanfold.Event) error {
	cp := tx.Checkpoint()
	at := cp.Time.Add(1) // later than the times of all documents, as the next event mostly is
	if now := time.Now(); now.After(at) {
		at = now
	}
	for n, given := range events {
		if err := ctx.Err(); err != nil {
			return err
		}
		ev := *given
		ev.Seq, ev.Time, ev.Tx, ev.IdempotencyKey = cp.Seq+1+uint64(n), at, fanfold.TxPart{}, fanfold.IdempotencyKey{}
		if err := f.Rehearse(tx, &ev); err != nil {
			return err
		}
	}
	return nil
}

// foldsPerStep bounds how often the events of a step are folded, on average, where others are not kept.
const foldsPerStep = 4

// Rehearse does what writer.Rehearser says. It works on a snapshot, and keeps its writes in memory. The error is Unprocessable
// where that takes more than maxDryRunBytes, or events are folded again and again.
func (i *Inspector) Rehearse(ctx context.Context, steps [][]*fanfold.Event, follows func(collection string) bool, judge func(step int, changes []model.DocumentChange) (keep bool, err error)) (folded uint64, err error) {
	err = i.store.Read(func(s *sqlite.Snapshot) error {
		defer func() { i.rowsRead.Add(int64(s.RowsRead())) }()
		folded = s.Checkpoint.Seq
		plan, err := i.planOf(s)
		if err != nil {
			return err
		}
		a := &aftermath{ctx: ctx, tx: s.Rehearse(sqlite.Rehearsal{MaxBytes: maxDryRunBytes}), follows: follows, left: foldsPerStep*len(steps) + 256}
		a.fold = fold.New(plan, fold.Options{SetOrientedFrom: -1, Ended: ctx.Err, Changed: a.note})
		return a.run(steps, judge)
	})
	if errors.Is(err, sqlite.ErrRehearsalEnds) {
		err = fanfold.Wrap(model.ErrLargeRehearsal, fanfold.Unprocessable, "the write changes more documents than can be looked at for checks that it may break (%d MiB): write in smaller steps", maxDryRunBytes>>20)
	}
	return folded, err
}

// maxForeseen is how many requests are rehearsed at a time for the documents that they write.
const maxForeseen = 4

// Foresee does what writer.Rehearser says. At most maxForeseen calls work at a time; the others wait. The error is ctx's, NotFound and Conflict
// where events do not fit the documents as they are, and an Unprocessable with the cause model.ErrLargeRehearsal.
func (i *Inspector) Foresee(ctx context.Context, events []*fanfold.Event) (view func(key fanfold.Key) []byte, folded uint64, err error) {
	select {
	case i.foreseen <- struct{}{}:
		defer func() { <-i.foreseen }()
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	views := map[fanfold.Key][]byte{}
	err = i.store.Read(func(s *sqlite.Snapshot) error {
		folded = s.Checkpoint.Seq
		plan, err := i.planOf(s)
		if err != nil {
			return err
		}
		tx := s.Rehearse(sqlite.Rehearsal{MaxBytes: maxDryRunBytes})
		f := fold.New(plan, fold.Options{SetOrientedFrom: -1, Ended: ctx.Err, Alone: len(events) == 1})
		if err := rehearse(ctx, tx, f, events); err != nil {
			return err
		}
		for _, ev := range events {
			body, err := tx.Documents.Body(ev.Key)
			if err != nil {
				return err
			}
			views[ev.Key] = bytes.Clone(body)
		}
		return nil
	})
	if errors.Is(err, sqlite.ErrRehearsalEnds) {
		err = fanfold.Wrap(model.ErrLargeRehearsal, fanfold.Unprocessable, "the write takes more than %d MiB to be looked at for a rule: write in smaller steps", maxDryRunBytes>>20)
	}
	return func(key fanfold.Key) []byte { return views[key] }, folded, err
}

// aftermath rehearses steps, and knows what each does.
type aftermath struct {
	ctx     context.Context
	tx      *sqlite.Tx
	fold    *fold.Fold
	follows func(collection string) bool
	left    int // steps that may be folded yet

	before  map[fanfold.Key][]byte // of the documents that the step changes; nil where nobody asks
	changed []fanfold.Key
}

// run folds steps one after the other, and again without one that judge does not keep.
func (a *aftermath) run(steps [][]*fanfold.Event, judge func(step int, changes []model.DocumentChange) (keep bool, err error)) error {
	var kept [][]*fanfold.Event
	for n, step := range steps {
		a.before, a.changed = map[fanfold.Key][]byte{}, nil
		if err := a.apply(step); err != nil {
			return err
		}
		changes, err := a.changes()
		if err != nil {
			return err
		}
		keep, err := judge(n, changes)
		if err != nil {
			return err
		}
		if keep {
			kept = append(kept, step)
			continue
		}
		a.before = nil
		a.tx.TakeBack()
		a.fold.TakeBack()
		for _, step := range kept {
			if err := a.apply(step); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply folds the events of one step.
func (a *aftermath) apply(step []*fanfold.Event) error {
	if a.left--; a.left < 0 {
		return sqlite.ErrRehearsalEnds
	}
	return rehearse(a.ctx, a.tx, a.fold, step)
}

// note notes what a document of the step was like.
func (a *aftermath) note(key fanfold.Key, before []byte) {
	if a.before == nil || !a.follows(key.Collection) {
		return
	}
	if _, noted := a.before[key]; !noted {
		a.before[key] = before
		a.changed = append(a.changed, key)
	}
}

// changes returns what the step does to the documents that it changes.
func (a *aftermath) changes() ([]model.DocumentChange, error) {
	out := make([]model.DocumentChange, len(a.changed))
	for n, key := range a.changed {
		after, err := a.tx.Documents.Body(key)
		if err != nil {
			return nil, err
		}
		out[n] = model.DocumentChange{Key: key, Before: a.before[key], After: after}
	}
	return out, nil
}
