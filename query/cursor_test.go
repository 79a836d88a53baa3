package query

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// TestCursorRoundTrip: a cursor reads back as it was, and none passes the bound of a request, whatever the documents have.
func TestCursorRoundTrip(t *testing.T) {
	long := bytes.Repeat(append(bytes.Repeat([]byte{0, 0xff}, 1024), 0, 0), 8) // eight texts of NUL
	for _, c := range []*cursor{{key: []byte{}}, {request: [16]byte{1, 2}, principal: "p", source: "index:a:[\"b\"]:0", sorted: true, key: []byte("key"), tie: -5}, {key: long, tie: 1 << 62}} {
		text := c.encode()
		got, ok := decodeCursor(text)
		if !ok || !reflect.DeepEqual(got, c) || len(text) > MaxCursor {
			t.Errorf("%d bytes: %v of %v, %v", len(text), got, c, ok)
		}
	}
	good := (&cursor{source: "x", key: []byte("key")}).encode()
	for _, bad := range []string{"", "!", good[1:], good[:len(good)-1], good + "AA", strings.ToUpper(good)} {
		if c, ok := decodeCursor(bad); ok {
			t.Errorf("%s is taken for %v", bad, c)
		}
	}
}

// FuzzCursor: no text makes decodeCursor fail, and what it takes says the same again.
func FuzzCursor(f *testing.F) {
	f.Add((&cursor{source: "x", key: []byte("key"), tie: 3}).encode())
	f.Add((&cursor{key: make([]byte, 3000)}).encode())
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := decodeCursor(text)
		if !ok {
			return
		}
		again, ok := decodeCursor(c.encode())
		if !ok || !reflect.DeepEqual(again, c) {
			t.Fatalf("%v reads back as %v", c, again)
		}
	})
}
