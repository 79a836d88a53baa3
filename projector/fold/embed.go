package fold

import (
	"bytes"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// values answers what a rule's value is below a node of a document: the document itself, or the
// element of the array that the rule shares with its relation. same means "as before";
// raw nil, without same, means the field is absent.
type Values interface {
	Value(r *Rule, t *jsondoc.Tree, anchor jsondoc.Node) (raw []byte, same bool, err error)
}

// embedder writes embedded views in canonical form: the referenced view's tokens without
// whitespace, all derived members at the end of their object, by name.
type embedder struct {
	plan   *Plan
	values Values
	src    *jsondoc.Tree // the referenced view
	old    *jsondoc.Tree // the embedded view so far; nil for none
	out    []byte
	anchor jsondoc.Node // where rules' paths begin to be their own: the document, or the innermost array element
}

// embed returns the embedded view of src. Values that v calls the same come from old.
func (p *Plan) Embed(c *Collection, v Values, src, old *jsondoc.Tree) ([]byte, error) {
	if c.Shape.Empty() {
		return jsondoc.Compact(make([]byte, 0, len(src.Raw(jsondoc.Root))), src.Raw(jsondoc.Root)), nil
	}
	e := &embedder{plan: p, values: v, src: src, old: old, anchor: jsondoc.Root, out: make([]byte, 0, len(src.Raw(jsondoc.Root))+256)}
	oldRoot := jsondoc.None
	if old != nil {
		oldRoot = jsondoc.Root
	}
	if err := e.write(jsondoc.Root, oldRoot, c.Shape); err != nil {
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
	r := e.plan.Rules[m.Rule.Index]
	raw, same, err := e.values.Value(r, e.src, e.anchor)
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
		list, cut := splitTruncated(raw)
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

func appendTruncated(list []byte, truncated bool) []byte {
	if truncated {
		return append(list, "true"...)
	}
	return list
}

func splitTruncated(raw []byte) (list, flag []byte) {
	if list, ok := bytes.CutSuffix(raw, []byte("true")); ok {
		return list, raw[len(list):]
	}
	return raw, nil
}
