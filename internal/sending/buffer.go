package sending

import (
	"bytes"
	"io"
)

// Buffer collects the text of an answer in pieces. Large values are referred to and not copied, so that an answer takes
// about as much memory as it has bytes. The zero value is empty. It is for one goroutine.
type Buffer struct {
	parts [][]byte
	open  bool // text may be appended to the last part
	size  int
}

const (
	copied    = 4 << 10  // values up to here are copied, in bytes
	partBytes = 32 << 10 // of the parts into which they are copied
)

// Len returns how many bytes the answer has.
func (b *Buffer) Len() int { return b.size }

// AddString adds a text.
func (b *Buffer) AddString(s string) {
	p := b.appendable(len(s))
	*p = append(*p, s...)
	b.size += len(s)
}

// Add adds a value. It keeps a reference to a large one, which must not change until the answer is sent.
func (b *Buffer) Add(value []byte) {
	b.size += len(value)
	if len(value) > copied {
		b.parts, b.open = append(b.parts, value), false
		return
	}
	p := b.appendable(len(value))
	*p = append(*p, value...)
}

// appendable returns a part to which n bytes may be appended.
func (b *Buffer) appendable(n int) *[]byte {
	if b.open {
		if last := &b.parts[len(b.parts)-1]; len(*last)+n <= cap(*last) {
			return last
		}
	}
	size := partBytes
	if b.size < copied && len(b.parts) == 0 {
		size = copied // most answers are small
	}
	b.parts, b.open = append(b.parts, make([]byte, 0, max(size, n))), true
	return &b.parts[len(b.parts)-1]
}

// AddOpenObject adds the text of a JSON object without its closing brace, and returns what stands before a further
// member: a comma, or nothing where the object is empty. The caller adds the brace.
func (b *Buffer) AddOpenObject(object []byte) (separator string) {
	head := object[:bytes.LastIndexByte(object, '}')]
	b.Add(head)
	if head = bytes.TrimRight(head, " \t\r\n"); head[len(head)-1] == '{' {
		return ""
	}
	return ","
}

// Mark is a place in a buffer to which it can be cut back.
type Mark struct{ parts, last, size int }

// Mark returns the buffer's end.
func (b *Buffer) Mark() Mark {
	m := Mark{parts: len(b.parts), size: b.size}
	if m.parts > 0 {
		m.last = len(b.parts[m.parts-1])
	}
	return m
}

// Cut takes away everything that was added after a mark.
func (b *Buffer) Cut(m Mark) {
	clear(b.parts[m.parts:])
	b.parts, b.size, b.open = b.parts[:m.parts], m.size, false
	if m.parts > 0 {
		b.parts[m.parts-1] = b.parts[m.parts-1][:m.last]
	}
}

// Reset empties the buffer, and gives its memory back.
func (b *Buffer) Reset() { *b = Buffer{} }

// piece bounds what is written at a time, in bytes.
const piece = 64 << 10

// WriteTo writes the answer in pieces of at most 64 KiB and empties the buffer meanwhile. It calls before with the number
// of bytes that are left before each piece, unless before is nil. Errors are before's and w's.
func (b *Buffer) WriteTo(w io.Writer, before func(left int) error) error {
	defer b.Reset()
	for i, part := range b.parts {
		for len(part) > 0 {
			if before != nil {
				if err := before(b.size); err != nil {
					return err
				}
			}
			n := min(len(part), piece)
			if _, err := w.Write(part[:n]); err != nil {
				return err
			}
			part = part[n:]
			b.size -= n
		}
		b.parts[i] = nil
	}
	return nil
}

// Bytes returns the text of the answer in one piece, and empties the buffer.
func (b *Buffer) Bytes() []byte {
	text := make([]byte, 0, b.size)
	for _, part := range b.parts {
		text = append(text, part...)
	}
	b.Reset()
	return text
}
