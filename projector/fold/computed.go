package fold

import (
	"errors"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// A computed member is made of the document's own embedded view, and a copy may go by derived ids in it. Such a value is
// computed when its level is worked off: whatever it follows belongs to earlier levels, and stands in the stored view by then.

// Compute returns a computed member's value, given the document's embedded view with the values of earlier levels; nil is
// "no value". An error other than a missing member is reported.
func (r *Rule) Compute(view *jsondoc.Tree, key fanfold.Key, reporter Reporter) []byte {
	raw, err := r.value.Eval(view)
	switch {
	case err == nil:
		return raw
	case !errors.Is(err, expr.ErrNoValue):
		r.failed(reporter, key, err)
	}
	return nil
}

// followsOwn returns whether the rule's value on a document can be another where top-level members of the document's own
// view changed; nil means any.
func (r *Rule) followsOwn(changed map[string]bool) bool {
	if r.Kind == model.Computed {
		return r.ReadsAny(changed)
	}
	return changed == nil || changed[r.Relation.Path[0].Name]
}

// follows returns whether a change of these top-level members can reach a computed member of the collection, or the ids
// of a copy or relation. nil means any member.
func (c *Collection) follows(changed map[string]bool) bool {
	return slices.ContainsFunc(c.own, func(r *Rule) bool { return r.followsOwn(changed) }) || c.Relinks(changed)
}

// Relinks returns whether a change of these top-level members can change what the collection's documents refer to by derived
// ids; nil means any.
func (c *Collection) Relinks(changed map[string]bool) bool {
	return slices.ContainsFunc(c.derived, func(r *model.Relation) bool { return changed == nil || changed[r.Path[0].Name] })
}

// addFollowing adds to changed the top-level members of the rules that may change with them on the same document, directly or
// by others.
func (c *Collection) addFollowing(changed map[string]bool) {
	for _, r := range c.own { // by level, so that what one reads was added before
		if r.followsOwn(changed) {
			for name := range r.TopMembers() {
				changed[name] = true
			}
		}
	}
}

// own marks the rules of a document that follow one of the top-level members of its own that changed; nil means any. They
// changed on a level before the rule's.
func (ms *marks) own(c *Collection, number int64, changed map[string]bool) {
	for _, r := range c.own {
		if !r.followsOwn(changed) || ms.levelDone(r) {
			continue
		}
		l := ms.levels[r.Level]
		if l.own == nil {
			l.own = map[int64]bool{}
		}
		l.own[number], l.marked = true, true
	}
}
