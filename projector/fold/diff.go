package fold

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Difference lists how the derived members of two embedded views of one document differ. It has a JSON Patch with the
// old values, and the rules of the members.
type Difference struct {
	ops     []byte          // the JSON Patch without its end
	Rules   []string        // by name, in order of their first operation
	members map[string]bool // top-level members
	removes bool            // an operation removes a member
	ordered bool            // the operations are in the order that Diff gives them
}

// clone returns a copy that nothing else changes.
func (d *Difference) clone() *Difference {
	return &Difference{ops: bytes.Clone(d.ops), Rules: slices.Clone(d.Rules), members: maps.Clone(d.members), removes: d.removes, ordered: d.ordered}
}

// add adds an operation on a rule's member at a JSON pointer: value nil removes it, old nil adds it, otherwise it is
// replaced.
func (d *Difference) add(pointer, rule string, value, old []byte) {
	op := "replace"
	switch {
	case value == nil:
		op, d.removes = "remove", true
	case old == nil:
		op = "add"
	}
	if len(d.ops) == 0 {
		d.ops = append(d.ops, '[')
	} else {
		d.ops = append(d.ops, ',')
	}
	d.ops = append(d.ops, `{"op":"`+op+`","path":`...)
	d.ops = jsondoc.AppendQuote(d.ops, pointer)
	if value != nil {
		d.ops = append(append(d.ops, `,"value":`...), value...)
	}
	if old != nil {
		d.ops = append(append(d.ops, `,"old":`...), old...)
	}
	d.ops = append(d.ops, '}')
	if !slices.Contains(d.Rules, rule) {
		d.Rules = append(d.Rules, rule)
	}
}

// Patch returns the JSON Patch, nil where nothing differs.
func (d *Difference) Patch() []byte {
	if len(d.ops) == 0 {
		return nil
	}
	return append(d.ops, ']')
}

// Empty returns whether nothing differs.
func (d *Difference) Empty() bool { return len(d.ops) == 0 }

// Diff compares the derived members of two embedded views of a document.
func Diff(collection string, shape *model.Shape, a, b *jsondoc.Tree) *Difference {
	d := &differ{collection: collection, a: a, b: b, out: &Difference{members: map[string]bool{}, ordered: true}}
	d.compare(jsondoc.Root, jsondoc.Root, shape, place{})
	return d.out
}

// DiffChanged compares two embedded views of a document, which differ. If no derived member differs, a hidden member
// of the document shows again, and the difference is the whole view.
func DiffChanged(collection string, shape *model.Shape, before, after []byte) *Difference {
	return new(views).diffChanged(collection, shape, before, after)
}

// views are the trees of two views of a document, whose memory is used again.
type views struct{ before, after jsondoc.Tree }

// diffChanged does what DiffChanged does.
func (v *views) diffChanged(collection string, shape *model.Shape, before, after []byte) *Difference {
	v.before.Reset(before)
	v.after.Reset(after)
	d := Diff(collection, shape, &v.before, &v.after)
	if len(d.ops) == 0 {
		d.add("", collection, after, before)
	}
	return d
}

// differ walks two views at once.
type differ struct {
	collection string
	a, b       *jsondoc.Tree
	out        *Difference
}

// place says where in a document the walk is.
type place struct {
	pointer string // a JSON pointer
	path    string // as a model writes it
	top     string // the top-level member; empty for the document itself
}

// member returns the place of a member of the object that is here.
func (p place) member(name string) place {
	next := place{pointer: p.pointer + "/" + jsondoc.PointerEscape(name), path: name, top: name}
	if p.top != "" {
		next.path, next.top = p.path+"."+name, p.top
	}
	return next
}

// element returns the place of an element of the array that is here.
func (p place) element(i int) place {
	return place{pointer: p.pointer + "/" + strconv.Itoa(i), path: p.path + "[]", top: p.top}
}

// compare compares what the shape has below two nodes at one place. Either may be None.
func (d *differ) compare(a, b jsondoc.Node, s *model.Shape, at place) {
	if s.Owned {
		d.leaf(a, b, s, at)
		return
	}
	for _, m := range s.Members {
		am, bm := member(d.a, a, m.Name), member(d.b, b, m.Name)
		if am == jsondoc.None && bm == jsondoc.None || m.Owned && d.equal(am, bm) {
			continue
		}
		below := at.member(m.Name)
		if !m.Owned && len(m.Members) > 0 && (am == jsondoc.None || bm == jsondoc.None) {
			var first *model.Shape // the whole object came or went, with its first value's rule
			first, below.path = firstLeaf(m, below.path)
			d.leaf(am, bm, first, below)
			continue
		}
		d.compare(am, bm, m, below)
	}
	if s.Elem == nil || d.a.Kind(a) != jsondoc.Array || d.b.Kind(b) != jsondoc.Array {
		return
	}
	ac, bc := d.a.First(a), d.b.First(b)
	for i := 0; ac != jsondoc.None && bc != jsondoc.None; i++ {
		d.compare(ac, bc, s.Elem, at.element(i))
		ac, bc = d.a.Next(ac), d.b.Next(bc)
	}
}

// equal returns whether both views have the same text at two nodes.
func (d *differ) equal(a, b jsondoc.Node) bool {
	return a != jsondoc.None && b != jsondoc.None && bytes.Equal(d.a.Raw(a), d.b.Raw(b))
}

// member returns a member of an object, None where there is none, or no object.
func member(t *jsondoc.Tree, n jsondoc.Node, name string) jsondoc.Node {
	if n == jsondoc.None {
		return jsondoc.None
	}
	return t.Member(n, name)
}

// firstLeaf returns the first derived member below s, which is at path, and the member's path.
func firstLeaf(s *model.Shape, path string) (first *model.Shape, at string) {
	for !s.Owned && len(s.Members) > 0 {
		s = s.Members[0]
		path += "." + s.Name
	}
	return s, path
}

// leaf compares one derived member, or an object made for derived members. A path that no rule owns any more stands
// for the rule that did.
func (d *differ) leaf(a, b jsondoc.Node, s *model.Shape, at place) {
	rule := d.collection + "." + at.path
	if s.Rule != nil {
		rule = s.Rule.Name()
	}
	var before, after []byte
	if a != jsondoc.None {
		before = d.a.Raw(a)
	}
	if b != jsondoc.None {
		after = d.b.Raw(b)
	}
	if bytes.Equal(before, after) {
		return
	}
	d.out.add(at.pointer, rule, after, before)
	d.out.members[at.top] = true
}
