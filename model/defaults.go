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
	if c == nil || len(c.Defaults) == 0 {
		return body
	}
	t := jsondoc.MustParse(body)
	for _, d := range c.Defaults {
		if filled := d.fill(t, body); filled != nil {
			body = filled
			t.Reset(body)
		}
	}
	return body
}

// fill returns the text of a document with the default, nil where it does not apply.
func (d *Default) fill(t *jsondoc.Tree, body []byte) []byte {
	at, depth := jsondoc.Root, 0
	for ; depth < len(d.Path); depth++ {
		if t.Kind(at) != jsondoc.Object {
			return nil
		}
		next := t.Member(at, d.Path[depth].Name)
		if next == jsondoc.None {
			break
		}
		at = next
	}
	if depth == len(d.Path) {
		return nil
	}
	value := d.Value
	for _, step := range slices.Backward(d.Path[depth+1:]) {
		value = jsondoc.WithLast([]byte("{}"), step.Name, value)
	}
	start, end := t.Span(at)
	return slices.Concat(body[:start], jsondoc.WithLast(body[start:end:end], d.Path[depth].Name, value), body[end:])
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

// DefaultPair holds the defaults of two models that have one collection and one path. One of the two may be nil.
type DefaultPair struct{ Prev, Next *Default }

// Same tells whether both models have the default, with the same value.
func (p DefaultPair) Same() bool {
	return p.Prev != nil && p.Next != nil && string(p.Prev.Value) == string(p.Next.Value)
}
