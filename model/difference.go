package model

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Bounds of what Differences returns.
const (
	maxDifferences = 1000
	maxDeclaration = 200 // bytes of a declaration in a Detail
)

// Differences lists what Next declares otherwise than Prev: limits, whether other collections are open, what differs in each collection, and
// functions. Then come others that the caller knows of. After 1,000 entries a last one tells how many more there are. It is empty where both models say the same.
func (c *Comparison) Differences(others ...Difference) []Difference {
	prev, next := c.Prev, c.Next
	d := &differ{before: jsondoc.MustParse(prev.Source), after: jsondoc.MustParse(next.Source), out: []Difference{}}
	d.limit("fanout.limit", prev.FanoutLimit, next.FanoutLimit, declaration(d.after, []string{"fanout", "limit"}) == nothing)
	d.limit("embedded.limit", int64(prev.EmbeddedLimit), int64(next.EmbeddedLimit), false)
	if prev.Closed != next.Closed {
		gone := declaration(d.after, []string{"open"}) == nothing
		d.add(Difference{Path: "open", Change: changed, Detail: fmt.Sprintf("%t, was %t", !next.Closed, !prev.Closed), Removes: gone && !next.Closed})
	}
	for _, p := range c.Collections {
		d.collection(p)
	}
	for _, f := range c.Functions {
		d.function(f.Prev, f.Next)
	}
	for _, other := range others {
		d.add(other)
	}
	if d.untold > 0 {
		d.out = append(d.out, Difference{Change: changed, Detail: fmt.Sprintf("and %d more", d.untold), Removes: d.removesMore})
	}
	return d.out
}

// differ collects the differences between two models.
type differ struct {
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
		d.add(Difference{Path: path, Change: changed, Detail: fmt.Sprintf("%d, was %d", after, before), Removes: gone && after > before})
	}
}

// nothing stands for a declaration that is not there.
const nothing = "nothing"

// The values of Difference.Change.
const (
	added   = "added"
	removed = "removed"
	changed = "changed"
)

// changeOf returns how a declaration differs that one of the models has, or both have otherwise.
func changeOf(before, after bool) string {
	switch {
	case !before:
		return added
	case !after:
		return removed
	}
	return changed
}

// addDeclaration adds a change of what stands at a path of the sources.
func (d *differ) addDeclaration(change string, removes bool, names ...string) {
	before, after := declaration(d.before, names), declaration(d.after, names)
	detail := after
	switch change {
	case removed:
		detail = before
	case changed:
		detail = after + ", was " + before
	}
	d.add(Difference{Path: strings.Join(names, "."), Change: change, Detail: detail, Removes: removes})
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

// collection adds what differs in a collection.
func (d *differ) collection(p *CollectionPair) {
	at := "collections." + p.Name
	switch {
	case p.Prev == nil:
		d.add(Difference{Path: at, Change: added})
	case p.Next == nil:
		d.add(Difference{Path: at, Change: removed, Detail: "it is not declared any more; its documents stay"})
	}
	for _, r := range p.Relations {
		d.relation(p, r)
	}
	for _, r := range p.Rules {
		if change := changeOf(r.Prev != nil, r.Next != nil); change != changed || !r.Same() || r.Next.TakeOver != r.Prev.TakeOver || r.Next.Publish != r.Prev.Publish {
			d.addDeclaration(change, change == removed || change == changed && p.losesValues(r.Prev), "collections", p.Name, "derive", ruleOf(r).Path.String())
		}
	}
	for _, u := range p.Unique {
		switch {
		case u.Prev == nil:
			d.add(Difference{Path: at + ".unique", Change: added, Detail: u.Next.String()})
		case u.Next == nil:
			d.add(Difference{Path: at + ".unique", Change: removed, Detail: u.Prev.String(), Removes: true})
		}
	}
	for _, x := range p.Indexes {
		if !x.Same() {
			change := changeOf(x.Prev != nil, x.Next != nil)
			d.addDeclaration(change, change == removed, "collections", p.Name, "indexes", cmp.Or(x.Next, x.Prev).Name)
		}
	}
	for _, k := range p.Checks {
		if k.Prev == nil || k.Next == nil || !k.Next.Same(k.Prev) || k.Next.Message != k.Prev.Message {
			change := changeOf(k.Prev != nil, k.Next != nil)
			d.addDeclaration(change, k.Prev != nil && (k.Next == nil || !k.Next.Same(k.Prev)), "collections", p.Name, "checks", cmp.Or(k.Next, k.Prev).Name)
		}
	}
	for _, s := range p.Sequences {
		if !s.Same() {
			change := changeOf(s.Prev != nil, s.Next != nil)
			d.addDeclaration(change, change == removed, "collections", p.Name, "sequences", cmp.Or(s.Next, s.Prev).Path.String())
		}
	}
	before, after := p.both()
	if !bytes.Equal(before.Schema, after.Schema) {
		d.addDeclaration(changeOf(before.Schema != nil, after.Schema != nil), schemaLoses(before.Schema, after.Schema), "collections", p.Name, "schema")
	}
	for _, x := range p.Defaults {
		if !x.Same() {
			d.addDeclaration(changeOf(x.Prev != nil, x.Next != nil), false, "collections", p.Name, "defaults", cmp.Or(x.Next, x.Prev).Path.String())
		}
	}
	d.trigger(p.Name, before.Trigger, after.Trigger)
	if !before.Access.Same(after.Access) || (before.Access == nil) != (after.Access == nil) {
		d.add(Difference{Path: at + ".access", Change: changeOf(before.Access != nil, after.Access != nil),
			Detail: before.Access.changesOf(p.Name, after.Access), Removes: before.Access != nil && after.Access == nil})
	}
	d.private(at, before.Private, after.Private)
	d.released(added, at, after.Release, before.Release)
	d.released(removed, at, before.Release, after.Release) // what was released stays so
}

// ruleOf returns the rule of a pair that there is, the later one of two.
func ruleOf(p RulePair) *Rule { return cmp.Or(p.Next, p.Prev) }

// released adds the released paths of a collection that are in one list and not in the other.
func (d *differ) released(change, at string, in, notIn []string) {
	for _, path := range in {
		if !slices.Contains(notIn, path) {
			d.add(Difference{Path: at + ".release", Change: change, Detail: path})
		}
	}
}

// relation adds what differs in a relation of a collection, and in the pages by it.
func (d *differ) relation(c *CollectionPair, p RelationPair) {
	old, r := p.Prev, p.Next
	switch {
	case old == nil:
		d.addDeclaration(added, false, "collections", c.Name, "relations", r.Name)
		d.pages(c.Name, 0, r.PageSize)
		return
	case r == nil:
		d.addDeclaration(removed, true, "collections", c.Name, "relations", old.Name)
		d.pages(c.Name, old.PageSize, 0)
		return
	}
	at := "collections." + c.Name + ".relations." + r.Name
	if !p.Same() {
		d.add(Difference{Path: at, Change: changed, Detail: fmt.Sprintf("%s leads to %s, was %s to %s", r.Path, r.To, old.Path, old.To),
			Removes: old.Strict || old.OnDelete == Restrict || keepsBy(c.Prev, old)})
	}
	if old.OnDelete != r.OnDelete {
		d.add(Difference{Path: at + ".onDelete", Change: changed, Detail: fmt.Sprintf("%s, was %s", r.OnDelete, old.OnDelete),
			Removes: old.OnDelete == Restrict || old.HoldsTarget() && !r.HoldsTarget() || old.OnDelete == Keep && keepsBy(c.Prev, old)})
	}
	if old.Strict != r.Strict {
		d.add(Difference{Path: at + ".strict", Change: changeOf(old.Strict, r.Strict), Removes: old.Strict})
	}
	d.pages(c.Name, old.PageSize, r.PageSize)
}

// keepsBy tells whether values that nobody can compute again stay on a collection's documents by a relation.
func keepsBy(c *Collection, r *Relation) bool {
	return slices.ContainsFunc(c.Rules, func(o *Rule) bool { return o.KeepsValues() && o.Relation.FullName() == r.FullName() })
}

// pages adds the pages by a relation where they differ.
func (d *differ) pages(collection string, before, after int) {
	if before != after {
		d.addDeclaration(changeOf(before > 0, after > 0), after == 0, "collections", collection, "pages")
	}
}

// Removals returns those differences that take something away.
func Removals(all []Difference) []Difference {
	return slices.DeleteFunc(slices.Clone(all), func(d Difference) bool { return !d.Removes })
}
