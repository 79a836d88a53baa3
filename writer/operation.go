package writer

import (
	"context"
	"math"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/condition"
	"github.com/fanfold/fanfold/internal/mask"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer/internal/ruling"
)

// OperationKind names what an operation does.
type OperationKind string

// The kinds of operation.
const (
	Create OperationKind = "create" // writes a document that must not exist
	Put    OperationKind = "put"    // writes a document, whether it exists or not
	Patch  OperationKind = "patch"  // changes a document
	Delete OperationKind = "delete" // deletes a document
	Check  OperationKind = "check"  // writes nothing; its conditions must hold

	called OperationKind = "call" // the event of a function that was called
)

// Conditions say what must hold of a document for an operation on it. The zero value is no condition.
type Conditions struct {
	Revisions []fanfold.Revision // the document is at one of these
	Exists    bool               // the document exists
	Absent    bool               // the document does not exist
	Not       []fanfold.Revision // the document is at none of these; not of an operation of a transaction
	// If must be true of the document, which exists; nil for none. It does not go with Absent and Not.
	If *condition.Condition
}

// NoRevision is a revision that no document and no model ever has. It stands for an entity tag that this store did not make.
const NoRevision fanfold.Revision = math.MaxUint64

// stale returns the Stale of a document that is at rev, which is none of the conditions' revisions.
func (c Conditions) stale(key fanfold.Key, rev fanfold.Revision) error {
	err := staleAt(key, rev)
	if slices.Min(c.Revisions) == NoRevision {
		err.Message += ", and no ETag of the condition is this store's: that of a restored store is whole, with the id of the store"
	}
	return err
}

// Any tells whether at least one condition is set.
func (c Conditions) Any() bool {
	return len(c.Revisions) > 0 || c.Exists || c.Absent || len(c.Not) > 0 || c.If != nil
}

// meets tells whether rev is one of the revisions asked for. It is where none are.
func (c Conditions) meets(rev fanfold.Revision) bool {
	return len(c.Revisions) == 0 || slices.Contains(c.Revisions, rev)
}

// checkContent returns nil where the condition over a document's content is true of it, or there is none. Errors are the condition's.
func (c Conditions) checkContent(doc *fanfold.Document, parsing func(body []byte) (done func())) error {
	if c.If == nil {
		return nil
	}
	defer parsing(doc.Body)()
	return c.If.Holds(doc)
}

// Operation holds one write or check of a document as it was asked for. Writer.Prepare must be called with it before it
// is passed to Write or Transact.
type Operation struct {
	Kind OperationKind
	Key  fanfold.Key // without an ID for a Create that takes it from the body; Prepare sets it
	Conditions
	Content   []byte            // the document, or the patch
	PatchType fanfold.PatchType // of a Patch
	Refresh   []string          // paths of frozen fields whose values are taken from their targets again
	Strict    bool              // members that the store owns are refused rather than dropped
	AsWritten bool              // of a Put: the content is what is stored, less some of it, so that members stay that a rule has taken over
	Restores  bool              // of a Put: the content is a version of before, which has no defaults where it had none
	IDOf      *Operation        // in a transaction, an operation before, the id of whose document this one has; nil for none

	// Dropped is set by Prepare to the JSON pointers of the body's members that it dropped, because the store owns them.
	Dropped []string

	event     *fanfold.Event
	forms     *checked       // of a Put of a document that may or may not exist, where that decides what is stored; nil for none
	expect    fanfold.Expect // in a transaction, the revision that the operation is made on
	patched   []byte         // of a Patch in a transaction, the document that it makes
	askLeader bool           // this node lags: whether the document exists is asked of the leader
	ruled     *ruled         // what decides about it where rules do; nil where they do not
	mask      *mask.Mask     // hides members of the document that the sender does not see; nil for none
	fires     bool           // its collection has a trigger, which comes before the schema is asked
	planned   bool           // a session has made it: it is stored as it is on expect, or not at all
}

// goesByCurrent tells whether the operation is made on the current revision, whichever that is. It is tried again where
// another write was faster.
func (op *Operation) goesByCurrent() bool {
	if op.planned {
		return false
	}
	return op.ruled != nil || len(op.Revisions) == 0 && (op.Kind != Put || op.Any() || op.forms != nil)
}

// fate returns what is known of the fate of the document that a Create or a Put writes.
func (op *Operation) fate() fate {
	switch {
	case op.Restores:
		return replaces
	case op.Absent:
		return creates
	case len(op.Revisions) > 0 || op.Exists || op.If != nil:
		return replaces
	}
	return either
}

// setForms sets what the operation's event has of a document that was checked.
func (op *Operation) setForms(d checked) {
	op.event.Body, op.Dropped, op.forms = d.body, d.dropped, nil
	if d.created != nil {
		op.forms = &d
	}
}

// writesDocument tells whether the operation leaves a document whose content it determines.
func (op *Operation) writesDocument() bool {
	return op.Kind != Delete && op.Kind != Check && op.Kind != called
}

// Judge returns a Forbidden where a principal with these rights may not make the operation, whichever document it is about. It looks at its kind and its
// collection alone.
func (op *Operation) Judge(by *access.Rights) error {
	if len(op.Refresh) > 0 {
		return op.judgeAll(by)
	}
	return by.CheckSome(op.Key.Collection, op.acts()...)
}

// judgeAll returns a Forbidden where a principal with these rights may not make such operations of every document of the collection, and read it.
func (op *Operation) judgeAll(by *access.Rights) error {
	for _, act := range append(op.acts(), model.ActRead) {
		if err := by.CheckAll(act, op.Key.Collection); err != nil {
			return err
		}
	}
	return nil
}

// prepareAll does what Prepare does, for an operation on documents of a collection that nobody looks at one by one. It needs the right to all of them.
func prepareAll(ctx context.Context, w *Writer, op *Operation, by *access.Rights) error {
	if err := op.judgeAll(by); err != nil {
		return err
	}
	return w.Prepare(ctx, op, by)
}

// findRule finds out whether rules decide about an operation that somebody asks for, and Judge has let pass. It returns the errors of prepare where what its sender
// sees has to do with that: the rights may be others than when it was prepared.
func (op *Operation) findRule(ck *checker, by *access.Rights) error {
	op.ruled = nil
	if r := ruling.Of(by, op.Key, op.Kind == Check); r != nil {
		op.ruled = &ruled{Ruling: r}
	}
	masked := op.mask != nil
	m, _, _ := ck.models.Model()
	if op.findMask(by); masked || op.mask != nil || op.fires != firesTriggers(m, op) {
		return ck.prepare(op)
	}
	return nil
}

// findMask finds out which members of the operation's document its sender does not see.
func (op *Operation) findMask(by *access.Rights) {
	read := by.ToRead(op.Key.Collection)
	op.mask = read.Mask()
}

// acts lists the actions that the operation may turn out to be.
func (op *Operation) acts() []string {
	switch op.Kind {
	case Check:
		return []string{model.ActRead}
	case Create:
		return []string{model.ActCreate}
	case Patch:
		return []string{model.ActUpdate}
	case Delete:
		return []string{model.ActDelete}
	}
	switch op.fate() {
	case creates:
		return []string{model.ActCreate}
	case replaces:
		return []string{model.ActUpdate}
	}
	return []string{model.ActUpdate, model.ActCreate}
}

// Prepare makes the event of an operation that somebody asks for, and checks everything about it that does not depend on the
// document as it is stored. Content may be any bytes; they must not change afterwards. It is looked at only where the rights suffice.
// After the start it blocks until this node knows the model, for Options.Timeout at most.
// Errors are Forbidden, Invalid, Unprocessable, TooLarge, UnknownCollection and Unavailable.
func (w *Writer) Prepare(ctx context.Context, op *Operation, by *access.Rights) error {
	if err := op.Judge(by); err != nil {
		return err
	}
	if err := w.awaitModel(ctx); err != nil {
		return err
	}
	op.findMask(by)
	return w.prepare(op)
}

// prepare makes and checks the event of an operation as Prepare does, whoever asks for it.
func (ck *checker) prepare(op *Operation) (err error) {
	m, _, _ := ck.models.Model()
	op.event, op.fires = &fanfold.Event{Key: op.Key, Refresh: op.Refresh}, firesTriggers(m, op)
	if op.Kind != Check {
		if err := ck.takes(op.Key.Collection); err != nil {
			return err
		}
	}
	if err := ck.checkRefresh(op); err != nil {
		return err
	}
	if op.If != nil {
		if err := op.If.CheckPaths(ck.derivedShape(op.Key.Collection)); err != nil {
			return err
		}
	}
	if int64(len(op.Content)) > ck.maxBody {
		return fanfold.Errorf(fanfold.TooLarge, "it has %d bytes; at most %d are taken", len(op.Content), ck.maxBody)
	}
	if op.If != nil {
		if path := op.If.Names(op.mask.Hides); path != "" {
			return mask.Refuse("if names", op.Key.Collection, path)
		}
	}
	switch op.Kind {
	case Create, Put:
		op.event.Kind = fanfold.KindPut
		op.Absent = op.Absent || op.Kind == Create
		return prepareDocument(ck, op)
	case Patch:
		op.event.Kind, op.event.Body, op.event.Patch = fanfold.KindPatch, op.Content, op.PatchType
		if err := ck.checkJSON(op.Content); err != nil {
			return err
		}
		if err := ck.checkPatch(op.event); err != nil {
			return err
		}
		return checkMaskedPatch(op)
	case Delete:
		op.event.Kind = fanfold.KindDelete
	case Check:
		op.event.Kind = fanfold.KindCheck
	}
	return nil
}

// prepareDocument does what prepare does, for a Put or a Create.
func prepareDocument(ck *checker, op *Operation) error {
	if op.fires {
		return prepareFired(ck, op)
	}
	if op.mask != nil {
		return ck.prepareMasked(op)
	}
	d, err := ck.checkDocument(op.Content, &op.event.Key, op.Strict, op.fate())
	if err == nil {
		err = d.limit(ck.checkLength)
	}
	if err != nil {
		return err
	}
	op.setForms(d)
	if op.Key = op.event.Key; op.AsWritten {
		op.event.Body, op.Dropped = op.Content, nil
	}
	return nil
}

// prepareFired checks of a document what its trigger does not change: what belongs to the store, and its id.
func prepareFired(ck *checker, op *Operation) error {
	_, _, dropped, err := ck.stripDocument(op.Content, &op.event.Key)
	if err == nil && len(dropped) > 0 && op.Strict {
		err = ck.ownedError(op.Key.Collection, strictOwns, dropped)
	}
	op.Key, op.Dropped, op.forms = op.event.Key, dropped, nil
	return err
}

// checkRefresh returns an Unprocessable if a path to be refreshed does not belong to a frozen field.
func (ck *checker) checkRefresh(op *Operation) error {
	m, _, _ := ck.models.Model()
	c := m.Collection(op.Key.Collection)
	for _, path := range op.Refresh {
		if c == nil || !slices.ContainsFunc(c.Rules, func(r *model.Rule) bool { return r.Frozen && r.Path.String() == path }) {
			return fanfold.Errorf(fanfold.Unprocessable, "refresh: %q is no frozen field of %s", path, op.Key.Collection)
		}
	}
	return nil
}
