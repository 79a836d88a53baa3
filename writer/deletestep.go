package writer

import (
	"cmp"
	"context"
	"errors"

	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold"
)

// DeleteStep reports what one step of a delete in steps did.
type DeleteStep struct {
	Done    bool    // the document itself is deleted
	Deleted int     // how many documents were deleted, the document itself included
	Changed int     // how many documents lost their reference
	Last    uint64  // the sequence of the last event stored
	DryRun  *DryRun // of a dry run, which stores nothing
}

// DeleteNext makes one step of a delete that brings more with it than one transaction takes: it deletes and changes as
// many holders as there is room for, children before parents, and the document itself once none is left. Repeat it
// until the step says Done. It blocks until the log has decided. Errors are NotFound, Restricted and those of Appender.
func (w *Writer) DeleteNext(ctx context.Context, key fanfold.Key, in Intent) (DeleteStep, error) {
	again := retryPace{w: w}
	for room := MaxOperations; ; {
		if err := w.catchUp(ctx); err != nil {
			return DeleteStep{}, err
		}
		writes, step, err := w.nextStep(key, room)
		if err != nil {
			return DeleteStep{}, err
		}
		first, err := w.appendAll(ctx, nuid.Next(), writes, in)
		switch {
		case errors.Is(err, errTooManyMessages) && room > 1: // with their guards the writes are too many
			room /= 2
			continue
		case staleError(err) != nil:
			if err := again.next(ctx, staleError(err).Current); err != nil {
				return DeleteStep{}, err
			}
			continue
		}
		if err == nil {
			step.Last = first + uint64(len(writes)) - 1
		}
		step.DryRun, err = w.dryRun(ctx, err)
		return step, withoutOperation(err)
	}
}

// nextStep returns the writes of one step, at most room of them. Errors are NotFound and Restricted.
func (w *Writer) nextStep(key fanfold.Key, room int) (writes []fanfold.Write, step DeleteStep, err error) {
	m, _, _ := w.Models.Model()
	err = w.ReadModel.Read(func(snap Snapshot) error {
		doc, err := snap.Get(key, fanfold.Referenced)
		if err != nil || doc == nil {
			return cmp.Or(err, Missing(key))
		}
		r := newRemoval(snap, m, room)
		r.steps = true
		done, err := r.visit(doc)
		if err != nil {
			return err
		}
		if writes = r.writes(); len(writes) == 0 {
			return cmp.Or(r.restrictedError(), error(fanfold.Errorf(fanfold.Internal, "a step of the delete of %s has nothing to do", key)))
		}
		step = DeleteStep{Done: done, Deleted: len(r.deletes), Changed: len(r.editOrder)}
		return nil
	})
	return writes, step, err
}
