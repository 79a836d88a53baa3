package inspect

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// Bounds of a dry run that makes folding wait. One that may be larger works on a copy of the read model.
const (
	maxDerivedInPlace = 5000 // derived changes, by the estimate
	maxTimeInPlace    = 100 * time.Millisecond
)

// errTakesLong ends a dry run that has made folding wait for long enough.
var errTakesLong = errors.New("the dry run takes long")

// DryRun folds events as if they were the log's next ones, returns what they cause, and rolls everything back. Folding
// waits for a tenth of a second at most: what takes longer is folded on a copy of the read model, which takes its size on
// the disk for that long. One dry run is made at a time; the others wait. Patches go by the documents as they are. The
// error is NotFound where a patch's document is not there, Conflict where a patch does not fit, FanoutLimit where an event
// causes more changes than one may have, or ctx's.
func (i *Inspector) DryRun(ctx context.Context, events []*fanfold.Event) (*fanfold.Fanout, error) {
	select {
	case i.dryRuns <- struct{}{}:
		defer func() { <-i.dryRuns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	large, err := i.MayExceed(ctx, events, maxDerivedInPlace)
	if err != nil {
		return nil, err
	}
	if !large {
		out, err := i.dryRunInPlace(ctx, events)
		if !errors.Is(err, errTakesLong) {
			return out, err
		}
	}
	return i.dryRunOnCopy(ctx, events)
}

// dryRunInPlace folds events on the read model and rolls them back. The error is errTakesLong where folding would have to
// wait for too long, or that of rehearse.
func (i *Inspector) dryRunInPlace(ctx context.Context, events []*fanfold.Event) (*fanfold.Fanout, error) {
	out := newFanout()
	return out, i.projector.Rehearse(out, func(tx *sqlite.Tx, f *fold.Fold) error {
		end := time.Now().Add(maxTimeInPlace)
		f.SetEnded(func() error {
			if time.Now().After(end) {
				return errTakesLong
			}
			return ctx.Err()
		})
		return rehearse(ctx, tx, f, events, out)
	})
}

// dryRunOnCopy folds events on a copy of the read model, and removes the copy. Errors are those of rehearse and of the
// files.
func (i *Inspector) dryRunOnCopy(ctx context.Context, events []*fanfold.Event) (out *fanfold.Fanout, err error) {
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
	f := fold.New(plan, fold.Options{Fanout: out, Ended: ctx.Err})
	return out, db.Update(func(tx *sqlite.Tx) error { return rehearse(ctx, tx, f, events, out) })
}

// newFanout returns a count of no changes.
func newFanout() *fanfold.Fanout {
	return &fanfold.Fanout{Rules: map[string]int64{}, Collections: map[string]int64{}}
}

// rehearse folds events in a transaction that is not to be kept.
func rehearse(ctx context.Context, tx *sqlite.Tx, f *fold.Fold, events []*fanfold.Event, out *fanfold.Fanout) error {
	defer tx.EndWith(ctx)()
	cp := tx.Checkpoint()
	out.Position = cp.At()
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
