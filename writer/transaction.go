package writer

import (
	"context"
	"errors"

	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold"
)

// MaxOperations is how many messages a transaction takes: its operations, and what guards them and deletes bring along.
const MaxOperations = 1000

// Transact makes prepared operations, each of another document, all or none. It blocks until the log has decided.
// Errors are those of Write; Operation is the index of the one at fault.
func (w *Writer) Transact(ctx context.Context, ops []*Operation, req Request) (Result, error) {
	ops[0].event.IdempotencyKey = req.Key
	return w.do(ctx, req, func(ctx context.Context) (uint64, error) { return w.commit(ctx, ops, req.Intent) })
}

// transaction is operations on their way into the log.
type transaction struct {
	w       *Writer
	id      string
	ops     []*Operation
	in      Intent
	deletes bool            // documents whose holders a policy is about
	writes  []fanfold.Write // those of the operations first, then what their deletes bring along
}

// commit appends the operations' events, all or none, and returns the sequence of the first.
func (w *Writer) commit(ctx context.Context, ops []*Operation, in Intent) (uint64, error) {
	var keys []fanfold.Key
	for _, op := range ops {
		if op.goesByCurrent() && op.Kind != Check {
			keys = append(keys, op.Key)
		}
	}
	unlock, err := w.keys.lock(ctx, keys...)
	if err != nil {
		return 0, fanfold.Wrap(err, fanfold.Unavailable, "too many others write to the documents: try again")
	}
	defer unlock()
	tx := &transaction{w: w, id: nuid.Next(), ops: ops, in: in, deletes: w.affectsHolders(ops), writes: make([]fanfold.Write, len(ops))}
	for again := false; ; again = true {
		if err := tx.settle(ctx, again); err != nil {
			return 0, err
		}
		first, err := tx.append(ctx)
		stale := tx.retryable(err)
		if stale == nil {
			if err == nil && len(keys) > 0 { // who has the locks next should see it
				_ = w.wait(ctx, first+uint64(len(tx.writes))-1, w.opt.Timeout)
			}
			return first, withinOperations(err, len(ops))
		}
		w.retries.Add(1)
		for _, op := range ops {
			op.askLeader = true
		}
		if err := w.wait(ctx, uint64(stale.Current), w.opt.Timeout); err != nil {
			return 0, behind(err)
		}
	}
}

// settle finds the revisions that the operations go by; again, those of the operations that go by the current one.
func (tx *transaction) settle(ctx context.Context, again bool) error {
	if tx.deletes { // whom they concern is read here, and nobody acknowledged may be missed
		if err := tx.w.catchUp(ctx); err != nil {
			return err
		}
	}
	for i, op := range tx.ops {
		if again && !op.goesByCurrent() {
			continue
		}
		if err := tx.w.settle(ctx, op); err != nil {
			return fanfold.AtOperation(err, i)
		}
		tx.writes[i] = fanfold.Write{Event: op.event, Expect: op.expect}
	}
	return nil
}

// append appends the writes of the operations with what their deletes bring along.
func (tx *transaction) append(ctx context.Context) (first uint64, err error) {
	var more []fanfold.Write
	if tx.deletes {
		if more, err = tx.w.removals(tx.ops); err != nil {
			return 0, err
		}
	}
	tx.writes = append(tx.writes[:len(tx.ops)], more...)
	first, err = tx.w.appendAll(ctx, tx.id, tx.writes, tx.in)
	if errors.Is(err, errTooManyMessages) && len(more) > 0 {
		err = fanfold.Wrap(errTooManyMessages, fanfold.Unprocessable, "with what the delete brings with it the request has more than %d messages: delete in steps (DELETE with steps=true, fanfold delete --steps)", MaxOperations)
	}
	return first, err
}

// retryable returns err where it is a Stale of a write that goes by whatever revision is the current one.
func (tx *transaction) retryable(err error) *fanfold.Error {
	stale := staleError(err)
	if stale == nil || stale.Operation == nil || *stale.Operation < len(tx.ops) && !tx.ops[*stale.Operation].goesByCurrent() {
		return nil
	}
	return stale
}

// settle finds the revision that one operation goes by, and checks a patch against it.
func (w *Writer) settle(ctx context.Context, op *Operation) error {
	switch {
	case op.Absent:
		return w.settleAbsent(ctx, op)
	case op.Kind == Put && !op.Any():
		return nil
	}
	for {
		rev, err := w.current(ctx, op.Key, op.Conditions)
		if err == nil && op.Kind == Patch {
			op.patched, err = w.tryPatch(op.event, rev)
		}
		if stale := staleError(err); stale != nil && op.goesByCurrent() && op.Kind == Patch && stale.Current != 0 {
			if err := w.wait(ctx, uint64(stale.Current), w.opt.Timeout); err != nil {
				return behind(err)
			}
			continue
		}
		op.expect = fanfold.Exactly(rev)
		if op.Kind == Check {
			op.event.Base = rev
		}
		return err
	}
}

// settleAbsent finds the tombstone that an operation goes by which wants its document absent.
func (w *Writer) settleAbsent(ctx context.Context, op *Operation) error {
	if doc, _, err := w.ReadModel.Get(op.Key, fanfold.Embedded); err != nil || doc == nil && !op.askLeader {
		op.expect, op.event.Base = fanfold.Exactly(0), 0
		return err
	}
	rev, deleted, err := w.Leader.Last(ctx, op.Key)
	if err == nil && rev != 0 && !deleted {
		err = exists(op.Key, rev)
		if op.Kind != Create {
			err = &fanfold.Error{Code: fanfold.Stale, Current: rev, Message: "document " + op.Key.String() + " exists"}
		}
	}
	op.expect, op.event.Base = fanfold.Exactly(rev), rev
	return err
}
