package fold

import (
	"bytes"
	"strconv"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// splicer replaces derived values where they stand in an embedded view, which is much cheaper than writing the whole
// view. It gives up where a value comes or goes, because the members' order is then the embedder's to decide.
type splicer struct {
	plan   *Plan
	values *changedValues
	t      *jsondoc.Tree // the embedded view
	out    []byte
	from   int // how much of the view is in out
	diff   Difference
	fits   bool   // false once it has given up
	path   []byte // JSON pointer to where the walk is
	last   []byte // the same of the operation before
	err    error
}

// splice returns the new embedded view and what changed, both valid until the next call. fits is false where it gave
// up. The error is the values', or errPastLimit.
func (s *splicer) splice(p *Plan, c *Collection, v *changedValues, t *jsondoc.Tree) (body []byte, d *Difference, fits bool, err error) {
	clear(s.diff.members)
	*s = splicer{plan: p, values: v, t: t, fits: true, out: s.out[:0], path: s.path[:0], last: s.last[:0],
		diff: Difference{ops: s.diff.ops[:0], Rules: s.diff.Rules[:0], members: s.diff.members, ordered: true}}
	if s.diff.members == nil {
		s.diff.members = map[string]bool{}
	}
	s.walk(jsondoc.Root, jsondoc.Root, c.Shape, "")
	if s.err != nil || !s.fits {
		return nil, nil, false, s.err
	}
	src := t.Raw(jsondoc.Root)
	if len(s.diff.ops) == 0 {
		return src, &s.diff, true, nil
	}
	s.out = append(s.out, src[s.from:]...)
	return s.out, &s.diff, true, nil
}

// walk replaces the derived values below n. anchor is the document or the innermost array element, top the top-level
// member that n stands in, empty for the document.
func (s *splicer) walk(n, anchor jsondoc.Node, shape *model.Shape, top string) {
	mark := len(s.path)
	defer func() { s.path = s.path[:mark] }()
	if shape.Elem != nil && s.t.Kind(n) == jsondoc.Array {
		i := 0
		for c := s.t.First(n); c != jsondoc.None && s.fits; c = s.t.Next(c) {
			s.path = strconv.AppendInt(append(s.path[:mark], '/'), int64(i), 10)
			s.walk(c, c, shape.Elem, top)
			i++
		}
		return
	}
	if s.t.Kind(n) != jsondoc.Object {
		return
	}
	found := 0
	for c := s.t.First(n); c != jsondoc.None && s.fits; c = s.t.Next(c) {
		m := shape.Member(s.t, c)
		if m == nil {
			continue
		}
		found++
		s.path = append(append(s.path[:mark], '/'), jsondoc.PointerEscape(m.Name)...)
		t := top
		if t == "" {
			t = m.Name
		}
		if m.Owned {
			s.leaf(c, anchor, m, t)
		} else {
			s.walk(c, anchor, m, t)
		}
	}
	if found < len(shape.Members) && s.fits {
		s.missing(n, anchor, shape)
	}
}

// missing gives up where an object lacks a member that it would have to get.
func (s *splicer) missing(n, anchor jsondoc.Node, shape *model.Shape) {
	for _, m := range shape.Members {
		if s.t.Member(n, m.Name) != jsondoc.None {
			continue
		}
		if !m.Owned {
			s.fits = s.fits && !s.dirtyBelow(m)
			continue
		}
		if raw, same := s.valueOf(anchor, m); !same && raw != nil {
			s.fits = false
		}
	}
}

// dirtyBelow returns whether a rule below the shape may give another value.
func (s *splicer) dirtyBelow(shape *model.Shape) bool {
	if shape.Rule != nil {
		return s.values.dirty(s.plan.Rules[shape.Rule.Index])
	}
	for _, m := range shape.Members {
		if s.dirtyBelow(m) {
			return true
		}
	}
	return false
}

// valueOf returns the value of a derived member; same is true where it stays, or cannot be told.
func (s *splicer) valueOf(anchor jsondoc.Node, m *model.Shape) (raw []byte, same bool) {
	r := s.plan.Rules[m.Rule.Index]
	if !s.values.dirty(r) {
		return nil, true
	}
	raw, same, err := s.values.Value(r, s.t, anchor)
	if err != nil {
		s.err, s.fits = err, false
		return nil, true
	}
	if r.Kind == model.IDs {
		return idListPart(m, raw), same
	}
	return raw, same
}

// leaf replaces one derived value, where it changed.
func (s *splicer) leaf(n, anchor jsondoc.Node, m *model.Shape, top string) {
	raw, same := s.valueOf(anchor, m)
	old := s.t.Raw(n)
	switch {
	case same || bytes.Equal(raw, old):
		return
	case raw == nil:
		s.fits = false
		return
	}
	start, end := s.t.Span(n)
	s.out = append(append(s.out, s.t.Raw(jsondoc.Root)[s.from:start]...), raw...)
	s.from = end
	if limit := s.plan.Model.EmbeddedLimit; len(s.out)+len(s.t.Raw(jsondoc.Root))-s.from > limit {
		s.err, s.fits = errPastLimit, false
	}
	s.diff.ordered = s.diff.ordered && inPlaceOrder(s.last, s.path)
	s.last = append(s.last[:0], s.path...)
	s.diff.add(string(s.path), s.plan.Rules[m.Rule.Index].FullName, raw, old)
	s.diff.members[top] = true
}
