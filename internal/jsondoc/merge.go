package jsondoc

import "bytes"

// Merge returns doc with a merge patch (RFC 7396) applied. Members keep their place and their bytes; new ones
// come at the end in the patch's order. Both texts must be JSON: it panics otherwise.
func Merge(doc, patch []byte) []byte {
	m := merger{doc: MustParse(doc), patch: MustParse(patch)}
	return m.append(make([]byte, 0, len(doc)+len(patch)), Root, Root)
}

// merger merges the values of two trees.
type merger struct{ doc, patch *Tree }

// append appends the value n of the document with the value patch applied; n is None where there is nothing yet.
func (m merger) append(dst []byte, n, patch Node) []byte {
	if m.patch.Kind(patch) != Object {
		return append(dst, m.patch.Raw(patch)...)
	}
	dst = append(dst, '{')
	var known map[Node]bool // members of the patch that the document has
	if m.doc.Kind(n) == Object {
		dst, known = m.appendChanged(dst, n, patch)
	}
	for c := m.patch.First(patch); c != None; c = m.patch.Next(c) {
		if m.patch.Kind(c) != Null && !known[c] {
			dst = appendName(dst, m.patch.RawKey(c))
			dst = m.append(dst, None, c)
		}
	}
	return append(dst, '}')
}

// appendChanged appends the members of the object n as the patch leaves them. known has the patch's members among them.
func (m merger) appendChanged(dst []byte, n, patch Node) (out []byte, known map[Node]bool) {
	changes := m.patch.members(patch)
	known = make(map[Node]bool, len(changes))
	for c := m.doc.First(n); c != None; c = m.doc.Next(c) {
		change := None
		if len(known) < len(changes) {
			change = m.doc.inIndex(changes, c)
		}
		if change != None {
			known[change] = true
		}
		switch {
		case change == None:
			dst = appendName(dst, m.doc.RawKey(c))
			dst = append(dst, m.doc.Raw(c)...)
		case m.patch.Kind(change) != Null:
			dst = appendName(dst, m.doc.RawKey(c))
			dst = m.append(dst, c, change)
		}
	}
	return dst, known
}

// inIndex returns what an index has under the name of the member n. It makes no string of a name without escapes.
func (t *Tree) inIndex(index map[string]Node, n Node) Node {
	raw := t.RawKey(n)
	if name := raw[1 : len(raw)-1]; bytes.IndexByte(name, '\\') < 0 {
		return index[string(name)]
	}
	return index[unquote(raw)]
}

// appendName begins a member of an object, with a comma where it is not the first.
func appendName(dst, quoted []byte) []byte {
	if dst[len(dst)-1] != '{' { // no value ends so
		dst = append(dst, ',')
	}
	return append(append(dst, quoted...), ':')
}

// members indexes an object by name, so that two large ones are merged in linear time.
func (t *Tree) members(n Node) map[string]Node {
	index := make(map[string]Node)
	for c := t.First(n); c != None; c = t.Next(c) {
		index[t.Key(c)] = c
	}
	return index
}
