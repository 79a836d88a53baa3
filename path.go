package fanfold

import (
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Step is one step of a Path: into the member Name, or, where Name is "", into each element
// of an array.
type Step struct{ Name string }

// Each tells whether the step goes into every element of an array.
func (s Step) Each() bool { return s.Name == "" }

// Path says where in a document ids or derived values stand: "pub-id", "authors[].id",
// "sections[].items[].name". Member names may hold anything but '.', '[' and ']'.
type Path []Step

// ParsePath reads a path; the error is Invalid.
func ParsePath(s string) (Path, error) {
	var p Path
	for part := range strings.SplitSeq(s, ".") {
		name := strings.TrimRight(part, "[]")
		if name == "" || strings.ContainsAny(name, "[]") || strings.Trim(part[len(name):], "[]") != "" {
			return nil, Errorf(Invalid, "%q is not a path: want member names joined by dots, [] behind an array, such as authors[].id", clip(s))
		}
		p = append(p, Step{Name: name})
		brackets := part[len(name):]
		for ; strings.HasPrefix(brackets, "[]"); brackets = brackets[2:] {
			p = append(p, Step{})
		}
		if brackets != "" {
			return nil, Errorf(Invalid, "%q is not a path: an array is written []", clip(s))
		}
	}
	return p, nil
}

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

// Arrays tells whether the path goes through an array.
func (p Path) Arrays() bool {
	for _, s := range p {
		if s.Each() {
			return true
		}
	}
	return false
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

// overlaps tells whether one path stands at or inside the other.
func (p Path) Overlaps(q Path) bool { return p.hasPrefix(q) || q.hasPrefix(p) }

// sharedArrays is the length of the longest prefix of both that ends inside an array's
// elements: 0 where they share none.
func (p Path) SharedArrays(q Path) int {
	shared := 0
	for i := 0; i < len(p) && i < len(q) && p[i] == q[i]; i++ {
		if p[i].Each() {
			shared = i + 1
		}
	}
	return shared
}

// Lookup follows a path without arrays from node n. It returns jsondoc.None where a member on the way is missing.
func (p Path) Lookup(t *jsondoc.Tree, n jsondoc.Node) jsondoc.Node {
	for _, step := range p {
		if n = t.Member(n, step.Name); n == jsondoc.None {
			return jsondoc.None
		}
	}
	return n
}

// AppendIDs appends the ids that t holds at the path below node n, in order, duplicates
// included. What is no id (neither string nor number, empty, too long) is passed over.
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
	if id := t.Text(n); id != "" && len(id) <= MaxIDLen {
		dst = append(dst, id)
	}
	return dst
}

// Find calls fn with every place in t where the path leads to id: the node itself, the innermost
// array element around it on the path, None where there is no array, and the JSON pointers of both.
func (p Path) Find(t *jsondoc.Tree, id string, fn func(node, elem jsondoc.Node, pointer, elemPointer string)) {
	p.find(t, jsondoc.Root, jsondoc.None, id, "", "", fn)
}

func (p Path) find(t *jsondoc.Tree, n, elem jsondoc.Node, id, pointer, elemPointer string, fn func(node, elem jsondoc.Node, pointer, elemPointer string)) {
	for i, step := range p {
		if step.Each() {
			if t.Kind(n) != jsondoc.Array {
				return
			}
			at := 0
			for c := t.First(n); c != jsondoc.None; c = t.Next(c) {
				inner := pointer + "/" + strconv.Itoa(at)
				p[i+1:].find(t, c, c, id, inner, inner, fn)
				at++
			}
			return
		}
		if n = t.Member(n, step.Name); n == jsondoc.None {
			return
		}
		pointer += "/" + jsondoc.PointerEscape(step.Name)
	}
	if t.Text(n) == id {
		fn(n, elem, pointer, elemPointer)
	}
}
