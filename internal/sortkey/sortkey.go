// Package sortkey makes sort keys of JSON values: bytes that compare as the values do. The order is total: absent values, null,
// objects and arrays, which are all alike, false, true, numbers by their exact values, and texts by the bytes of their first 1,024.
// A number that package decimal does not take counts as an object.
//
// Keys that Append and AppendDescending return end by themselves. So several of them, one after the other, compare as the
// values do one after the other, and KeyLength tells where the first one ends.
package sortkey

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// The first byte of a key, the class of its value. Of a descending key all bytes are inverted.
const (
	classNothing = iota // neither number nor text; Append adds which of those below it is
	classNumber
	classText
)

// The second byte of a key of Append whose class is classNothing.
const (
	valueAbsent = iota
	valueNull
	valueComposite // an object, an array, or a number that package decimal does not take
	valueFalse
	valueTrue
)

// maxText is how many bytes of a text enter into the order.
const maxText = 1024

// A text ends with two bytes textEnd. A byte textEnd in it is followed by textGoesOn, so that it stays greater than the end.
const (
	textEnd    = 0x00
	textGoesOn = 0xff
)

// errKey says that bytes are no key, or only the beginning of one.
var errKey = errors.New("not a sort key")

// Append appends the key of a value; n may be jsondoc.None.
func Append(dst []byte, t *jsondoc.Tree, n jsondoc.Node) []byte {
	value := byte(valueComposite)
	switch kind := t.Kind(n); kind {
	case jsondoc.String:
		return append(appendText(append(dst, classText), textOf(t, n)), textEnd, textEnd)
	case jsondoc.Number:
		var room [32]byte
		if number, ok := decimal.Scan(room[:0], t.Raw(n)); ok {
			return appendNumber(dst, number)
		}
	case jsondoc.Invalid:
		value = valueAbsent
	case jsondoc.Null:
		value = valueNull
	case jsondoc.False:
		value = valueFalse
	case jsondoc.True:
		value = valueTrue
	}
	return append(dst, classNothing, value)
}

// appendText appends the bytes of a text, without an end.
func appendText(dst []byte, text string) []byte {
	for {
		i := strings.IndexByte(text, textEnd)
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(append(dst, text[:i+1]...), textGoesOn)
		text = text[i+1:]
	}
}

// appendNumber appends the key of a number, which ends by itself.
func appendNumber(dst []byte, n decimal.Number) []byte {
	dst = append(dst, classNumber)
	switch n.Sign {
	case 0:
		return append(dst, signZero)
	case -1:
		dst = append(dst, signNegative)
		start := len(dst)
		dst = append(binary.BigEndian.AppendUint16(dst, uint16(n.First+1<<15)), n.Digits...)
		Descend(dst[start:])
		return append(dst, negativeEnd)
	}
	dst = append(dst, signPositive)
	return append(append(binary.BigEndian.AppendUint16(dst, uint16(n.First+1<<15)), n.Digits...), digitsEnd)
}

// AppendAbsent appends the key of an absent value.
func AppendAbsent(dst []byte) []byte { return append(dst, classNothing, valueAbsent) }

// AppendInt appends the key of a whole number. A time has the key of its nanoseconds since 1970.
func AppendInt(dst []byte, n int64) []byte {
	var room, digits [24]byte
	number, _ := decimal.Scan(digits[:0], strconv.AppendInt(room[:0], n, 10)) // which takes all of them
	return appendNumber(dst, number)
}

// Descend inverts a key in place. The order of inverted keys is the reverse of the keys' order.
func Descend(key []byte) {
	for i := range key {
		key[i] ^= 0xff
	}
}

// AppendDescending appends a key whose order is the reverse of Append's.
func AppendDescending(dst []byte, t *jsondoc.Tree, n jsondoc.Node) []byte {
	start := len(dst)
	dst = Append(dst, t, n)
	Descend(dst[start:])
	return dst
}

// Exact reports whether no other value has the key of this one. It is false for an object, an array, a number that package decimal
// does not take, and a text of 1,024 bytes or more. n may be jsondoc.None.
func Exact(t *jsondoc.Tree, n jsondoc.Node) bool {
	switch t.Kind(n) {
	case jsondoc.Object, jsondoc.Array:
		return false
	case jsondoc.String:
		return len(t.Text(n)) < maxText
	case jsondoc.Number:
		var room [32]byte
		_, ok := decimal.Scan(room[:0], t.Raw(n))
		return ok
	}
	return true
}

// OrderBy returns the key that the read model stores of a value by which documents are ordered. Read models have such keys, so the
// bytes stay as they are. The order is coarser than Append's: false and true count as absent. The key does not end by itself, so
// nothing may follow it. n may be jsondoc.None.
func OrderBy(t *jsondoc.Tree, n jsondoc.Node) []byte {
	switch class, d := classOf(t, n); class {
	case classText:
		return append([]byte{classText}, textOf(t, n)...)
	case classNumber:
		return AppendNumber([]byte{classNumber}, d)
	}
	return []byte{classNothing}
}

// Orders tells whether OrderBy tells a value from an absent one.
func Orders(t *jsondoc.Tree, n jsondoc.Node) bool {
	class, _ := classOf(t, n)
	return class != classNothing
}

// classOf returns the class of a value, and its number where it has one.
func classOf(t *jsondoc.Tree, n jsondoc.Node) (class byte, d decimal.Decimal) {
	if n == jsondoc.None {
		return classNothing, d
	}
	switch t.Kind(n) {
	case jsondoc.String:
		return classText, d
	case jsondoc.Number:
		if d, err := decimal.Parse(t.Text(n)); err == nil {
			return classNumber, d
		}
	}
	return classNothing, d
}

// textOf returns the part of a text that enters into the order.
func textOf(t *jsondoc.Tree, n jsondoc.Node) string {
	text := t.Text(n)
	return text[:min(len(text), maxText)]
}

// KeyLength returns how many bytes the key has with which bytes begin, one of Append or AppendDescending. The error says that they
// begin with none.
func KeyLength(keys []byte) (int, error) {
	if len(keys) < 2 {
		return 0, errKey
	}
	flip := byte(0)
	if keys[0] > classText {
		flip = 0xff
	}
	end := -1
	switch second := keys[1] ^ flip; keys[0] ^ flip {
	case classNothing:
		if second <= valueTrue {
			end = 1
		}
	case classNumber:
		end = numberEnd(keys, second, flip)
	case classText:
		end = textEndIn(keys, flip)
	}
	if end < 0 {
		return 0, errKey
	}
	return end + 1, nil
}

// numberEnd returns the index of the last byte of a number's key, -1 where it has no end.
func numberEnd(keys []byte, sign, flip byte) int {
	end := byte(digitsEnd)
	switch sign {
	case signZero:
		return 1
	case signNegative:
		end = negativeEnd
	case signPositive:
	default:
		return -1
	}
	const digits = 4 // after the class, the sign and the power of ten
	if len(keys) <= digits {
		return -1
	}
	i := bytes.IndexByte(keys[digits:], end^flip)
	if i <= 0 { // a number has a digit
		return -1
	}
	return digits + i
}

// textEndIn returns the index of the last byte of a text's key, -1 where it has no end.
func textEndIn(keys []byte, flip byte) int {
	for i := 1; i+1 < len(keys); i++ {
		if keys[i]^flip != textEnd {
			continue
		}
		i++
		switch keys[i] ^ flip {
		case textEnd:
			return i
		case textGoesOn:
		default:
			return -1
		}
	}
	return -1
}
