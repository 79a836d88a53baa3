package api

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// patch answers PATCH: the patch is applied to the referenced view, checked, and stored as it
// is, on the revision it was checked with.
func (s *Server) patch(c echo.Context) error {
	key, cond, err := addressed(c, "refresh")
	if err != nil {
		return err
	}
	c.Response().Header().Set("Accept-Patch", mergePatchType+", "+jsonPatchType)
	body, contentType, err := s.readBody(c, mergePatchType, jsonPatchType)
	if err != nil {
		return err
	}
	if err := s.checkJSON(body); err != nil {
		return err
	}
	w := &write{event: &fanfold.Event{Kind: fanfold.KindPatch, Key: key, Body: body, Patch: fanfold.MergePatch}, prefer: prefer(c), begun: s.now()}
	if contentType == jsonPatchType {
		w.event.Patch = fanfold.JSONPatch
	}
	if w.limit, err = s.timeout(c); err != nil {
		return err
	}
	if err := s.checkPatch(key, w.event); err != nil {
		return err
	}
	if err := s.refresh(c, w.event); err != nil {
		return err
	}
	if w.event.IdempotencyKey, err = onceOf(c.Request(), body); err != nil {
		return err
	}
	ctx, err := asked(c, w.prefer)
	if err != nil {
		return err
	}
	seq, err := s.once(ctx, w.event.IdempotencyKey, func(ctx context.Context) (uint64, error) {
		return s.onCurrent(ctx, key, cond, func(rev fanfold.Revision) (uint64, error) {
			if _, err := s.tryPatch(w.event, rev); err != nil {
				return 0, err
			}
			return s.append(ctx, w.event, fanfold.Exactly(rev))
		})
	})
	if err != nil {
		return s.stale(c, key, err)
	}
	return s.finish(c, w, seq)
}

const (
	mergePatchType = "application/merge-patch+json"
	jsonPatchType  = "application/json-patch+json"
)

// checkPatch refuses what no document makes right: a malformed patch, or one on derived fields.
func (s *Server) checkPatch(key fanfold.Key, ev *fanfold.Event) error {
	m, _, reserved := s.models.Model()
	shape := fanfold.NewShape(m.Collection(key.Collection), reserved[key.Collection])
	t := jsondoc.MustParse(ev.Body)
	if ev.Patch == fanfold.MergePatch {
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
func (s *Server) tryPatch(ev *fanfold.Event, rev fanfold.Revision) (patched []byte, err error) {
	doc, _, err := s.reader.Get(ev.Key, fanfold.Referenced)
	if err != nil {
		return nil, err
	}
	if doc == nil || doc.Revision != rev {
		return nil, &fanfold.Error{Code: fanfold.Stale, Message: "the document changed meanwhile", Current: max(rev, revisionOf(doc))}
	}
	ev.Base = rev
	defer s.parsing(doc.Body)()
	patched, err = ev.Patched(doc.Body)
	var pe *jsondoc.PatchError
	if errors.As(err, &pe) && pe.Large {
		return nil, fanfold.Errorf(fanfold.TooLarge, "the patch cannot be applied: %v", err)
	}
	if err != nil {
		return nil, fanfold.Errorf(fanfold.Conflict, "the patch does not fit the document as it is: %v", err)
	}
	if int64(len(patched)) > s.opt.MaxBody {
		return nil, fanfold.Errorf(fanfold.TooLarge, "the patched document has %d bytes; at most %d are taken", len(patched), s.opt.MaxBody)
	}
	return patched, s.checkPatched(ev.Key, doc.Body, patched)
}

// checkPatched checks the document that a patch makes. Members of the store's own may only be
// there if they were there before: hidden by a rule that took them over.
func (s *Server) checkPatched(key fanfold.Key, before, patched []byte) error {
	t, _, dropped, err := s.document(patched, &key)
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
	was, _, had, err := s.document(before, &key)
	if err != nil {
		return err
	}
	dropped = slices.DeleteFunc(dropped, func(p string) bool { return slices.Contains(had, p) })
	if len(dropped) > 0 {
		return derivedError(dropped)
	}
	if err := s.misfit(key.Collection, patched); err != nil {
		return err
	}
	c, _ := s.shape(key.Collection)
	if err := checkRelations(c, t); err != nil && checkRelations(c, was) == nil { // what was there already may stay
		return err
	}
	return nil
}
