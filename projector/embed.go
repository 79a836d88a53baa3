package projector

import (
	"bytes"
	"strconv"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// values answers what a rule's value is below a node of a document: the document itself, or the
// element of the array that the rule shares with its relation. same means "as before";
// raw nil, without same, means the field is absent.
type values interface {
	value(r *rulePlan, t *jsondoc.Tree, anchor jsondoc.Node) (raw []byte, same bool, err error)
}

// embedder writes embedded views in canonical form: the referenced view's tokens without
// whitespace, all derived members at the end of their object, by name.
type embedder struct {
	plan   *plan
	values values
	src    *jsondoc.Tree // the referenced view
	old    *jsondoc.Tree // the embedded view so far; nil for none
	out    []byte
	anchor jsondoc.Node // where rules' paths begin to be their own: the document, or the innermost array element
}

// embed returns the embedded view of src. Values that v calls the same come from old.
func (p *plan) embed(c *collectionPlan, v values, src, old *jsondoc.Tree) ([]byte, error) {
	if c.shape.Empty() {
		return jsondoc.Compact(make([]byte, 0, len(src.Raw(jsondoc.Root))), src.Raw(jsondoc.Root)), nil
	}
	e := &embedder{plan: p, values: v, src: src, old: old, anchor: jsondoc.Root, out: make([]byte, 0, len(src.Raw(jsondoc.Root))+256)}
	oldRoot := jsondoc.None
	if old != nil {
		oldRoot = jsondoc.Root
	}
	if err := e.write(jsondoc.Root, oldRoot, c.shape); err != nil {
		return nil, err
	}
	return e.out, nil
}

func (e *embedder) write(n, old jsondoc.Node, s *fanfold.Shape) error {
	switch {
	case s != nil && e.src.Kind(n) == jsondoc.Object && len(s.Members) > 0:
		return e.object(n, old, s)
	case s != nil && e.src.Kind(n) == jsondoc.Array && s.Elem != nil:
		return e.array(n, old, s)
	}
	e.out = jsondoc.Compact(e.out, e.src.Raw(n))
	return nil
}

func (e *embedder) array(n, old jsondoc.Node, s *fanfold.Shape) error {
	e.out = append(e.out, '[')
	oldElem := e.oldFirst(old)
	outer := e.anchor
	defer func() { e.anchor = outer }()
	for c := e.src.First(n); c != jsondoc.None; c = e.src.Next(c) {
		if c != e.src.First(n) {
			e.out = append(e.out, ',')
		}
		e.anchor = c
		if err := e.write(c, oldElem, s.Elem); err != nil {
			return err
		}
		if oldElem != jsondoc.None {
			oldElem = e.old.Next(oldElem)
		}
	}
	e.out = append(e.out, ']')
	return nil
}

func (e *embedder) oldFirst(old jsondoc.Node) jsondoc.Node {
	if old == jsondoc.None {
		return jsondoc.None
	}
	return e.old.First(old)
}

func (e *embedder) oldMember(old jsondoc.Node, name string) jsondoc.Node {
	if old == jsondoc.None {
		return jsondoc.None
	}
	return e.old.Member(old, name)
}

// object writes the members that are the document's, then the derived ones. n may be None: an
// object that exists only if a derived value stands in it.
func (e *embedder) object(n, old jsondoc.Node, s *fanfold.Shape) error {
	e.out = append(e.out, '{')
	empty := true
	comma := func() {
		if !empty {
			e.out = append(e.out, ',')
		}
		empty = false
	}
	present := map[*fanfold.Shape]bool{}
	if n != jsondoc.None {
		for c := e.src.First(n); c != jsondoc.None; c = e.src.Next(c) {
			m := s.Member(e.src, c)
			if m != nil && m.Owned {
				continue
			}
			comma()
			e.out = append(append(e.out, e.src.RawKey(c)...), ':')
			oldChild := jsondoc.None
			if m != nil {
				present[m] = true
				oldChild = e.oldMember(old, m.Name)
			}
			if err := e.write(c, oldChild, m); err != nil {
				return err
			}
		}
	}
	for _, m := range s.Members {
		if present[m] || !m.Owned && len(m.Members) == 0 {
			continue
		}
		mark := len(e.out)
		wasEmpty := empty
		comma()
		e.out = append(jsondoc.AppendQuote(e.out, m.Name), ':')
		ok, err := e.derived(old, m)
		if err != nil {
			return err
		}
		if !ok {
			e.out, empty = e.out[:mark], wasEmpty
		}
	}
	e.out = append(e.out, '}')
	return nil
}

// derived writes one derived member, or an object made for derived members; ok is false where
// there is no value.
func (e *embedder) derived(old jsondoc.Node, m *fanfold.Shape) (ok bool, err error) {
	oldNode := e.oldMember(old, m.Name)
	if !m.Owned {
		mark := len(e.out)
		if err := e.object(jsondoc.None, oldNode, m); err != nil {
			return false, err
		}
		return !bytes.Equal(e.out[mark:], []byte("{}")), nil
	}
	if m.Rule == nil {
		return false, nil
	}
	r := e.plan.rules[m.Rule.Index]
	raw, same, err := e.values.value(r, e.src, e.anchor)
	if err != nil {
		return false, err
	}
	if same {
		if oldNode == jsondoc.None {
			return false, nil
		}
		e.out = append(e.out, e.old.Raw(oldNode)...)
		return true, nil
	}
	if r.Kind == fanfold.IDs {
		list, cut := splitIDs(raw)
		if m.Flag {
			raw = cut
		} else {
			raw = list
		}
	}
	e.out = append(e.out, raw...)
	return raw != nil, nil
}

// An id list's value travels as the list, followed by "true" where it was cut off.

func joinIDs(list []byte, truncated bool) []byte {
	if truncated {
		return append(list, "true"...)
	}
	return list
}

func splitIDs(raw []byte) (list, flag []byte) {
	if list, ok := bytes.CutSuffix(raw, []byte("true")); ok {
		return list, raw[len(list):]
	}
	return raw, nil
}

// difference lists how the owned members of two embedded views of one document differ: a JSON
// Patch whose operations carry the old values, and the rules that own them.
type difference struct {
	ops     []byte
	rules   []string
	changed map[string]bool // top-level members
}

func (d *difference) add(op, pointer, rule string, value, old []byte) {
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
	for _, r := range d.rules {
		if r == rule {
			return
		}
	}
	d.rules = append(d.rules, rule)
}

// patch is the finished JSON Patch, nil where nothing differs.
func (d *difference) patch() []byte {
	if len(d.ops) == 0 {
		return nil
	}
	return append(d.ops, ']')
}

type differ struct {
	collection string
	a, b       *jsondoc.Tree
	out        *difference
}

// diff compares the owned members of two embedded views.
func diff(collection string, shape *fanfold.Shape, a, b *jsondoc.Tree) *difference {
	d := &differ{collection: collection, a: a, b: b, out: &difference{changed: map[string]bool{}}}
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
	d.out.changed[top] = true
}
