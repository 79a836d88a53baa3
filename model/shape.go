package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Shape says which members of a collection's documents belong to the store: the fields that rules derive, and the paths of
// removed rules that are still reserved. A client may send a document as it was read. By the shape such members are found
// and dropped, so that they are never stored as data. A Shape is a tree like a document, and does not change once it is made.
type Shape struct {
	Name    string   // of the member; "" at the root and for array elements
	Members []*Shape // by name
	Elem    *Shape   // of an array's elements
	Rule    *Rule    // the rule that owns this member; nil where none does
	Flag    bool     // the member is the rule's TruncatedField
	Owned   bool     // belongs to the store: by Rule, or reserved
}

// NewShape returns the shape of a collection. Either argument may be nil.
func NewShape(c *Collection, reserved []string) *Shape {
	root := &Shape{}
	if c != nil {
		for _, r := range c.Rules {
			for i, f := range r.OwnedPaths() {
				leaf := root.at(f)
				leaf.Owned, leaf.Rule, leaf.Flag = true, r, i == 1
			}
		}
	}
	for _, path := range reserved {
		p, err := ParsePath(path)
		if err == nil {
			root.at(p).Owned = true
		}
	}
	return root
}

// at returns the node of a path, which it makes where there is none.
func (s *Shape) at(p Path) *Shape {
	for _, step := range p {
		if step.Each() {
			if s.Elem == nil {
				s.Elem = &Shape{}
			}
			s = s.Elem
			continue
		}
		i, found := slices.BinarySearchFunc(s.Members, step.Name, func(m *Shape, name string) int { return strings.Compare(m.Name, name) })
		if !found {
			s.Members = slices.Insert(s.Members, i, &Shape{Name: step.Name})
		}
		s = s.Members[i]
	}
	return s
}

// Empty tells whether nothing belongs to the store.
func (s *Shape) Empty() bool { return !s.Owned && len(s.Members) == 0 && s.Elem == nil }

// Member returns the part of the shape that is about the member n of t, nil where nothing of it belongs to the store.
func (s *Shape) Member(t *jsondoc.Tree, n jsondoc.Node) *Shape {
	for _, m := range s.Members {
		if t.KeyIs(n, m.Name) {
			return m
		}
	}
	return nil
}

// Strip returns the document without the members that the store owns, every other byte as it was, and the JSON pointers
// of what it dropped. It returns the document's own bytes if it drops nothing.
func (s *Shape) Strip(t *jsondoc.Tree) (body []byte, dropped []string) {
	if !s.Owns(t) {
		return t.Raw(jsondoc.Root), nil
	}
	w := stripper{t: t}
	w.value(jsondoc.Root, s, "")
	if len(w.dropped) == 0 {
		return t.Raw(jsondoc.Root), nil
	}
	return w.out, w.dropped
}

// Owns tells whether the document has members where the store's own members belong.
func (s *Shape) Owns(t *jsondoc.Tree) bool { return s.owns(t, jsondoc.Root) }

// owns tells whether something inside n belongs to the store.
func (s *Shape) owns(t *jsondoc.Tree, n jsondoc.Node) bool {
	switch kind := t.Kind(n); {
	case kind == jsondoc.Object && len(s.Members) > 0:
		for c := t.First(n); c != jsondoc.None; c = t.Next(c) {
			if m := s.Member(t, c); m != nil && (m.Owned || m.owns(t, c)) {
				return true
			}
		}
	case kind == jsondoc.Array && s.Elem != nil:
		for c := t.First(n); c != jsondoc.None; c = t.Next(c) {
			if s.Elem.Owned || s.Elem.owns(t, c) {
				return true
			}
		}
	}
	return false
}

// stripper writes a document without the members that belong to the store.
type stripper struct {
	t       *jsondoc.Tree
	out     []byte
	dropped []string
}

// value writes node n, to which s applies and whose JSON pointer is at.
func (w *stripper) value(n jsondoc.Node, s *Shape, at string) {
	switch {
	case s == nil:
		w.out = append(w.out, w.t.Raw(n)...)
	case w.t.Kind(n) == jsondoc.Object && len(s.Members) > 0:
		w.children(n, at, func(c jsondoc.Node, _ int) (*Shape, string) {
			m := s.Member(w.t, c)
			return m, jsondoc.PointerEscape(w.t.Key(c))
		})
	case w.t.Kind(n) == jsondoc.Array && s.Elem != nil:
		w.children(n, at, func(_ jsondoc.Node, i int) (*Shape, string) { return s.Elem, strconv.Itoa(i) })
	default:
		w.out = append(w.out, w.t.Raw(n)...)
	}
}

// children writes an object or array without its owned members, and keeps the text between the others.
func (w *stripper) children(n jsondoc.Node, at string, place func(jsondoc.Node, int) (*Shape, string)) {
	first := w.t.First(n)
	if first == jsondoc.None {
		w.out = append(w.out, w.t.Raw(n)...)
		return
	}
	i, kept, last := 0, 0, jsondoc.None
	for c := first; c != jsondoc.None; c = w.t.Next(c) {
		m, name := place(c, i)
		i++
		pointer := at + "/" + name
		switch {
		case m != nil && m.Owned:
			w.dropped = append(w.dropped, pointer)
		default:
			if kept == 0 {
				w.out = append(w.out, w.t.Before(n, first)...)
			} else {
				w.out = append(w.out, w.t.Between(last, c)...)
			}
			kept++
			w.out = append(w.out, w.t.RawKeyColon(c)...)
			w.value(c, m, pointer)
		}
		last = c
	}
	if kept == 0 {
		w.out = append(w.out, w.t.Before(n, first)...)
	}
	w.out = append(w.out, w.t.After(n, last)...)
}

// Owner tells why the member to which the tokens of a JSON pointer lead belongs to the store: itself, or a member around it. It
// returns the part of the shape about that member, and its path. It returns nil if the member does not belong to the store.
func (s *Shape) Owner(tokens []string) (owner *Shape, path string) {
	for _, token := range tokens {
		var next *Shape
		for _, m := range s.Members {
			if m.Name == token {
				next = m
			}
		}
		switch {
		case next == nil && s.Elem == nil:
			return nil, ""
		case next == nil:
			next, path = s.Elem, path+"[]"
		case path == "":
			path = token
		default:
			path += "." + token
		}
		if s = next; s.Owned {
			return s, path
		}
	}
	return nil, ""
}
