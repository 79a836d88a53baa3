package model

import (
	"slices"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Guards tells whether writes of the collection's documents need guards, because it has strict relations or unique
// members, or is gated. A delete needs them also where strict relations lead to the collection, and other writes where it has sequences.
func (m *Model) Guards(collection string, delete bool) bool {
	if c := m.byName[collection]; c != nil && (len(c.Unique) > 0 || m.gated[collection] || slices.ContainsFunc(c.Relations, (*Relation).strict)) {
		return true
	}
	return delete && m.StrictTo(collection) || !delete && m.byName[collection].Numbers()
}

// StrictTo tells whether strict relations lead to the collection.
func (m *Model) StrictTo(collection string) bool {
	return slices.ContainsFunc(m.to[collection], (*Relation).strict)
}

// AddsGuards tells whether Next has strict relations, unique members, checks or sequences that Prev does not have, or other names
// with capitals, or gates other collections. A gate that goes counts as well: whoever still writes without it must not meet a function.
func (c *Comparison) AddsGuards() bool {
	strict, unique := c.NewGuards()
	return len(strict)+len(unique)+len(c.NewChecks())+len(c.NewSequences()) > 0 || c.ChangesCapitals() || c.ChangesGates()
}

// NewGuards returns what Next guards and Prev does not: the strict relations that Prev lacks, or by which it finds other
// documents, and what is newly unique, by collection.
func (c *Comparison) NewGuards() (strict []*Relation, unique map[string][]*Unique) {
	unique = map[string][]*Unique{}
	for _, p := range c.Collections {
		for _, r := range p.Relations {
			if r.Next != nil && r.Next.Strict && (!r.Same() || !r.Prev.Strict) {
				strict = append(strict, r.Next)
			}
		}
		for _, u := range p.Unique {
			if u.Prev == nil {
				unique[p.Name] = append(unique[p.Name], u.Next)
			}
		}
	}
	return strict, unique
}

// NoLongerUnique returns what Prev declares unique and Next does not, by collection.
func (c *Comparison) NoLongerUnique() map[string][]*Unique {
	unique := map[string][]*Unique{}
	for _, p := range c.Collections {
		for _, u := range p.Unique {
			if u.Next == nil {
				unique[p.Name] = append(unique[p.Name], u.Prev)
			}
		}
	}
	return unique
}

// Unguarded returns the model's source with every relation not strict, every member not unique, all collections open, without checks,
// triggers and defaults, so that documents come back as they were. It returns nil where that is so already.
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
		if len(c.Unique) == 0 && len(c.Defaults) == 0 && len(c.Checks) == 0 && c.Trigger == "" && !strict {
			continue
		}
		member(c.Name, "{")
		if len(c.Checks) > 0 {
			member("checks", "null")
		}
		if c.Trigger != "" {
			member("trigger", "null")
		}
		if len(c.Unique) > 0 {
			member("unique", "null")
		}
		if len(c.Defaults) > 0 {
			member("defaults", "null")
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
