package jsondoc

import (
	"bytes"
	"strconv"
	"strings"
)

// Equal tells whether two JSON texts hold equal values (RFC 6902, 4.6): members in any order,
// numbers by value. It panics where one that differs from the other is not JSON.
func Equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	return equalNodes(MustParse(a), Root, MustParse(b), Root)
}

func equalNodes(a *Tree, an Node, b *Tree, bn Node) bool {
	if a.Kind(an) != b.Kind(bn) {
		return false
	}
	switch a.Kind(an) {
	case Number:
		return equalNumbers(a.Text(an), b.Text(bn))
	case String:
		return a.Text(an) == b.Text(bn)
	case Array:
		x, y := a.First(an), b.First(bn)
		for x != None && y != None && equalNodes(a, x, b, y) {
			x, y = a.Next(x), b.Next(y)
		}
		return x == None && y == None
	case Object:
		return equalObjects(a, an, b, bn)
	}
	return true
}

// equalObjects compares two objects. Members mostly stand in one order; one that does not is looked up, among many by an
// index, so that the time grows with the text alone.
func equalObjects(a *Tree, an Node, b *Tree, bn Node) bool {
	length := a.Len(an)
	if length != b.Len(bn) {
		return false
	}
	var index map[string]Node
	next := b.First(bn)
	for x := a.First(an); x != None; x = a.Next(x) {
		y, name := next, a.Key(x)
		if y == None || !b.KeyIs(y, name) {
			if length <= fewMembers {
				y = b.Member(bn, name)
			} else {
				if index == nil {
					index = b.members(bn)
				}
				y = index[name]
			}
		}
		if y == None || !equalNodes(a, x, b, y) {
			return false
		}
		next = b.Next(y)
	}
	return true
}

// equalNumbers compares decimal texts by value, exactly and without building large numbers.
func equalNumbers(a, b string) bool {
	aNegative, aDigits, aExponent := numberParts(a)
	bNegative, bDigits, bExponent := numberParts(b)
	return aDigits == bDigits && (aDigits == "" || aNegative == bNegative && aExponent == bExponent)
}

// numberParts returns a number's sign, its digits without zeros at either end ("" for 0), and the power of
// ten of the last digit.
func numberParts(s string) (negative bool, digits string, exponent int) {
	s, negative = strings.CutPrefix(s, "-")
	mantissa, e, _ := strings.Cut(strings.ToLower(s), "e")
	if e != "" {
		exponent, _ = strconv.Atoi(e) // an exponent past int saturates, and so stays unequal to any other
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exponent -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	return negative, trimmed, exponent + len(digits) - len(trimmed)
}
