// Package jsondoc reads and edits JSON text without ever writing it anew: numbers, escapes and the order of
// members stay as written. It finds values as spans of the text and links them in a tree.
package jsondoc

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds of JSON values; None has Invalid.
const (
	Invalid Kind = iota
	Null
	False
	True
	Number
	String
	Array
	Object
)

// Node names a value in its Tree.
type Node int32

// None stands for a value that is not there, Root for the whole text.
const (
	None Node = 0
	Root Node = 1
)

// node is one value: where it stands in the text, and the values next to and inside it.
type node struct {
	kind             Kind
	escapedKey       bool  // the member name has an escape
	start, end       int32 // the value's bytes
	keyStart, keyEnd int32 // the member name's bytes with quotes; 0, 0 outside objects
	next, child      Node
}

// Tree is parsed JSON text. It aliases the text, which must not change while the tree is used. Parse and Reset
// read another text into the same memory. Every method but these may be called from many goroutines.
type Tree struct {
	src   []byte
	nodes []node // by Node; the first stands for None
}

// Kind returns the value's kind; Invalid for None.
func (t *Tree) Kind(n Node) Kind { return t.nodes[n].kind }

// Raw returns the value's text. It aliases the source.
func (t *Tree) Raw(n Node) []byte { v := &t.nodes[n]; return t.src[v.start:v.end:v.end] }

// Span returns where the value's text begins and ends in the source, in bytes.
func (t *Tree) Span(n Node) (start, end int) { return int(t.nodes[n].start), int(t.nodes[n].end) }

// FirstOf returns the first value of a kind, in the order of the text, for which is returns true; None where there is none.
func (t *Tree) FirstOf(kind Kind, is func(raw []byte) bool) Node {
	for n := Root; int(n) < len(t.nodes); n++ {
		if t.nodes[n].kind == kind && is(t.Raw(n)) {
			return n
		}
	}
	return None
}

// First returns the first member of an object or element of an array; None for anything else.
func (t *Tree) First(n Node) Node { return t.nodes[n].child }

// Next returns the member or element after n; None after the last.
func (t *Tree) Next(n Node) Node { return t.nodes[n].next }

// Len returns how many members or elements n has. It counts them.
func (t *Tree) Len(n Node) int {
	count := 0
	for c := t.First(n); c != None; c = t.Next(c) {
		count++
	}
	return count
}

// Member returns the value of an object's member; None where there is none, or n is no object.
func (t *Tree) Member(n Node, name string) Node {
	if t.Kind(n) != Object {
		return None
	}
	for c := t.First(n); c != None; c = t.Next(c) {
		if t.KeyIs(c, name) {
			return c
		}
	}
	return None
}

// Key returns the name of a member; "" for an element.
func (t *Tree) Key(n Node) string {
	if raw := t.RawKey(n); len(raw) > 0 {
		return unquote(raw)
	}
	return ""
}

// KeyIs tells whether name is the name of a member. It is faster than comparing with Key, and looks at no more of a name than
// the length of the other, however long it is.
func (t *Tree) KeyIs(n Node, name string) bool {
	v := &t.nodes[n]
	length := int(v.keyEnd-v.keyStart) - len(`""`)
	if !v.escapedKey {
		return length == len(name) && string(t.src[v.keyStart+1:v.keyEnd-1]) == name
	}
	return length >= len(name) && length <= maxEscape*len(name) && unquote(t.RawKey(n)) == name
}

// maxEscape is how many bytes stand for one in a JSON string at most: \u0041.
const maxEscape = 6

// RawKey returns the name of a member as written, with its quotes; nothing for an element.
func (t *Tree) RawKey(n Node) []byte { v := &t.nodes[n]; return t.src[v.keyStart:v.keyEnd:v.keyEnd] }

// RawKeyColon returns the name of a member with the colon and the whitespace up to its value; nil for an element.
func (t *Tree) RawKeyColon(n Node) []byte {
	v := &t.nodes[n]
	if v.keyEnd == 0 {
		return nil
	}
	return t.src[v.keyStart:v.start]
}

// Text returns a string's value or a number's text; "" for anything else.
func (t *Tree) Text(n Node) string {
	switch t.Kind(n) {
	case String:
		return unquote(t.Raw(n))
	case Number:
		return string(t.Raw(n))
	default:
		return ""
	}
}

// startOf returns where the member, with its name, or the element begins.
func (t *Tree) startOf(n Node) int32 {
	if v := &t.nodes[n]; v.keyEnd > 0 {
		return v.keyStart
	}
	return t.nodes[n].start
}

// Before returns the container's text up to its first member or element.
func (t *Tree) Before(container, first Node) []byte {
	return t.src[t.nodes[container].start:t.startOf(first)]
}

// Between returns the text between two neighbours: the comma and the whitespace around it.
func (t *Tree) Between(a, b Node) []byte { return t.src[t.nodes[a].end:t.startOf(b)] }

// After returns the container's text after its last member or element.
func (t *Tree) After(container, last Node) []byte {
	return t.src[t.nodes[last].end:t.nodes[container].end]
}
