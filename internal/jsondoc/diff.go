package jsondoc

import (
	"bytes"
	"slices"
	"strconv"
)

// maxFineDiff is how many bytes more than the value before and after the operations about its members or elements have at most. If
// they have more, the value is replaced as a whole.
const maxFineDiff = 1 << 20

// Diff returns a JSON Patch (RFC 6902) that makes one value of another, whose operations also carry "old" where they replace or remove.
// nil stands for no value: the patch then adds or removes the whole. Members are compared by name, and their order does not count.
// Elements are compared by position after common ends are cut. Numbers are equal where their texts are. Both must be JSON: it may
// panic otherwise.
func Diff(before, after []byte) []byte {
	d := differ{out: []byte{'['}}
	switch {
	case before == nil && after == nil:
	case before == nil:
		d.add("add", after, nil)
	case after == nil:
		d.add("remove", nil, before)
	default:
		d.a, d.b = MustParse(before), MustParse(after)
		d.value(Root, Root)
	}
	return append(d.out, ']')
}

// differ compares two values.
type differ struct {
	a, b *Tree
	path []byte // a JSON pointer to where it is
	out  []byte // the patch without its end
}

// add adds an operation at the path. A value that is nil is left out.
func (d *differ) add(op string, value, old []byte) {
	if len(d.out) > 1 {
		d.out = append(d.out, ',')
	}
	d.out = append(d.out, `{"op":"`+op+`","path":`...)
	d.out = AppendQuote(d.out, string(d.path))
	if value != nil {
		d.out = append(append(d.out, `,"value":`...), value...)
	}
	if old != nil {
		d.out = append(append(d.out, `,"old":`...), old...)
	}
	d.out = append(d.out, '}')
}

// at calls fn with a path that leads to a member or an element.
func (d *differ) at(token string, fn func()) {
	length := len(d.path)
	d.path = append(append(d.path, '/'), PointerEscape(token)...)
	fn()
	d.path = d.path[:length]
}

// value compares two values at the path.
func (d *differ) value(a, b Node) {
	if d.same(a, b) {
		return
	}
	switch kind := d.a.Kind(a); {
	case kind != d.b.Kind(b):
	case kind == Object && d.fine(a, b, d.members), kind == Array && d.fine(a, b, d.elements):
		return
	case kind == String && d.a.Text(a) == d.b.Text(b):
		return
	}
	d.add("replace", d.b.Raw(b), d.a.Raw(a))
}

// fine compares what two values hold. It is false, and adds nothing, where the operations would have too many bytes.
func (d *differ) fine(a, b Node, compare func(a, b Node)) bool {
	begin := len(d.out)
	compare(a, b)
	if len(d.out)-begin <= maxFineDiff+len(d.a.Raw(a))+len(d.b.Raw(b)) {
		return true
	}
	d.out = d.out[:begin]
	return false
}

// same returns whether two values have the same text.
func (d *differ) same(a, b Node) bool { return bytes.Equal(d.a.Raw(a), d.b.Raw(b)) }

// members compares two objects: first the members of the one before, in its order, then those that came.
func (d *differ) members(a, b Node) {
	before, after := d.a.members(a), d.b.members(b)
	for m := d.a.First(a); m != None; m = d.a.Next(m) {
		name := d.a.Key(m)
		d.at(name, func() {
			if n, found := after[name]; found {
				d.value(m, n)
			} else {
				d.add("remove", nil, d.a.Raw(m))
			}
		})
	}
	for n := d.b.First(b); n != None; n = d.b.Next(n) {
		if name := d.b.Key(n); before[name] == None {
			d.at(name, func() { d.add("add", d.b.Raw(n), nil) })
		}
	}
}

// elements compares two arrays: those between their common beginning and their common end, one by one. The others came or went.
func (d *differ) elements(a, b Node) {
	before, after := children(d.a, a), children(d.b, b)
	begin := 0
	for len(before) > 0 && len(after) > 0 && d.same(before[0], after[0]) {
		before, after, begin = before[1:], after[1:], begin+1
	}
	for len(before) > 0 && len(after) > 0 && d.same(before[len(before)-1], after[len(after)-1]) {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	both := min(len(before), len(after))
	for i := range both {
		d.at(strconv.Itoa(begin+i), func() { d.value(before[i], after[i]) })
	}
	for i, n := range slices.Backward(before[both:]) { // from the end, so that no place moves
		d.at(strconv.Itoa(begin+both+i), func() { d.add("remove", nil, d.a.Raw(n)) })
	}
	for i, n := range after[both:] {
		d.at(strconv.Itoa(begin+both+i), func() { d.add("add", d.b.Raw(n), nil) })
	}
}

// children returns the members or elements of a value.
func children(t *Tree, n Node) (list []Node) {
	for c := t.First(n); c != None; c = t.Next(c) {
		list = append(list, c)
	}
	return list
}
