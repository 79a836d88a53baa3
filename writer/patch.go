package writer

import (
	"errors"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// checkPatch refuses what no document makes right: a malformed patch, or one on derived fields.
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

func derivedError(pointers []string) error {
	e := fanfold.Errorf(fanfold.Unprocessable, "the patch changes members that the store derives")
	for _, p := range pointers {
		e.Problems = append(e.Problems, fanfold.Problem{Path: p, Detail: "is derived"})
	}
	return e
}

// tryPatch checks that the patch can be applied to the revision and gives a document we take,
// which it returns.
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

// checkPatched checks the document that a patch makes. Members of the store's own may only be
// there if they were there before: hidden by a rule that took them over.
func (w *Writer) checkPatched(key fanfold.Key, before, patched []byte) error {
	t, _, dropped, err := w.document(patched, &key)
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
	was, _, had, err := w.document(before, &key)
	if err != nil {
		return err
	}
	dropped = slices.DeleteFunc(dropped, func(p string) bool { return slices.Contains(had, p) })
	if len(dropped) > 0 {
		return derivedError(dropped)
	}
	if err := w.checkSchema(key.Collection, patched); err != nil {
		return err
	}
	c, _ := w.shape(key.Collection)
	if err := CheckRelations(c, t); err != nil && CheckRelations(c, was) == nil { // what was there already may stay
		return err
	}
	return nil
}
