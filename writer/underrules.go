package writer

import (
	"context"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/condition"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/mask"
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
		return w.certainly(ctx, &certain, []*Operation{op}, func(ctx context.Context) (uint64, error) { return w.try(ctx, op, in) })
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
func (w underRules) certainly(ctx context.Context, certain *bool, ops []*Operation, try func(ctx context.Context) (uint64, error)) (uint64, error) {
	provisional := func(is bool) {
		for _, op := range ops {
			if op.ruled != nil {
				op.ruled.Provisional = is
			}
		}
	}
	provisional(!*certain)
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
	provisional(false)
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
		if op.mask != nil {
			r.document, err = w.patch(ctx, op, r.was, budget)
		} else {
			r.document, err = w.tryPatch(ctx, op, r.was, budget)
		}
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
	if op.mask != nil {
		err = w.put(op, r.was)
	} else {
		err = op.choose(doc != nil)
	}
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
	return op.checkContent(op.seen(was), w.Parsing)
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

// A sender who does not see all members of a collection's documents writes them without those: new documents lack them, and others keep them as they are. The
// document that is stored is made once the one before is there. It is stored whole: its sender's patch is of another text.

// prepareMasked checks of a Put or a Create what can be checked before its document is there. The error is stripDocument's, or Forbidden for a strict one
// that has what its sender does not see.
func (ck *checker) prepareMasked(op *Operation) error {
	_, _, dropped, err := ck.stripDocument(op.Content, &op.event.Key)
	if err != nil {
		return err
	}
	if len(dropped) > 0 && op.Strict {
		return ck.ownedError(op.Key.Collection, strictOwns, dropped)
	}
	found := op.mask.Found(op.Content)
	if len(found) > 0 && op.Strict {
		return mask.Refuse("the body names", op.Key.Collection, found[0])
	}
	op.Key, op.Dropped, op.forms = op.event.Key, slices.Concat(dropped, found), nil
	return nil
}

// checkMaskedPatch returns a Forbidden for a patch, which checkPatch has accepted, that names a member which its sender does not see.
func checkMaskedPatch(op *Operation) error {
	if op.mask == nil {
		return nil
	}
	if op.PatchType == fanfold.MergePatch {
		if found := op.mask.Found(op.Content); len(found) > 0 {
			return mask.Refuse("the patch names", op.Key.Collection, found[0])
		}
		return nil
	}
	ops, err := jsondoc.ParseRequest(op.Content)
	if err != nil {
		return err
	}
	for _, o := range ops {
		for _, names := range [][]string{o.Path, o.From} {
			if err := op.mask.Check("the patch", op.Key.Collection, names); err != nil {
				return err
			}
		}
	}
	return nil
}

// put makes the event of a Put or a Create whose sender does not see all members. was is the document as it is written, nil for a new one. The error is
// checkDocument's, or Forbidden where something private would lose its place.
func (w underRules) put(op *Operation, was *fanfold.Document) error {
	text, err := w.restored(op, was)
	if err != nil {
		return err
	}
	fate := creates
	if was != nil || op.Restores {
		fate = replaces
	}
	key := op.Key
	d, err := w.checkDocument(text, &key, false, fate)
	if err == nil {
		err = d.limit(w.checkLength)
	}
	if err != nil {
		return err
	}
	op.event.Body = d.body
	if op.AsWritten {
		op.event.Body = text
	}
	if was != nil && jsondoc.Equal(op.event.Body, was.Body) {
		op.event.Body = was.Body
	}
	return nil
}

// restored returns the document that a Put or a Create makes of was, with what its sender does not see.
func (w underRules) restored(op *Operation, was *fanfold.Document) ([]byte, error) {
	defer w.Parsing(op.Content)()
	source := op.Content
	if !op.AsWritten {
		key := op.Key
		var err error
		if _, source, _, err = w.stripDocument(op.Content, &key); err != nil {
			return nil, err
		}
	}
	shown := op.mask.Cut(source)
	if was == nil {
		return shown, nil
	}
	return op.mask.Restore(shown, was.Body)
}

// patch makes the event of a Patch whose sender does not see all members, and returns the document that it makes. The patch is applied to what the sender sees.
// It returns the errors of applyPatch, Restore and checkPatched.
func (w underRules) patch(ctx context.Context, op *Operation, was *fanfold.Document, budget *jsondoc.Budget) ([]byte, error) {
	defer w.Parsing(was.Body)()
	seen := op.seen(was)
	patched, _, err := applyPatch(ctx, op, seen, w.opt.MaxBody, budget)
	if err != nil {
		return nil, err
	}
	if found := op.mask.Found(patched); len(found) > 0 && op.Strict {
		return nil, mask.Refuse("the patch names", op.Key.Collection, found[0])
	}
	doc, err := op.mask.Restore(op.mask.Cut(patched), was.Body)
	if err != nil {
		return nil, err
	}
	if int64(len(doc)) > w.opt.MaxBody {
		return nil, fanfold.Errorf(fanfold.TooLarge, "the patched document has %d bytes; at most %d are taken", len(doc), w.opt.MaxBody)
	}
	if jsondoc.Equal(doc, was.Body) {
		doc = was.Body
	}
	if err := w.checkPatched(op.Key, was.Body, doc); err != nil {
		return nil, err
	}
	ev := op.event
	ev.Kind, ev.Patch, ev.Body = fanfold.KindPut, "", doc
	return doc, ended(ctx)
}

// seen returns a document as the operation's sender sees it, as it was written.
func (op *Operation) seen(was *fanfold.Document) *fanfold.Document {
	if op.mask == nil {
		return was
	}
	seen := *was
	seen.Body = op.mask.Cut(was.Body)
	return &seen
}
