package model

import (
	"cmp"
	"errors"
	"slices"

	"github.com/fanfold/fanfold"
)

// Check is a named condition over the embedded view of a collection's documents. A write is refused that would make it false.
type Check struct {
	Name    string
	That    string   // a CEL expression over doc
	Message string   // is told to whoever's write is refused; "" for nothing
	Reads   []string // the top-level members that That looks at; nil where it may look at any
}

// Same tells whether both checks hold of the same views.
func (c *Check) Same(o *Check) bool { return c.That == o.That }

// HasChecks tells whether any collection has a check.
func (m *Model) HasChecks() bool {
	return slices.ContainsFunc(m.Collections, func(c *Collection) bool { return len(c.Checks) > 0 })
}

// RulesOf returns the rules that a check of a collection depends on: those whose values it looks at, and all that these depend on. They
// are in the order of Rules.
func (m *Model) RulesOf(collection *Collection, check *Check) (rules []*Rule) {
	seen := map[*Rule]bool{}
	var add func(in *Collection, reader *Rule)
	add = func(in *Collection, reader *Rule) {
		if in == nil {
			return
		}
		for _, r := range in.Rules {
			if seen[r] || !reader.CanRead(r) && (reader.Relation == nil || !slices.Contains(reader.Relation.IDRules, r)) {
				continue
			}
			seen[r] = true
			rules = append(rules, r)
			add(m.byName[r.Source()], r)
			if r.Kind == Copy {
				add(m.byName[r.Collection], &Rule{Reads: []string{}, Relation: r.Relation})
			}
		}
	}
	add(collection, &Rule{Reads: check.Reads})
	slices.SortFunc(rules, func(a, b *Rule) int { return cmp.Compare(a.Index, b.Index) })
	return rules
}

// Source returns the collection whose documents the rule looks at.
func (r *Rule) Source() string {
	switch {
	case r.Relation == nil:
		return r.Collection
	case r.Kind == Copy:
		return r.Relation.To
	}
	return r.Relation.Collection
}

// CheckPair holds the checks of two models that have one collection and one name. One of the two may be nil.
type CheckPair struct{ Prev, Next *Check }

// NewChecks returns the checks of Next, by collection, that may be false of documents although none was broken under Prev. Prev lacks them, or
// derives what they look at otherwise.
func (c *Comparison) NewChecks() map[string][]*Check {
	checks := map[string][]*Check{}
	for _, p := range c.Collections {
		for _, k := range p.Checks {
			if k.Next != nil && !c.sameCheck(p, k) {
				checks[p.Name] = append(checks[p.Name], k.Next)
			}
		}
	}
	return checks
}

// sameCheck tells whether both models have a check, and it holds of the same documents.
func (c *Comparison) sameCheck(p *CollectionPair, k CheckPair) bool {
	if k.Prev == nil || !k.Next.Same(k.Prev) {
		return false
	}
	before, after := c.Prev.RulesOf(p.Prev, k.Prev), c.Next.RulesOf(p.Next, k.Next)
	if len(before)+len(after) == 0 {
		return true
	}
	same := c.Prev.EmbeddedLimit == c.Next.EmbeddedLimit && (c.Next.Fold == 0 || c.Next.Fold == c.Prev.Fold)
	names := func(a, b *Rule) int { return cmp.Compare(a.Name(), b.Name()) }
	slices.SortFunc(before, names)
	slices.SortFunc(after, names)
	return same && slices.EqualFunc(before, after, func(a, b *Rule) bool { return a.Name() == b.Name() && b.SameAs(a) })
}

// DocumentChange holds what writes do to the embedded view of one document.
type DocumentChange struct {
	Key           fanfold.Key
	Before, After []byte // nil where there is no document
}

// ErrLargeRehearsal is the cause of an Unprocessable: writes change more than can be looked at before they are stored.
var ErrLargeRehearsal = errors.New("the rehearsal takes more than it may")
