package fold

import (
	"bytes"
	"errors"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Values gives the derived values of one document.
type Values interface {
	// Value returns a rule's value below anchor: the document itself, or the element of the array that the rule
	// shares with its relation. same means "as before"; raw nil, without same, means that the field is absent.
	//
	// t is the referenced view or the embedded one so far. Of a copy by derived ids it is the latter, which is nil where there
	// is none, and anchor may then be None where that does not have the element.
	Value(r *Rule, t *jsondoc.Tree, anchor jsondoc.Node) (raw []byte, same bool, err error)
}

// embedder writes an embedded view in canonical form: the referenced view's tokens without whitespace, the derived
// members at the end of their object, by name.
type embedder struct {
	plan      *Plan
	values    Values
	src       *jsondoc.Tree // the referenced view
	old       *jsondoc.Tree // the embedded view so far; nil for none
	out       []byte
	anchor    jsondoc.Node // the document, or the array element that is being written
	oldAnchor jsondoc.Node // the same in old, or None
	limit     int          // how long the view may be with a derived value, in bytes; 0 for any length
	fit       *fitting     // decides which derived values are written; nil where all are
	in        int          // the object of fit that is being written
	placed    bool         // a derived value was written
}

// embed returns the embedded view of src, with the values that v gives; those that it calls the same are taken from
// old. The error is v's, or errPastLimit where the view would be longer than limit, which 0 turns off.
func (p *Plan) embed(c *Collection, v Values, src, old *jsondoc.Tree, limit int) ([]byte, error) {
	return p.walk(&embedder{plan: p, values: v, src: src, old: old, limit: limit}, c)
}

// walk has an embedder write a document of the collection.
func (p *Plan) walk(e *embedder, c *Collection) ([]byte, error) {
	src := e.src.Raw(jsondoc.Root)
	if c.Shape.Empty() {
		return jsondoc.Compact(make([]byte, 0, len(src)), src), nil
	}
	e.anchor, e.out = jsondoc.Root, make([]byte, 0, len(src)+256)
	oldRoot := jsondoc.None
	if e.old != nil {
		oldRoot = jsondoc.Root
	}
	e.oldAnchor = oldRoot
	if err := e.write(jsondoc.Root, oldRoot, c.Shape); err != nil {
		return nil, err
	}
	if e.placed && e.limit > 0 && len(e.out) > e.limit {
		return nil, errPastLimit
	}
	return e.out, nil
}

// write writes a node with what the shape has below it. old is its place in the view so far, or None.
func (e *embedder) write(n, old jsondoc.Node, s *model.Shape) error {
	switch {
	case s != nil && e.src.Kind(n) == jsondoc.Object && len(s.Members) > 0:
		return e.object(n, old, s)
	case s != nil && e.src.Kind(n) == jsondoc.Array && s.Elem != nil:
		return e.array(n, old, s)
	}
	e.out = jsondoc.Compact(e.out, e.src.Raw(n))
	return nil
}

// array writes an array, element by element.
func (e *embedder) array(n, old jsondoc.Node, s *model.Shape) error {
	e.out = append(e.out, '[')
	oldElem := e.oldFirst(old)
	outer, outerOld := e.anchor, e.oldAnchor
	defer func() { e.anchor, e.oldAnchor = outer, outerOld }()
	for c := e.src.First(n); c != jsondoc.None; c = e.src.Next(c) {
		if c != e.src.First(n) {
			e.out = append(e.out, ',')
		}
		e.anchor, e.oldAnchor = c, oldElem
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

// oldFirst returns the first element of an array of the view so far, or None.
func (e *embedder) oldFirst(old jsondoc.Node) jsondoc.Node {
	if old == jsondoc.None {
		return jsondoc.None
	}
	return e.old.First(old)
}

// oldMember returns a member of an object of the view so far, or None.
func (e *embedder) oldMember(old jsondoc.Node, name string) jsondoc.Node {
	if old == jsondoc.None {
		return jsondoc.None
	}
	return e.old.Member(old, name)
}

// object writes the members that are the document's, then the derived ones. n may be None: an object that exists only
// if a derived value stands in it.
func (e *embedder) object(n, old jsondoc.Node, s *model.Shape) error {
	e.out = append(e.out, '{')
	begin := len(e.out)
	present := map[*model.Shape]bool{}
	if n != jsondoc.None {
		if err := e.members(n, old, s, present); err != nil {
			return err
		}
	}
	if e.fit != nil && !e.fit.writing {
		o := fitObject{parent: e.in, filled: len(e.out) > begin}
		if n == jsondoc.None {
			o.made = quotedLen(s.Name) + len(":{}")
		}
		defer func(outer int) { e.in = outer }(e.in)
		e.in = e.fit.add(o)
	}
	for _, m := range s.Members {
		if present[m] || !m.Owned && len(m.Members) == 0 {
			continue
		}
		mark := len(e.out)
		e.comma(begin)
		e.out = append(jsondoc.AppendQuote(e.out, m.Name), ':')
		ok, err := e.derived(old, m)
		if err != nil {
			return err
		}
		if !ok {
			e.out = e.out[:mark]
		}
	}
	e.out = append(e.out, '}')
	return nil
}

// members writes the members of an object that are the document's, and notes in present which of the shape's are
// among them. A member of the document where a rule's value belongs is hidden.
func (e *embedder) members(n, old jsondoc.Node, s *model.Shape, present map[*model.Shape]bool) error {
	begin := len(e.out)
	for c := e.src.First(n); c != jsondoc.None; c = e.src.Next(c) {
		m := s.Member(e.src, c)
		if m != nil && m.Owned {
			continue
		}
		e.comma(begin)
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
	return nil
}

// comma writes a comma where the object whose members start at begin has one already.
func (e *embedder) comma(begin int) {
	if len(e.out) > begin {
		e.out = append(e.out, ',')
	}
}

// derived writes the value of one derived member, or an object made for derived members; ok is false where there is
// none. It takes back what was written then.
func (e *embedder) derived(old jsondoc.Node, m *model.Shape) (ok bool, err error) {
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
	switch {
	case e.fit == nil:
	case !e.fit.writing:
		return false, e.noteValueLength(r, m, oldNode)
	case !e.fit.nextPlaced():
		return false, nil
	}
	raw, err := e.value(r, m, oldNode)
	if err != nil || raw == nil {
		return false, err
	}
	e.out = append(e.out, raw...)
	e.placed = true
	if e.limit > 0 && len(e.out) > e.limit {
		return false, errPastLimit
	}
	return true, nil
}

// noteValueLength notes how long one derived member is that is to be placed. A value that is not in the view so far is not
// computed again where its length is known.
func (e *embedder) noteValueLength(r *Rule, m *model.Shape, old jsondoc.Node) error {
	v := fitValue{rule: r, object: e.in, flag: m.Flag, size: quotedLen(m.Name) + len(":")}
	if known, ok := e.values.(valueLengths); ok && old == jsondoc.None {
		t, anchor := e.subject(r)
		if length, ok := known.ValueLength(r, t, anchor); ok {
			e.fit.note(v, length, nil)
			return nil
		}
	}
	raw, err := e.value(r, m, old)
	length := len(raw)
	if raw == nil {
		length = -1
	}
	if err == nil || errors.Is(err, errPastLimit) {
		e.fit.note(v, length, err)
		return nil
	}
	return err
}

// value returns the text of one derived member, nil where there is none. Values that the view so far has no room for
// are computed when the view is fitted.
func (e *embedder) value(r *Rule, m *model.Shape, old jsondoc.Node) ([]byte, error) {
	t, anchor := e.subject(r)
	raw, same, err := e.values.Value(r, t, anchor)
	if same && old != jsondoc.None {
		return e.old.Raw(old), nil
	}
	if same {
		v, ok := e.values.(leftOutValues)
		if e.fit == nil || !ok {
			return nil, nil
		}
		raw, err = v.LeftOut(r, t, anchor)
	}
	if err != nil || r.Kind != model.IDs {
		return raw, err
	}
	return idListPart(m, raw), nil
}

// subject returns the view of the document by which a rule's value is found, and the anchor in it.
func (e *embedder) subject(r *Rule) (t *jsondoc.Tree, anchor jsondoc.Node) {
	if r.Kind == model.Copy && r.Relation.Derived() {
		return e.old, e.oldAnchor
	}
	return e.src, e.anchor
}

// leftOutValues are values that stay as they are, and some may be missing in the view so far, for want of room.
type leftOutValues interface {
	// LeftOut computes such a value; nil is "no value".
	LeftOut(r *Rule, t *jsondoc.Tree, anchor jsondoc.Node) ([]byte, error)
}

// valueLengths are values with the lengths of those that are known without computing them.
type valueLengths interface {
	// ValueLength returns the length in bytes of a rule's value below anchor, -1 for no value; ok is false where that is not known.
	ValueLength(r *Rule, t *jsondoc.Tree, anchor jsondoc.Node) (length int, ok bool)
}

// quotedLen returns the length in bytes of a name as JSON text.
func quotedLen(name string) int { return len(jsondoc.AppendQuote(nil, name)) }

// appendTruncated marks an id list's value as cut off, if it is. Such a value is one text: the list, followed by "true"
// where it was cut off.
func appendTruncated(list []byte, truncated bool) []byte {
	if truncated {
		return append(list, "true"...)
	}
	return list
}

// idListPart returns the part of an id list's value that stands in the member: the list or, where the member says
// whether that was cut off, "true" or nil.
func idListPart(m *model.Shape, raw []byte) []byte {
	list, truncated := bytes.CutSuffix(raw, []byte("true"))
	switch {
	case !m.Flag:
		return list
	case truncated:
		return raw[len(list):]
	}
	return nil
}
