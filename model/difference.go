package model

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Difference tells one thing that a model declares otherwise than the model before it.
type Difference struct {
	Path   string `json:"path"`             // of the declaration in the model
	Change string `json:"change"`           // added, removed or changed
	Detail string `json:"detail,omitempty"` // what is declared now, and what was before
	// Removes says that a rule or a guard goes, or values that cannot be computed again.
	Removes bool `json:"removes,omitempty"`
}

// Bounds of what Differences returns.
const (
	maxDifferences = 1000
	maxDeclaration = 200 // bytes of a declaration in a Detail
)

// Differences lists what the model declares otherwise than prev, by collection: collections, relations, policies, pages,
// rules, unique members, schemas, released paths, limits and whether other collections are open. Of more than 1,000 the last entry tells how many more there
// are. It is empty where both say the same.
func (m *Model) Differences(prev *Model) []Difference {
	d := &differ{prev: prev, before: jsondoc.MustParse(prev.Source), after: jsondoc.MustParse(m.Source), out: []Difference{}}
	d.limit("fanout.limit", prev.FanoutLimit, m.FanoutLimit, declaration(d.after, []string{"fanout", "limit"}) == nothing)
	d.limit("embedded.limit", int64(prev.EmbeddedLimit), int64(m.EmbeddedLimit), false)
	if prev.Closed != m.Closed {
		gone := declaration(d.after, []string{"open"}) == nothing
		d.add(Difference{Path: "open", Change: "changed", Detail: fmt.Sprintf("%t, was %t", !m.Closed, !prev.Closed), Removes: gone && !m.Closed})
	}
	for _, name := range slices.Sorted(maps.Keys(union(prev.byName, m.byName))) {
		d.collection(name, prev.byName[name], m.byName[name])
	}
	if d.untold > 0 {
		d.out = append(d.out, Difference{Change: "changed", Detail: fmt.Sprintf("and %d more", d.untold), Removes: d.removesMore})
	}
	return d.out
}

// union returns a map with the keys of both.
func union[T any](a, b map[string]T) map[string]T {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]T{}
	}
	maps.Copy(out, b)
	return out
}

// differ collects the differences between two models.
type differ struct {
	prev          *Model
	before, after *jsondoc.Tree // of the models' sources
	out           []Difference
	untold        int
	removesMore   bool
}

func (d *differ) add(diff Difference) {
	if len(d.out) < maxDifferences {
		d.out = append(d.out, diff)
		return
	}
	d.untold++
	d.removesMore = d.removesMore || diff.Removes
}

// limit adds a limit that differs. gone tells whether it is not declared any more, and guarded something.
func (d *differ) limit(path string, before, after int64, gone bool) {
	if before != after {
		d.add(Difference{Path: path, Change: "changed", Detail: fmt.Sprintf("%d, was %d", after, before), Removes: gone && after > before})
	}
}

// nothing stands for a declaration that is not there.
const nothing = "nothing"

// declared adds what stands at a path of the sources: added, removed or changed.
func (d *differ) declared(there, thereBefore, removes bool, names ...string) {
	path := strings.Join(names, ".")
	switch before, after := declaration(d.before, names), declaration(d.after, names); {
	case !thereBefore:
		d.add(Difference{Path: path, Change: "added", Detail: after})
	case !there:
		d.add(Difference{Path: path, Change: "removed", Detail: before, Removes: removes})
	default:
		d.add(Difference{Path: path, Change: "changed", Detail: after + ", was " + before, Removes: removes})
	}
}

// declaration returns what a model's source has at a path, cut off where it is long. It returns nothing where nothing
// is there.
func declaration(t *jsondoc.Tree, names []string) string {
	n := jsondoc.Root
	for _, name := range names {
		if t.Kind(n) != jsondoc.Object {
			return nothing
		}
		if n = t.Member(n, name); n == jsondoc.None {
			return nothing
		}
	}
	raw := t.Raw(n)
	if len(raw) > maxDeclaration {
		return string(bytes.ToValidUTF8(raw[:maxDeclaration], nil)) + "..."
	}
	return string(raw)
}

// collection adds what differs in a collection, of which either may be nil.
func (d *differ) collection(name string, before, after *Collection) {
	at := "collections." + name
	none := &Collection{Name: name}
	switch {
	case before == nil:
		d.add(Difference{Path: at, Change: "added"})
		before = none
	case after == nil:
		d.add(Difference{Path: at, Change: "removed", Detail: "it is not declared any more; its documents stay"})
		after = none
	}
	d.relations(before, after)
	d.rules(before, after)
	for _, u := range after.Unique {
		if !HasUnique(before.Unique, u) {
			d.add(Difference{Path: at + ".unique", Change: "added", Detail: u.String()})
		}
	}
	for _, u := range before.Unique {
		if !HasUnique(after.Unique, u) {
			d.add(Difference{Path: at + ".unique", Change: "removed", Detail: u.String(), Removes: true})
		}
	}
	if !bytes.Equal(before.Schema, after.Schema) {
		d.declared(after.Schema != nil, before.Schema != nil, schemaLoses(before.Schema, after.Schema), "collections", name, "schema")
	}
	for _, path := range after.Release {
		if !slices.Contains(before.Release, path) {
			d.add(Difference{Path: at + ".release", Change: "added", Detail: path})
		}
	}
	for _, path := range before.Release { // what was released stays so
		if !slices.Contains(after.Release, path) {
			d.add(Difference{Path: at + ".release", Change: "removed", Detail: path})
		}
	}
}

// takesAll tells whether a schema, nil for none, takes every document.
func takesAll(schema []byte) bool {
	return schema == nil || slices.Contains([]string{"{}", "true"}, string(schema))
}

// relations adds what differs in the relations of a collection, and in its pages.
func (d *differ) relations(before, after *Collection) {
	c := before.Name
	for _, r := range after.Relations {
		old := before.Relation(r.Name)
		if old == nil {
			d.declared(true, false, false, "collections", c, "relations", r.Name)
			d.pages(c, 0, r.PageSize)
			continue
		}
		at := "collections." + c + ".relations." + r.Name
		if !old.SameIDs(r) || old.To != r.To {
			d.add(Difference{Path: at, Change: "changed", Detail: fmt.Sprintf("%s leads to %s, was %s to %s", r.Path, r.To, old.Path, old.To),
				Removes: old.Strict || old.OnDelete == Restrict || d.keeps(old)})
		}
		if old.OnDelete != r.OnDelete {
			d.add(Difference{Path: at + ".onDelete", Change: "changed", Detail: fmt.Sprintf("%s, was %s", r.OnDelete, old.OnDelete),
				Removes: old.OnDelete == Restrict || old.HoldsTarget() && !r.HoldsTarget() || d.keeps(old) && old.OnDelete == Keep})
		}
		switch {
		case r.Strict && !old.Strict:
			d.add(Difference{Path: at + ".strict", Change: "added"})
		case old.Strict && !r.Strict:
			d.add(Difference{Path: at + ".strict", Change: "removed", Removes: true})
		}
		d.pages(c, old.PageSize, r.PageSize)
	}
	for _, old := range before.Relations {
		if after.Relation(old.Name) == nil {
			d.declared(false, true, true, "collections", c, "relations", old.Name)
			d.pages(c, old.PageSize, 0)
		}
	}
}

// keeps tells whether rules of the model before keep values by a relation that cannot be computed again.
func (d *differ) keeps(r *Relation) bool {
	return slices.ContainsFunc(d.prev.Rules, func(o *Rule) bool {
		return o.Kind == Copy && o.Relation.FullName() == r.FullName() && keepsValues(o)
	})
}

// keepsValues tells whether a rule's values may be of documents as they were once.
func keepsValues(r *Rule) bool { return r.Frozen || r.KeepsGone() }

// pages adds the pages by a relation where they differ.
func (d *differ) pages(collection string, before, after int) {
	if before != after {
		d.declared(after > 0, before > 0, after == 0, "collections", collection, "pages")
	}
}

// rules adds the derived fields of a collection that differ.
func (d *differ) rules(before, after *Collection) {
	c := before.Name
	find := func(rules []*Rule, path string) *Rule {
		i := slices.IndexFunc(rules, func(r *Rule) bool { return r.Path.String() == path })
		if i < 0 {
			return nil
		}
		return rules[i]
	}
	for _, r := range after.Rules {
		path := r.Path.String()
		switch old := find(before.Rules, path); {
		case old == nil:
			d.declared(true, false, false, "collections", c, "derive", path)
		case !r.SameAs(old), r.TakeOver != old.TakeOver:
			d.declared(true, true, losesValues(old, r), "collections", c, "derive", path)
		}
	}
	for _, old := range before.Rules {
		if path := old.Path.String(); find(after.Rules, path) == nil {
			d.declared(false, true, true, "collections", c, "derive", path)
		}
	}
}

// losesValues tells whether values that old keeps and nobody can compute again go where r takes its place.
func losesValues(old, r *Rule) bool {
	k, keeps := old.Keeping()
	o := KeptOutcome{KeepingRule: k}
	o.settle(&Collection{Rules: []*Rule{r}})
	return keeps && !o.Stays
}

// Removals returns those differences that take something away.
func Removals(all []Difference) []Difference {
	return slices.DeleteFunc(slices.Clone(all), func(d Difference) bool { return !d.Removes })
}
