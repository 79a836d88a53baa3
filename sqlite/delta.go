package sqlite

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/sqlite/driver"
)

// A derived change is stored as its values and a form. The form, which many changes have in common, is the rules and the
// JSON Patch with a line feed in place of each value, and of each path through an array. The values follow each other,
// separated by line feeds, of which JSON without whitespace has none. An old value that has a long part in common with the
// new one before it is stored as what it has besides. Where the document's change before has the same form, the old values
// are its new ones: deltachain.go.

// maxFormOps is how many operations a form has at most. A patch of more is one value.
const maxFormOps = 8

// wholePatch is the form of a patch that is one value.
const wholePatch = "\n"

// splitter takes JSON Patches of derived changes apart. What it holds is valid until the next one.
type splitter struct {
	form          []byte
	values        []byte // what is stored with the form
	afterSameForm []byte // what is stored instead behind a change of the same form; of no use where none is possible
	// replaces says that every operation replaces a member which is the same in every patch of the form.
	replaces bool

	value []byte // of the operation, where it has one
	ops   int
}

// split takes a patch apart, which is written without whitespace.
func (s *splitter) split(patch []byte) {
	*s = splitter{form: s.form[:0], values: s.values[:0], afterSameForm: s.afterSameForm[:0], replaces: true}
	if bytes.IndexByte(patch, '\n') >= 0 || !s.splitOps(patch) {
		s.form, s.values, s.replaces = append(s.form[:0], wholePatch...), append(s.values[:0], patch...), false
		return
	}
	s.values, s.afterSameForm = bytes.TrimSuffix(s.values, []byte{'\n'}), bytes.TrimSuffix(s.afterSameForm, []byte{'\n'})
}

// splitOps takes the operations of a patch apart. It is false for a patch of another shape.
func (s *splitter) splitOps(patch []byte) bool {
	for i := 0; i < len(patch); {
		if patch[i] != '"' {
			if patch[i] == '{' {
				s.value = nil
				s.ops++
			}
			s.form = append(s.form, patch[i])
			i++
			continue
		}
		colon := jsonEnd(patch, i)
		end := jsonEnd(patch, colon+1)
		if end <= colon+1 || s.ops > maxFormOps {
			return false
		}
		s.form = append(append(s.form, patch[i:colon]...), ':')
		s.splitMember(string(patch[i:colon]), patch[colon+1:end])
		i = end
	}
	return true
}

// splitMember adds a member of an operation, behind whose name the form is.
func (s *splitter) splitMember(key string, text []byte) {
	switch {
	case key == `"value"`:
		s.value = text
		s.form, s.values = append(s.form, '\n'), append(append(s.values, text...), '\n')
	case key == `"old"`:
		p := findSharedPart(text, s.value)
		s.form, s.values = append(s.form, '\n'), append(p.appendShortened(s.values, text), '\n')
		s.afterSameForm = append(p.swapped().appendShortened(s.afterSameForm, s.value), '\n')
	case key == `"path"` && throughArray(text):
		s.replaces = false
		s.form, s.values = append(s.form, '\n'), append(append(s.values, text...), '\n')
	default:
		s.replaces = s.replaces && (key != `"op"` || string(text) == `"replace"`)
		s.form = append(s.form, text...)
	}
}

// splitPatch takes the values out of a derived change's JSON Patch, which is written without whitespace.
func splitPatch(patch []byte) (form string, values []byte) {
	var s splitter
	s.split(patch)
	return string(s.form), s.values
}

// joinPatch returns the JSON Patch that splitPatch took apart.
func joinPatch(form string, values []byte) []byte {
	if form == wholePatch {
		return values
	}
	out := make([]byte, 0, len(form)+2*len(values))
	var last []byte
	for {
		text, rest, cut := strings.Cut(form, "\n")
		if out = append(out, text...); !cut {
			return out
		}
		form = rest
		var value []byte
		value, values, _ = bytes.Cut(values, []byte{'\n'})
		begin := len(out)
		out = appendRestored(out, value, last)
		last = out[begin:]
	}
}

// jsonEnd returns where the JSON value that begins at i ends.
func jsonEnd(text []byte, i int) int {
	depth, quoted := 0, false
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			if quoted = !quoted; !quoted && depth == 0 {
				return i + 1
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']' || c == ',' && depth == 0:
			if depth == 0 {
				return i // behind a number or a literal
			}
			if c != ',' {
				depth--
			}
			if depth == 0 {
				return i + 1
			}
		}
	}
	return i
}

// throughArray reports whether a quoted JSON pointer may have an array's index in it.
func throughArray(pointer []byte) bool {
	for i, c := range pointer[:len(pointer)-1] {
		if c == '/' && pointer[i+1] >= '0' && pointer[i+1] <= '9' {
			return true
		}
	}
	return false
}

const (
	sharedMark   = 1  // begins what appendShortened has shortened; no JSON value begins with it
	anchorLength = 16 // of the part by which a common one is found, in bytes
	leastShared  = 32 // from how many bytes on a common part is left out
)

// sharedPart is a part that a value has in common with a base: where it begins in the base, its length, and where it begins in
// the value. A list that got an element at one end and lost one at the other has all others in common with what it was.
type sharedPart struct{ inBase, length, inValue int }

// swapped returns the part for a base that has it in common with the value.
func (c sharedPart) swapped() sharedPart {
	return sharedPart{inBase: c.inValue, length: c.length, inValue: c.inBase}
}

// appendShortened appends a value without the part: the mark; the numbers, each with a comma after it; what comes before the
// part and what comes behind it. A value with a short part is appended as it is.
func (c sharedPart) appendShortened(dst, value []byte) []byte {
	if c.length < leastShared {
		return append(dst, value...)
	}
	dst = append(dst, sharedMark)
	for _, n := range []int{c.inBase, c.length, c.inValue} {
		dst = append(strconv.AppendInt(dst, int64(n), 10), ',')
	}
	return append(append(dst, value[:c.inValue]...), value[c.inValue+c.length:]...)
}

// findSharedPart returns a part that value has in common with base, the longer one of those about value's two ends.
func findSharedPart(value, base []byte) (c sharedPart) {
	if len(value) < leastShared || len(base) < leastShared {
		return c
	}
	for _, a := range []int{1, len(value) - anchorLength - 1} {
		b := bytes.Index(base, value[a:a+anchorLength])
		if b < 0 {
			continue
		}
		end := a + anchorLength + commonPrefix(value[a+anchorLength:], base[b+anchorLength:])
		for a > 0 && b > 0 && value[a-1] == base[b-1] {
			a, b = a-1, b-1
		}
		if end-a > c.length {
			c = sharedPart{inBase: b, length: end - a, inValue: a}
		}
	}
	return c
}

// appendRestored appends the value that appendShortened has shortened against base, or another as it is.
func appendRestored(dst, value, base []byte) []byte {
	if len(value) == 0 || value[0] != sharedMark {
		return append(dst, value...)
	}
	value = value[1:]
	var numbers [3]int
	for i := range numbers {
		text, rest, _ := bytes.Cut(value, []byte{','})
		numbers[i], _ = strconv.Atoi(string(text)) // a damaged one is 0
		value = rest
	}
	from := min(max(0, numbers[0]), len(base))
	end := min(from+max(0, numbers[1]), len(base))
	at := min(max(0, numbers[2]), len(value))
	return append(append(append(dst, value[:at]...), base[from:end]...), value[at:]...)
}

// maxForms is how many forms' numbers are kept in memory.
const maxForms = 1024

// formOf returns the number of a form of patches and the rules, separated by commas, that it belongs to. It records what is
// new.
func (w *changeWriter) formOf(rules []string, patch []byte) (id int64, err error) {
	w.formKey = append(w.formKey[:0], patch...)
	for _, r := range rules {
		w.formKey = append(append(w.formKey, ','), r...)
	}
	if id := w.forms[string(w.formKey)]; id != 0 {
		return id, nil
	}
	names := strings.Join(rules, ",")
	found, err := w.c.QueryRow("SELECT id FROM form WHERE rules = ? AND patch = ?", func(r driver.Row) { id = r.Int(0) }, names, string(patch))
	if err != nil {
		return 0, err
	}
	if !found {
		if _, err := w.c.QueryRow("SELECT ifnull(max(id), 0) + 1 FROM form", func(r driver.Row) { id = r.Int(0) }); err != nil {
			return 0, err
		}
		if err := w.c.Exec("INSERT INTO form (id, rules, patch) VALUES (?, ?, ?)", id, names, string(patch)); err != nil {
			return 0, err
		}
	}
	if w.forms == nil || len(w.forms) >= maxForms {
		w.forms = map[string]int64{}
	}
	w.forms[string(w.formKey)] = id
	return id, nil
}
