// Package jsondoc reads and edits JSON text without ever re-marshalling it: numbers, escapes
// and member order stay as written. The fold, the patches and the expressions are built on it.
package jsondoc

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds.
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

// Node is the index of a value in its Tree; 0 is "none". The root is 1.
type Node int32

// None is no node; Root the document itself.
const (
	None Node = 0
	Root Node = 1
)

type node struct {
	kind             Kind
	start, end       int32 // the value's bytes
	keyStart, keyEnd int32 // the member name's bytes with quotes; 0,0 outside objects
	next, child      Node
}

// Tree is parsed JSON text: spans of the text, linked. Parse may be called again to reuse its
// memory; the text must not change while the tree is used.
type Tree struct {
	src   []byte
	nodes []node
}

// Parse reads text that Check has accepted. It does no validation beyond what it needs to end:
// the error says the text was not JSON.
func (t *Tree) Parse(src []byte) error {
	t.src = src
	t.nodes = append(t.nodes[:0], node{})
	p := parser{t: t}
	p.space()
	if err := p.value(0, 0); err != nil {
		return err
	}
	p.space()
	if p.i != len(src) {
		return p.fail()
	}
	return nil
}

// MustParse is Parse into a new tree for text known to be JSON; it panics otherwise.
func MustParse(src []byte) *Tree {
	t := new(Tree)
	if err := t.Parse(src); err != nil {
		panic(err)
	}
	return t
}

type parser struct {
	t *Tree
	i int
}

func (p *parser) fail() error { return fmt.Errorf("jsondoc: not JSON at byte %d", p.i) }

func (p *parser) space() {
	for p.i < len(p.t.src) {
		switch p.t.src[p.i] {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return
		}
	}
}

func (p *parser) peek() byte {
	if p.i < len(p.t.src) {
		return p.t.src[p.i]
	}
	return 0
}

func (p *parser) value(keyStart, keyEnd int) error {
	self := Node(len(p.t.nodes))
	start := p.i
	p.t.nodes = append(p.t.nodes, node{start: int32(start), keyStart: int32(keyStart), keyEnd: int32(keyEnd)})
	kind, err := p.scan(self)
	n := &p.t.nodes[self]
	n.kind, n.end = kind, int32(p.i)
	return err
}

func (p *parser) scan(self Node) (Kind, error) {
	switch c := p.peek(); c {
	case '{':
		return Object, p.elements(self, '}')
	case '[':
		return Array, p.elements(self, ']')
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
		for p.i < len(p.t.src) && numberByte[p.t.src[p.i]] {
			p.i++
		}
		return Number, nil
	}
}

var numberByte = func() (set [256]bool) {
	for _, c := range "0123456789+-.eE" {
		set[c] = true
	}
	return set
}()

func (p *parser) literal(word string) error {
	if !bytes.HasPrefix(p.t.src[p.i:], []byte(word)) {
		return p.fail()
	}
	p.i += len(word)
	return nil
}

func (p *parser) str() error {
	for p.i++; p.i < len(p.t.src); p.i++ {
		switch p.t.src[p.i] {
		case '"':
			p.i++
			return nil
		case '\\':
			p.i++
		}
	}
	return p.fail()
}

func (p *parser) elements(self Node, closer byte) error {
	p.i++
	p.space()
	if p.peek() == closer {
		p.i++
		return nil
	}
	last := None
	for {
		keyStart, keyEnd := 0, 0
		if closer == '}' {
			keyStart = p.i
			if p.peek() != '"' {
				return p.fail()
			}
			if err := p.str(); err != nil {
				return err
			}
			keyEnd = p.i
			p.space()
			if p.peek() != ':' {
				return p.fail()
			}
			p.i++
			p.space()
		}
		this := Node(len(p.t.nodes))
		if err := p.value(keyStart, keyEnd); err != nil {
			return err
		}
		if last == None {
			p.t.nodes[self].child = this
		} else {
			p.t.nodes[last].next = this
		}
		last = this
		p.space()
		switch p.peek() {
		case ',':
			p.i++
			p.space()
		case closer:
			p.i++
			return nil
		default:
			return p.fail()
		}
	}
}

// Kind of the value; Invalid for None.
func (t *Tree) Kind(n Node) Kind { return t.nodes[n].kind }

// Raw is the value's text. It aliases the source.
func (t *Tree) Raw(n Node) []byte { v := &t.nodes[n]; return t.src[v.start:v.end:v.end] }

// First is the first member or element, or None.
func (t *Tree) First(n Node) Node { return t.nodes[n].child }

// Next is the member or element after n, or None.
func (t *Tree) Next(n Node) Node { return t.nodes[n].next }

// RawKey is the member's name as written, with its quotes.
func (t *Tree) RawKey(n Node) []byte { v := &t.nodes[n]; return t.src[v.keyStart:v.keyEnd:v.keyEnd] }

// Key is the member's name.
func (t *Tree) Key(n Node) string { return unquote(t.RawKey(n)) }

// KeyIs tells whether the member's name is name.
func (t *Tree) KeyIs(n Node, name string) bool {
	raw := t.RawKey(n)
	if len(raw) == len(name)+2 && string(raw[1:len(raw)-1]) == name {
		return bytes.IndexByte(raw, '\\') < 0
	}
	return bytes.IndexByte(raw, '\\') >= 0 && unquote(raw) == name
}

// Text is a string's value, or a number's text; "" for anything else.
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

// Len is how many members or elements n has.
func (t *Tree) Len(n Node) int {
	count := 0
	for c := t.First(n); c != None; c = t.Next(c) {
		count++
	}
	return count
}

// Member is the value of the object's member, or None.
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

func unquote(raw []byte) string {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	out, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return string(inner)
	}
	return string(out)
}

// Quote is s as a JSON string, with the shortest escapes.
func Quote(s string) []byte { return AppendQuote(nil, s) }

// AppendQuote appends Quote(s) to dst.
func AppendQuote(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil { // invalid UTF-8 is replaced, and reported; ids and names were checked before
		return out
	}
	return out
}

// start is where the member (with its name) or element begins.
func (t *Tree) startOf(n Node) int32 {
	if v := &t.nodes[n]; v.keyEnd > 0 {
		return v.keyStart
	}
	return t.nodes[n].start
}

// Before is the container's text up to its first member or element.
func (t *Tree) Before(container, first Node) []byte {
	return t.src[t.nodes[container].start:t.startOf(first)]
}

// Between is the text between two neighbours: the comma and the whitespace around it.
func (t *Tree) Between(a, b Node) []byte { return t.src[t.nodes[a].end:t.startOf(b)] }

// After is the container's text behind its last member or element.
func (t *Tree) After(container, last Node) []byte {
	return t.src[t.nodes[last].end:t.nodes[container].end]
}

// RawKeyColon is the member's name with the colon and the whitespace up to its value; empty
// for an element.
func (t *Tree) RawKeyColon(n Node) []byte {
	v := &t.nodes[n]
	if v.keyEnd == 0 {
		return nil
	}
	return t.src[v.keyStart:v.start]
}

// Span is where the value stands in the source.
func (t *Tree) Span(n Node) (start, end int) { return int(t.nodes[n].start), int(t.nodes[n].end) }

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// PointerEscape is a member name as a token of a JSON pointer (RFC 6901).
func PointerEscape(name string) string { return pointerEscaper.Replace(name) }

// WithFirst returns the object's text with one more member in front.
func WithFirst(object []byte, name string, value []byte) []byte {
	open := bytes.IndexByte(object, '{')
	out := make([]byte, 0, len(object)+len(name)+len(value)+4)
	out = append(out, object[:open+1]...)
	out = AppendQuote(out, name)
	out = append(append(out, ':'), value...)
	if rest := bytes.TrimLeft(object[open+1:], " \t\r\n"); rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, object[open+1:]...)
}

// WithLast returns the object's text with one more member at the end.
func WithLast(object []byte, name string, value []byte) []byte {
	end := bytes.LastIndexByte(object, '}')
	out := append(make([]byte, 0, len(object)+len(name)+len(value)+4), object[:end]...)
	if head := bytes.TrimRight(object[:end], " \t\r\n"); head[len(head)-1] != '{' {
		out = append(out, ',')
	}
	out = AppendQuote(out, name)
	out = append(append(out, ':'), value...)
	return append(out, object[end:]...)
}

// Reset parses new text, as Parse, and panics where it is not JSON: for text of our own.
func (t *Tree) Reset(src []byte) {
	if err := t.Parse(src); err != nil {
		panic(err)
	}
}
