package jsondoc

import (
	"fmt"
	"slices"
	"strconv"
)

// patchValue is a value that a JSON Patch may change. It never changes itself: an operation makes a new one, which shares
// with the old one all that the operation does not reach. So a copy takes no memory, whatever is changed in it later.
//
// A value is one text until an operation reaches into it. Then it is split into a row of pieces: each is a run of the
// text's children or one child that was put there. An operation adds two pieces at most.
type patchValue struct {
	text   *patchText
	split  bool
	pieces []piece
	count  int // children, of a split value
	length int // of the JSON text that append writes, in bytes
}

// piece is a run of the children that a value's text has, or one other child.
type piece struct {
	from, to int         // the children of the text, while one is nil
	one      *patchValue // the other child
	key      []byte      // its member name as written, in an object
	name     string      // what key stands for
}

func newPatchValue(raw []byte) *patchValue {
	return &patchValue{text: newPatchText(raw), length: len(raw)}
}

// len returns how many children the piece has.
func (p *piece) len() int {
	if p.one != nil {
		return 1
	}
	return p.to - p.from
}

// place says where a child is, or where a new one goes: in which piece, and before which of its children.
type place struct{ piece, offset int }

// open returns the value as a split one. m is charged with the text that is read for it.
func (v *patchValue) open(m *meter) (*patchValue, error) {
	if v.split || v.text.kind == Invalid {
		return v, nil
	}
	if v.text.opened == nil {
		if err := m.charge(len(v.text.raw)); err != nil {
			return nil, err
		}
		v.text.open()
	}
	return v.text.opened, nil
}

// append appends the value's text to dst. A split value has no whitespace around its children.
func (v *patchValue) append(dst []byte) []byte {
	if !v.split {
		return append(dst, v.text.raw...)
	}
	brackets := "[]"
	if v.text.kind == Object {
		brackets = "{}"
	}
	dst = append(dst, brackets[0])
	for i := range v.pieces {
		if i > 0 {
			dst = append(dst, ',')
		}
		p := &v.pieces[i]
		if p.one == nil {
			dst = v.text.append(dst, p.from, p.to)
			continue
		}
		if p.key != nil {
			dst = append(append(dst, p.key...), ':')
		}
		dst = p.one.append(dst)
	}
	return append(dst, brackets[1])
}

// find returns where the child is that a pointer's token names, and whether there is one: without, it is
// where a new child goes. In an array "-" and the length name the end. The value is split.
func (v *patchValue) find(m *meter, token string) (at place, found bool, err error) {
	if err := m.charge(len(v.pieces)); err != nil {
		return at, false, err
	}
	switch v.text.kind {
	case Object:
		at, found = v.member(m, token)
		return at, found, nil
	case Array:
		if token == "-" {
			return v.end(), false, nil
		}
		n, err := strconv.Atoi(token)
		if err != nil || n < 0 || strconv.Itoa(n) != token {
			return at, false, fmt.Errorf("%q is not an index of an array", token)
		}
		if n > v.count {
			return at, false, fmt.Errorf("index %d is past the array's end", n)
		}
		return v.element(n), n < v.count, nil
	}
	return at, false, fmt.Errorf("there is no %q in a value that is neither object nor array", token)
}

// end returns the place after the last child.
func (v *patchValue) end() place { return place{piece: len(v.pieces)} }

// element returns the place of the nth child.
func (v *patchValue) element(n int) place {
	for i := range v.pieces {
		if length := v.pieces[i].len(); n >= length {
			n -= length
			continue
		}
		return place{i, n}
	}
	return v.end()
}

// member returns the place of the member of a name, or the end.
func (v *patchValue) member(m *meter, name string) (at place, found bool) {
	n, inText := v.text.member(m, name)
	for i := range v.pieces {
		switch p := &v.pieces[i]; {
		case p.one != nil && p.name == name:
			return place{piece: i}, true
		case p.one == nil && inText && p.from <= n && n < p.to:
			return place{i, n - p.from}, true
		}
	}
	return v.end(), false
}

// child returns the child at a place, where there is one.
func (v *patchValue) child(at place) *patchValue {
	p := &v.pieces[at.piece]
	if p.one != nil {
		return p.one
	}
	return v.text.child(p.from + at.offset)
}

// name returns the name of the member at a place, as written and as it is meant; none of an element.
func (v *patchValue) name(at place) (key []byte, name string) {
	p := &v.pieces[at.piece]
	if p.one != nil {
		return p.key, p.name
	}
	if v.text.kind != Object {
		return nil, ""
	}
	key = v.text.key(p.from + at.offset)
	return key, unquote(key)
}

// with returns the value with another child in the place of one.
func (v *patchValue) with(at place, child *patchValue) *patchValue {
	key, name := v.name(at)
	length := v.length - v.child(at).length + child.length
	return v.splice(at, 1, []piece{{one: child, key: key, name: name}}, length)
}

// without returns the value without a child.
func (v *patchValue) without(at place) *patchValue {
	length := v.length - v.child(at).length
	if key, _ := v.name(at); key != nil {
		length -= len(key) + len(":")
	}
	if v.count > 1 {
		length -= len(",")
	}
	return v.splice(at, 1, nil, length)
}

// inserted returns the value with one more child, with the name that it has in an object.
func (v *patchValue) inserted(at place, name string, child *patchValue) *patchValue {
	p := piece{one: child}
	length := v.length + child.length
	if v.text.kind == Object {
		p.key, p.name = Quote(name), name
		length += len(p.key) + len(":")
	}
	if v.count > 0 {
		length += len(",")
	}
	return v.splice(at, 0, []piece{p}, length)
}

// splice returns the value with other pieces in the place of the first gone children from a place on, which are in one piece.
func (v *patchValue) splice(at place, gone int, pieces []piece, length int) *patchValue {
	out := &patchValue{text: v.text, split: true, length: length, count: v.count - gone + len(pieces)}
	out.pieces = slices.Grow(out.pieces, len(v.pieces)+2)
	out.pieces = append(out.pieces, v.pieces[:at.piece]...)
	rest := v.pieces[at.piece:]
	if at.offset > 0 {
		p := rest[0]
		out.pieces = append(out.pieces, piece{from: p.from, to: p.from + at.offset})
	}
	out.pieces = append(out.pieces, pieces...)
	if len(rest) > 0 && (at.offset > 0 || gone > 0) {
		if p := rest[0]; p.one == nil && p.from+at.offset+gone < p.to {
			out.pieces = append(out.pieces, piece{from: p.from + at.offset + gone, to: p.to})
		}
		rest = rest[1:]
	}
	out.pieces = append(out.pieces, rest...)
	return out
}
