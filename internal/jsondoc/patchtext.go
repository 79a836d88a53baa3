package jsondoc

// patchText is JSON text that a patch reaches into, with what was found out about it. All values that were copied from one
// place share it, so that it is looked at once.
type patchText struct {
	raw      []byte
	kind     Kind                // Object, Array, or Invalid for anything else
	opened   *patchValue         // the value, split; nil until that is asked for
	spans    []childSpan         // where the children stand, once it is open
	plain    bool                // there is no whitespace around the children
	byName   map[string]int      // members by name, once one of many was asked for
	children map[int]*patchValue // those that were asked for
}

// childSpan is where a child stands in its text, and its member name with quotes; 0, 0 in an array.
type childSpan struct{ keyStart, keyEnd, start, end int32 }

// fewMembers is up to how many members an object is searched one by one.
const fewMembers = 16

func newPatchText(raw []byte) *patchText {
	t := &patchText{raw: raw}
	switch raw[0] {
	case '{':
		t.kind = Object
	case '[':
		t.kind = Array
	}
	return t
}

// open finds the children of an object or array.
func (t *patchText) open() {
	t.spans = childSpans(t.raw)
	length := len("{}") + max(len(t.spans)-1, 0)
	for i := range t.spans {
		s := &t.spans[i]
		length += int(s.end - s.start)
		if t.kind == Object {
			length += int(s.keyEnd-s.keyStart) + len(":")
		}
	}
	t.plain = length == len(t.raw)
	t.children = map[int]*patchValue{}
	t.opened = &patchValue{text: t, split: true, count: len(t.spans), length: length}
	if len(t.spans) > 0 {
		t.opened.pieces = []piece{{to: len(t.spans)}}
	}
}

// key returns the member name of a child as written.
func (t *patchText) key(n int) []byte { s := &t.spans[n]; return t.raw[s.keyStart:s.keyEnd:s.keyEnd] }

// child returns the nth child, the same one each time.
func (t *patchText) child(n int) *patchValue {
	if v := t.children[n]; v != nil {
		return v
	}
	s := &t.spans[n]
	v := newPatchValue(t.raw[s.start:s.end:s.end])
	t.children[n] = v
	return v
}

// member returns which child the member of a name is, and whether there is one. If there are many, m is charged with
// the reading of their names, once.
func (t *patchText) member(m *meter, name string) (n int, found bool) {
	if len(t.spans) <= fewMembers {
		for n := range t.spans {
			if unquote(t.key(n)) == name {
				return n, true
			}
		}
		return 0, false
	}
	if t.byName == nil {
		m.used += int64(len(t.raw)) // it was charged for being opened, and so is within twice the bound
		t.byName = make(map[string]int, len(t.spans))
		for n := range t.spans {
			t.byName[unquote(t.key(n))] = n
		}
	}
	n, found = t.byName[name]
	return n, found
}

// append appends the children from one up to another to dst, with commas between them.
func (t *patchText) append(dst []byte, from, to int) []byte {
	if t.plain {
		first, last := &t.spans[from], &t.spans[to-1]
		start := first.start
		if t.kind == Object {
			start = first.keyStart
		}
		return append(dst, t.raw[start:last.end]...)
	}
	for n := from; n < to; n++ {
		if n > from {
			dst = append(dst, ',')
		}
		if t.kind == Object {
			dst = append(append(dst, t.key(n)...), ':')
		}
		dst = append(dst, t.raw[t.spans[n].start:t.spans[n].end]...)
	}
	return dst
}

// childSpans returns where the children of an object or array stand, whose text is JSON. It panics on any other text.
func childSpans(raw []byte) (spans []childSpan) {
	p := parser{src: raw, t: &Tree{src: raw}}
	p.i++
	for {
		var s childSpan
		if p.space(); p.peek() == '}' || p.peek() == ']' {
			return spans // it is empty
		}
		if raw[0] == '{' {
			s.keyStart = int32(p.i)
			p.must(p.str())
			s.keyEnd = int32(p.i)
			p.space()
			p.i++ // the colon
			p.space()
		}
		s.start = int32(p.i)
		_, err := p.skipValue()
		p.must(err)
		s.end = int32(p.i)
		spans = append(spans, s)
		if p.space(); p.peek() != ',' {
			return spans
		}
		p.i++
	}
}

// must panics on an error: the text is no JSON.
func (*parser) must(err error) {
	if err != nil {
		panic(err)
	}
}
