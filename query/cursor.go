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
	principal string   // room for who asks, once that changes what is in the answer
	source    string   // what was walked: see source.id
	sorted    bool     // the place is one in the order of a sort, and not of the walk
	key       []byte   // of the place
	tie       int64
}

const (
	cursorPlain  = 1 // the version of a cursor's form
	cursorPacked = 2 // the same, compressed
	packFrom     = 2048
	maxUnpacked  = 64 << 10
)

// encode returns the cursor as text.
func (c *cursor) encode() string {
	var body []byte
	body = append(body, c.request[:]...)
	body = appendBytes(body, []byte(c.principal))
	body = appendBytes(body, []byte(c.source))
	sorted := byte(0)
	if c.sorted {
		sorted = 1
	}
	body = append(body, sorted)
	body = appendBytes(body, c.key)
	body = binary.AppendVarint(body, c.tie)
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
	out = append(out, body...)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out)))
}

// appendBytes appends bytes with their length before them.
func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// decodeCursor returns the cursor of a text. ok is false for a text that is none.
func decodeCursor(text string) (c *cursor, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	const sum = 4
	if err != nil || len(raw) < 1+sum || binary.BigEndian.Uint32(raw[len(raw)-sum:]) != crc32.ChecksumIEEE(raw[:len(raw)-sum]) {
		return nil, false
	}
	version, body := raw[0], raw[1:len(raw)-sum]
	switch version {
	case cursorPlain:
	case cursorPacked:
		body, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(body)), maxUnpacked))
		if err != nil || len(body) == maxUnpacked {
			return nil, false
		}
	default:
		return nil, false
	}
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
