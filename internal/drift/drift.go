// Package drift compares what documents brought for their derived members with what the store shows there. It computes no value itself: what
// is right, the fold has said.
package drift

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
)

// Kinds of what is not right.
const (
	Wrong    = "wrong"    // another value was brought than the rule gives
	Missing  = "missing"  // no value was brought where the rule gives more than 0 and an empty list, and other documents have brought one
	Orphaned = "orphaned" // a copy was brought of a document that is not there
)

// Bounds of the examples that a report has of each rule: their number, and the bytes of their values.
const (
	MaxExamples     = 20
	maxExampleBytes = 64 << 10
)

// Difference is one value that is not right.
type Difference = wire.DriftDifference

// Rule counts the values of one rule.
type Rule = wire.DriftRule

// Pair is what a document brought, and what the store shows of it.
type Pair struct {
	Collection, ID string
	Brought, Shown []byte // JSON objects
}

// Target names a document that a copy was brought of.
type Target struct{ Collection, ID string }

// Comparison compares the documents of a model.
type Comparison struct {
	shapes map[string]*model.Shape
	rules  map[*model.Rule]*Rule
	order  []*model.Rule
	shown  map[*model.Rule]int // bytes of the values of examples
}

// New returns a comparison under a model.
func New(m *model.Model) *Comparison {
	c := &Comparison{shapes: map[string]*model.Shape{}, rules: map[*model.Rule]*Rule{}, shown: map[*model.Rule]int{}}
	for _, collection := range m.Collections {
		if len(collection.Rules) == 0 {
			continue
		}
		c.shapes[collection.Name] = model.NewShape(collection, nil)
		for _, r := range collection.Rules {
			c.rules[r] = &Rule{Rule: r.Name(), Frozen: r.Frozen}
			c.order = append(c.order, r)
		}
	}
	return c
}

// Concerns tells whether the documents of a collection have derived members.
func (c *Comparison) Concerns(collection string) bool { return c.shapes[collection] != nil }

// Targets returns the documents whose copies a document brought, where the store shows none.
func (c *Comparison) Targets(p Pair) (all []Target) {
	w := c.walk(p)
	w.each(func(v place) {
		if v.rule.Kind == model.Copy && v.right == jsondoc.None && v.brought != jsondoc.None {
			for _, id := range w.idsAt(v) {
				all = append(all, Target{v.rule.Relation.To, id})
			}
		}
	})
	return all
}

// Compare compares a document, and tells of each value that is not right. isThere tells whether a document that Targets has named is
// there. The error is tell's.
func (c *Comparison) Compare(p Pair, isThere func(Target) bool, tell func(Difference) error) (err error) {
	w := c.walk(p)
	w.each(func(v place) {
		counts := c.rules[v.rule]
		if err != nil || counts.Frozen {
			return
		}
		d := Difference{Rule: counts.Rule, Collection: p.Collection, ID: p.ID, Path: v.pointer, Brought: raw(w.brought, v.brought), Right: raw(w.shown, v.right)}
		switch {
		case v.brought == jsondoc.None:
			counts.Missing++
			d.Kind = Missing
		case v.right == jsondoc.None && v.rule.Kind == model.Copy && !slices.ContainsFunc(w.idsAt(v), func(id string) bool { return isThere(Target{v.rule.Relation.To, id}) }):
			counts.Orphaned++
			d.Kind = Orphaned
		case v.right == jsondoc.None || !w.equal(v):
			counts.Wrong++
			d.Kind = Wrong
		default:
			counts.Right++
			return
		}
		if size := c.shown[v.rule] + len(d.Brought) + len(d.Right); len(counts.Examples) < MaxExamples && size <= maxExampleBytes {
			counts.Examples = append(counts.Examples, d)
			c.shown[v.rule] = size
		}
		err = tell(d)
	})
	return err
}

// Rules returns what was counted of each rule, by collection and path.
func (c *Comparison) Rules() []Rule {
	var all []Rule
	for _, r := range c.order {
		counts := *c.rules[r]
		if counts.New = !counts.Frozen && counts.Right+counts.Wrong+counts.Orphaned == 0; counts.New {
			counts.Examples = nil
		}
		all = append(all, counts)
	}
	return all
}

// raw returns the text of a value, on one line; nil for none.
func raw(t *jsondoc.Tree, n jsondoc.Node) []byte {
	if n == jsondoc.None {
		return nil
	}
	return bytes.Clone(t.Raw(n))
}

// place is where a rule gives a value.
type place struct {
	rule           *model.Rule
	brought, right jsondoc.Node
	around         jsondoc.Node // in what is shown: the object that carries the value
	steps          int          // of a path that leads to that object
	pointer        string
	cut            bool // the store shows a part of a list
}

// walker goes through what was brought and what is shown at once.
type walker struct {
	shape          *model.Shape
	brought, shown *jsondoc.Tree
}

// walk returns a walker through a document.
func (c *Comparison) walk(p Pair) *walker {
	return &walker{shape: c.shapes[p.Collection], brought: jsondoc.MustParse(p.Brought), shown: jsondoc.MustParse(p.Shown)}
}

// each calls fn for each place at which a value was brought or is shown.
func (w *walker) each(fn func(place)) {
	if w.shape != nil {
		w.object(w.shape, place{brought: jsondoc.Root, right: jsondoc.Root}, fn)
	}
}

// object goes through an object or an array, whose place at has its pointer and the steps that lead to it.
func (w *walker) object(s *model.Shape, at place, fn func(place)) {
	b, r := at.brought, at.right
	for _, m := range s.Members {
		v := place{rule: m.Rule, brought: w.brought.Member(b, m.Name), right: w.shown.Member(r, m.Name), around: r, steps: at.steps, pointer: at.pointer + "/" + jsondoc.PointerEscape(m.Name)}
		switch {
		case m.Rule != nil && (m.Flag || v.brought == jsondoc.None && (v.right == jsondoc.None || m.Rule.Kind != model.Copy && w.isNothing(v.right))):
		case m.Rule != nil:
			v.cut = w.shown.Member(r, model.TruncatedField(m.Name)) != jsondoc.None
			fn(v)
		case v.brought != jsondoc.None && v.right != jsondoc.None:
			v.steps++
			w.object(m, v, fn)
		}
	}
	if s.Elem == nil || w.brought.Kind(b) != jsondoc.Array || w.shown.Kind(r) != jsondoc.Array {
		return
	}
	eb, er := w.brought.First(b), w.shown.First(r)
	for i := 0; eb != jsondoc.None && er != jsondoc.None; i++ {
		w.object(s.Elem, place{brought: eb, right: er, steps: at.steps + 1, pointer: at.pointer + "/" + strconv.Itoa(i)}, fn)
		eb, er = w.brought.Next(eb), w.shown.Next(er)
	}
}

// isNothing tells whether a value says what a member that is not there says: an empty list, or 0.
func (w *walker) isNothing(n jsondoc.Node) bool {
	return w.shown.Kind(n) == jsondoc.Array && w.shown.First(n) == jsondoc.None || w.shown.Kind(n) == jsondoc.Number && jsondoc.Equal(w.shown.Raw(n), []byte("0"))
}

// idsAt returns the ids of the documents that a copy is of.
func (w *walker) idsAt(v place) []string {
	return v.rule.Relation.Path[v.steps:].AppendIDs(nil, w.shown, v.around)
}

// equal tells whether the value that was brought is the right one. The order of ids does not count, and a number that is a double elsewhere may
// differ after its 15th digit.
func (w *walker) equal(v place) bool {
	if v.rule.Kind == model.IDs {
		return w.sameIDs(v)
	}
	b, r := w.brought.Raw(v.brought), w.shown.Raw(v.right)
	return jsondoc.Equal(b, r) || v.rule.Kind != model.Copy && w.brought.Kind(v.brought) == jsondoc.Number && w.shown.Kind(v.right) == jsondoc.Number && sameDouble(string(b), string(r))
}

// sameIDs tells whether two lists have the same ids. Of a list that is shown in part, all that is shown must be in the other.
func (w *walker) sameIDs(v place) bool {
	if w.brought.Kind(v.brought) != jsondoc.Array {
		return false
	}
	b, r := texts(w.brought, v.brought), texts(w.shown, v.right)
	if v.cut {
		return !slices.ContainsFunc(r, func(id string) bool { _, found := slices.BinarySearch(b, id); return !found })
	}
	return slices.Equal(b, r)
}

// texts returns the texts of a list's elements, in order of the texts.
func texts(t *jsondoc.Tree, list jsondoc.Node) (all []string) {
	for n := t.First(list); n != jsondoc.None; n = t.Next(n) {
		if kind := t.Kind(n); kind == jsondoc.String || kind == jsondoc.Number {
			all = append(all, t.Text(n))
			continue
		}
		all = append(all, string(t.Raw(n)))
	}
	slices.Sort(all)
	return all
}

// sameDouble tells whether a fraction with at least 15 digits is as near to a number as a double can say.
func sameDouble(brought, right string) bool {
	digits := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, brought)
	b, err := strconv.ParseFloat(brought, 64)
	r, err2 := strconv.ParseFloat(right, 64)
	if err != nil || err2 != nil || len(digits) < 15 || !strings.ContainsAny(brought, ".eE") {
		return false
	}
	most := max(b, -b, r, -r)
	return b == r || max(b-r, r-b) <= most*1e-14
}
