// Package sequence has the texts of numbers that documents get one after the other, and the keys of the counters that give them.
package sequence

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Bounds of a sequence.
const (
	MaxNumber = 1<<53 - 1 // the greatest number: every reader of JSON takes it exactly
	MaxPer    = 255       // of the value of per, in bytes
	MaxFormat = 255       // in bytes
	MaxWidth  = 18        // of {n:width}
)

// Format makes a text of a number and of the value of per. nil stands for a JSON number.
type Format struct {
	parts []part
	width int
}

// part is a literal, the number or the value of per.
type part struct {
	literal string
	holds   rune // 'n', 'p', or 0 for the literal
}

// Parse reads a format: literals, {n} or {n:6} once, and {per}.
func Parse(text string) (*Format, error) {
	if len(text) > MaxFormat {
		return nil, fmt.Errorf("has %d bytes; at most %d are taken", len(text), MaxFormat)
	}
	f, numbers := &Format{}, 0
	for rest := text; rest != ""; {
		literal, after, found := strings.Cut(rest, "{")
		if strings.Contains(literal, "}") {
			return nil, fmt.Errorf("has a } without {: %q", text)
		}
		if literal != "" {
			f.parts = append(f.parts, part{literal: literal})
		}
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		width, padded := strings.CutPrefix(name, "n:")
		switch {
		case !closed:
			return nil, fmt.Errorf("has a { without }: %q", text)
		case name == "per":
			f.parts = append(f.parts, part{holds: 'p'})
		case name == "n" || padded:
			if numbers++; padded {
				n, err := strconv.Atoi(width)
				if err != nil || n < 1 || n > MaxWidth || strconv.Itoa(n) != width {
					return nil, fmt.Errorf("pads to %q: use {n:1} to {n:%d}", width, MaxWidth)
				}
				f.width = n
			}
			f.parts = append(f.parts, part{holds: 'n'})
		default:
			return nil, fmt.Errorf("has {%s}: use {n}, {n:6} and {per}", name)
		}
		rest = tail
	}
	if numbers != 1 {
		return nil, fmt.Errorf("must have {n} once: %q", text)
	}
	return f, nil
}

// HasPer tells whether the text has the value of per.
func (f *Format) HasPer() bool {
	return f != nil && slices.ContainsFunc(f.parts, func(p part) bool { return p.holds == 'p' })
}

// Value returns the JSON of a number under a value of per.
func (f *Format) Value(n uint64, per string) []byte {
	if f == nil {
		return strconv.AppendUint(nil, n, 10)
	}
	var text strings.Builder
	for _, p := range f.parts {
		switch p.holds {
		case 'n':
			fmt.Fprintf(&text, "%0*d", f.width, n)
		case 'p':
			text.WriteString(per)
		default:
			text.WriteString(p.literal)
		}
	}
	return jsondoc.Quote(text.String())
}

// Number returns which number stands in a document under a value of per. ok is false for a value that the sequence cannot have given.
func (f *Format) Number(t *jsondoc.Tree, n jsondoc.Node, per string) (number uint64, ok bool) {
	if n == jsondoc.None {
		return 0, false
	}
	if f == nil {
		d, err := decimal.Parse(t.Text(n))
		if t.Kind(n) != jsondoc.Number || err != nil {
			return 0, false
		}
		return parseNumber(d.String())
	}
	if t.Kind(n) != jsondoc.String {
		return 0, false
	}
	at := slices.IndexFunc(f.parts, func(p part) bool { return p.holds == 'n' })
	rest, has := strings.CutPrefix(t.Text(n), textOf(f.parts[:at], per))
	digits, ends := strings.CutSuffix(rest, textOf(f.parts[at+1:], per))
	if !has || !ends || len(digits) < f.width {
		return 0, false
	}
	number, ok = parseNumber(digits)
	return number, ok && fmt.Sprintf("%0*d", f.width, number) == digits
}

// textOf returns the text of parts without a number.
func textOf(parts []part, per string) (text string) {
	for _, p := range parts {
		if p.holds == 'p' {
			text += per
		} else {
			text += p.literal
		}
	}
	return text
}

// parseNumber reads the digits of a number that a sequence can give.
func parseNumber(digits string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && n >= 1 && n <= MaxNumber
}

// Per returns the text of a value of per, given as JSON. ok is false for a value that is neither a text nor a number, and for one
// that is too long.
func Per(value []byte) (text string, ok bool) {
	t := jsondoc.MustParse(value)
	switch t.Kind(jsondoc.Root) {
	case jsondoc.String:
		text = t.Text(jsondoc.Root)
	case jsondoc.Number:
		d, err := decimal.Parse(t.Text(jsondoc.Root))
		if err != nil {
			return "", false
		}
		text = d.String()
	default:
		return "", false
	}
	return text, len(text) <= MaxPer
}

// KeyBytes is how many bytes a key has, each as two hexadecimal digits.
const KeyBytes = sha256.Size

// Key returns the key of the counter of a path under a value of per. It does not tell the value.
func Key(path, per string) string {
	sum := sha256.Sum256([]byte(path + "\x00" + per))
	return hex.EncodeToString(sum[:])
}
