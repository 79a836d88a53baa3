// Package skeleton makes what stays of a document whose content is erased: its id, and the ids at relations, or all but some members.
package skeleton

import (
	"slices"
	"strconv"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Path is a path of ids.
type Path = model.Path

// Paths reads paths as model.Path writes them. The error is Invalid.
func Paths(texts []string) (out []model.Path, err error) {
	for _, text := range texts {
		p, err := model.ParsePath(text)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// Of returns the skeleton of a document: its member id, and the ids at paths, with the objects and arrays on the way to them. The rest is
// dropped. In an array that has one, elements without keep their places: an object as an empty one, anything else as null. The body is a JSON
// object.
func Of(body []byte, paths []model.Path) []byte {
	var t jsondoc.Tree
	if t.Parse(body) != nil {
		return nil
	}
	w := writer{t: &t}
	if !w.object(jsondoc.Root, paths, true) {
		return []byte("{}")
	}
	return w.out
}

// writer writes the skeleton of a tree. Its methods tell whether there was an id, and write nothing where there was none.
type writer struct {
	t   *jsondoc.Tree
	out []byte
}

// object writes what paths lead to in an object, and its member id where it is the document.
func (w *writer) object(n jsondoc.Node, paths []model.Path, document bool) bool {
	begin := len(w.out)
	w.out = append(w.out, '{')
	some := false
	for c := w.t.First(n); c != jsondoc.None; c = w.t.Next(c) {
		name := w.t.Key(c)
		rest := after(paths, model.Step{Name: name})
		if document && name == "id" {
			rest = append(rest, model.Path{})
		}
		if len(rest) == 0 {
			continue
		}
		at := len(w.out)
		if some {
			w.out = append(w.out, ',')
		}
		w.out = append(append(w.out, w.t.RawKey(c)...), ':')
		if w.value(c, rest) {
			some = true
		} else {
			w.out = w.out[:at]
		}
	}
	if !some {
		w.out = w.out[:begin]
		return false
	}
	w.out = append(w.out, '}')
	return true
}

// value writes what paths lead to at a node.
func (w *writer) value(n jsondoc.Node, paths []model.Path) bool {
	switch w.t.Kind(n) {
	case jsondoc.Object:
		return w.object(n, paths, false)
	case jsondoc.Array:
		return w.array(n, after(paths, model.Step{}))
	}
	if !isID(w.t, n) || !slices.ContainsFunc(paths, func(p model.Path) bool { return len(p) == 0 }) {
		return false
	}
	w.out = append(w.out, w.t.Raw(n)...)
	return true
}

// array writes the elements of an array; paths lead on from each.
func (w *writer) array(n jsondoc.Node, paths []model.Path) bool {
	begin := len(w.out)
	some := false
	w.out = append(w.out, '[')
	for c := w.t.First(n); c != jsondoc.None && len(paths) > 0; c = w.t.Next(c) {
		if c != w.t.First(n) {
			w.out = append(w.out, ',')
		}
		switch {
		case w.value(c, paths):
			some = true
		case w.t.Kind(c) == jsondoc.Object:
			w.out = append(w.out, "{}"...)
		default:
			w.out = append(w.out, "null"...)
		}
	}
	if !some {
		w.out = w.out[:begin]
		return false
	}
	w.out = append(w.out, ']')
	return true
}

// isID tells whether a node can be an id, as model.Path.AppendIDs does.
func isID(t *jsondoc.Tree, n jsondoc.Node) bool {
	id := t.Text(n)
	return id != "" && len(id) <= fanfold.MaxIDLen
}

// after returns what is left of paths that begin with a step.
func after(paths []model.Path, step model.Step) (rest []model.Path) {
	for _, p := range paths {
		if len(p) > 0 && p[0] == step {
			rest = append(rest, p[1:])
		}
	}
	return rest
}

// Has tells whether a document has anything at one of some JSON Pointers. A null in an array is nothing.
func Has(body []byte, pointers []string) bool {
	var t jsondoc.Tree
	return t.Parse(body) == nil && len(find(&t, pointers).gone) > 0
}

// Without returns a document without what is at some JSON Pointers. The rest is as it was, byte for byte. An element of an array is replaced by
// null, so that those after it keep their places.
func Without(body []byte, pointers []string) []byte {
	var t jsondoc.Tree
	if t.Parse(body) != nil {
		return body
	}
	c := find(&t, pointers)
	if len(c.gone) == 0 {
		return body
	}
	start, end := t.Span(jsondoc.Root)
	c.out = append(make([]byte, 0, len(body)), body[:start]...)
	c.value(jsondoc.Root)
	return append(c.out, body[end:]...)
}

// cutter writes a tree without some of its values.
type cutter struct {
	t       *jsondoc.Tree
	gone    map[jsondoc.Node]bool
	through map[jsondoc.Node]bool // the objects and arrays with one in them
	out     []byte
}

// find returns what writes a tree without the values to which JSON Pointers lead.
func find(t *jsondoc.Tree, pointers []string) *cutter {
	c := &cutter{t: t, gone: map[jsondoc.Node]bool{}, through: map[jsondoc.Node]bool{}}
	for _, pointer := range pointers {
		way := []jsondoc.Node{jsondoc.Root}
		for _, token := range jsondoc.PointerTokens(pointer) {
			way = append(way, child(t, way[len(way)-1], token))
		}
		at, parent := way[len(way)-1], way[len(way)-2]
		if at == jsondoc.None || t.Kind(parent) == jsondoc.Array && t.Kind(at) == jsondoc.Null {
			continue
		}
		c.gone[at] = true
		for _, n := range way[:len(way)-1] {
			c.through[n] = true
		}
	}
	return c
}

// child returns the member or the element of a node that a token names, jsondoc.None for none.
func child(t *jsondoc.Tree, n jsondoc.Node, token string) jsondoc.Node {
	if t.Kind(n) != jsondoc.Array {
		return t.Member(n, token)
	}
	index, err := strconv.Atoi(token)
	if err != nil || index < 0 || strconv.Itoa(index) != token {
		return jsondoc.None
	}
	c := t.First(n)
	for ; c != jsondoc.None && index > 0; index-- {
		c = t.Next(c)
	}
	return c
}

// value writes a value without what is gone in it.
func (c *cutter) value(n jsondoc.Node) {
	switch {
	case !c.through[n]:
		c.out = append(c.out, c.t.Raw(n)...)
	case c.t.Kind(n) == jsondoc.Array:
		c.array(n)
	default:
		c.object(n)
	}
}

// array writes an array with null in the place of elements that are gone.
func (c *cutter) array(n jsondoc.Node) {
	c.out = append(c.out, c.t.Before(n, c.t.First(n))...)
	for e := c.t.First(n); e != jsondoc.None; e = c.t.Next(e) {
		if c.gone[e] {
			c.out = append(c.out, "null"...)
		} else {
			c.value(e)
		}
		if next := c.t.Next(e); next != jsondoc.None {
			c.out = append(c.out, c.t.Between(e, next)...)
		} else {
			c.out = append(c.out, c.t.After(n, e)...)
		}
	}
}

// object writes an object without the members that are gone.
func (c *cutter) object(n jsondoc.Node) {
	c.out = append(c.out, c.t.Before(n, c.t.First(n))...)
	var before, kept jsondoc.Node
	for m := c.t.First(n); m != jsondoc.None; m = c.t.Next(m) {
		if !c.gone[m] {
			if kept != jsondoc.None {
				c.out = append(c.out, c.t.Between(before, m)...)
			}
			c.out = append(c.out, c.t.RawKeyColon(m)...)
			c.value(m)
			kept = m
		}
		before = m
	}
	c.out = append(c.out, c.t.After(n, before)...)
}
