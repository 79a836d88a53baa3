package writer

import (
	"context"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/condition"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer/internal/gate"
	"github.com/fanfold/fanfold/writer/internal/ruling"
)

// Rehearser shows what writes do before they are stored.
type Rehearser interface {
	gate.Rehearser
	// Foresee folds events as if they were the log's next ones, and keeps nothing. view returns the embedded view that they leave of a document
	// which one of them writes, nil for none. If there is one event, derived changes of other documents are left out. It returns the event up to which this node had
	// folded. Errors are ctx's, NotFound and Conflict where events do not fit the documents as they are, and an Unprocessable.
	Foresee(ctx context.Context, events []*fanfold.Event) (view func(key fanfold.Key) []byte, folded uint64, err error)
}

// ruled is what decides about an operation where rules do, with what the last try has found about its document.
type ruled struct {
	*ruling.Ruling
	was      *fanfold.Document // as it was written; nil where there is none that may be read
	old      []byte            // its embedded view
	document []byte            // what the operation makes of it, as it is written; nil of a delete
}

// underRules makes operations about which rules decide, document by document.
type underRules struct{ *Writer }

// write appends the event of one operation on the revision on which it was judged, and judges it again where another write was faster. It returns the
// errors of look, verdicts.judge, append and decide.
func (w underRules) write(ctx context.Context, op *Operation, in Intent) (stored uint64, err error) {
	unlock, err := changes(w).lock(ctx, op.Key)
	if err != nil {
		return 0, err
	}
	defer func() { unlock(stored) }()
	certain := false
	return w.decide(ctx, plan{try: func(ctx context.Context, _ bool) (uint64, error) {
		return w.certainly(ctx, &certain, func(ctx context.Context) (uint64, error) { return w.try(ctx, op, in) })
	}})
}

// try judges an operation and appends its event.
func (w underRules) try(ctx context.Context, op *Operation, in Intent) (seq uint64, err error) {
	if err := w.look(ctx, op, &jsondoc.Budget{Left: patchWork}); err != nil {
		return 0, err
	}
	v := w.verdictsOf([]*Operation{op})
	if v.numbered {
		in.verdicts = v
	} else if err := v.judge(ctx, []fanfold.Write{{Event: op.event, Expect: op.expect}}); err != nil {
		return 0, withoutOperation(err)
	}
	if op.writesDocument() && op.ruled.was != nil {
		seq, err = changes(w).appendOn(ctx, op, op.ruled.was, op.ruled.document, in)
	} else {
		seq, err = w.append(ctx, op.event, op.expect, in)
	}
	return seq, again(err)
}

// certainly calls try and, where that refuses, once more after this node has caught up: one that lags must not refuse what is right.
func (w underRules) certainly(ctx context.Context, certain *bool, try func(ctx context.Context) (uint64, error)) (uint64, error) {
	first, err := try(ctx)
	if *certain || err == nil || lostTo(err) != nil {
		return first, err
	}
	switch fanfold.CodeOf(err) {
	case fanfold.Forbidden, fanfold.NotFound, fanfold.Stale, fanfold.ConditionFailed, fanfold.Exists, fanfold.Conflict, fanfold.Unprocessable:
	default:
		return first, err
	}
	if err := w.catchUp(ctx); err != nil {
		return 0, err
	}
	*certain = true
	return try(w.observe(ctx))
}

// look finds the document of an operation as this node shows it, the revision on which the operation is made, and what it makes of the document. A
// document that the sender may not read is as one that is not there. It returns NotFound, Stale, ConditionFailed, Exists, Forbidden, and tryPatch's errors.
func (w underRules) look(ctx context.Context, op *Operation, budget *jsondoc.Budget) error {
	r := op.ruled
	doc, rev, err := w.shown(op)
	if err != nil {
		return err
	}
	op.expect = exactly(ctx, rev)
	if err := w.meet(op, doc); err != nil {
		return err
	}
	switch {
	case op.Kind == Check:
		return nil
	case op.Kind == Delete:
		return r.Asks(model.ActDelete)
	case op.Kind == Patch:
		if err := r.Asks(model.ActUpdate); err != nil {
			return err
		}
		r.document, err = w.tryPatch(ctx, op, r.was, budget)
		op.patched = r.document
		return err
	case doc != nil && r.was == nil:
		return r.Taken()
	}
	act := model.ActCreate
	if doc != nil {
		act = model.ActUpdate
	}
	if err := r.Asks(act); err != nil {
		return err
	}
	err = op.choose(doc != nil)
	r.document = op.event.Body
	return err
}

// shown finds the document of an operation as this node shows it, nil for none, and the revision of its last write or delete. It notes what of it the
// sender may see.
func (w underRules) shown(op *Operation) (doc *fanfold.Document, rev fanfold.Revision, err error) {
	op.ruled.was, op.ruled.old, op.ruled.document = nil, nil, nil
	err = w.ReadModel.Read(func(snap Snapshot) (err error) {
		if doc, err = snap.Get(op.Key, fanfold.Referenced); err != nil {
			return err
		}
		if doc == nil {
			rev, _, err = lastIn(snap, op.Key)
			return err
		}
		view, err := snap.Get(op.Key, fanfold.Embedded)
		if rev = doc.Revision; err == nil {
			op.ruled.old = view.Body
		}
		return err
	})
	if doc == nil || err != nil {
		return nil, rev, err
	}
	defer w.Parsing(op.ruled.old)()
	if op.ruled.Sees(op.ruled.old) {
		op.ruled.was = doc
	}
	return doc, rev, nil
}

// meet returns nil where the document of an operation, nil for none, meets its conditions. Errors are NotFound, Stale, ConditionFailed and Exists.
func (w underRules) meet(op *Operation, doc *fanfold.Document) error {
	was := op.ruled.was
	switch {
	case op.Absent && (was != nil || doc != nil && op.Kind != Check):
		err := exists(op.Key, revisionOf(was))
		if op.Kind != Create {
			err = &fanfold.Error{Code: fanfold.Stale, Message: "document " + op.Key.String() + " exists", Current: revisionOf(was)}
		}
		return err
	case was == nil && !op.Absent && (op.Kind != Put || len(op.Revisions) > 0 || op.Exists || op.If != nil):
		return op.missing(op.Key)
	case was == nil:
		return nil
	}
	var err error
	if slices.Contains(op.Not, was.Revision) {
		err = staleAt(op.Key, was.Revision)
	} else if !op.meets(was.Revision) {
		err = op.stale(op.Key, was.Revision)
	}
	if stale := staleError(err); stale != nil {
		stale.About = nil // the request names the document
		return stale
	}
	return op.checkContent(was, w.Parsing)
}

// missing returns the error of an operation with these conditions, which need a document, where there is none. It tells of no other document than the
// request's.
func (c Conditions) missing(key fanfold.Key) error {
	switch {
	case c.If != nil:
		return condition.Missing(key)
	case c.Any():
		return fanfold.Errorf(fanfold.Stale, "there is no document %s", key)
	}
	return fanfold.Errorf(fanfold.NotFound, "there is no document %s", key)
}

// verdicts are what rules say of the operations of one try.
type verdicts struct {
	w        underRules
	ops      []*Operation
	numbered bool // a rule looks at numbers that documents get right before they are stored, so that it is asked then
}

// verdictsOf returns the verdicts about operations, which look has looked at. It is nil where no rule decides.
func (w underRules) verdictsOf(ops []*Operation) *verdicts {
	var v *verdicts
	m, _, _ := w.Models.Model()
	for _, op := range ops {
		if op.ruled == nil {
			continue
		}
		if v == nil {
			v = &verdicts{w: w, ops: ops}
		}
		if op.Kind == Put || op.Kind == Create {
			_, numbers := op.ruled.Looks(m.Collection(op.Key.Collection), op.ruled.document)
			v.numbered = v.numbered || numbers
		}
	}
	return v
}

// judge returns a Forbidden where a rule does not let one of the operations happen. Their writes come first. Each rule sees its document as it is after all
// writes. The Operation of an error is the index of the write at fault. Another error is the one of Foresee, of type again where a document
// changed meanwhile.
func (v *verdicts) judge(ctx context.Context, writes []fanfold.Write) (err error) {
	m, _, _ := v.w.Models.Model()
	var view func(fanfold.Key) []byte
	for i, op := range v.ops {
		if op.ruled == nil || op.Kind == Check {
			continue
		}
		doc := op.ruled.document
		if op.Kind == Put || op.Kind == Create {
			doc = writes[i].Event.Body // with its numbers
		}
		if derived, _ := op.ruled.Looks(m.Collection(op.Key.Collection), doc); derived {
			if view == nil {
				if view, err = v.w.foresee(ctx, writes); err != nil {
					return err
				}
			}
			doc = view(op.Key)
		}
		if err := v.w.judge(op.ruled, doc); err != nil {
			return fanfold.AtOperation(err, i)
		}
	}
	return nil
}

// judge asks the rule about one document, as it is to be.
func (w underRules) judge(r *ruled, doc []byte) error {
	larger := doc
	if len(r.old) > len(doc) {
		larger = r.old
	}
	defer w.Parsing(larger)()
	return r.Judge(r.old, doc)
}

// foresee returns the embedded views of documents as writes would make them.
func (w underRules) foresee(ctx context.Context, writes []fanfold.Write) (func(fanfold.Key) []byte, error) {
	var events []*fanfold.Event
	for _, write := range writes {
		if isAboutDocument(write.Event) {
			events = append(events, write.Event)
		}
	}
	view, folded, err := w.Rehearser.Foresee(ctx, events)
	switch code := fanfold.CodeOf(err); {
	case code == fanfold.NotFound || code == fanfold.Conflict: // a document changed since its revision was read
		return nil, lostTry{&fanfold.Error{Code: fanfold.Stale, Current: fanfold.Revision(folded), Message: "a document changed meanwhile"}}
	case err != nil && ctx.Err() != nil:
		return nil, ended(ctx)
	}
	return view, err
}
