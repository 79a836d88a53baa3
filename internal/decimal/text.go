package decimal

import (
	"bytes"
	"strconv"
)

// Number is the value of a JSON number taken apart, so that it is compared without being computed.
type Number struct {
	Sign   int    // -1, 0 or 1
	First  int    // the power of ten of the first digit
	Digits []byte // without zeros at either end
}

// Scan takes the text of a JSON number apart, which must be well formed, and appends its digits to dst. ok is false for a number
// that Parse does not take.
func Scan(dst, text []byte) (n Number, ok bool) {
	rest := text
	n.Sign = 1
	if len(rest) > 0 && rest[0] == '-' {
		n.Sign, rest = -1, rest[1:]
	}
	exponent := 0
	if i := bytes.IndexAny(rest, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(string(rest[i+1:])); err != nil {
			exponent = 1 << 31 // past all that is taken, unless the number is 0
		}
		rest = rest[:i]
	}
	whole, fraction := rest, []byte(nil)
	if i := bytes.IndexByte(rest, '.'); i >= 0 {
		whole, fraction = rest[:i], rest[i+1:]
	}
	first := exponent + len(whole) - 1
	if trimmed := bytes.TrimLeft(whole, "0"); len(trimmed) < len(whole) {
		first -= len(whole) - len(trimmed)
		whole = trimmed
	}
	if len(whole) == 0 {
		trimmed := bytes.TrimLeft(fraction, "0")
		first -= len(fraction) - len(trimmed)
		fraction = trimmed
	}
	fraction = bytes.TrimRight(fraction, "0")
	if len(fraction) == 0 {
		whole = bytes.TrimRight(whole, "0")
	}
	count := len(whole) + len(fraction)
	if count == 0 {
		return Number{}, true
	}
	if count > maxDigits || first > maxExponent || first < -maxExponent {
		return Number{}, false
	}
	n.First, n.Digits = first, append(append(dst, whole...), fraction...)
	return n, true
}

// Takes tells whether Parse takes a JSON number, which must be well formed.
func Takes(text []byte) bool {
	if len(text) < maxDigits && !bytes.ContainsAny(text, "eE") {
		return true
	}
	_, ok := Scan(nil, text)
	return ok
}

// Compare returns -1, 0 or 1 as n is less than other, equal to it or greater.
func (n Number) Compare(other Number) int {
	switch {
	case n.Sign != other.Sign:
		if n.Sign < other.Sign {
			return -1
		}
		return 1
	case n.Sign == 0:
		return 0
	case n.First != other.First:
		if n.First < other.First {
			return -n.Sign
		}
		return n.Sign
	}
	return n.Sign * bytes.Compare(n.Digits, other.Digits)
}
