package writer

import (
	"context"
	"errors"
	"slices"

	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// MaxOperations bounds the messages of a transaction: its operations, their guards and the writes that its deletes bring
// with them.
const MaxOperations = 1000

// Transact makes prepared operations, all or none; there must be at least one, and each must be about another document.
// It blocks until the log has decided. It returns the errors of Write; their Operation is the index of the one at fault.
func (w *Writer) Transact(ctx context.Context, ops []*Operation, req Request) (Result, error) {
	for i, op := range ops {
		if err := op.Judge(req.By); err != nil {
			return Result{}, fanfold.AtOperation(err, i)
		}
		if err := op.findRule(&w.checker, req.By); err != nil {
			return Result{}, fanfold.AtOperation(err, i)
		}
	}
	req.Key = keyOf(actorOf(req.By), req.Key)
	ops[0].event.IdempotencyKey = req.Key
	return w.run(ctx, req, "transaction", func(ctx context.Context) (uint64, error) {
		if slices.ContainsFunc(ops, func(op *Operation) bool { return op.fires }) {
			return newPlanning(w, req.Intent, 0).writeFired(ctx, ops, req)
		}
		return w.commit(ctx, ops, req.Intent)
	})
}

// transaction holds operations that are being brought into the log.
type transaction struct {
	w       *Writer
	id      string
	ops     []*Operation
	in      Intent
	deletes bool            // some operation deletes a document whose holders a delete policy affects
	closing *closing        // what those are closed for; nil for none, and in a dry run
	certain bool            // this node has folded everything that was acknowledged before the transaction was refused
	writes  []fanfold.Write // one for each operation, then those that their deletes bring with them
}

// commit appends the operations' events, all or none, and returns the sequence of the first. If another node was
// faster it tries again, unless an operation asks for a revision that is no longer the current one.
func (w *Writer) commit(ctx context.Context, ops []*Operation, in Intent) (uint64, error) {
	var keys []fanfold.Key
	for _, op := range ops {
		if op.goesByCurrent() && op.Kind != Check {
			keys = append(keys, op.Key)
		}
	}
	after, unlock, err := w.keys.lock(ctx, keys...)
	if err != nil {
		return 0, fanfold.Wrap(err, fanfold.Unavailable, "too many others write to the documents: try again")
	}
	var stored uint64 // the last event
	defer func() { unlock(stored) }()
	_ = w.wait(ctx, after, w.opt.Timeout) // where it is not folded by then, the log refuses the first try
	tx := &transaction{w: w, id: nuid.Next(), ops: ops, in: in, deletes: w.affectsHolders(ops), writes: make([]fanfold.Write, len(ops))}
	first, err := tx.decide(ctx)
	if err == nil {
		stored = first + uint64(len(tx.writes)) - 1
	}
	return first, err
}

// decide brings the operations into the log, and keeps holders from coming meanwhile where there are such deletes.
func (tx *transaction) decide(ctx context.Context) (first uint64, err error) {
	plain := func(c *closing) (uint64, error) {
		tx.closing = c
		return tx.w.decide(ctx, plan{try: tx.try})
	}
	if !tx.deletes || tx.in.DryRun {
		return plain(nil)
	}
	if err := tx.foreseeRefusal(ctx); err != nil { // whoever may not delete holds up nobody
		return 0, withinOperations(err, len(tx.ops))
	}
	var deleted []fanfold.Key
	writes := false
	for _, op := range tx.ops {
		if op.Kind == Delete {
			deleted = append(deleted, op.Key)
		}
		writes = writes || op.writesDocument()
	}
	if first, err = holdersOf(tx.w).withoutHolders(ctx, deleted, writes, plain); err == nil {
		holdersOf(tx.w).removeLateHolders(ctx, tx.writes, first, tx.in)
	}
	return first, err
}

// try finds the operations' revisions and appends their events: see plan.
func (tx *transaction) try(ctx context.Context, lost bool) (first uint64, err error) {
	if !slices.ContainsFunc(tx.ops, func(op *Operation) bool { return op.ruled != nil }) {
		return tx.attempt(ctx, lost)
	}
	return underRules{tx.w}.certainly(ctx, &tx.certain, tx.ops, func(ctx context.Context) (uint64, error) { return tx.attempt(ctx, lost) })
}

// attempt does what try does, whether or not this node lags.
func (tx *transaction) attempt(ctx context.Context, lost bool) (first uint64, err error) {
	if tx.in.planned {
		return tx.attemptPlanned(ctx)
	}
	for _, op := range tx.ops {
		op.askLeader = op.askLeader || lost
	}
	if err := tx.findRevisions(ctx); err != nil {
		return 0, err
	}
	first, err = tx.append(ctx)
	switch {
	case isBehindHorizon(err):
		clear(tx.writes) // all of them are decided again
		return 0, err
	case tx.mayRetry(err):
		return 0, again(err)
	}
	return first, withinOperations(err, len(tx.ops))
}

// attemptPlanned appends operations that a session has planned. The error is an outdated where what they were planned on was changed.
func (tx *transaction) attemptPlanned(ctx context.Context) (first uint64, err error) {
	if err = tx.findRevisions(ctx); err == nil {
		first, err = tx.append(ctx)
	}
	return first, asOutdated(err)
}

// foreseeRefusal returns why deletes about which rules decide would be refused as documents are now. It closes the gate for nothing.
func (tx *transaction) foreseeRefusal(ctx context.Context) error {
	u := underRules{tx.w}
	_, err := u.certainly(ctx, &tx.certain, tx.ops, func(ctx context.Context) (uint64, error) {
		for i, op := range tx.ops {
			if op.ruled == nil || op.Kind != Delete {
				continue
			}
			if err := u.look(ctx, op, nil); err != nil {
				return 0, fanfold.AtOperation(err, i)
			}
		}
		return 0, tx.judgeDeletes()
	})
	return err
}

// judgeDeletes returns a Forbidden where a rule does not let a document be deleted that the operations delete. It goes before a look at the holders,
// which would tell who is not to know of them.
func (tx *transaction) judgeDeletes() error {
	for i, op := range tx.ops {
		if op.ruled == nil || op.Kind != Delete {
			continue
		}
		if err := (underRules{tx.w}).judge(op.ruled, nil); err != nil {
			return fanfold.AtOperation(err, i)
		}
	}
	return nil
}

// findRevisions finds the revision that each operation is made on. At a retry it does so only for operations that are
// made on the current revision. The Operation of an error is the index of the one at fault. The error is one of again where a
// document changed meanwhile.
func (tx *transaction) findRevisions(ctx context.Context) error {
	if tx.deletes { // their holders are read from this node, and no acknowledged one may be missed
		if err := tx.w.catchUp(ctx); err != nil {
			return err
		}
	}
	budget := &jsondoc.Budget{Left: transactionWork}
	for i, op := range tx.ops {
		if found := tx.writes[i].Event != nil; found && !op.goesByCurrent() {
			continue
		}
		if err := tx.findRevision(ctx, op, budget); lostTo(err) != nil {
			return err
		} else if err != nil {
			return fanfold.AtOperation(err, i)
		}
		if !tx.deletes { // nobody looks at it
			op.patched = nil
		}
		tx.writes[i] = fanfold.Write{Event: op.event, Expect: op.expect}
	}
	if tx.deletes {
		return tx.judgeDeletes()
	}
	return nil
}

// append appends the writes of the operations and those that their deletes bring with them. It returns the sequence of
// the first.
func (tx *transaction) append(ctx context.Context) (first uint64, err error) {
	var more []fanfold.Write
	if tx.deletes {
		if more, err = tx.removals(ctx); err != nil {
			return 0, err
		}
	}
	tx.writes = append(tx.writes[:len(tx.ops)], more...)
	in := tx.in
	if v := (underRules{tx.w}).verdictsOf(tx.ops); v != nil && v.numbered {
		in.verdicts = v
	} else if v != nil {
		if err := v.judge(ctx, tx.writes); err != nil {
			return 0, err
		}
	}
	first, err = tx.w.appendAll(ctx, tx.id, tx.writes, in, tx.closing)
	if errors.Is(err, errTooManyMessages) && len(more) > 0 {
		err = fanfold.Wrap(errors.Join(errTooManyMessages, ErrManySteps), fanfold.Unprocessable, "with what the delete brings with it the request has more than %d messages: delete in steps (DELETE with steps=true, fanfold delete --steps)", MaxOperations)
	}
	return first, err
}

// removals returns what the operations' deletes bring with them, once the gate is closed for all that is deleted. Errors are as of
// Writer.removals, and Unavailable.
func (tx *transaction) removals(ctx context.Context) (more []fanfold.Write, err error) {
	for {
		if more, err = tx.w.removals(tx.ops); err != nil || tx.closing == nil {
			return more, err
		}
		missing := tx.closing.missing(more)
		if len(missing) == 0 {
			return more, nil
		}
		if err := holdersOf(tx.w).closeMore(ctx, tx.closing, missing); err != nil {
			return nil, err
		}
	}
}

// mayRetry tells whether err is the Stale of a write that is made on whichever revision is the current one.
func (tx *transaction) mayRetry(err error) bool {
	stale := staleError(err)
	return stale != nil && stale.Operation != nil && (*stale.Operation >= len(tx.ops) || tx.ops[*stale.Operation].goesByCurrent())
}

// findRevision finds the revision that one operation is made on, and applies a patch to it within the budget. It returns the errors of current
// and tryPatch, and an error of type again if a patched document changed meanwhile. A document that should not exist is Exists or Stale.
func (tx *transaction) findRevision(ctx context.Context, op *Operation, budget *jsondoc.Budget) error {
	switch {
	case op.planned && op.ruled == nil:
		return nil
	case op.ruled != nil:
		err := underRules{tx.w}.look(ctx, op, budget)
		if op.Kind == Check {
			op.event.Base = op.expect.Rev
		}
		return err
	case op.Absent:
		return tx.findTombstone(ctx, op)
	case op.forms != nil:
		var err error
		op.expect, err = changes{tx.w}.chooseForm(ctx, op)
		return err
	case op.Kind == Put && !op.Any():
		return nil
	}
	doc, err := tx.w.current(ctx, op.Key, op.Conditions)
	if err != nil {
		return err
	}
	op.expect = exactly(ctx, doc.Revision)
	switch op.Kind {
	case Patch:
		op.patched, err = tx.w.tryPatch(ctx, op, doc, budget)
	case Check:
		op.event.Base = doc.Revision
	}
	return err
}

// checkOf returns the event that requires a document's revision, or of a collection the last gate.
func checkOf(key fanfold.Key, rev fanfold.Revision) *fanfold.Event {
	return &fanfold.Event{Kind: fanfold.KindCheck, Key: key, Base: rev}
}

// patches has the operation's event apply to a revision.
func (op *Operation) patches(rev fanfold.Revision) { op.event.Base = rev }

// findTombstone finds what an operation expects whose document must not exist: 0, or the delete of a document that
// existed before. Errors are Exists for a Create and Stale for others.
func (tx *transaction) findTombstone(ctx context.Context, op *Operation) error {
	if doc, _, err := tx.w.ReadModel.Get(op.Key, fanfold.Embedded); err != nil || doc == nil && !op.askLeader {
		op.expect, op.event.Base = exactly(ctx, 0), 0
		return err
	}
	rev, deleted, err := tx.w.last(ctx, op.Key)
	if err == nil && rev != 0 && !deleted {
		err = exists(op.Key, rev)
		if op.Kind != Create {
			err = &fanfold.Error{Code: fanfold.Stale, Current: rev, Message: "document " + op.Key.String() + " exists"}
		}
	}
	op.expect, op.event.Base = exactly(ctx, rev), rev
	return err
}
