// Package skeleton makes what stays of a document whose content is erased: its id, and the ids at relations, or all but some members.
package skeleton

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

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

// Of returns the skeleton of a document: its member id, and the ids at paths, with the objects and arrays on the way to them. What has no id is
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

// array writes the elements of an array, of which paths lead on from each.
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
	return t.Parse(body) == nil && slices.ContainsFunc(find(&t, pointers), func(at place) bool {
		return t.Kind(at.parent) != jsondoc.Array || t.Kind(at.node) != jsondoc.Null
	})
}

// Without returns a document without what is at some JSON Pointers. The rest is as it was, byte for byte. An element of an array is replaced by
// null, so that those after it keep their places.
func Without(body []byte, pointers []string) []byte {
	for _, pointer := range pointers {
		var t jsondoc.Tree
		if t.Parse(body) != nil {
			return body
		}
		if found := find(&t, []string{pointer}); len(found) > 0 {
			body = cut(&t, body, found[0])
		}
	}
	return body
}

// place is a value in a tree.
type place struct{ parent, node jsondoc.Node }

// find returns the values to which JSON Pointers lead.
func find(t *jsondoc.Tree, pointers []string) (out []place) {
	for _, pointer := range pointers {
		at := place{jsondoc.None, jsondoc.Root}
		for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
			if at = (place{at.node, child(t, at.node, jsondoc.PointerUnescape(token))}); at.node == jsondoc.None {
				break
			}
		}
		if at.node != jsondoc.None {
			out = append(out, at)
		}
	}
	return out
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

// cut returns the text of a tree without a value.
func cut(t *jsondoc.Tree, text []byte, at place) []byte {
	start, end := t.Span(at.node)
	if t.Kind(at.parent) == jsondoc.Array {
		return slices.Concat(text[:start], []byte("null"), text[end:])
	}
	before := jsondoc.None
	for c := t.First(at.parent); c != at.node; c = t.Next(c) {
		before = c
	}
	if before != jsondoc.None { // with the comma before it
		_, start = t.Span(before)
		return slices.Concat(text[:start], text[end:])
	}
	start, _ = t.Span(at.parent)
	start++
	if next := t.Next(at.node); next != jsondoc.None {
		nextStart, _ := t.Span(next)
		return slices.Concat(text[:start], text[nextStart-len(t.RawKeyColon(next)):])
	}
	_, parentEnd := t.Span(at.parent)
	return slices.Concat(text[:start], text[parentEnd-1:])
}
