package query

import (
	"bytes"
	"strings"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
)

// longText is from how many bytes on a key does not hold a text, but its beginning.
const longText = 1024

// valueOf returns the JSON text of the value that has an ascending key, nil for an absent one. exact is false where other values
// have the key, too.
func valueOf(key []byte) (text []byte, exact bool) {
	switch {
	case !sortkey.Present.Holds(key):
		return nil, true
	case sortkey.Texts.Holds(key):
		s := textOf(key)
		return jsondoc.Quote(s), len(s) < longText
	case sortkey.Numbers.Holds(key):
		d, ok := numberOf(key)
		return []byte(d.String()), ok
	case sortkey.Null.Holds(key):
		return []byte("null"), true
	case sortkey.Composites.Holds(key):
		return nil, false
	case bytes.Equal(key, trueKey):
		return []byte("true"), true
	}
	return []byte("false"), true
}

// trueKey is the key of true.
var trueKey = func() []byte {
	t := jsondoc.MustParse([]byte("true"))
	return sortkey.Append(nil, t, jsondoc.Root)
}()

// textOf returns the text that has a key, or its beginning.
func textOf(key []byte) string {
	text, _ := textUpTo(key)
	return text
}

// textUpTo returns the text of a key, or of bytes that bound one. ended tells whether the text's end is among them.
func textUpTo(key []byte) (text string, ended bool) {
	var out []byte
	for rest := key[1:]; ; {
		i := bytes.IndexByte(rest, 0)
		if i < 0 {
			return string(append(out, rest...)), false
		}
		out = append(out, rest[:i]...)
		if i+1 == len(rest) || rest[i+1] != 0xff {
			return string(out), true
		}
		out = append(out, 0)
		rest = rest[i+2:]
	}
}

// numberOf returns the number that has a key. ok is false where the key is none of a number.
func numberOf(key []byte) (d decimal.Decimal, ok bool) {
	if !sortkey.Numbers.Holds(key) {
		return d, false
	}
	body := key[1:]
	if n := len(body); n > 1 && body[n-1] == 0 { // the end of a positive number's digits
		body = body[:n-1]
	}
	d, err := sortkey.Number(body)
	return d, err == nil
}

// claimOf returns what a claim has for values of these keys: see model.Unique.Value. ok is false where no claim has such.
func claimOf(keys [][]byte) (value string, ok bool) {
	parts := make([]string, len(keys))
	for i, key := range keys {
		text, exact := valueOf(key)
		switch {
		case !exact:
			return "", false
		case sortkey.Numbers.Holds(key):
			parts[i] = "n" + string(text)
		case sortkey.Texts.Holds(key):
			parts[i] = "s" + textOf(key)
		default:
			return "", false
		}
	}
	if len(parts) == 1 {
		return parts[0], true
	}
	for i, p := range parts {
		if parts[i] = p[1:]; p[0] == 's' {
			parts[i] = string(jsondoc.AppendQuote(nil, p[1:]))
		}
	}
	return "t[" + strings.Join(parts, ",") + "]", true
}
