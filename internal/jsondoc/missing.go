package jsondoc

import (
	"strconv"
	"strings"
)

// maxShown bounds what is shown of a name or a pointer, in bytes.
const maxShown = 300

// Missing returns a sentence for people: the object at a node has no member of a name. It says where the object is, and which of its members
// may be meant.
func (t *Tree) Missing(object Node, name string) string {
	text := "there is no member " + strconv.Quote(shown(name))
	if pointer := t.Pointer(object); pointer != "" {
		text += " in " + shown(pointer)
	}
	if near := t.nearest(object, name); near != "" {
		text += didYouMean + strconv.Quote(near) + "?"
	}
	return text
}

const didYouMean = "; did you mean "

// Suggests tells whether a sentence of Missing names a member that may be meant.
func Suggests(text string) bool { return strings.Contains(text, didYouMean) }

// shown returns a text, cut off where it is too long for a message.
func shown(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "..."
}

// Pointer returns the JSON pointer of a node.
func (t *Tree) Pointer(n Node) string {
	var out strings.Builder
	start, end := t.Span(n)
	for at := Root; at != n; {
		next, index := None, 0
		for c := t.First(at); c != None && next == None; c = t.Next(c) {
			if from, to := t.Span(c); from <= start && end <= to {
				next = c
				break
			}
			index++
		}
		if next == None {
			break
		}
		if out.WriteByte('/'); t.Kind(at) == Object {
			out.WriteString(PointerEscape(t.Key(next)))
		} else {
			out.WriteString(strconv.Itoa(index))
		}
		at = next
	}
	return out.String()
}

// Bounds of looking for a name that is meant: comparing two names takes the product of their lengths.
const (
	maxCompared     = 64 // bytes of a name
	maxComparedWith = 200
)

// nearest returns the name of the object's member that is nearest to name, "" if none is near. It counts letters that
// are missing, other, too many or exchanged, whatever their case.
func (t *Tree) nearest(object Node, name string) string {
	if t.Kind(object) != Object || len(name) > maxCompared {
		return ""
	}
	wanted, best, least := strings.ToLower(name), "", len(name)/3+1
	if len(name) < 3 {
		least = 1
	}
	n := 0
	for c := t.First(object); c != None && n < maxComparedWith; c = t.Next(c) {
		n++
		if key := t.Key(c); len(key) <= maxCompared {
			if d := editDistance(wanted, strings.ToLower(key)); d < least {
				best, least = key, d
			}
		}
	}
	return best
}

// editDistance returns how many bytes are to be inserted, removed, replaced or exchanged with their neighbour to make one
// text of the other.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			differs := 1
			if a[i-1] == b[j-1] {
				differs = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+differs)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
