package expr

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// readable returns an expression as CEL reads it. JSON writes characters beyond 16 bits as two escapes, \ud83d\ude0d, which CEL does not
// take. Texts that get shorter are followed by blanks, so that all that comes later keeps its column.
func readable(source string) string {
	if !strings.Contains(source, `\u`) && !strings.Contains(source, `\U`) {
		return source
	}
	var out strings.Builder
	for i := 0; i < len(source); {
		n := 1
		switch c := source[i]; {
		case strings.HasPrefix(source[i:], "//"):
			if n = strings.IndexByte(source[i:], '\n'); n < 0 {
				n = len(source) - i
			}
		case c == '"' || c == '\'':
			n = quoted(source[i:], isRaw(source[:i]))
			text := source[i : i+n]
			if !isRaw(source[:i]) {
				text = joinPairs(text)
			}
			out.WriteString(text + strings.Repeat(" ", n-len(text)))
			i += n
			continue
		}
		out.WriteString(source[i : i+n])
		i += n
	}
	return out.String()
}

// isRaw tells whether the text that follows a source is one without escapes.
func isRaw(before string) bool {
	return strings.HasSuffix(before, "r") || strings.HasSuffix(before, "R")
}

// quoted returns how many bytes of a source the text takes with which it begins, with its quotes.
func quoted(source string, raw bool) int {
	quote := source[:1]
	if strings.HasPrefix(source, strings.Repeat(quote, 3)) {
		quote = source[:3]
	}
	for i := len(quote); i < len(source); i++ {
		if source[i] == '\\' && !raw {
			i++
		} else if strings.HasPrefix(source[i:], quote) {
			return i + len(quote)
		}
	}
	return len(source)
}

// joinPairs writes each pair of escapes in a text as one.
func joinPairs(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		first, second := escaped(text[i:]), escaped(text[min(i+6, len(text)):])
		if r := utf16.DecodeRune(first, second); first >= 0 && r != '\uFFFD' {
			out.WriteString(`\U` + strconv.FormatInt(int64(r)|1<<32, 16)[1:])
			i += 12
			continue
		}
		n := 1
		if text[i] == '\\' && i+1 < len(text) {
			n = 2
		}
		out.WriteString(text[i : i+n])
		i += n
	}
	return out.String()
}

// escaped returns the character of the escape \uXXXX with which a text begins, -1 for none.
func escaped(text string) rune {
	if len(text) < 6 || text[:2] != `\u` {
		return -1
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
