package sqlite

import (
	"bytes"
	"strconv"
	"strings"
)

// A derived change is stored as its values and a form. The form, which many changes have in common, is the rules and the
// JSON Patch with a line feed in place of each value, and of each path through an array. The values follow each other,
// separated by line feeds, of which JSON without whitespace has none. An old value that has a long part in common with the
// new one before it is stored as what it has besides.

// maxFormOps is how many operations a form has at most. A patch of more is one value.
const maxFormOps = 8

// wholePatch is the form of a patch that is one value.
const wholePatch = "\n"

// splitPatch takes the values out of a derived change's JSON Patch, which is written without whitespace.
func splitPatch(patch []byte) (form string, values []byte) {
	if bytes.IndexByte(patch, '\n') >= 0 {
		return wholePatch, patch
	}
	var out []byte
	var value []byte // of the operation, where it has one
	ops := 0
	for i := 0; i < len(patch); {
		if patch[i] != '"' {
			if patch[i] == '{' {
				value = nil
				ops++
			}
			out = append(out, patch[i])
			i++
			continue
		}
		colon := jsonEnd(patch, i)
		end := jsonEnd(patch, colon+1)
		if end <= colon+1 || ops > maxFormOps {
			return wholePatch, patch
		}
		key, text := string(patch[i:colon]), patch[colon+1:end]
		i = end
		out = append(append(out, key...), ':')
		switch {
		case key == `"value"`:
			value = text
			out, values = append(out, '\n'), append(append(values, text...), '\n')
		case key == `"old"`:
			out, values = append(out, '\n'), append(appendShared(values, text, value), '\n')
		case key == `"path"` && throughArray(text):
			out, values = append(out, '\n'), append(append(values, text...), '\n')
		default:
			out = append(out, text...)
		}
	}
	return string(out), bytes.TrimSuffix(values, []byte{'\n'})
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
		out = appendUnshared(out, value, last)
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
	sharedMark   = 1  // begins what appendShared has shortened; no JSON value begins with it
	anchorLength = 16 // of the part by which a common one is found, in bytes
	leastShared  = 32 // from how many bytes on a common part is left out
)

// appendShared appends a value without the part that it has in common with base: the mark; where that begins in base, how
// long it is and where it stands, as numbers behind each of which is a comma; what comes before it and what comes behind. A
// list that got an element at one end and lost one at the other has all others in common.
func appendShared(dst, value, base []byte) []byte {
	from, length, at := commonPart(value, base)
	if length < leastShared {
		return append(dst, value...)
	}
	dst = append(dst, sharedMark)
	for _, n := range []int{from, length, at} {
		dst = append(strconv.AppendInt(dst, int64(n), 10), ',')
	}
	return append(append(dst, value[:at]...), value[at+length:]...)
}

// commonPart returns a part that value has in common with base, the longer one of those about value's two ends: where it
// begins in base, its length, and where it begins in value.
func commonPart(value, base []byte) (from, length, at int) {
	if len(value) < leastShared || len(base) < leastShared {
		return 0, 0, 0
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
		if end-a > length {
			from, length, at = b, end-a, a
		}
	}
	return from, length, at
}

// appendUnshared appends the value that appendShared has shortened against base, or another as it is.
func appendUnshared(dst, value, base []byte) []byte {
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

// form is what a derived change has in common with others.
type form struct{ rules, patch string }

// maxForms is how many forms' numbers are kept in memory.
const maxForms = 1024

// formOf returns the number of a form, which it records where it is new.
func (tx *Tx) formOf(f form) (id int64, err error) {
	if id := tx.forms[f]; id != 0 {
		return id, nil
	}
	found, err := tx.c.queryRow("SELECT id FROM form WHERE rules = ? AND patch = ?", func(r []sqlValue) { id = intOf(r[0]) }, f.rules, f.patch)
	if err != nil {
		return 0, err
	}
	if !found {
		if _, err := tx.c.queryRow("SELECT ifnull(max(id), 0) + 1 FROM form", func(r []sqlValue) { id = intOf(r[0]) }); err != nil {
			return 0, err
		}
		if err := tx.c.exec("INSERT INTO form (id, rules, patch) VALUES (?, ?, ?)", id, f.rules, f.patch); err != nil {
			return 0, err
		}
	}
	if tx.forms == nil || len(tx.forms) >= maxForms {
		tx.forms = map[form]int64{}
	}
	tx.forms[f] = id
	return id, nil
}
