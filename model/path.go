package model

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Step leads into the member Name of an object or, where Name is "", into each element of an array.
type Step struct{ Name string }

// Each tells whether the step goes into every element of an array.
func (s Step) Each() bool { return s.Name == "" }

// Path says where ids or values stand in a document: "pub-id", "authors[].id",
// "sections[].items[].name". Member names may hold anything but '.', '[' and ']'.
type Path []Step

// ParsePath reads a path. The error is Invalid.
func ParsePath(s string) (Path, error) {
	var p Path
	for part := range strings.SplitSeq(s, ".") {
		name := strings.TrimRight(part, "[]")
		if name == "" || strings.ContainsAny(name, "[]") || strings.Trim(part[len(name):], "[]") != "" {
			return nil, fanfold.Errorf(fanfold.Invalid, "%q is not a path: want member names joined by dots, [] behind an array, such as authors[].id", fanfold.Clip(s))
		}
		p = append(p, Step{Name: name})
		brackets := part[len(name):]
		for ; strings.HasPrefix(brackets, "[]"); brackets = brackets[2:] {
			p = append(p, Step{})
		}
		if brackets != "" {
			return nil, fanfold.Errorf(fanfold.Invalid, "%q is not a path: an array is written []", fanfold.Clip(s))
		}
	}
	return p, nil
}

// ParseNewPath reads a path that nothing stored has yet. The error is Invalid, also for a name between quotes: no member is called so.
func ParseNewPath(s string) (Path, error) {
	if quotedName.MatchString(s) {
		return nil, fanfold.Errorf(fanfold.Invalid, "%s is not a path: names in a path have no quotes, and a member with a dot, [ or ] in its name has no path; an expression can name it, as in doc[\"a.b\"]", fanfold.Clip(s))
	}
	return ParsePath(s)
}

var quotedName = regexp.MustCompile(`(^|\.)("[^"]*"|'[^']*')(\[\])*(\.|$)`)

// String returns the path as ParsePath reads it.
func (p Path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.Each():
			b.WriteString("[]")
		case i > 0:
			b.WriteString("." + s.Name)
		default:
			b.WriteString(s.Name)
		}
	}
	return b.String()
}

// Pointer returns the JSON pointer of the member to which a path without arrays leads.
func (p Path) Pointer() (pointer string) {
	for _, step := range p {
		pointer += "/" + jsondoc.PointerEscape(step.Name)
	}
	return pointer
}

// Names returns the names of the steps. 0, as of an array's first element, stands for each element.
func (p Path) Names() []string {
	names := make([]string, len(p))
	for i, step := range p {
		if names[i] = step.Name; step.Each() {
			names[i] = "0"
		}
	}
	return names
}

// Arrays tells whether the path goes through an array.
func (p Path) Arrays() bool {
	for _, s := range p {
		if s.Each() {
			return true
		}
	}
	return false
}

// Elements returns the part of the path that leads to the elements of its innermost array, nil for a path without arrays.
func (p Path) Elements() Path {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i].Each() {
			return p[:i+1]
		}
	}
	return nil
}

// Nodes appends to dst the nodes to which the path leads below n, in document order, up to most of them in all, and returns it.
func (p Path) Nodes(dst []jsondoc.Node, t *jsondoc.Tree, n jsondoc.Node, most int) []jsondoc.Node {
	for i, step := range p {
		if step.Each() {
			if t.Kind(n) != jsondoc.Array {
				return dst
			}
			for c := t.First(n); c != jsondoc.None && len(dst) < most; c = t.Next(c) {
				dst = p[i+1:].Nodes(dst, t, c, most)
			}
			return dst
		}
		if n = t.Member(n, step.Name); n == jsondoc.None {
			return dst
		}
	}
	return append(dst, n)
}

// hasPrefix tells whether p begins with all of q.
func (p Path) hasPrefix(q Path) bool {
	if len(q) > len(p) {
		return false
	}
	for i := range q {
		if p[i] != q[i] {
			return false
		}
	}
	return true
}

// Overlaps tells whether one of the two paths leads to the place of the other, or into it.
func (p Path) Overlaps(q Path) bool { return p.hasPrefix(q) || q.hasPrefix(p) }

// SharedArrays returns the length of the longest common prefix that ends in an array's elements, 0 where there is none.
func (p Path) SharedArrays(q Path) int {
	shared := 0
	for i := 0; i < len(p) && i < len(q) && p[i] == q[i]; i++ {
		if p[i].Each() {
			shared = i + 1
		}
	}
	return shared
}

// Lookup returns the node to which a path without arrays leads from n, jsondoc.None where a member on the way is missing.
func (p Path) Lookup(t *jsondoc.Tree, n jsondoc.Node) jsondoc.Node {
	for _, step := range p {
		if n = t.Member(n, step.Name); n == jsondoc.None {
			return jsondoc.None
		}
	}
	return n
}

// AppendIDs appends to dst the ids that t holds at the path below node n, in document order and with duplicates, and
// returns it. Values that cannot be ids are left out: those that are neither string nor number, empty or too long.
func (p Path) AppendIDs(dst []string, t *jsondoc.Tree, n jsondoc.Node) []string {
	for i, step := range p {
		if step.Each() {
			if t.Kind(n) != jsondoc.Array {
				return dst
			}
			for c := t.First(n); c != jsondoc.None; c = t.Next(c) {
				dst = p[i+1:].AppendIDs(dst, t, c)
			}
			return dst
		}
		if n = t.Member(n, step.Name); n == jsondoc.None {
			return dst
		}
	}
	if id := t.Text(n); id != "" && len(id) <= fanfold.MaxIDLen {
		dst = append(dst, id)
	}
	return dst
}

// Find calls fn for every place in t at which the path leads to id. fn gets that node, the innermost array element around
// it, and the JSON pointers of both. elem is jsondoc.None on a path without arrays.
func (p Path) Find(t *jsondoc.Tree, id string, fn func(node, elem jsondoc.Node, pointer, elemPointer string)) {
	f := finder{t: t, id: id, fn: fn}
	f.find(p, place{node: jsondoc.Root}, place{node: jsondoc.None})
}

// finder finds the places at which a path leads to one id.
type finder struct {
	t  *jsondoc.Tree
	id string
	fn func(node, elem jsondoc.Node, pointer, elemPointer string)
}

// place holds a node and its JSON pointer.
type place struct {
	node    jsondoc.Node
	pointer string
}

// find follows p from a place; elem is the innermost array element around it.
func (f *finder) find(p Path, at, elem place) {
	for i, step := range p {
		if step.Each() {
			if f.t.Kind(at.node) != jsondoc.Array {
				return
			}
			index := 0
			for c := f.t.First(at.node); c != jsondoc.None; c = f.t.Next(c) {
				inner := place{node: c, pointer: at.pointer + "/" + strconv.Itoa(index)}
				f.find(p[i+1:], inner, inner)
				index++
			}
			return
		}
		if at.node = f.t.Member(at.node, step.Name); at.node == jsondoc.None {
			return
		}
		at.pointer += "/" + jsondoc.PointerEscape(step.Name)
	}
	if f.t.Text(at.node) == f.id {
		f.fn(at.node, elem.node, at.pointer, elem.pointer)
	}
}
