package jsondoc

import (
	"bytes"
	"strings"
)

// Contains tells whether a string of a JSON text, also the name of a member, or a number as it is written has a text in it. Escapes in strings
// are resolved before. src must be valid.
func Contains(src []byte, text string) bool {
	if !bytes.Contains(src, []byte(text)) && bytes.IndexByte(src, '\\') < 0 {
		return false
	}
	for i := 0; i < len(src); {
		end := i + 1
		switch c := src[i]; {
		case c == '"':
			escaped := false
			for end < len(src) && src[end] != '"' {
				if src[end] == '\\' {
					escaped = true
					end++
				}
				end++
			}
			end = min(end+1, len(src))
			raw := src[i:end]
			if !escaped && bytes.Contains(raw[1:len(raw)-1], []byte(text)) || escaped && strings.Contains(unquote(raw), text) {
				return true
			}
		case c == '-' || '0' <= c && c <= '9':
			for end < len(src) && strings.IndexByte("+-.0123456789Ee", src[end]) >= 0 {
				end++
			}
			if bytes.Contains(src[i:end], []byte(text)) {
				return true
			}
		}
		i = end
	}
	return false
}
