package fanfold

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// OnDelete says what becomes of a holder when the relation's target is deleted.
type OnDelete string

// The delete policies.
const (
	Clear    OnDelete = "clear"    // the id stays, the copies go (default)
	Keep     OnDelete = "keep"     // the id stays, and the last copied values do
	Unlink   OnDelete = "unlink"   // the id goes, or the array's element that holds it
	Cascade  OnDelete = "cascade"  // the holder is deleted too
	Restrict OnDelete = "restrict" // the target cannot be deleted
)

// Writes tells whether a delete of the target has to do with its holders: deletes them, changes
// them, or is refused because of them.
func (d OnDelete) Writes() bool { return d == Unlink || d == Cascade || d == Restrict }

// Relation says where documents of a collection hold ids of another's.
type Relation struct {
	Name       string
	Collection string // whose documents hold the ids
	Path       Path
	To         string
	OnDelete   OnDelete
	Strict     bool // targets must exist when they are referred to, and cannot go while they are
	PageSize   int  // documents that refer to one target are kept in pages of so many; 0 for no pages

	full string // FullName, made once
}

// FullName is "<collection>.<relation>", as derived fields of the target name it.
func (r *Relation) FullName() string {
	if r.full == "" {
		return r.Collection + "." + r.Name
	}
	return r.full
}

// RuleKind is what a derived field holds.
type RuleKind string

// The rule kinds.
const (
	Copy   RuleKind = "copy"   // a value of the relation's target
	Count  RuleKind = "count"  // how many documents refer to this one
	Sum    RuleKind = "sum"    // of a number in the documents that refer to this one
	Min    RuleKind = "min"    // the least such number
	Max    RuleKind = "max"    // the greatest such number
	Avg    RuleKind = "avg"    // their mean
	IDs    RuleKind = "ids"    // which documents refer to this one, in order of arrival
	Recent RuleKind = "recent" // some members of the newest documents that refer to this one
)

// Aggregates tells whether the kind is one of Sum, Min, Max and Avg.
func (k RuleKind) Aggregates() bool { return k == Sum || k == Min || k == Max || k == Avg }

// Rule declares one derived field: a member the store owns and keeps right.
type Rule struct {
	Collection string // whose documents carry the field
	Path       Path
	Kind       RuleKind
	Relation   *Relation // of Copy: a relation of this collection; else one that leads to it
	Value      string    // of Copy: a CEL expression over doc, the target's embedded view
	Frozen     bool      // of Copy: the value stays as it was when the holder began to refer to the target
	Where      string    // a CEL expression over doc, the child's referenced view; "" for all. Not of Copy and IDs
	Of         Path      // of aggregates: where the number stands in the child's referenced view
	Fields     []string  // of Recent: members of the child's embedded view
	OrderBy    Path      // of Recent: where what children are ordered by stands in their referenced view; nil: arrival
	Limit      int       // of IDs and Recent: how many at most
	TakeOver   bool      // the field may hide a member that stored documents already have

	// Index is the rule's place in Model.Rules; Level how many rules it may depend on in a row.
	Index, Level int
	// Reads are the top-level members of the embedded view that the rule looks at, the target's
	// for a Copy, the child's for Recent; nil means any.
	Reads []string
	// Base is the length of Path's prefix in which the field's object stands: inside the
	// relation's array, for a copy beside each id.
	Base int
}

// Name is "<collection>.<path>", unique in a model.
func (r *Rule) Name() string { return r.Collection + "." + r.Path.String() }

// List tells whether a Copy holds a list of values, one an id.
func (r *Rule) List() bool { return r.Kind == Copy && r.Relation.Path[r.Base:].Arrays() }

// SameAs tells whether both rules always give the same value.
func (r *Rule) SameAs(o *Rule) bool {
	return r.Kind == o.Kind && r.Value == o.Value && r.Frozen == o.Frozen && r.Where == o.Where && r.Limit == o.Limit &&
		r.Of.String() == o.Of.String() && r.OrderBy.String() == o.OrderBy.String() && slices.Equal(r.Fields, o.Fields) &&
		r.Relation.SameIDs(o.Relation) && r.Relation.To == o.Relation.To && r.KeepsGone() == o.KeepsGone()
}

// KeepsGone tells whether the values of a copy stay on their holders when the target goes.
func (r *Rule) KeepsGone() bool { return r.Kind == Copy && !r.Frozen && r.Relation.OnDelete == Keep }

// SameIDs tells whether both relations find the same ids.
func (r *Relation) SameIDs(o *Relation) bool {
	return r.FullName() == o.FullName() && r.Path.String() == o.Path.String()
}

// TruncatedField is the member beside an IDs field that is true where ids were cut off, and
// absent where none were.
func TruncatedField(name string) string { return name + "Truncated" }

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

// Model is a checked model. It does not change after ParseModel.
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

// UniqueValue is a value of a unique member as claims tell it apart from others: the kind, then a
// string's text or a number's one form; "" for what is neither, which any number of documents may
// have.
func UniqueValue(t *jsondoc.Tree, path Path) (value string, err error) {
	n := jsondoc.Root
	for _, step := range path {
		if n = t.Member(n, step.Name); n == jsondoc.None {
			return "", nil
		}
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

// Guards tells whether writes of the collection's documents have to do with strict relations or
// unique members; deletes also where strict relations lead to it.
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

func (r *Relation) strict() bool { return r.Strict }

// AddsGuards tells whether the model has strict relations or unique members that prev has not.
func (m *Model) AddsGuards(prev *Model) bool {
	strict, unique := m.NewGuards(prev)
	return len(strict)+len(unique) > 0
}

// NewGuards returns the strict relations that prev has not, or not so, and the unique members that it has
// not, by collection.
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

// Unguarded is the model's source without its strict relations and unique members being so; nil where
// it has none.
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

// ExprCompiler checks expressions. Reads returns the top-level members of doc that the
// expression can look at, nil for any; the error says what is wrong with it.
type ExprCompiler interface {
	Reads(expr string) ([]string, error)
}

// SchemaCompiler checks a JSON Schema; the error says what is wrong with it.
type SchemaCompiler func(source []byte) error

// ParseModel reads a model in YAML or JSON. The error is Invalid and lists every mistake with
// its path. A nil schemas takes schemas as they are: those of a model that was accepted before.
func ParseModel(src []byte, exprs ExprCompiler, schemas SchemaCompiler) (*Model, error) {
	text, err := modelJSON(src)
	if err != nil {
		return nil, err
	}
	p := &modelParser{tree: jsondoc.MustParse(text), exprs: exprs, schemas: schemas,
		model: &Model{Source: text, FanoutLimit: DefaultFanoutLimit, byName: map[string]*Collection{}, to: map[string][]*Relation{}}}
	p.parse()
	p.link()
	p.order()
	if len(p.problems) > 0 {
		return nil, &Error{Code: Invalid, Message: "the model has mistakes; nothing was changed", Problems: p.problems}
	}
	return p.model, nil
}

func (m *Model) addCollection(c *Collection) {
	m.Collections = append(m.Collections, c)
	m.byName[c.Name] = c
}

func (m *Model) sort() {
	slices.SortFunc(m.Collections, func(a, b *Collection) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range m.Collections {
		slices.SortFunc(c.Relations, func(a, b *Relation) int { return strings.Compare(a.Name, b.Name) })
		slices.SortFunc(c.Rules, func(a, b *Rule) int { return strings.Compare(a.Path.String(), b.Path.String()) })
	}
}
