package fold

import (
	"bytes"
	"strconv"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// difference lists how the owned members of two embedded views of one document differ: a JSON
// Patch whose operations carry the old values, and the rules that own them.
type Difference struct {
	ops     []byte
	Rules   []string
	members map[string]bool // top-level members
}

func (d *Difference) add(op, pointer, rule string, value, old []byte) {
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
	for _, r := range d.Rules {
		if r == rule {
			return
		}
	}
	d.Rules = append(d.Rules, rule)
}

// patch is the finished JSON Patch, nil where nothing differs.
func (d *Difference) Patch() []byte {
	if len(d.ops) == 0 {
		return nil
	}
	return append(d.ops, ']')
}

type differ struct {
	collection string
	a, b       *jsondoc.Tree
	out        *Difference
}

// diff compares the owned members of two embedded views.
func Diff(collection string, shape *fanfold.Shape, a, b *jsondoc.Tree) *Difference {
	d := &differ{collection: collection, a: a, b: b, out: &Difference{members: map[string]bool{}}}
	d.compare(jsondoc.Root, jsondoc.Root, shape, "", "", "")
	return d.out
}

func (d *differ) compare(a, b jsondoc.Node, s *fanfold.Shape, pointer, path, top string) {
	if s.Owned {
		d.leaf(a, b, s, pointer, path, top)
		return
	}
	for _, m := range s.Members {
		am, bm := member(d.a, a, m.Name), member(d.b, b, m.Name)
		if am == jsondoc.None && bm == jsondoc.None {
			continue
		}
		t, p := top, m.Name
		if top == "" {
			t = m.Name
		} else {
			p = path + "." + m.Name
		}
		if !m.Owned && len(m.Members) > 0 && (am == jsondoc.None || bm == jsondoc.None) {
			first, at := firstLeaf(m, p) // a made object came or went
			d.leaf(am, bm, first, pointer+"/"+jsondoc.PointerEscape(m.Name), at, t)
			continue
		}
		d.compare(am, bm, m, pointer+"/"+jsondoc.PointerEscape(m.Name), p, t)
	}
	if s.Elem == nil || d.a.Kind(a) != jsondoc.Array || d.b.Kind(b) != jsondoc.Array {
		return
	}
	ac, bc := d.a.First(a), d.b.First(b)
	for i := 0; ac != jsondoc.None && bc != jsondoc.None; i++ {
		d.compare(ac, bc, s.Elem, pointer+"/"+strconv.Itoa(i), path+"[]", top)
		ac, bc = d.a.Next(ac), d.b.Next(bc)
	}
}

func member(t *jsondoc.Tree, n jsondoc.Node, name string) jsondoc.Node {
	if n == jsondoc.None {
		return jsondoc.None
	}
	return t.Member(n, name)
}

// firstLeaf is the first owned member below s, which is at path.
func firstLeaf(s *fanfold.Shape, path string) (first *fanfold.Shape, at string) {
	for !s.Owned && len(s.Members) > 0 {
		s = s.Members[0]
		path += "." + s.Name
	}
	return s, path
}

func (d *differ) leaf(a, b jsondoc.Node, s *fanfold.Shape, pointer, path, top string) {
	rule := d.collection + "." + path
	if s.Rule != nil {
		rule = s.Rule.Name()
	}
	switch {
	case a == jsondoc.None && b == jsondoc.None:
		return
	case a == jsondoc.None:
		d.out.add("add", pointer, rule, d.b.Raw(b), nil)
	case b == jsondoc.None:
		d.out.add("remove", pointer, rule, nil, d.a.Raw(a))
	case bytes.Equal(d.a.Raw(a), d.b.Raw(b)):
		return
	default:
		d.out.add("replace", pointer, rule, d.b.Raw(b), d.a.Raw(a))
	}
	d.out.members[top] = true
}

// changed is how a document changed, which it did.
func DiffChanged(collection string, shape *fanfold.Shape, before, after []byte) *Difference {
	d := Diff(collection, shape, jsondoc.MustParse(before), jsondoc.MustParse(after))
	if len(d.ops) == 0 {
		d.add("replace", "", collection, after, before) // a member that was hidden shows again
	}
	return d
}

// Empty tells whether nothing differs.
func (d *Difference) Empty() bool { return len(d.ops) == 0 }
