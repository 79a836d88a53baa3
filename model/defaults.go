package model

import (
	"slices"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Default declares what a new document has at a path where its writer says nothing. It is written with the document: later writes
// may change it or take it away.
type Default struct {
	Path  Path   // without arrays
	Value []byte // JSON
}

// Fill returns the text of a new document with the collection's defaults, in their order. It is body itself where no default
// applies. One applies if its member is absent, and if what stands on its way are objects; absent ones are made. c may be nil.
func (c *Collection) Fill(body []byte) []byte {
	if c == nil {
		return body
	}
	for _, d := range c.Defaults {
		body = d.fill(body)
	}
	return body
}

// fill returns the text of a document with the default, where it applies.
func (d *Default) fill(body []byte) []byte {
	t := jsondoc.MustParse(body)
	at, depth := jsondoc.Root, 0
	for ; depth < len(d.Path); depth++ {
		if t.Kind(at) != jsondoc.Object {
			return body
		}
		next := t.Member(at, d.Path[depth].Name)
		if next == jsondoc.None {
			break
		}
		at = next
	}
	if depth == len(d.Path) {
		return body
	}
	value := d.Value
	for _, step := range slices.Backward(d.Path[depth+1:]) {
		value = jsondoc.WithLast([]byte("{}"), step.Name, value)
	}
	start, end := t.Span(at)
	return slices.Concat(body[:start], jsondoc.WithLast(body[start:end:end], d.Path[depth].Name, value), body[end:])
}

// Pointer returns the JSON pointer of the default's member.
func (d *Default) Pointer() (pointer string) {
	for _, step := range d.Path {
		pointer += "/" + jsondoc.PointerEscape(step.Name)
	}
	return pointer
}

// Hinders tells whether the default would write a member at a path that is the store's, or leave no place for one.
func (d *Default) Hinders(owned Path) bool {
	if !owned.hasPrefix(d.Path) {
		return d.Path.hasPrefix(owned)
	}
	t := jsondoc.MustParse(d.Value)
	return hinders(t, jsondoc.Root, owned[len(d.Path):])
}

// hinders tells whether there is a member at a path below a node, or no place for one.
func hinders(t *jsondoc.Tree, n jsondoc.Node, rest Path) bool {
	if len(rest) == 0 {
		return true
	}
	if !rest[0].Each() {
		next := t.Member(n, rest[0].Name)
		return t.Kind(n) != jsondoc.Object || next != jsondoc.None && hinders(t, next, rest[1:])
	}
	if t.Kind(n) != jsondoc.Array {
		return true
	}
	for c := t.First(n); c != jsondoc.None; c = t.Next(c) {
		if hinders(t, c, rest[1:]) {
			return true
		}
	}
	return false
}

// Same tells whether both declare the same.
func (d *Default) Same(o *Default) bool {
	return d.Path.String() == o.Path.String() && string(d.Value) == string(o.Value)
}

// defaults adds the defaults of a collection that differ.
func (d *differ) defaults(name string, before, after *Collection) {
	find := func(c *Collection, path string) *Default {
		if i := slices.IndexFunc(c.Defaults, func(x *Default) bool { return x.Path.String() == path }); i >= 0 {
			return c.Defaults[i]
		}
		return nil
	}
	for _, x := range after.Defaults {
		if was := find(before, x.Path.String()); was == nil || !was.Same(x) {
			d.addDeclaration(changeOf(was != nil, true), false, "collections", name, "defaults", x.Path.String())
		}
	}
	for _, x := range before.Defaults {
		if find(after, x.Path.String()) == nil {
			d.addDeclaration(removed, false, "collections", name, "defaults", x.Path.String())
		}
	}
}
