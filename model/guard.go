package model

import (
	"slices"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Guards tells whether writes of the collection's documents need guards, because it has strict relations or unique
// members. A delete needs them also where strict relations lead to the collection.
func (m *Model) Guards(collection string, delete bool) bool {
	if c := m.byName[collection]; c != nil && (len(c.Unique) > 0 || slices.ContainsFunc(c.Relations, (*Relation).strict)) {
		return true
	}
	return delete && m.StrictTo(collection)
}

// StrictTo tells whether strict relations lead to the collection.
func (m *Model) StrictTo(collection string) bool {
	return slices.ContainsFunc(m.to[collection], (*Relation).strict)
}

// AddsGuards tells whether the model has strict relations or unique members that prev does not have.
func (m *Model) AddsGuards(prev *Model) bool {
	strict, unique := m.NewGuards(prev)
	return len(strict)+len(unique) > 0
}

// NewGuards returns what the model guards and prev does not: the strict relations that prev lacks or has otherwise, and
// the unique members that it lacks, by collection.
func (m *Model) NewGuards(prev *Model) (strict []*Relation, unique map[string][]*Unique) {
	unique = map[string][]*Unique{}
	for _, c := range m.Collections {
		old := prev.Collection(c.Name)
		for _, r := range c.Relations {
			if o := old.Relation(r.Name); r.Strict && (o == nil || !o.Strict || !o.SameIDs(r) || o.To != r.To) {
				strict = append(strict, r)
			}
		}
		for _, u := range c.Unique {
			if old == nil || !HasUnique(old.Unique, u) {
				unique[c.Name] = append(unique[c.Name], u)
			}
		}
	}
	return strict, unique
}

// Unguarded returns the model's source with every relation not strict, every member not unique and all collections open. It
// returns nil where that is so already.
func (m *Model) Unguarded() []byte {
	var patch []byte
	member := func(name, value string) {
		if n := len(patch); patch[n-1] != '{' {
			patch = append(patch, ',')
		}
		patch = append(append(jsondoc.AppendQuote(patch, name), ':'), value...)
	}
	patch = append(patch, '{')
	if m.Closed {
		patch = append(patch, `"open":null,`...)
	}
	patch = append(patch, `"collections":{`...)
	empty := len(patch)
	for _, c := range m.Collections {
		strict := slices.ContainsFunc(c.Relations, (*Relation).strict)
		if len(c.Unique) == 0 && !strict {
			continue
		}
		member(c.Name, "{")
		if len(c.Unique) > 0 {
			member("unique", "null")
		}
		if strict {
			member("relations", "{")
			for _, r := range c.Relations {
				if r.Strict {
					member(r.Name, `{"strict":null}`)
				}
			}
			patch = append(patch, '}')
		}
		patch = append(patch, '}')
	}
	if len(patch) == empty && !m.Closed {
		return nil
	}
	return jsondoc.Merge(m.Source, append(patch, "}}"...))
}
