package jsondoc

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// unquote returns the value of a string's text. Text whose escapes cannot be read is returned as written.
func unquote(raw []byte) string {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	out, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return string(inner)
	}
	return string(out)
}

// Quote returns s as a JSON string, with the shortest escapes. Bytes that are not UTF-8 are replaced.
func Quote(s string) []byte { return AppendQuote(nil, s) }

// AppendQuote appends what Quote returns to dst.
func AppendQuote(dst []byte, s string) []byte {
	out, _ := jsontext.AppendQuote(dst, s) // its one error tells of invalid UTF-8, which it has replaced
	return out
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// PointerEscape returns a member name as a token of a JSON pointer (RFC 6901).
func PointerEscape(name string) string { return pointerEscaper.Replace(name) }

var pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")

// PointerUnescape returns the member name that a token of a JSON pointer stands for.
func PointerUnescape(token string) string { return pointerUnescaper.Replace(token) }

// PointerTokens returns the member names and indexes that a JSON pointer has, one at least: it begins with /.
func PointerTokens(pointer string) []string {
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, token := range tokens {
		tokens[i] = PointerUnescape(token)
	}
	return tokens
}

// WithFirst returns the object's text with one more member in front.
func WithFirst(object []byte, name string, value []byte) []byte {
	open := bytes.IndexByte(object, '{')
	out := make([]byte, 0, len(object)+len(name)+len(value)+4)
	out = append(out, object[:open+1]...)
	out = AppendQuote(out, name)
	out = append(append(out, ':'), value...)
	if rest := bytes.TrimLeft(object[open+1:], " \t\r\n"); rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, object[open+1:]...)
}

// WithLast returns the object's text with one more member at its end.
func WithLast(object []byte, name string, value []byte) []byte {
	head := object[:bytes.LastIndexByte(object, '}')]
	out := make([]byte, 0, len(object)+len(name)+len(value)+4)
	out = append(out, head...)
	if head = bytes.TrimRight(head, " \t\r\n"); head[len(head)-1] != '{' {
		out = append(out, ',')
	}
	out = append(AppendQuote(out, name), ':')
	return append(append(out, value...), '}')
}
