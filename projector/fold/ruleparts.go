package fold

import (
	"fmt"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
	"github.com/fanfold/fanfold/model"
)

// The parts of a rule that look for a value in documents.
const (
	partValue   = "value"
	partWhere   = "where"
	partOf      = "of"
	partOrderBy = "orderBy"
)

// Parts returns which of its expressions and paths the rule looks for a value by, in the order in which they are evaluated.
// There are none where it has none: a count of all documents, for one.
func (r *Rule) Parts() []string { return r.parts }

// listParts returns what Parts does.
func (r *Rule) listParts() (parts []string) {
	if r.Value != "" {
		parts = append(parts, partValue)
	}
	if r.Where != "" {
		parts = append(parts, partWhere)
	}
	if r.Of != nil {
		parts = append(parts, partOf)
	}
	if r.OrderBy != nil {
		parts = append(parts, partOrderBy)
	}
	return parts
}

// Subjects returns the collection of the documents that the rule looks at, and by which view.
func (r *Rule) Subjects() (collection string, view fanfold.View) {
	switch {
	case r.Kind == model.Copy:
		return r.Relation.To, fanfold.Embedded
	case r.Kind == model.Computed:
		return r.Collection, fanfold.Embedded
	case r.EntersDerived:
		return r.Relation.Collection, fanfold.Embedded
	}
	return r.Relation.Collection, fanfold.Referenced
}

// Examine looks for a value by one part of the rule after the other, in the view of a document that the rule looks at. It
// calls fn with each part's index among Parts and whether it found one. It ends with the first part that finds none, and
// with a condition that leaves the document out. A condition finds a value where it is true or false.
func (r *Rule) Examine(t *jsondoc.Tree, meta expr.Meta, fn func(part int, found bool)) {
	for i, part := range r.parts {
		found, goesOn := r.find(part, t, meta)
		if fn(i, found); !found || !goesOn {
			return
		}
	}
}

// find returns whether a part of the rule finds a value in a document, and whether the next part is evaluated then.
func (r *Rule) find(part string, t *jsondoc.Tree, meta expr.Meta) (found, goesOn bool) {
	if r.over != nil {
		found, goesOn, _ = r.over.Look(part, t, meta)
		return found, goesOn
	}
	switch part {
	case partValue:
		_, err := r.value.EvalOwn(t, meta)
		return err == nil, true
	case partWhere:
		matches, err := r.where.Decide(t)
		return err == nil, matches
	case partOf:
		n := r.Of.Lookup(t, jsondoc.Root)
		return n != jsondoc.None && numberProblem(t, n) == "", true
	}
	return sortkey.Orders(t, r.OrderBy.Lookup(t, jsondoc.Root)), true
}

// Explain returns why a part of the rule finds no value in the view of a document that it looks at, in words for people.
func (r *Rule) Explain(part string, t *jsondoc.Tree, meta expr.Meta) string {
	if r.over != nil {
		_, _, why := r.over.Look(part, t, meta)
		return why
	}
	switch part {
	case partValue:
		return r.value.ExplainOwn(t, meta)
	case partWhere:
		return r.where.ExplainCondition(t)
	}
	path := r.OrderBy
	if part == partOf {
		path = r.Of
	}
	n := jsondoc.Root
	for _, step := range path {
		at := n
		if n = t.Member(n, step.Name); n == jsondoc.None {
			return t.Missing(at, step.Name)
		}
	}
	if part == partOf {
		return fmt.Sprintf("member %s %s", path, numberProblem(t, n))
	}
	return fmt.Sprintf("member %s is neither a number nor a text", path)
}

// CountElements returns how many elements of a document take part in a total over its array, given its embedded view.
func (r *Rule) CountElements(t *jsondoc.Tree) int64 {
	total, _, _ := r.over.Total(t)
	return total.Count
}

// ExplainAt does what Explain does for a value beside an element of the view.
func (r *Rule) ExplainAt(t *jsondoc.Tree, meta expr.Meta, element jsondoc.Node) string {
	return r.over.WhyNot(partValue, t, meta, element)
}

// numberProblem returns why a node is no number that can be read exactly, "" where it is one.
func numberProblem(t *jsondoc.Tree, n jsondoc.Node) string {
	if t.Kind(n) != jsondoc.Number {
		return "is no number"
	}
	if _, err := decimal.Parse(t.Text(n)); err != nil {
		return "cannot be read exactly: " + err.Error()
	}
	return ""
}
