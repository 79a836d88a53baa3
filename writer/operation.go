package writer

import (
	"slices"

	"github.com/fanfold/fanfold"
)

// OperationKind is what an operation does.
type OperationKind string

// The kinds of operation.
const (
	Create OperationKind = "create" // a document that must not be there
	Put    OperationKind = "put"    // a document, there or not
	Patch  OperationKind = "patch"
	Delete OperationKind = "delete"
	Check  OperationKind = "check" // nothing is written; the conditions must hold
)

// Conditions are what must be so of a document for an operation on it. The zero value is none.
type Conditions struct {
	Revisions []fanfold.Revision // it is at one of these
	Exists    bool               // it is there
	Absent    bool               // it is not there
}

// Any tells whether there is a condition.
func (c Conditions) Any() bool { return len(c.Revisions) > 0 || c.Exists || c.Absent }

// meets tells whether a revision is one of those asked for, where some are.
func (c Conditions) meets(rev fanfold.Revision) bool {
	return len(c.Revisions) == 0 || slices.Contains(c.Revisions, rev)
}

// Operation is one write, or check, of a document as it was asked for. Prepare it before it is passed on.
type Operation struct {
	Kind OperationKind
	Key  fanfold.Key // without an ID for a Create that takes it from the body; Prepare sets it
	Conditions
	Content   []byte            // the document, or the patch
	PatchType fanfold.PatchType // of a Patch
	Refresh   []string          // frozen fields that the write takes anew
	Strict    bool              // members that the store owns are refused rather than dropped

	// Dropped tells, after Prepare, whether members of the body that the store owns were dropped.
	Dropped bool

	event     *fanfold.Event
	expect    fanfold.Expect // of a transaction's operation: the revision it goes by
	patched   []byte         // of a Patch in a transaction: the document it makes
	askLeader bool           // this node was found to be behind
}

// goesByCurrent tells whether the operation goes by the current revision, whatever it is, so that it is
// tried again where that has moved on.
func (op *Operation) goesByCurrent() bool {
	return len(op.Revisions) == 0 && (op.Kind != Put || op.Any())
}

// writesDocument tells whether the operation leaves a document that it gives.
func (op *Operation) writesDocument() bool { return op.Kind != Delete && op.Kind != Check }

// Prepare checks an operation for what no document makes right, and makes its event. Errors are Invalid,
// Unprocessable and TooLarge. The content must be JSON that nobody changes afterwards, checked or not.
func (w *Writer) Prepare(op *Operation) (err error) {
	op.event = &fanfold.Event{Key: op.Key, Refresh: op.Refresh}
	if err := w.checkRefresh(op); err != nil {
		return err
	}
	if int64(len(op.Content)) > w.opt.MaxBody {
		return fanfold.Errorf(fanfold.TooLarge, "it has %d bytes; at most %d are taken", len(op.Content), w.opt.MaxBody)
	}
	switch op.Kind {
	case Create, Put:
		op.event.Kind = fanfold.KindPut
		op.Absent = op.Absent || op.Kind == Create
		if op.event.Body, op.Dropped, err = w.takenDocument(op.Content, &op.event.Key, op.Strict); err != nil {
			return err
		}
		op.Key = op.event.Key
	case Patch:
		op.event.Kind, op.event.Body, op.event.Patch = fanfold.KindPatch, op.Content, op.PatchType
		if err := w.checkJSON(op.Content); err != nil {
			return err
		}
		return w.checkPatch(op.event)
	case Delete:
		op.event.Kind = fanfold.KindDelete
	case Check:
		op.event.Kind = fanfold.KindCheck
	}
	return nil
}

// checkRefresh refuses paths to be refreshed that are not those of frozen fields.
func (w *Writer) checkRefresh(op *Operation) error {
	m, _, _ := w.Models.Model()
	c := m.Collection(op.Key.Collection)
	for _, path := range op.Refresh {
		if c == nil || !slices.ContainsFunc(c.Rules, func(r *fanfold.Rule) bool { return r.Frozen && r.Path.String() == path }) {
			return fanfold.Errorf(fanfold.Unprocessable, "refresh: %q is no frozen field of %s", path, op.Key.Collection)
		}
	}
	return nil
}
