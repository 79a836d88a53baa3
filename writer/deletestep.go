package writer

import (
	"cmp"
	"context"
	"errors"

	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold"
)

// DeleteStep is what one step of a delete in steps did.
type DeleteStep struct {
	Done    bool    // the document itself is deleted
	Deleted int     // documents, this one included
	Changed int     // documents that lost their reference
	Last    uint64  // the last event stored
	DryRun  *DryRun // of a dry run, which stores nothing
}

// DeleteNext deletes as much of what goes with a document as one transaction takes, children first, and last the
// document. It is to be repeated until the step says Done. Errors are NotFound, Restricted and those of Appender.
func (w *Writer) DeleteNext(ctx context.Context, key fanfold.Key, in Intent) (DeleteStep, error) {
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
		case errors.Is(err, errTooManyMessages) && room > 1: // with what guards the writes it is too much
			room /= 2
			continue
		case staleError(err) != nil:
			w.retries.Add(1)
			continue
		}
		step.Last = first + uint64(len(writes)) - 1
		step.DryRun, err = w.dryRun(ctx, err)
		return step, withoutOperation(err)
	}
}

// nextStep finds the writes of one step, room at most.
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
		if writes = r.writes(func(fanfold.Key) bool { return false }); len(writes) == 0 {
			return cmp.Or(r.refusal(), error(fanfold.Errorf(fanfold.Internal, "a step of the delete of %s has nothing to do", key)))
		}
		step = DeleteStep{Done: done, Deleted: len(r.leave), Changed: len(r.order)}
		return nil
	})
	return writes, step, err
}
