package writer

import (
	"context"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Intent says how writes are meant. The zero value makes them within the model's fan-out limit.
type Intent struct {
	DryRun      bool // the writes are computed and not stored
	Examples    int  // how many of the derived changes a dry run shows, of collections that By may read
	AllowFanout bool // the writes may cause more derived changes than the model's fan-out limit
	// By are the rights of who asks for the writes. The events carry that principal's name, and an Idempotency-Key is its alone.
	// nil may do nothing.
	By *access.Rights

	verdicts *verdicts // asked once the documents have their numbers; nil for nobody
	planned  bool      // the writes are as a session has planned them, with their numbers
	lenient  bool      // the writes end what a delete that is stored has begun, so that no check refuses them
}

// Sender is who asks for a write, with what that one may do.
type Sender = access.Rights

// actorOf names who has rights, as events do; "" for nobody in particular.
func actorOf(by *access.Rights) string {
	if by == nil {
		return ""
	}
	return by.Actor()
}

// Request holds what a request says about its operations as a whole.
type Request struct {
	Key fanfold.IdempotencyKey // under which the request happens once; the zero value is none
	Intent
}

// Result says what came of a request.
type Result struct {
	First     uint64     // sequence of the first operation's event; the others' follow it
	DryRun    *DryRun    // of a dry run, which stores nothing
	Unchanged *Unchanged // of a write that would change nothing, and so stores nothing
}

// DryRun reports what writes would store and cause.
type DryRun struct {
	Writes []fanfold.Write
	Fanout *model.Fanout
}

// Nothing returns the report of a dry run on the same prefix, in which nothing would be stored.
func (d *DryRun) Nothing() *DryRun {
	none := model.NewFanout()
	none.Position = d.Fanout.Position
	return &DryRun{Fanout: none}
}

// Write makes one prepared operation, which must not be a Check. It blocks until the log has decided. It returns the errors of
// Appender, NotFound, Unprocessable, FanoutLimit, KeyReused for a request with a key, and Stale if another condition does not
// hold. A document that should not exist is Exists. Conflict says that a patch does not fit or that another document has a unique
// value. Restricted says that other documents forbid the delete. Forbidden comes before a request of earlier with the same key is
// looked for.
func (w *Writer) Write(ctx context.Context, op *Operation, req Request) (Result, error) {
	if err := op.Judge(req.By); err != nil {
		return Result{}, err
	}
	if err := op.findRule(&w.checker, req.By); err != nil {
		return Result{}, err
	}
	req.Key = keyOf(actorOf(req.By), req.Key)
	op.event.IdempotencyKey = req.Key
	return w.run(ctx, req, string(op.Kind), func(ctx context.Context) (uint64, error) {
		if op.fires {
			first, err := newPlanning(w, req.Intent, 0).writeFired(ctx, []*Operation{op}, req)
			return first, withoutOperation(err)
		}
		return w.write(ctx, op, req.Intent)
	})
}

// run calls try once under the request's key, and counts what came of it by the operation's name. The end of a dry run,
// which try reports as an error, becomes its result.
func (w *Writer) run(ctx context.Context, req Request, name string, try func(ctx context.Context) (first uint64, err error)) (Result, error) {
	first, err := w.idempotency.once(ctx, req.Key, req.DryRun, try)
	same, err := unchanged(err)
	dry, err := w.dryRun(ctx, err)
	if dry == nil && same == nil {
		w.counts.add(name, err)
	}
	return Result{First: first, DryRun: dry, Unchanged: same}, err
}

// write appends the event of one operation in the way that its kind and its conditions ask for.
func (w *Writer) write(ctx context.Context, op *Operation, in Intent) (uint64, error) {
	switch {
	case op.Kind == Delete && w.affectsHolders([]*Operation{op}):
		first, err := w.commit(ctx, []*Operation{op}, in)
		return first, withoutOperation(err)
	case op.ruled != nil:
		return underRules{w}.write(ctx, op, in)
	case op.Absent:
		return w.appendNew(ctx, op.event, in)
	case len(op.Not) > 0:
		return w.appendUnless(ctx, op, in)
	case op.forms != nil:
		return changes{w}.appendEither(ctx, op, in)
	case !op.Any() && op.Kind == Put: // nothing can be faster
		return changes{w}.append(ctx, op, op.event.Body, fanfold.Expect{}, in)
	}
	return w.appendOnCurrent(ctx, op, in)
}

// appendNew appends an event that must create its document: on revision 0, or on the delete of a document that existed
// before. The error is Exists where the document exists.
func (w *Writer) appendNew(ctx context.Context, ev *fanfold.Event, in Intent) (uint64, error) {
	return w.decide(ctx, plan{await: atOnce, try: func(ctx context.Context, lost bool) (uint64, error) {
		expect := exactly(ctx, 0)
		doc, _, err := w.ReadModel.Get(ev.Key, fanfold.Embedded)
		if err != nil {
			return 0, err
		}
		if lost || doc != nil {
			rev, deleted, err := w.last(ctx, ev.Key)
			switch {
			case err != nil:
				return 0, err
			case !deleted && (rev != 0 || doc != nil):
				return 0, exists(ev.Key, rev)
			}
			expect = exactly(ctx, rev)
		}
		seq, err := w.append(ctx, ev, expect, in)
		return seq, again(err)
	}})
}

// appendUnless appends the event of a Put whose document must not be at one of op.Not, on whichever revision it is at, or
// where there is none. Errors are Stale and Unavailable.
func (w *Writer) appendUnless(ctx context.Context, op *Operation, in Intent) (uint64, error) {
	return w.decide(ctx, plan{try: func(ctx context.Context, _ bool) (uint64, error) {
		rev, deleted, err := w.last(ctx, op.Key)
		if err != nil {
			return 0, err
		}
		if !deleted && slices.Contains(op.Not, rev) {
			return 0, staleAt(op.Key, rev)
		}
		if err := op.choose(rev != 0 && !deleted); err != nil {
			return 0, err
		}
		if err := w.wait(ctx, uint64(rev), w.opt.Timeout); err != nil {
			return 0, fanfold.Wrap(err, fanfold.Unavailable, "this node does not show revision %d yet: try again%s", rev, reasonOf(err))
		}
		seq, err := changes{w}.append(ctx, op, op.event.Body, exactly(ctx, rev), in)
		return seq, again(err)
	}})
}

// appendOnCurrent appends the event of an operation on its document's current revision, which must meet the conditions. If no
// revisions are asked for, it holds the document's key lock, so that only a writer on another node can be faster. It returns the
// errors of current, tryPatch, append and decide.
func (w *Writer) appendOnCurrent(ctx context.Context, op *Operation, in Intent) (stored uint64, err error) {
	if op.goesByCurrent() {
		unlock, err := changes{w}.lock(ctx, op.Key)
		if err != nil {
			return 0, err
		}
		defer func() { unlock(stored) }()
	}
	return w.decide(ctx, plan{try: func(ctx context.Context, _ bool) (seq uint64, err error) {
		doc, err := w.current(ctx, op.Key, op.Conditions)
		if err != nil {
			return 0, err
		}
		document := op.event.Body
		if op.Kind == Patch {
			document, err = w.tryPatch(ctx, op, doc, &jsondoc.Budget{Left: patchWork})
		}
		if err == nil {
			seq, err = changes{w}.appendOn(ctx, op, doc, document, in)
		}
		if op.goesByCurrent() {
			err = again(err)
		}
		return seq, err
	}})
}

// current returns the document that a write is to replace, once this node shows it. The leader is asked only where the
// read model, which may lag, does not meet the conditions. Errors are ConditionFailed, Stale, NotFound and Unavailable. If the document
// changes meanwhile, the error is a Stale, of type again where no revisions are asked for.
func (w *Writer) current(ctx context.Context, key fanfold.Key, cond Conditions) (*fanfold.Document, error) {
	doc, _, err := w.ReadModel.Get(key, fanfold.Referenced)
	if err != nil || doc != nil && cond.meets(doc.Revision) && cond.checkContent(doc, w.Parsing) == nil {
		return doc, err
	}
	rev, deleted, err := w.last(ctx, key)
	switch {
	case err != nil:
		return nil, err
	case (rev == 0 || deleted) && cond.Any():
		return nil, cond.missing(key)
	case rev == 0 || deleted:
		return nil, Missing(key)
	case !cond.meets(rev):
		return nil, cond.stale(key, rev)
	}
	if err := w.wait(ctx, uint64(rev), w.opt.Timeout); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "this node does not show revision %d yet: try again%s", rev, reasonOf(err))
	}
	doc, _, err = w.ReadModel.Get(key, fanfold.Referenced)
	if err != nil {
		return nil, err
	}
	if revisionOf(doc) != rev {
		err = &fanfold.Error{Code: fanfold.Stale, Message: "the document changed meanwhile", Current: max(rev, revisionOf(doc))}
		if len(cond.Revisions) == 0 {
			err = again(err)
		}
		return nil, err
	}
	return doc, cond.checkContent(doc, w.Parsing)
}

// revisionOf returns the revision of a document, 0 for nil.
func revisionOf(doc *fanfold.Document) fanfold.Revision {
	if doc == nil {
		return 0
	}
	return doc.Revision
}
