package model

import (
	"slices"
	"strings"
)

// Collection holds what a model says about the documents of one collection. It says to whom they refer, which members the store
// derives on them, and what they must be like to be written. A collection that the model does not name takes documents as well,
// unless the model is Closed; the store derives nothing on them.
type Collection struct {
	Name      string
	Relations []*Relation // by name
	Rules     []*Rule     // by path
	Unique    []*Unique   // what no two documents have alike
	Indexes   []*Index    // orders of its documents that are kept, by name
	Release   []string    // paths of removed rules that are no longer reserved
	Schema    []byte      // a JSON Schema that documents as written must fit; nil for none
	Defaults  []*Default  // of new documents, in the order in which they are appended
	Felt      bool        // a write of an equal document takes missing frozen values, or moves it in a list of the latest writes
	Checks    []*Check    // conditions that writes must not make false, by name
	Sequences []*Sequence // numbers that documents get when they are created, by path
	Access    *Access     // who reads and writes the documents; nil for what holds without saying: see Model.AccessTo
	Trigger   string      // the name of a function that is called with each write that no trigger makes; "" for none
	Private   []Private   // members that not everybody sees who reads the documents, by path
}

// Relation returns the collection's relation of that name, nil where it has none or c is nil.
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

// DeclaredIndex returns the collection's index of that name, nil where it has none or c is nil.
func (c *Collection) DeclaredIndex(name string) *Index {
	if c == nil {
		return nil
	}
	for _, x := range c.Indexes {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// Model says what the store derives from documents, and what it asks of them. One model applies at each position of the log: it
// comes by an event, and applies until the next one. internal/modelfile reads and checks models. A Model does not change
// afterwards.
type Model struct {
	Collections []*Collection // by name
	Functions   []*Function   // by name
	Closed      bool          // documents of other collections are not written
	FanoutLimit int64         // the number of derived changes that one write may cause
	// EmbeddedLimit is how long an embedded view may be, in bytes. Derived values that it has no room for are absent.
	EmbeddedLimit int
	Rules         []*Rule // by level, then name: every rule comes after those it depends on
	// Sources lists for each of Rules the collections that its value tells about, by name, through other rules, too. A value that is made of its own
	// document alone tells about none.
	Sources [][]string
	Source  []byte // the model as compact JSON
	// Fold is the version of the fold under the model; 0 in a model that is to keep the one in force.
	Fold int
	// Retired, of a model that an import brings, are rules that were removed where it comes from, and whose kept values come
	// with the documents.
	Retired Retired

	gated  map[string]bool        // see Gated; made by IndexGates
	byName map[string]*Collection // made by Index
	to     map[string][]*Relation // by the collection that they lead to

	bySmall map[string]string // names of collections by their lower-case forms
}

// Collection returns what the model says about a collection, nil where it does not declare it.
func (m *Model) Collection(name string) *Collection { return m.byName[name] }

// Relation returns the relation with a full name, nil where there is none.
func (m *Model) Relation(full string) *Relation {
	collection, name, _ := strings.Cut(full, ".")
	return m.byName[collection].Relation(name)
}

// RelationsTo returns the relations that lead to a collection.
func (m *Model) RelationsTo(collection string) []*Relation { return m.to[collection] }

// Indexes returns all declared indexes, by collection and name.
func (m *Model) Indexes() []*Index {
	var all []*Index
	for _, c := range m.Collections {
		all = append(all, c.Indexes...)
	}
	return all
}

// Relations returns all relations, by full name.
func (m *Model) Relations() []*Relation {
	var all []*Relation
	for _, c := range m.Collections {
		all = append(all, c.Relations...)
	}
	return all
}

// Empty returns the model of a store to which none was applied.
func Empty() *Model {
	return &Model{Source: []byte(`{"collections":{}}`), FanoutLimit: DefaultFanoutLimit, EmbeddedLimit: DefaultEmbeddedLimit}
}

// Index sorts the model's collections, functions, relations and rules by name and prepares the model's lookups. Whoever reads a
// model calls it once, when all collections are in place.
func (m *Model) Index() {
	m.byName, m.to, m.bySmall = map[string]*Collection{}, map[string][]*Relation{}, map[string]string{}
	slices.SortFunc(m.Collections, func(a, b *Collection) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(m.Functions, func(a, b *Function) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range m.Collections {
		m.byName[c.Name], m.bySmall[strings.ToLower(c.Name)] = c, c.Name
		slices.SortFunc(c.Relations, func(a, b *Relation) int { return strings.Compare(a.Name, b.Name) })
		slices.SortFunc(c.Rules, func(a, b *Rule) int { return strings.Compare(a.Path.String(), b.Path.String()) })
		slices.SortFunc(c.Sequences, func(a, b *Sequence) int { return strings.Compare(a.Path.String(), b.Path.String()) })
		slices.SortFunc(c.Indexes, func(a, b *Index) int { return strings.Compare(a.Name, b.Name) })
		slices.SortFunc(c.Checks, func(a, b *Check) int { return strings.Compare(a.Name, b.Name) })
		for _, r := range c.Relations {
			r.full = c.Name + "." + r.Name
			m.to[r.To] = append(m.to[r.To], r)
		}
	}
}

// ChecksFrom is the version of the fold from which on a model may have checks, functions, and names with capitals: programs that know older ones alone cannot read it.
const ChecksFrom = 9

// Proposal holds a model that the log has announced and that does not apply yet. Every node prepares its documents in the
// background. Then another event applies the model, or one withdraws it.
type Proposal struct {
	Seq    uint64 // of the event that announces it
	Model  *Model
	Source []byte // as announced, as JSON
	Actor  string // who announces it; "" for nobody in particular
}
