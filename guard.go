package fanfold

import (
	"slices"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// UniqueValue returns the value that a document has of a unique member, in the form in which claims compare it: "s" and
// a string's text, or "n" and a number in its one canonical form. It returns "" for any other value and for none, which
// any number of documents may have. The error is Unprocessable for a value that is too long to be compared.
func UniqueValue(t *jsondoc.Tree, path Path) (value string, err error) {
	n := path.Lookup(t, jsondoc.Root)
	if n == jsondoc.None {
		return "", nil
	}
	switch t.Kind(n) {
	case jsondoc.String:
		if value = "s" + t.Text(n); len(value) > MaxUniqueLen {
			return "", Errorf(Unprocessable, "the unique member %s has more than %d bytes", path, MaxUniqueLen-1)
		}
	case jsondoc.Number:
		d, err := decimal.Parse(t.Text(n))
		if err != nil {
			return "", Errorf(Unprocessable, "the unique member %s is a number of more than 1000 digits, or beyond 1e±1000", path)
		}
		value = "n" + d.String()
	}
	return value, nil
}

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
func (m *Model) NewGuards(prev *Model) (strict []*Relation, unique map[string][]Path) {
	unique = map[string][]Path{}
	for _, c := range m.Collections {
		old := prev.Collection(c.Name)
		for _, r := range c.Relations {
			if o := old.Relation(r.Name); r.Strict && (o == nil || !o.Strict || !o.SameIDs(r) || o.To != r.To) {
				strict = append(strict, r)
			}
		}
		for _, p := range c.Unique {
			if old == nil || !HasPath(old.Unique, p) {
				unique[c.Name] = append(unique[c.Name], p)
			}
		}
	}
	return strict, unique
}

// HasPath tells whether path is one of the paths.
func HasPath(paths []Path, path Path) bool {
	return slices.ContainsFunc(paths, func(p Path) bool { return p.String() == path.String() })
}

// Unguarded returns the model's source with every relation not strict and every member not unique. It returns nil where
// that is so already.
func (m *Model) Unguarded() []byte {
	var patch []byte
	member := func(name, value string) {
		if n := len(patch); patch[n-1] != '{' {
			patch = append(patch, ',')
		}
		patch = append(append(jsondoc.AppendQuote(patch, name), ':'), value...)
	}
	patch = append(patch, `{"collections":{`...)
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
	if len(patch) == empty {
		return nil
	}
	return jsondoc.Merge(m.Source, append(patch, "}}"...))
}
