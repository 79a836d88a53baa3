package fold

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// splicer changes derived values where they stand in an embedded view, which is much cheaper than writing the whole view. A value that
// comes or goes does so at the end of its object, among the other derived members, by name. It gives up where an object may come or go that
// exists for derived values alone.
type splicer struct {
	plan    *Plan
	values  *changedValues
	dirty   []bool        // by the rule's index: it may give another value
	t       *jsondoc.Tree // the embedded view
	out     []byte
	from    int             // how much of the view is in out
	path    []byte          // JSON pointer to where the walk is
	key     []byte          // the same in a form by which operations are ordered as Diff does
	members []splicedMember // derived members of the objects in which the walk is
	ops     []splicedValue  // in order of the walk
	texts   []byte          // of the values, pointers and keys among them
	diff    Difference      // of ops
	reshape bool            // a member has come or gone
	bounds  bool            // an object has got its first derived member, or lost its last
	fits    bool            // false once it has given up
	err     error
}

// text is a part of splicer.texts.
type text struct{ begin, end int }

// splicedMember is a member of an object's shape, with what becomes of it.
type splicedMember struct {
	shape *model.Shape
	at    jsondoc.Node // in the embedded view, or None
	same  bool         // it stays
	none  bool         // it has no value any more
	value text         // the new one, where there is one
}

// there returns whether the member has a value in the end.
func (m *splicedMember) there() bool {
	if m.same {
		return m.at != jsondoc.None
	}
	return !m.none
}

// splicedValue is one operation of the difference.
type splicedValue struct {
	pointer, key, value text
	old                 []byte // nil where the value comes
	goes                bool
	rule, top           string
}

// splice returns the new embedded view and what changed, both valid until the next call. fits is false where it gave
// up. The error is the values', or errPastLimit.
func (s *splicer) splice(p *Plan, c *Collection, v *changedValues, t *jsondoc.Tree) (body []byte, d *Difference, fits bool, err error) {
	clear(s.diff.members)
	*s = splicer{plan: p, values: v, t: t, fits: true, dirty: slices.Grow(s.dirty[:0], len(p.Rules))[:len(p.Rules)], out: s.out[:0], path: s.path[:0], key: s.key[:0],
		members: s.members[:0], ops: s.ops[:0], texts: s.texts[:0],
		diff: Difference{ops: s.diff.ops[:0], Rules: s.diff.Rules[:0], members: s.diff.members, ordered: true}}
	if s.diff.members == nil {
		s.diff.members = map[string]bool{}
	}
	for _, r := range c.Rules {
		s.dirty[r.Index] = v.dirty(r)
	}
	s.walk(jsondoc.Root, jsondoc.Root, c.Shape, "")
	if s.err != nil || !s.fits {
		return nil, nil, false, s.err
	}
	src := t.Raw(jsondoc.Root)
	if len(s.ops) == 0 {
		return src, &s.diff, true, nil
	}
	s.out = append(s.out, src[s.from:]...)
	s.tell()
	return s.out, &s.diff, true, nil
}

// view returns what splice does, as the row is to have it.
func (s *splicer) view(p *Plan, c *Collection, v *changedValues, t *jsondoc.Tree) (view sqlite.View, d *Difference, fits bool, err error) {
	view.Referenced = v.row.Referenced
	if view.Body, d, fits, err = s.splice(p, c, v, t); err == nil && fits && s.bounds {
		view.Referenced = c.StoreSource(view.Body, jsondoc.MustParse(v.row.ReferencedText()))
	}
	return view, d, fits, err
}

// tell makes the difference from the operations. They are in the order of Diff if a member has come or gone, otherwise in the walk's.
func (s *splicer) tell() {
	inOrder := func(a, b splicedValue) int { return bytes.Compare(s.textOf(a.key), s.textOf(b.key)) }
	if s.reshape {
		slices.SortFunc(s.ops, inOrder)
	}
	s.diff.ordered = slices.IsSortedFunc(s.ops, inOrder)
	for i := range s.ops {
		op := &s.ops[i]
		var value []byte
		if !op.goes {
			value = s.textOf(op.value)
		}
		s.diff.add(string(s.textOf(op.pointer)), op.rule, value, op.old)
		s.diff.members[op.top] = true
	}
}

// keepText has a copy of some bytes until the next view.
func (s *splicer) keepText(b []byte) text {
	begin := len(s.texts)
	s.texts = append(s.texts, b...)
	return text{begin, len(s.texts)}
}

// textOf returns bytes that keepText was given.
func (s *splicer) textOf(t text) []byte { return s.texts[t.begin:t.end:t.end] }

// walk changes the derived values below n. anchor is the document or the innermost array element, top the top-level
// member that n stands in, empty for the document.
func (s *splicer) walk(n, anchor jsondoc.Node, shape *model.Shape, top string) {
	switch {
	case shape.Elem != nil && s.t.Kind(n) == jsondoc.Array:
		pathMark, keyMark := len(s.path), len(s.key)
		i := 0
		for c := s.t.First(n); c != jsondoc.None && s.fits; c = s.t.Next(c) {
			s.path = strconv.AppendInt(append(s.path, '/'), int64(i), 10)
			s.key = binary.BigEndian.AppendUint32(s.key, uint32(i))
			s.walk(c, c, shape.Elem, top)
			s.path, s.key = s.path[:pathMark], s.key[:keyMark]
			i++
		}
	case s.t.Kind(n) == jsondoc.Object:
		s.object(n, anchor, shape, top)
	}
}

// object changes the derived values in an object: those in its own members first, then its derived members, with which it ends.
func (s *splicer) object(n, anchor jsondoc.Node, shape *model.Shape, top string) {
	last, c := jsondoc.None, s.t.First(n)
	for ; c != jsondoc.None && s.fits; c = s.t.Next(c) {
		m := shape.Member(s.t, c)
		if m != nil && m.Owned {
			break
		}
		last = c
		if m != nil && s.dirtyBelow(m) {
			s.step(m, top, func(top string) { s.walk(c, anchor, m, top) })
		}
	}
	if !s.fits {
		return
	}
	begin := len(s.members)
	reshape := s.decide(n, c, anchor, shape)
	if s.fits && reshape {
		s.writeEnd(n, last, s.members[begin:], top)
	} else if s.fits {
		for i := begin; i < len(s.members) && s.fits; i++ {
			s.replace(s.members[i], anchor, top)
		}
	}
	s.members = s.members[:begin]
}

// step calls fn in the member of the shape m, with the top-level member that this stands in.
func (s *splicer) step(m *model.Shape, top string, fn func(top string)) {
	pathMark, keyMark := len(s.path), len(s.key)
	s.path = append(append(s.path, '/'), jsondoc.PointerEscape(m.Name)...)
	s.key = append(append(s.key, m.Name...), 0)
	if top == "" {
		top = m.Name
	}
	fn(top)
	s.path, s.key = s.path[:pathMark], s.key[:keyMark]
}

// decide adds the derived members of object n, and the objects that were made for such, to s.members, with what becomes of them. c is the first
// member of n that is one of these. It returns whether any comes or goes.
func (s *splicer) decide(n, c, anchor jsondoc.Node, shape *model.Shape) (reshape bool) {
	made := false // there may be objects that exist for derived members alone
	for _, m := range shape.Members {
		member := splicedMember{shape: m, same: true}
		if c != jsondoc.None && s.t.KeyIs(c, m.Name) {
			member.at, c = c, s.t.Next(c)
		}
		switch {
		case m.Owned:
			s.decideValue(&member, anchor)
			reshape = reshape || (member.at != jsondoc.None) != member.there()
		case len(m.Members) > 0:
			made = true
			if s.dirtyBelow(m) && member.at == jsondoc.None && s.t.Member(n, m.Name) == jsondoc.None {
				s.fits = false
			}
		}
		if !s.fits {
			return false
		}
		s.members = append(s.members, member)
	}
	if c != jsondoc.None || reshape && made {
		s.fits = false
	}
	return reshape
}

// decideValue decides what becomes of a derived member. The values may use memory again, so it keeps the text.
func (s *splicer) decideValue(member *splicedMember, anchor jsondoc.Node) {
	raw, same := s.valueOf(anchor, member.shape)
	if same || member.at == jsondoc.None && raw == nil || member.at != jsondoc.None && bytes.Equal(raw, s.t.Raw(member.at)) {
		return
	}
	member.same, member.none = false, raw == nil
	if raw != nil {
		member.value = s.keepText(raw)
	}
}

// dirtyBelow returns whether a rule below the shape may give another value.
func (s *splicer) dirtyBelow(shape *model.Shape) bool {
	if shape.Rule != nil {
		return s.dirty[shape.Rule.Index]
	}
	return slices.ContainsFunc(shape.Members, s.dirtyBelow) || shape.Elem != nil && s.dirtyBelow(shape.Elem)
}

// valueOf returns the value of a derived member; same is true where it stays, or cannot be told.
func (s *splicer) valueOf(anchor jsondoc.Node, m *model.Shape) (raw []byte, same bool) {
	if m.Rule == nil || !s.dirty[m.Rule.Index] {
		return nil, true
	}
	r := s.plan.Rules[m.Rule.Index]
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

// replace replaces one derived value, where it changed, or those in an object that was made for some.
func (s *splicer) replace(member splicedMember, anchor jsondoc.Node, top string) {
	switch {
	case member.at == jsondoc.None:
	case !member.shape.Owned && s.dirtyBelow(member.shape):
		s.step(member.shape, top, func(top string) { s.walk(member.at, anchor, member.shape, top) })
	case !member.same:
		start, end := s.t.Span(member.at)
		s.write(start, end, s.textOf(member.value))
		s.note(member, top)
	}
}

// write writes a text in place of the view's bytes from start to end.
func (s *splicer) write(start, end int, instead []byte) {
	src := s.t.Raw(jsondoc.Root)
	s.out = append(append(s.out, src[s.from:start]...), instead...)
	s.from = end
	if len(s.out)+len(src)-s.from > s.plan.Model.EmbeddedLimit {
		s.err, s.fits = errPastLimit, false
	}
}

// note adds what becomes of a member to the operations.
func (s *splicer) note(member splicedMember, top string) {
	s.step(member.shape, top, func(top string) {
		op := splicedValue{pointer: s.keepText(s.path), key: s.keepText(s.key), value: member.value, goes: member.none, rule: s.plan.Rules[member.shape.Rule.Index].FullName, top: top}
		if member.at != jsondoc.None {
			op.old = s.t.Raw(member.at)
		}
		s.ops = append(s.ops, op)
	})
}

// writeEnd writes the derived members of object n anew, where one comes or goes. last is the last of the others, or None.
func (s *splicer) writeEnd(n, last jsondoc.Node, members []splicedMember, top string) {
	start, end := s.t.Span(n)
	start++
	if last != jsondoc.None {
		_, start = s.t.Span(last)
	}
	s.write(start, end-1, nil)
	first, had, has := last == jsondoc.None, false, false
	for _, m := range members {
		had, has = had || m.at != jsondoc.None, has || m.there()
		if !m.same {
			s.note(m, top)
		}
		if !m.there() {
			continue
		}
		if !first {
			s.out = append(s.out, ',')
		}
		first = false
		s.out = append(jsondoc.AppendQuote(s.out, m.shape.Name), ':')
		if m.same {
			s.out = append(s.out, s.t.Raw(m.at)...)
		} else {
			s.out = append(s.out, s.textOf(m.value)...)
		}
	}
	if first { // it may have existed for derived members alone, and then it goes
		s.fits = false
		return
	}
	s.write(end-1, end-1, nil) // which looks at the length
	s.reshape, s.bounds = true, s.bounds || had != has
}
