package query

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/fanfold/fanfold"
)

// cursor is a place in the order of a query's answers.
type cursor struct {
	request   [16]byte // what identifies the request
	principal string   // room that nothing takes
	source    string   // what was walked: see source.id
	sorted    bool     // the place is one in the order of a sort, and not of the walk
	key       []byte   // of the place
	tie       int64
}

const (
	cursorPlain  = 1 // the version of a cursor's form
	cursorPacked = 2 // the same, compressed
	cursorSealed = 3 // the same, sealed for who sees the same documents
	packFrom     = 2048
	maxUnpacked  = 64 << 10
)

// sealed returns the cursor as text that nobody else can read.
func (c *cursor) sealed(by Sealer) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{cursorSealed}, by.Seal(c.packed())...))
}

// body returns what the cursor has.
func (c *cursor) body() (body []byte) {
	body = append(body, c.request[:]...)
	body = appendBytes(body, []byte(c.principal))
	body = appendBytes(body, []byte(c.source))
	sorted := byte(0)
	if c.sorted {
		sorted = 1
	}
	body = append(body, sorted)
	body = appendBytes(body, c.key)
	return binary.AppendVarint(body, c.tie)
}

// encode returns the cursor as text.
func (c *cursor) encode() string {
	out := c.packed()
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out)))
}

// packed returns what the cursor has, compressed where that is shorter, after the version of the form.
func (c *cursor) packed() []byte {
	body := c.body()
	out := []byte{cursorPlain}
	if len(body) > packFrom { // a key may have two bytes for each of a text
		var packed bytes.Buffer
		if w, err := flate.NewWriter(&packed, flate.DefaultCompression); err == nil {
			_, err1 := w.Write(body)
			if err2 := w.Close(); err1 == nil && err2 == nil && packed.Len() < len(body) {
				out[0], body = cursorPacked, packed.Bytes()
			}
		}
	}
	return append(out, body...)
}

// appendBytes appends bytes with their length before them.
func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// openCursor returns the cursor of a text that was sealed. ok is false for a text that is none, or another's.
func openCursor(text string, by Sealer) (c *cursor, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) == 0 || raw[0] != cursorSealed {
		return nil, false
	}
	packed, ok := by.Open(raw[1:])
	if !ok || len(packed) == 0 {
		return nil, false
	}
	return unpackCursor(packed)
}

// decodeCursor returns the cursor of a text. ok is false for a text that is none.
func decodeCursor(text string) (c *cursor, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	const sum = 4
	if err != nil || len(raw) < 1+sum || binary.BigEndian.Uint32(raw[len(raw)-sum:]) != crc32.ChecksumIEEE(raw[:len(raw)-sum]) {
		return nil, false
	}
	return unpackCursor(raw[:len(raw)-sum])
}

// unpackCursor returns the cursor of what packed returned. ok is false for what it did not return.
func unpackCursor(packed []byte) (c *cursor, ok bool) {
	body := packed[1:]
	switch packed[0] {
	case cursorPlain:
	case cursorPacked:
		var err error
		body, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(body)), maxUnpacked))
		if err != nil || len(body) == maxUnpacked {
			return nil, false
		}
	default:
		return nil, false
	}
	return readCursor(body)
}

// readCursor returns the cursor of what it has. ok is false where it has something else.
func readCursor(body []byte) (c *cursor, ok bool) {
	r := cursorReader{rest: body}
	c = &cursor{}
	copy(c.request[:], r.take(len(c.request)))
	c.principal, c.source = string(r.bytes()), string(r.bytes())
	flag := r.take(1)
	c.sorted = len(flag) == 1 && flag[0] == 1
	c.key = bytes.Clone(r.bytes())
	tie, n := binary.Varint(r.rest)
	c.tie = tie
	return c, !r.failed && n > 0 && n == len(r.rest)
}

// cursorReader reads the parts of a cursor.
type cursorReader struct {
	rest   []byte
	failed bool
}

// take returns the next n bytes, nil where there are fewer.
func (r *cursorReader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.failed, r.rest = true, nil
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

// bytes returns the next bytes that appendBytes appended.
func (r *cursorReader) bytes() []byte {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(len(r.rest)-size) {
		r.failed, r.rest = true, nil
		return nil
	}
	r.rest = r.rest[size:]
	return r.take(int(n))
}

// errCursor is the Invalid of a cursor that no query gave.
func errCursor() error {
	return fanfold.Errorf(fanfold.Invalid, "cursor is not one that a query's \"next\" gave")
}
