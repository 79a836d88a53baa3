package jsondoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// SyntaxError says where and why text is not a JSON value that Check accepts.
type SyntaxError struct {
	Offset  int64  // in bytes
	Pointer string // a JSON pointer (RFC 6901), cut off where it is long
	Reason  string
	Depth   bool // the value is JSON so far, and nested too deep
}

// Error returns the reason and the place.
func (e *SyntaxError) Error() string {
	where := e.Pointer
	if where == "" {
		where = "the top level"
	}
	return fmt.Sprintf("%s at byte %d, in %s", e.Reason, e.Offset, where)
}

// maxPooled is up to how many bytes of text a decoder is used again.
const maxPooled = 64 << 10

var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// Check returns nil where src is exactly one JSON value (RFC 8259) in valid UTF-8, without duplicate member
// names, and with objects and arrays nested at most maxDepth deep. The error is a *SyntaxError.
func Check(src []byte, maxDepth int) error {
	d := decoders.Get().(*jsontext.Decoder)
	if len(src) <= maxPooled { // a decoder keeps the names of what it has read
		defer decoders.Put(d)
	}
	d.Reset(bytes.NewBuffer(src)) // the decoder reads a bytes.Buffer in place
	for {
		tok, err := d.ReadToken()
		if err != nil {
			return syntaxError(d, err)
		}
		if d.StackDepth() > maxDepth {
			return &SyntaxError{Offset: d.InputOffset(), Pointer: clipPointer(string(d.StackPointer())),
				Reason: fmt.Sprintf("nested deeper than %d", maxDepth), Depth: true}
		}
		if d.StackDepth() == 0 && tok.Kind() != '{' && tok.Kind() != '[' {
			break
		}
	}
	end := d.InputOffset()
	if rest := bytes.TrimLeft(src[end:], " \t\r\n"); len(rest) > 0 {
		return &SyntaxError{Offset: int64(len(src) - len(rest)), Reason: "more text after the JSON value"}
	}
	return nil
}

// clipPointer keeps an error message short.
func clipPointer(p string) string {
	if len(p) > 120 {
		return p[:120] + "…"
	}
	return p
}

// syntaxError returns the decoder's error as a *SyntaxError.
func syntaxError(d *jsontext.Decoder, err error) error {
	out := &SyntaxError{Offset: d.InputOffset(), Pointer: clipPointer(string(d.StackPointer())), Reason: "not JSON"}
	var se *jsontext.SyntacticError
	if errors.As(err, &se) {
		out.Offset, out.Pointer = se.ByteOffset, clipPointer(string(se.JSONPointer))
		if se.Err != nil {
			out.Reason = strings.TrimPrefix(se.Err.Error(), "jsontext: ")
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		out.Reason = "the JSON value ends too early"
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		out.Reason = "duplicate member"
	}
	return out
}

// Dense returns a text without the whitespace outside strings. src must be JSON.
func Dense(src []byte) []byte { return Compact(make([]byte, 0, len(src)), src) }

// Compact appends src to dst without the whitespace outside strings; every other byte stays. src must be JSON.
func Compact(dst, src []byte) []byte {
	for i := 0; i < len(src); {
		switch c := src[i]; c {
		case ' ', '\t', '\n', '\r':
			i++
		case '"':
			end := i + 1
			for src[end] != '"' {
				if src[end] == '\\' {
					end++
				}
				end++
			}
			dst = append(dst, src[i:end+1]...)
			i = end + 1
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// Elements returns the texts of the array's elements if src is an object with only that member and an array in it.
// Check has accepted src. ok is false for any other text. The elements are not parsed, and alias src.
func Elements(src []byte, member string) (elements [][]byte, ok bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(src))
	expect := func(kind jsontext.Kind) bool {
		tok, err := d.ReadToken()
		return err == nil && tok.Kind() == kind
	}
	if !expect('{') {
		return nil, false
	}
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '"' || tok.String() != member || !expect('[') {
		return nil, false
	}
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		end := d.InputOffset()
		elements = append(elements, src[end-int64(len(v)):end])
	}
	return elements, expect(']') && expect('}')
}

// PlaceOf returns the place of an error of Check in the text, as Place does.
func PlaceOf(src []byte, err error) (line, column int) {
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		return 0, 0
	}
	return Place(src, syntax.Offset)
}

// Place returns the line and the column of a byte of a text, both from 1. Lines end with a line feed, and columns count code points.
func Place(src []byte, offset int64) (line, column int) {
	before := src[:min(max(offset, 0), int64(len(src)))]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[begin:])
}

// WithoutMark returns a text without the byte order mark that it may begin with, which RFC 8259 (8.1) lets readers leave out.
func WithoutMark(src []byte) []byte { return bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")) }
