package params

import "strings"

// Terms splits a list of paths and expressions at its commas. Those in brackets and in the texts of expressions part
// nothing.
func Terms(list string) []string {
	if list == "" {
		return nil
	}
	var terms []string
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
				terms = append(terms, strings.TrimSpace(list[begin:i]))
				begin = i + 1
			}
		}
		i++
	}
	return append(terms, strings.TrimSpace(list[begin:]))
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
