package fold

import (
	"errors"
	"slices"

	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// A computed member is made of the document's own embedded view, and a copy may go by derived ids in it. Such a value is
// computed when its level is worked off: whatever it follows belongs to earlier levels, and stands in the stored view by then.

// Compute returns a computed member's value, given the document's row, and its embedded view with the values of earlier levels; nil is
// "no value". An error other than a missing member is reported. Of a rule with a value beside each element it is the text of all of them.
func (r *Rule) Compute(view *jsondoc.Tree, row *sqlite.Row, reporter Reporter) []byte {
	if r.Each() {
		return r.ComputeEach(view, row, reporter).text()
	}
	if r.Total != "" {
		total, ok, err := r.over.Total(view)
		if err != nil {
			r.failed(reporter, row.Key, err)
		}
		if !ok {
			return nil
		}
		return total.Text(r.Total)
	}
	raw, err := r.value.EvalOwn(view, MetaOf(row))
	switch {
	case err == nil:
		return raw
	case !errors.Is(err, expr.ErrNoValue):
		r.failed(reporter, row.Key, err)
	}
	return nil
}

// MetaOf returns what a document's own values see as meta. It changes only where the document is written, and then all of them are computed.
func MetaOf(row *sqlite.Row) expr.Meta {
	return expr.Meta{Created: row.Created, Updated: row.Updated, CreatedBy: row.CreatedBy, UpdatedBy: row.UpdatedBy}
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

// ElementValues are the values of a rule beside the elements of one document.
type ElementValues struct {
	rule   *Rule
	values [][]byte // in the document's order; nil for no value
	tree   *jsondoc.Tree
	nodes  []jsondoc.Node // the elements in tree
}

// ComputeEach returns the values of a rule beside each element, given what Compute is given.
func (r *Rule) ComputeEach(view *jsondoc.Tree, row *sqlite.Row, reporter Reporter) *ElementValues {
	values, err := r.over.Values(view, MetaOf(row))
	if err != nil {
		r.failed(reporter, row.Key, err)
	}
	return &ElementValues{rule: r, values: values}
}

// NewElementValues returns the values that Compute gave the text of.
func NewElementValues(r *Rule, text []byte) *ElementValues {
	e := &ElementValues{rule: r}
	if text == nil {
		return e
	}
	t := jsondoc.MustParse(text)
	for c := t.First(jsondoc.Root); c != jsondoc.None; c = t.Next(c) {
		var raw []byte
		if value := t.First(c); value != jsondoc.None {
			raw = t.Raw(value)
		}
		e.values = append(e.values, raw)
	}
	return e
}

// At returns the value beside an element of a view of the document; nil is "no value". All views have the elements in one order.
func (e *ElementValues) At(t *jsondoc.Tree, element jsondoc.Node) []byte {
	if e.tree != t {
		e.nodes, _ = e.rule.over.Find(t)
		e.tree = t
	}
	i, found := slices.BinarySearch(e.nodes, element) // a view's nodes are numbered in its order
	if !found || i >= len(e.values) {
		return nil
	}
	return e.values[i]
}

// text returns the values as a list of lists, each with one value or none; nil where there is none.
func (e *ElementValues) text() (out []byte) {
	if !slices.ContainsFunc(e.values, func(raw []byte) bool { return raw != nil }) {
		return nil
	}
	for i, raw := range e.values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '['), raw...), ']')
	}
	return slices.Concat([]byte{'['}, out, []byte{']'})
}
