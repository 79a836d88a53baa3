package js

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// answer returns the text by which the JavaScript side reads a JSON value, which must be well formed. Numbers that a double
// does not hold are marked there (prelude.js says how).
func answer(value []byte) []byte {
	spans := inexact(value)
	if len(spans) == 0 {
		return append([]byte("v"), value...)
	}
	name := unusedMember(value)
	out := append(append([]byte("m"), name...), '\n')
	from := 0
	for _, s := range spans {
		out = append(append(out, value[from:s.start]...), `{"`...)
		out = append(append(out, name...), `":`...)
		text := value[s.start:s.end]
		if bytes.ContainsAny(text, ".eE") {
			out = append(append(append(out, `["`...), text...), `"]`...)
		} else {
			out = append(append(append(out, '"'), text...), '"')
		}
		out = append(out, '}')
		from = s.end
	}
	return append(out, value[from:]...)
}

type span struct{ start, end int }

// inexact returns where the numbers of a JSON text stand whose value differs from the shortest text of their double.
func inexact(src []byte) (spans []span) {
	var digits, short []byte
	for i := 0; i < len(src); {
		switch c := src[i]; {
		case c == '"':
			i = stringEnd(src, i)
		case c == '-' || c >= '0' && c <= '9':
			start := i
			for i < len(src) && strings.IndexByte("+-.0123456789eE", src[i]) >= 0 {
				i++
			}
			if !exact(src[start:i], &digits, &short) {
				spans = append(spans, span{start, i})
			}
		default:
			i++
		}
	}
	return spans
}

// stringEnd returns the index after a string that begins at start.
func stringEnd(src []byte, start int) int {
	i := start + 1
	for i < len(src) && src[i] != '"' {
		if src[i] == '\\' {
			i++
		}
		i++
	}
	return min(i+1, len(src))
}

// exact reports whether a number has the value that the shortest text of its double has. It uses digits and short as room.
func exact(text []byte, digits, short *[]byte) bool {
	if len(text) <= 15 && !bytes.ContainsAny(text, "eE") {
		return true // a double tells all numbers of 15 digits apart
	}
	double, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return false
	}
	n, ok := decimal.Scan((*digits)[:0], text)
	if !ok {
		return false
	}
	*short = strconv.AppendFloat((*short)[:0], double, 'e', -1, 64)
	*digits = n.Digits
	other, ok := decimal.Scan(nil, *short)
	return ok && n.Compare(other) == 0
}

// unusedMember returns a member name that no object of a JSON text has.
func unusedMember(src []byte) string {
	used := map[string]bool{}
	for i := 0; i < len(src); i++ {
		if src[i] != '"' {
			continue
		}
		end := stringEnd(src, i)
		if text := src[i:end]; bytes.IndexByte(text, '\\') >= 0 {
			used[jsondoc.MustParse(text).Text(jsondoc.Root)] = true
		} else {
			used[string(text[1:len(text)-1])] = true
		}
		i = end - 1
	}
	name := "#"
	for used[name] {
		name += "#"
	}
	return name
}

// unmarked returns JSON text in which strings that begin with mark are the numbers that follow it there. ok is false where one
// is no number, or stands as a member's name.
func unmarked(src []byte, mark string) (value []byte, ok bool) {
	quoted := []byte(`"` + mark)
	if !bytes.Contains(src, quoted) {
		return src, true
	}
	out := make([]byte, 0, len(src))
	for i := 0; i < len(src); {
		if src[i] != '"' {
			out = append(out, src[i])
			i++
			continue
		}
		end := stringEnd(src, i)
		if !bytes.HasPrefix(src[i:end], quoted) {
			out = append(out, src[i:end]...)
			i = end
			continue
		}
		text := src[i+len(quoted) : end-1]
		if !isNumber(text) || end < len(src) && src[end] == ':' {
			return nil, false
		}
		out = append(out, text...)
		i = end
	}
	return out, true
}

func isNumber(text []byte) bool {
	return len(text) > 0 && text[0] != '"' && strings.IndexByte("-0123456789", text[0]) >= 0 && jsondoc.Check(text, 1) == nil
}
