package params

import (
	"strings"
	"unicode"
)

// Terms splits a list of paths and expressions at its commas. Those in brackets and in the texts of expressions part
// nothing.
func Terms(list string) (terms []string) {
	for _, part := range split(list) {
		terms = append(terms, strings.TrimSpace(part))
	}
	return terms
}

// BeforeTerm returns what stands in a list before one of the terms that Terms returns.
func BeforeTerm(list string, term int) string {
	at := 0
	for i, part := range split(list) {
		if i == term {
			at += len(part) - len(strings.TrimLeftFunc(part, unicode.IsSpace))
			break
		}
		at += len(part) + len(",")
	}
	return list[:min(at, len(list))]
}

// split returns the parts of a list between its commas, nil for an empty one.
func split(list string) (parts []string) {
	if list == "" {
		return nil
	}
	depth, begin := 0, 0
	for i := 0; i < len(list); {
		switch c := list[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		case '"', '\'':
			i = EndOfText(list, i)
			continue
		case ',':
			if depth == 0 {
				parts = append(parts, list[begin:i])
				begin = i + 1
			}
		}
		i++
	}
	return append(parts, list[begin:])
}

// EndOfText returns where a text ends that begins with the quote at i, in one of CEL's forms. A raw one, after an r, has no
// escapes. One with three quotes may have quotes inside.
func EndOfText(s string, i int) int {
	end := s[i : i+1]
	if triple := strings.Repeat(end, 3); strings.HasPrefix(s[i:], triple) {
		end = triple
	}
	raw := i > 0 && (s[i-1] == 'r' || s[i-1] == 'R')
	for i += len(end); i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], end):
			return i + len(end)
		case s[i] == '\\' && !raw:
			i++
		}
	}
	return len(s)
}
