package sqlite

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// ReferencedView is what a row holds of a document's referenced view beside the embedded one. The embedded view has the referenced
// one's tokens, and derived members at the ends of objects, so that in most documents the places of these say it all. The
// zero value stands for a referenced view that equals the embedded one, and hides nothing.
type ReferencedView struct {
	column driver.Value // NULL, the places as a blob, or the referenced view as a text
}

// spaced is what places begin with where the referenced view has whitespace between its tokens. Its spacing follows, and then the places in the
// view without whitespace. Other places begin with the view's length, which is 2 at least.
const spaced = 0

// NewReferencedView returns what a row is to hold of a referenced view. hides says that the embedded view hides members of it, in
// which case a derived value may stand where a member of the document's own did.
//
// The places have the referenced view's length, after its spacing where it has one. For each object with added derived members they have how many bytes of the
// referenced view lie between the end of the last such object's members and its own. They stay the same whichever values
// the derived members get.
func NewReferencedView(body, source []byte, hides bool) ReferencedView {
	if !hides {
		if bytes.Equal(body, source) {
			return ReferencedView{}
		}
		if places := derivedPlaces(binary.AppendUvarint(nil, uint64(len(source))), body, source); places != nil {
			return ReferencedView{column: places}
		}
		if places := spacedPlaces(body, source); places != nil {
			return ReferencedView{column: places}
		}
	}
	return ReferencedView{column: string(source)}
}

// spacedPlaces does what derivedPlaces does for a referenced view that has whitespace, and the embedded one has none.
func spacedPlaces(body, source []byte) []byte {
	s, dense := spacingOf(source)
	if s == 0 {
		return nil
	}
	return derivedPlaces(binary.AppendUvarint([]byte{spaced, byte(s)}, uint64(len(source))), body, dense)
}

// derivedPlaces appends to places where in the embedded view derived members were added to the referenced one. It returns nil where that is
// not all by which the two differ.
func derivedPlaces(places, body, source []byte) []byte {
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
	spacing, places := spacingIn(places)
	length, places := nextPlace(places)
	source := make([]byte, 0, min(length, len(body)))
	for len(places) > 0 {
		var n int
		n, places = nextPlace(places)
		n = min(n, len(body))
		source, body = append(source, body[:n]...), body[n:]
		body = body[max(0, objectEnd(body)):]
	}
	if source = append(source, body...); spacing != 0 {
		return spacing.append(make([]byte, 0, min(length, 2*len(source))), source, length)
	}
	return source
}

// spacingIn returns the spacing that places begin with, and the rest of them.
func spacingIn(places []byte) (s spacing, rest []byte) {
	if len(places) < 2 || places[0] != spaced {
		return 0, places
	}
	return spacing(places[1]), places[2:]
}

// nextPlace returns the number that places begin with, and the rest of them.
func nextPlace(places []byte) (n int, rest []byte) {
	v, size := binary.Uvarint(places)
	return int(min(v, math.MaxInt32)), places[min(max(1, size), len(places)):]
}

// textLength returns the length of the referenced view where the places of derived members are known; otherwise it is
// length.
func (s ReferencedView) textLength(length int) int {
	if places := driver.Blob(s.column); places != nil {
		_, places = spacingIn(places)
		length, _ = nextPlace(places)
	}
	return length
}

// Equal reports whether two rows hold the same of a referenced view.
func (s ReferencedView) Equal(o ReferencedView) bool {
	return bytes.Equal(driver.Blob(s.column), driver.Blob(o.column)) && bytes.Equal(driver.Bytes(s.column), driver.Bytes(o.column))
}

// InFull reports whether the row holds the referenced view's text. A row from a base before version 5 does so for every view with whitespace.
func (s ReferencedView) InFull() bool {
	return driver.Blob(s.column) == nil && driver.Bytes(s.column) != nil
}

// storedBytes returns how many bytes the row holds of the referenced view.
func (s ReferencedView) storedBytes() int {
	return len(driver.Blob(s.column)) + len(driver.Bytes(s.column))
}

// BaseBody returns a document as it was written, from the columns body and source of its row in a base.
func BaseBody(body, source any) []byte {
	return ReferencedView{column: source}.Text(driver.Bytes(body))
}

// Many clients write whitespace between the tokens of a document, after one rule. Most languages have a way to write JSON with spaces after
// colons and commas, and one with lines. The embedded view has no whitespace. So a row need not hold the document as it was written, if it
// says how that is spaced.

// spacing says where a text has whitespace outside strings. The zero value is nowhere.
type spacing byte

// The parts of a spacing. The bits from spacingIndent on say how many spaces a line is indented by for each level; 0 is for a text of one line.
const (
	spacingColon  spacing = 1 << iota // a space after each colon
	spacingComma                      // a space after each comma
	spacingIndent                     // lines

	spacingTab = 9 * spacingIndent // a line is indented by tabs
	maxIndent  = 8                 // spaces
)

// spacingOf returns how a text is spaced and the text without whitespace, 0 where it has none or is spaced in no such way. text must be JSON.
func spacingOf(text []byte) (s spacing, dense []byte) {
	dense = jsondoc.Dense(text)
	if len(dense) == len(text) {
		return 0, dense
	}
	s = firstSpacing(text)
	if s == 0 || !bytes.Equal(s.append(make([]byte, 0, len(text)), dense, len(text)), text) {
		return 0, dense
	}
	return s, dense
}

// firstSpacing returns how a text is spaced after its first colon, and after its first comma or at its first line.
func firstSpacing(text []byte) (s spacing) {
	colon, comma := false, false
	for i := 0; i+1 < len(text) && (!colon || !comma); {
		if text[i] == '"' {
			i = stringEnd(text, i)
			continue
		}
		c, next := text[i], text[i+1]
		i++
		switch {
		case c == ':' && !colon:
			if colon = true; next == ' ' {
				s |= spacingColon
			}
		case comma:
		case c == ',':
			if comma = true; next == ' ' {
				s |= spacingComma
			}
		case (c == '{' || c == '[') && next == '\n':
			comma = true
			s |= indentOf(text[i+1:])
		}
	}
	return s
}

// indentOf returns by what the first line is indented that text begins with.
func indentOf(text []byte) spacing {
	if bytes.HasPrefix(text, []byte("\t")) {
		return spacingTab
	}
	n := len(text) - len(bytes.TrimLeft(text, " "))
	if n > maxIndent {
		return 0
	}
	return spacing(n) * spacingIndent
}

// append appends a text without whitespace as it is spaced, most bytes of it at most.
func (s spacing) append(dst, dense []byte, most int) []byte {
	w := spacer{spacing: s, out: dst, most: len(dst) + most}
	from := 0
	for i := 0; i < len(dense) && len(w.out) < w.most; {
		c := dense[i]
		switch {
		case c == '"':
			i = stringEnd(dense, i)
			continue
		case c == ':' && s&spacingColon != 0, c == ',' && s&spacingComma != 0:
			w.out = append(append(w.out, dense[from:i+1]...), ' ')
			from = i + 1
		case s < spacingIndent:
		case c == ',':
			w.out = append(w.out, dense[from:i+1]...)
			w.line()
			from = i + 1
		case c == '{' || c == '[':
			w.level++
			if i+1 < len(dense) && dense[i+1] != c+2 { // what ends an object or array is two after what begins it
				w.out = append(w.out, dense[from:i+1]...)
				w.line()
				from = i + 1
			}
		case c == '}' || c == ']':
			w.level--
			if i > 0 && dense[i-1] != c-2 {
				w.out = append(w.out, dense[from:i]...)
				w.line()
				from = i
			}
		}
		i++
	}
	w.out = append(w.out, dense[from:]...)
	return w.out[:min(len(w.out), w.most)]
}

// spacer writes a text with lines.
type spacer struct {
	spacing

	out   []byte
	most  int // bytes of out
	level int
}

// line begins a line.
func (w *spacer) line() {
	w.out = append(w.out, '\n')
	n, c := int(w.spacing/spacingIndent), byte(' ')
	if w.spacing >= spacingTab {
		n, c = 1, '\t'
	}
	for range min(n*w.level, w.most-len(w.out)) {
		w.out = append(w.out, c)
	}
}

// stringEnd returns where the string ends that begins at i, the end of the text where it does not end.
func stringEnd(text []byte, i int) int {
	for i++; ; {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return len(text)
		}
		end := i + n
		escapes := 0
		for escapes < n && text[end-1-escapes] == '\\' {
			escapes++
		}
		if i = end + 1; escapes%2 == 0 {
			return i
		}
	}
}
