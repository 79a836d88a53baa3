package writer

import (
	"errors"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// checkPatch checks everything about a patch that does not depend on the document. Errors are Invalid for a malformed
// patch, and Unprocessable for one that changes derived members.
func (w *Writer) checkPatch(ev *fanfold.Event) error {
	shape := w.derivedShape(ev.Key.Collection)
	if ev.Patch == fanfold.MergePatch {
		t := jsondoc.MustParse(ev.Body)
		if t.Kind(jsondoc.Root) != jsondoc.Object {
			return fanfold.Errorf(fanfold.Invalid, "a merge patch of a document is a JSON object")
		}
		if _, derived := shape.Strip(t); len(derived) > 0 {
			return derivedError(derived)
		}
		return nil
	}
	ops, err := jsondoc.ParsePatch(ev.Body)
	if err != nil {
		return fanfold.Errorf(fanfold.Invalid, "the JSON Patch cannot be read: %v", err)
	}
	var derived []string
	for _, op := range ops {
		if op.Op != "test" && shape.OwnsPointer(op.Path) || op.Op == "move" && shape.OwnsPointer(op.From) {
			derived = append(derived, "/"+strings.Join(op.Path, "/"))
		}
	}
	if len(derived) > 0 {
		return derivedError(derived)
	}
	return nil
}

// derivedError returns the Unprocessable of a patch that changes the derived members at the JSON pointers.
func derivedError(pointers []string) error {
	e := fanfold.Errorf(fanfold.Unprocessable, "the patch changes members that the store derives")
	for _, p := range pointers {
		e.Problems = append(e.Problems, fanfold.Problem{Path: p, Detail: "is derived"})
	}
	return e
}

// tryPatch applies a patch to the revision rev of its document, checks what it makes, and returns that. It sets the event's
// Base. Errors are Stale where this node shows another revision; Conflict where the patch does not fit; TooLarge; and
// those of checkPatched.
func (w *Writer) tryPatch(ev *fanfold.Event, rev fanfold.Revision) (patched []byte, err error) {
	doc, _, err := w.ReadModel.Get(ev.Key, fanfold.Referenced)
	if err != nil {
		return nil, err
	}
	if doc == nil || doc.Revision != rev {
		return nil, &fanfold.Error{Code: fanfold.Stale, Message: "the document changed meanwhile", Current: max(rev, revisionOf(doc))}
	}
	ev.Base = rev
	defer w.Parsing(doc.Body)()
	patched, err = ev.Patched(doc.Body)
	var pe *jsondoc.PatchError
	if errors.As(err, &pe) && pe.Large {
		return nil, fanfold.Errorf(fanfold.TooLarge, "the patch cannot be applied: %v", err)
	}
	if err != nil {
		return nil, fanfold.Errorf(fanfold.Conflict, "the patch does not fit the document as it is: %v", err)
	}
	if int64(len(patched)) > w.opt.MaxBody {
		return nil, fanfold.Errorf(fanfold.TooLarge, "the patched document has %d bytes; at most %d are taken", len(patched), w.opt.MaxBody)
	}
	return patched, w.checkPatched(ev.Key, doc.Body, patched)
}

// checkPatched checks the document that a patch makes of before. It may have members that the store owns only if before
// had them, hidden by a rule that took them over. The error is Unprocessable.
func (w *Writer) checkPatched(key fanfold.Key, before, patched []byte) error {
	t, _, owned, err := w.stripDocument(patched, &key)
	var e *fanfold.Error
	if errors.As(err, &e) {
		return fanfold.Errorf(fanfold.Unprocessable, "the patched document is not one that is taken: %s", e.Message)
	}
	if err != nil {
		return err
	}
	for _, name := range []string{"_meta", "_expanded"} {
		if t.Member(jsondoc.Root, name) != jsondoc.None {
			return fanfold.Errorf(fanfold.Unprocessable, "the patch adds %q, which is the store's own", name)
		}
	}
	if t.Member(jsondoc.Root, "id") == jsondoc.None {
		return fanfold.Errorf(fanfold.Unprocessable, "the patch removes the document's id")
	}
	old, _, oldOwned, err := w.stripDocument(before, &key)
	if err != nil {
		return err
	}
	added := slices.DeleteFunc(owned, func(p string) bool { return slices.Contains(oldOwned, p) })
	if len(added) > 0 {
		return derivedError(added)
	}
	if err := w.checkLength(patched); err != nil {
		return err
	}
	if err := w.checkSchema(key.Collection, patched); err != nil {
		return err
	}
	c, _ := w.shape(key.Collection)
	if err := CheckRelations(c, t); err != nil && CheckRelations(c, old) == nil { // too many ids that were there already may stay
		return err
	}
	return nil
}
