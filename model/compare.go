package model

import (
	"bytes"
	"slices"
	"strings"
)

// Comparison pairs what two models declare, where one follows the other. Its methods answer what the step changes: for
// people (Differences), for writes (NewGuards), for values that nobody can compute again (Kept) and for the fold, which goes
// through the pairs. All of them mean the same by "the same relation" or "the same rule", because all of them ask the pairs.
// A Comparison does not change once it is made.
type Comparison struct {
	Prev, Next  *Model
	Collections []*CollectionPair // of either model, by name
	Functions   []FunctionPair    // of either model, by name
}

// CollectionPair holds what two models say about one collection. Of each list come first the declarations of Next, in its
// order, and then those that only Prev has.
type CollectionPair struct {
	Name       string
	Prev, Next *Collection // nil where the model does not declare the collection
	Relations  []RelationPair
	Rules      []RulePair
	Unique     []UniquePair
	Indexes    []IndexPair
	Checks     []CheckPair
	Sequences  []SequencePair
	Defaults   []DefaultPair

	owners map[string]*Rule // of Next, by the paths that they own
}

// RelationPair holds the relations of two models that have one full name. One of the two may be nil.
type RelationPair struct{ Prev, Next *Relation }

// RulePair holds the rules of two models that have one collection and one path. One of the two may be nil.
type RulePair struct{ Prev, Next *Rule }

// UniquePair holds the declarations of two models that say that the same values are unique. One of the two may be nil.
type UniquePair struct{ Prev, Next *Unique }

// IndexPair holds the indexes of two models that have one collection and one name. One of the two may be nil.
type IndexPair struct{ Prev, Next *Index }

// Same tells whether both models have the index, with the same entries.
func (p IndexPair) Same() bool {
	return p.Prev != nil && p.Next != nil && p.Prev.Declaration() == p.Next.Declaration()
}

// Compare pairs what prev declares with what next does, which follows it. It takes time in proportion to the declarations.
func Compare(prev, next *Model) *Comparison {
	c := &Comparison{Prev: prev, Next: next}
	type collections struct{ Prev, Next *Collection }
	for _, p := range pairUp[collections](prev.Collections, next.Collections, func(c *Collection) string { return c.Name }) {
		c.Collections = append(c.Collections, pairCollections(p.Prev, p.Next))
	}
	c.Functions = pairUp[FunctionPair](prev.Functions, next.Functions, func(f *Function) string { return f.Name })
	slices.SortFunc(c.Functions, func(a, b FunctionPair) int { return strings.Compare(a.name(), b.name()) })
	slices.SortFunc(c.Collections, func(a, b *CollectionPair) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// pairCollections pairs what two models say about one collection. One of the two may be nil.
func pairCollections(prev, next *Collection) *CollectionPair {
	p := &CollectionPair{Prev: prev, Next: next}
	before, after := p.both()
	p.Name = after.Name
	p.Relations = pairUp[RelationPair](before.Relations, after.Relations, func(r *Relation) string { return r.Name })
	p.Rules = pairUp[RulePair](before.Rules, after.Rules, func(r *Rule) string { return r.Path.String() })
	p.Unique = pairUp[UniquePair](before.Unique, after.Unique, (*Unique).Name)
	p.Indexes = pairUp[IndexPair](before.Indexes, after.Indexes, func(x *Index) string { return x.Name })
	p.Checks = pairUp[CheckPair](before.Checks, after.Checks, func(c *Check) string { return c.Name })
	p.Sequences = pairUp[SequencePair](before.Sequences, after.Sequences, func(s *Sequence) string { return s.Path.String() })
	p.Defaults = pairUp[DefaultPair](before.Defaults, after.Defaults, func(d *Default) string { return d.Path.String() })
	p.owners = make(map[string]*Rule, len(after.Rules))
	for _, r := range after.Rules {
		for _, path := range r.Paths() {
			p.owners[path] = r
		}
	}
	return p
}

// both returns what the models say about the collection, and one without declarations for the model that says nothing.
func (p *CollectionPair) both() (before, after *Collection) {
	if before, after = p.Prev, p.Next; before == nil {
		before = &Collection{Name: after.Name}
	} else if after == nil {
		after = &Collection{Name: before.Name}
	}
	return before, after
}

// pairUp pairs the declarations of two models that have the same name, next's first.
func pairUp[P ~struct{ Prev, Next *T }, T any](prev, next []*T, name func(*T) string) []P {
	pairs := make([]P, 0, len(next))
	if slices.EqualFunc(prev, next, func(p, n *T) bool { return name(p) == name(n) }) { // as in most collections
		for i := range next {
			pairs = append(pairs, P{prev[i], next[i]})
		}
		return pairs
	}
	before, after := byName(prev, name), byName(next, name)
	for _, n := range next {
		pairs = append(pairs, P{before[name(n)], n})
	}
	for _, p := range prev {
		if after[name(p)] == nil {
			pairs = append(pairs, P{p, nil})
		}
	}
	return pairs
}

// byName returns the declarations by their names.
func byName[T any](all []*T, name func(*T) string) map[string]*T {
	out := make(map[string]*T, len(all))
	for _, one := range all {
		out[name(one)] = one
	}
	return out
}

// Collection returns what the models say about a collection, nil where neither declares it.
func (c *Comparison) Collection(name string) *CollectionPair {
	i, found := slices.BinarySearchFunc(c.Collections, name, func(p *CollectionPair, name string) int { return strings.Compare(p.Name, name) })
	if !found {
		return nil
	}
	return c.Collections[i]
}

// owner returns the rule of Next that owns a path of the collection, nil for none.
func (p *CollectionPair) owner(path string) *Rule {
	if p == nil {
		return nil
	}
	return p.owners[path]
}

// releases tells whether Next gives a path of the collection back to clients.
func (p *CollectionPair) releases(path string) bool {
	return p != nil && p.Next != nil && slices.Contains(p.Next.Release, path)
}

// NewSchema returns the schema that Next declares and Prev does not, nil where both say the same or Next has none.
func (p *CollectionPair) NewSchema() []byte {
	if before, after := p.both(); !bytes.Equal(before.Schema, after.Schema) {
		return after.Schema
	}
	return nil
}

// SameIDs tells whether both models have the relation, and find the same ids by it in any document. Links that are stored
// stay right then, whatever collection the ids lead to.
func (p RelationPair) SameIDs() bool {
	return p.Prev != nil && p.Next != nil && p.Prev.FullName() == p.Next.FullName() && p.Prev.Path.String() == p.Next.Path.String()
}

// Same tells whether both models have the relation, and find the same documents by it.
func (p RelationPair) Same() bool { return p.SameIDs() && p.Prev.To == p.Next.To }

// Same tells whether both models have the rule, and it always gives the same value.
func (p RulePair) Same() bool { return p.Prev != nil && p.Next != nil && p.Next.SameAs(p.Prev) }

// SameAs tells whether both rules always give the same value.
func (r *Rule) SameAs(o *Rule) bool {
	return r.Kind == o.Kind && r.Total == o.Total && r.Value == o.Value && r.Frozen == o.Frozen && r.Where == o.Where && r.Limit == o.Limit &&
		r.Of.String() == o.Of.String() && r.OrderBy.String() == o.OrderBy.String() && r.ByUpdate == o.ByUpdate && slices.Equal(r.Fields, o.Fields) &&
		(r.Relation == nil && o.Relation == nil || RelationPair{r.Relation, o.Relation}.Same()) && r.KeepsGone() == o.KeepsGone()
}
