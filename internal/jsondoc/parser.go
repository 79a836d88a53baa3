package jsondoc

import (
	"bytes"
	"fmt"
	"slices"
)

// Parse makes the tree one of src, which Check has accepted, and reuses the tree's memory. It validates no more than
// it needs to end; the error says at which byte src is not JSON. The tree aliases src.
func (t *Tree) Parse(src []byte) error {
	t.src = src
	if t.nodes == nil {
		t.nodes = make([]node, 0, min(len(src)/bytesPerNode, maxFirstNodes)+4)
	}
	t.nodes = append(t.nodes[:0], node{})
	p := parser{src: src, t: t}
	p.space()
	if _, err := p.value(0, 0); err != nil {
		return err
	}
	p.space()
	if p.i != len(src) {
		return p.fail()
	}
	return nil
}

// A tree's memory begins with what mostly is enough for the text.
const (
	bytesPerNode  = 20
	maxFirstNodes = 1024
)

// Reset does what Parse does for text that is known to be JSON. It panics on any other.
func (t *Tree) Reset(src []byte) {
	if err := t.Parse(src); err != nil {
		panic(err)
	}
}

// MustParse returns a new tree of text that is known to be JSON. It panics on any other.
func MustParse(src []byte) *Tree {
	t := new(Tree)
	if err := t.Parse(src); err != nil { // not Reset, which would keep callers from inlining this
		panic(err)
	}
	return t
}

// NumberTree returns the tree of a text that is known to be a JSON number, without space around it.
func NumberTree(text []byte) *Tree {
	return &Tree{src: text, nodes: []node{{}, {kind: Number, end: int32(len(text))}}}
}

// parser appends nodes to a tree; i is the byte of the tree's text that it reads next.
type parser struct {
	src     []byte // of t
	t       *Tree
	i       int
	escaped bool // the last string has an escape
}

func (p *parser) fail() error { return fmt.Errorf("jsondoc: not JSON at byte %d", p.i) }

// space skips whitespace.
func (p *parser) space() {
	if p.i < len(p.src) && p.src[p.i] > ' ' { // mostly there is none
		return
	}
	p.skipSpace()
}

// skipSpace skips whitespace, where there may be some.
func (p *parser) skipSpace() {
	for p.i < len(p.src) {
		switch p.src[p.i] {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.i < len(p.src) {
		return p.src[p.i]
	}
	return 0
}

// value parses one value and all that is in it. keyStart and keyEnd say where its member name stands.
func (p *parser) value(keyStart, keyEnd int) (self Node, err error) {
	self = Node(len(p.t.nodes))
	start := p.i
	if len(p.t.nodes) == cap(p.t.nodes) { // a tree may be many times its text: append would make more garbage of it
		p.t.nodes = slices.Grow(p.t.nodes, len(p.t.nodes))
	}
	p.t.nodes = p.t.nodes[:self+1]
	n := &p.t.nodes[self]
	*n = node{start: int32(start), keyStart: int32(keyStart), keyEnd: int32(keyEnd), escapedKey: keyEnd > 0 && p.escaped}
	if p.peek() == '"' { // by far the most frequent
		err = p.str()
		n.kind, n.end = String, int32(p.i)
		return self, err
	}
	kind, err := p.scan(self)
	n = &p.t.nodes[self] // which may have moved
	n.kind, n.end = kind, int32(p.i)
	return self, err
}

// scan moves to the end of the value that begins at the next byte, and returns its kind.
func (p *parser) scan(self Node) (Kind, error) {
	switch c := p.peek(); c {
	case '{':
		return Object, p.members(self)
	case '[':
		return Array, p.elements(self)
	case '"':
		return String, p.str()
	case 't':
		return True, p.literal("true")
	case 'f':
		return False, p.literal("false")
	case 'n':
		return Null, p.literal("null")
	default:
		if c != '-' && (c < '0' || c > '9') {
			return Invalid, p.fail()
		}
		for p.i < len(p.src) && numberByte[p.src[p.i]] {
			p.i++
		}
		return Number, nil
	}
}

// numberByte marks the bytes that a number can have.
var numberByte = func() (set [256]bool) {
	for _, c := range "0123456789+-.eE" {
		set[c] = true
	}
	return set
}()

func (p *parser) literal(word string) error {
	if !bytes.HasPrefix(p.src[p.i:], []byte(word)) {
		return p.fail()
	}
	p.i += len(word)
	return nil
}

// shortString is up to which length, in bytes, a string's end is found faster byte by byte.
const shortString = 16

// str skips a string with both its quotes, and notes whether it has an escape.
func (p *parser) str() error {
	src, i := p.src, p.i+1
	p.escaped = false
	for short := min(i+shortString, len(src)); i < short; i++ {
		if src[i] == '"' {
			p.i = i + 1
			return nil
		}
		if src[i] == '\\' {
			p.escaped = true
			i++
		}
	}
	for quote := -1; i < len(src); { // quote is the next one from i on, so that no byte is looked at more than twice
		if quote < i {
			n := bytes.IndexByte(src[i:], '"')
			if n < 0 {
				break
			}
			quote = i + n
		}
		escape := bytes.IndexByte(src[i:quote], '\\')
		if escape < 0 {
			p.i = quote + 1
			return nil
		}
		p.escaped = true
		i += escape + 2
	}
	p.i = len(src)
	return p.fail()
}

// members parses the members of the object self, with both its braces.
func (p *parser) members(self Node) error {
	p.i++
	p.space()
	if p.peek() == '}' {
		p.i++
		return nil
	}
	for last := None; ; {
		keyStart := p.i
		if p.peek() != '"' {
			return p.fail()
		}
		if err := p.str(); err != nil {
			return err
		}
		keyEnd := p.i
		p.space()
		if p.peek() != ':' {
			return p.fail()
		}
		p.i++
		p.space()
		child, err := p.value(keyStart, keyEnd)
		if err != nil {
			return err
		}
		p.t.attach(self, last, child)
		last = child
		if p.space(); p.peek() != ',' {
			return p.end('}')
		}
		p.i++
		p.space()
	}
}

// elements parses the elements of the array self, with both its brackets.
func (p *parser) elements(self Node) error {
	p.i++
	p.space()
	if p.peek() == ']' {
		p.i++
		return nil
	}
	for last := None; ; {
		child, err := p.value(0, 0)
		if err != nil {
			return err
		}
		p.t.attach(self, last, child)
		last = child
		if p.space(); p.peek() != ',' {
			return p.end(']')
		}
		p.i++
		p.space()
	}
}

// attach makes child the next one inside the container, after last, which is None for the first.
func (t *Tree) attach(container, last, child Node) {
	if last == None {
		t.nodes[container].child = child
	} else {
		t.nodes[last].next = child
	}
}

// end skips the bracket that ends an object or array.
func (p *parser) end(bracket byte) error {
	if p.peek() != bracket {
		return p.fail()
	}
	p.i++
	return nil
}
