package writer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer/numbering"
)

// checkPatch checks everything about a patch that does not depend on the document. Errors are Invalid for a malformed
// patch and one that looks at derived members, and Unprocessable for one that changes derived members.
func (ck *checker) checkPatch(ev *fanfold.Event) error {
	c, _ := ck.shape(ev.Key.Collection)
	shape := ck.derivedShape(ev.Key.Collection)
	if ev.Patch == fanfold.MergePatch {
		t := jsondoc.MustParse(ev.Body)
		if t.Kind(jsondoc.Root) != jsondoc.Object {
			return fanfold.Errorf(fanfold.Invalid, "a merge patch of a document is a JSON object")
		}
		if _, derived := shape.Strip(t); len(derived) > 0 {
			return ck.ownedError(ev.Key.Collection, patchOwns, derived)
		}
		return numbering.CheckPatch(c, ev, nil)
	}
	ops, err := jsondoc.ParseRequest(ev.Body)
	if err != nil {
		return fanfold.Errorf(fanfold.Invalid, "the JSON Patch cannot be read: %v", err)
	}
	var derived []string
	for _, op := range ops {
		if err := checkSeen(shape, op); err != nil {
			return err
		}
		if op.Op == "test" {
			continue
		}
		if owner, _ := shape.Owner(op.Path); owner != nil {
			derived = append(derived, jsondoc.Pointer(op.Path))
		}
		if owner, _ := shape.Owner(op.From); op.Op == "move" && owner != nil {
			derived = append(derived, jsondoc.Pointer(op.From))
		}
	}
	if len(derived) > 0 {
		return ck.ownedError(ev.Key.Collection, patchOwns, derived)
	}
	return numbering.CheckPatch(c, ev, ops)
}

// checkSeen returns an Invalid for an operation that looks at a member which a rule gives, as conditions do: a patch sees the document as it was written.
func checkSeen(shape *model.Shape, op jsondoc.Operation) error {
	path := op.From
	if op.Op == "test" {
		path = op.Path
	} else if op.Op != "copy" {
		return nil
	}
	if owner, at := shape.Owner(path); owner != nil && owner.Rule != nil {
		return fanfold.Errorf(fanfold.Invalid, "%s of %q: a rule derives %s, and a patch sees the document as it was written: name members that are written", op.Op, jsondoc.Pointer(path), at)
	}
	return nil
}

// patchOwns begins the message about a patch that changes members which belong to the store.
const patchOwns = "the patch changes members that the store derives, or that are reserved"

// ownedError returns the Unprocessable of a write to members that belong to the store, given as JSON pointers. Each is
// derived, or was until its rule was removed. The error says how it is released. It names the first of them.
func (ck *checker) ownedError(collection, message string, pointers []string) error {
	e := fanfold.Errorf(fanfold.Unprocessable, "%s", message)
	if more := len(pointers) - maxNamedBlockers; more > 0 {
		e.Message += fmt.Sprintf("; they are %d, of which %d are named", len(pointers), maxNamedBlockers)
		pointers = pointers[:maxNamedBlockers]
	}
	shape := ck.derivedShape(collection)
	for _, p := range pointers {
		problem := fanfold.Problem{Path: p, Detail: "is derived"}
		if p == "/_meta" || p == "/_expanded" {
			problem.Detail = "is what a read adds"
		}
		if owner, path := shape.Owner(jsondoc.PointerTokens(p)); owner != nil && owner.Rule == nil {
			problem.Detail = fmt.Sprintf("is reserved, because a rule at %s was removed and old copies must not come back as data: with release: [%q] in collection %s of the model it is a member like any other", path, path, collection)
		}
		e.Problems = append(e.Problems, problem)
	}
	return e
}

// Bounds of the work that patches may take, in bytes of JSON text that are read, compared or written.
const (
	patchWork       = 64 << 20
	transactionWork = 256 << 20 // of all patches of one transaction
	workPerByte     = 4         // of the patched document: it is parsed, checked and written anew
)

// tryPatch applies a patch to its document as current returns it, checks what it makes, and returns that. It sets the event's
// Base and Body, in which increments are what they come to, and takes the work from the budget. Conflict says that the patch does
// not fit, Unprocessable that it takes too much work. It returns TooLarge, Unavailable once ctx has ended, and checkPatched's errors.
func (w *Writer) tryPatch(ctx context.Context, op *Operation, doc *fanfold.Document, budget *jsondoc.Budget) (patched []byte, err error) {
	ev := op.event
	ev.Base = doc.Revision
	defer w.Parsing(doc.Body)()
	patched, stored, err := applyPatch(ctx, op, doc, w.opt.MaxBody, budget)
	if err != nil {
		return nil, err
	}
	if err := w.checkPatched(ev.Key, doc.Body, patched); err != nil {
		return nil, err
	}
	ev.Body = stored
	return patched, ended(ctx)
}

// applyPatch applies a patch to a document, and takes the work from the budget. It returns the patch as it is to be stored, too. The caller is parsing the document. It
// returns TooLarge, and patchError's errors.
func applyPatch(ctx context.Context, op *Operation, doc *fanfold.Document, most int64, budget *jsondoc.Budget) (patched, stored []byte, err error) {
	own := &jsondoc.Budget{Left: min(patchWork, budget.Left)}
	given := own.Left
	if !own.Spend(int64(workPerByte * len(doc.Body))) {
		return nil, nil, fanfold.Errorf(fanfold.Unprocessable, "the patch is not applied: %s", jsondoc.TooMuchWork)
	}
	patched, stored, err = jsondoc.PatchedWithin(ctx, doc.Body, op.Content, op.PatchType == fanfold.MergePatch, jsondoc.Bounds{Size: int(most), Budget: own})
	if err != nil {
		return nil, nil, patchError(ctx, err, doc.Revision)
	}
	if int64(len(patched)) > most {
		return nil, nil, fanfold.Errorf(fanfold.TooLarge, "the patched document has %d bytes; at most %d are taken", len(patched), most)
	}
	budget.Spend(given - own.Left)
	return patched, stored, nil
}

// patchError returns why a patch cannot be applied to a document at a revision.
func patchError(ctx context.Context, err error, rev fanfold.Revision) error {
	var pe *jsondoc.PatchError
	switch {
	case !errors.As(err, &pe):
		return errors.Join(ended(ctx), err)
	case pe.Large:
		return fanfold.Errorf(fanfold.TooLarge, "the patch cannot be applied: %v", err)
	case pe.Costly, pe.Unfit:
		return fanfold.Errorf(fanfold.Unprocessable, "the patch is not applied: %v", err)
	case pe.Passed:
		return &fanfold.Error{Code: fanfold.ConditionFailed, Current: rev, Message: fmt.Sprintf("nothing was written: %v", err)}
	}
	return fanfold.Errorf(fanfold.Conflict, "the patch does not fit the document as it is: %v", err)
}

// checkPatched checks the document that a patch makes of before. It may have members that the store owns only if before
// had them, hidden by a rule that took them over. The error is Unprocessable.
func (ck *checker) checkPatched(key fanfold.Key, before, patched []byte) error {
	t, _, owned, err := ck.stripDocument(patched, &key)
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
	old := sync.OnceValue(func() *jsondoc.Tree { return jsondoc.MustParse(before) })
	if len(owned) > 0 {
		if added := ck.addedOwned(key.Collection, owned, old()); len(added) > 0 {
			return ck.ownedError(key.Collection, patchOwns, added)
		}
	}
	if err := ck.checkLength(patched); err != nil {
		return err
	}
	if err := ck.checkSchema(key.Collection, patched); err != nil {
		return err
	}
	if err := CheckNumbers(t); err != nil && CheckNumbers(old()) == nil {
		return err
	}
	c, _ := ck.shape(key.Collection)
	if err := CheckRelations(c, t); err != nil && CheckRelations(c, old()) == nil { // too many ids that were there already may stay
		return err
	}
	if err := CheckIndexes(c, func() *jsondoc.Tree { return t }); err != nil && CheckIndexes(c, old) == nil {
		return err
	}
	return nil
}

// addedOwned returns the members of a document that the store owns and that the document did not have before.
func (ck *checker) addedOwned(collection string, owned []string, before *jsondoc.Tree) []string {
	_, shape := ck.shape(collection)
	_, was := shape.Strip(before)
	had := make(map[string]bool, len(was))
	for _, pointer := range was {
		had[pointer] = true
	}
	return slices.DeleteFunc(owned, func(pointer string) bool { return had[pointer] })
}
