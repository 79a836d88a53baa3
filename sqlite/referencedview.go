package sqlite

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/fanfold/fanfold/sqlite/driver"
)

// ReferencedView is what a row holds of a document's referenced view beside the embedded one. The embedded view has the referenced
// one's tokens, and derived members at the ends of objects, so that in most documents the places of these say it all. The
// zero value stands for a referenced view that equals the embedded one.
type ReferencedView struct {
	column driver.Value // NULL, the places as a blob, or the referenced view as a text
}

// NewReferencedView returns what a row is to hold of a referenced view. hides says that the embedded view hides members of it, in
// which case a derived value may stand where a member of the document's own did.
//
// The places have the referenced view's length. For each object with added derived members they have how many bytes of the
// referenced view lie between the end of the last such object's members and its own. They stay the same whichever values
// the derived members get.
func NewReferencedView(body, source []byte, hides bool) ReferencedView {
	if bytes.Equal(body, source) {
		return ReferencedView{}
	}
	if !hides {
		if places := derivedPlaces(body, source); places != nil {
			return ReferencedView{column: places}
		}
	}
	return ReferencedView{column: string(source)}
}

// derivedPlaces returns where in the embedded view derived members were added to the referenced one, nil where that is not
// all by which the two differ.
func derivedPlaces(body, source []byte) []byte {
	places := binary.AppendUvarint(nil, uint64(len(source)))
	for {
		n := commonPrefix(body, source)
		body, source = body[n:], source[n:]
		if len(body) == 0 && len(source) == 0 {
			return places
		}
		if len(source) == 0 || source[0] != '}' {
			return nil
		}
		end := objectEnd(body)
		if end <= 0 {
			return nil
		}
		places, body = binary.AppendUvarint(places, uint64(n)), body[end:]
	}
}

// commonPrefix returns how many bytes a and b begin with in common.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i+8 <= n && binary.LittleEndian.Uint64(a[i:]) == binary.LittleEndian.Uint64(b[i:]) {
		i += 8
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// objectEnd returns the index of the brace that ends the object whose members text goes on with, -1 where none does.
func objectEnd(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth < 0 {
				return i
			}
		}
	}
	return -1
}

// Text returns the referenced view of a document whose embedded view is body.
func (s ReferencedView) Text(body []byte) []byte {
	places := driver.Blob(s.column)
	if places == nil {
		if text := driver.Bytes(s.column); text != nil {
			return text
		}
		return body
	}
	length, places := nextPlace(places)
	source := make([]byte, 0, min(length, len(body)))
	for len(places) > 0 {
		var n int
		n, places = nextPlace(places)
		n = min(n, len(body))
		source, body = append(source, body[:n]...), body[n:]
		body = body[max(0, objectEnd(body)):]
	}
	return append(source, body...)
}

// nextPlace returns the number that places begin with, and the rest of them.
func nextPlace(places []byte) (n int, rest []byte) {
	v, size := binary.Uvarint(places)
	return int(min(v, math.MaxInt32)), places[max(1, size):]
}

// textLength returns the length of the referenced view where the places of derived members are known; otherwise it is
// length.
func (s ReferencedView) textLength(length int) int {
	if places := driver.Blob(s.column); places != nil {
		length, _ = nextPlace(places)
	}
	return length
}

// Equal reports whether two rows hold the same of a referenced view.
func (s ReferencedView) Equal(o ReferencedView) bool {
	return bytes.Equal(driver.Blob(s.column), driver.Blob(o.column)) && bytes.Equal(driver.Bytes(s.column), driver.Bytes(o.column))
}

// storedBytes returns how many bytes the row holds of the referenced view.
func (s ReferencedView) storedBytes() int {
	return len(driver.Blob(s.column)) + len(driver.Bytes(s.column))
}

// BaseBody returns a document as it was written, from the columns body and source of its row in a base.
func BaseBody(body, source any) []byte {
	return ReferencedView{column: source}.Text(driver.Bytes(body))
}
