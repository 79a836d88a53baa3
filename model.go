package fanfold

import (
	"slices"
	"strings"
)

// Collection is what the model says of one collection.
type Collection struct {
	Name      string
	Relations []*Relation // by name
	Rules     []*Rule     // by path
	Unique    []Path      // of members that no two documents have with the same value
	Release   []string    // paths of removed rules that may be written again
	Schema    []byte      // a JSON Schema that documents as written must fit; nil for none
}

// Relation returns the collection's relation of that name, or nil.
func (c *Collection) Relation(name string) *Relation {
	if c == nil {
		return nil
	}
	for _, r := range c.Relations {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// Model is a checked model, as internal/modelfile reads it. It does not change once read.
type Model struct {
	Collections []*Collection // by name
	FanoutLimit int64         // derived changes that one write may cause
	Rules       []*Rule       // by level, then name: every rule comes after those it depends on
	Source      []byte        // the model as compact JSON

	byName map[string]*Collection
	to     map[string][]*Relation
}

// Collection returns what the model says of the collection, or nil where it says nothing.
func (m *Model) Collection(name string) *Collection { return m.byName[name] }

// Relation finds a relation by its full name, or nil.
func (m *Model) Relation(full string) *Relation {
	collection, name, _ := strings.Cut(full, ".")
	return m.byName[collection].Relation(name)
}

// RelationsTo are the relations that lead to a collection.
func (m *Model) RelationsTo(collection string) []*Relation { return m.to[collection] }

// Relations are all relations, by full name.
func (m *Model) Relations() []*Relation {
	var all []*Relation
	for _, c := range m.Collections {
		all = append(all, c.Relations...)
	}
	return all
}

// EmptyModel is the model of a store to which none was applied.
func EmptyModel() *Model {
	return &Model{Source: []byte(`{"collections":{}}`), FanoutLimit: DefaultFanoutLimit}
}

// Index sorts the model's collections, relations and rules by name and makes it answer questions about
// them. It is called once, by whoever has read the collections.
func (m *Model) Index() {
	m.byName, m.to = map[string]*Collection{}, map[string][]*Relation{}
	slices.SortFunc(m.Collections, func(a, b *Collection) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range m.Collections {
		m.byName[c.Name] = c
		slices.SortFunc(c.Relations, func(a, b *Relation) int { return strings.Compare(a.Name, b.Name) })
		slices.SortFunc(c.Rules, func(a, b *Rule) int { return strings.Compare(a.Path.String(), b.Path.String()) })
		for _, r := range c.Relations {
			r.full = c.Name + "." + r.Name
			m.to[r.To] = append(m.to[r.To], r)
		}
	}
}

// Proposal is a model that the log announces, and that does not apply yet.
type Proposal struct {
	Seq    uint64 // of the event that announces it
	Model  *Model
	Source []byte // as announced, as JSON
}
