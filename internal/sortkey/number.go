package sortkey

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/decimal"
)

// The first byte of a number's key.
const (
	signNegative = 1
	signZero     = 2
	signPositive = 3
)

// These end the digits of a number's key. Of a negative number it makes the one with more digits the lesser. Of a positive number
// only Append writes it.
const (
	negativeEnd = 0xff
	digitsEnd   = 0x00
)

// AppendNumber appends the key of a number, which Number reads. After the first byte stand the power of ten of the first
// digit, and the digits; of a negative number all these are inverted. The key does not end by itself, so nothing may follow it.
func AppendNumber(dst []byte, d decimal.Decimal) []byte {
	digits, exponent := d.Digits()
	sign := byte(signPositive)
	switch d.Sign() {
	case 0:
		return append(dst, signZero)
	case -1:
		sign = signNegative
	}
	dst = append(dst, sign)
	start := len(dst)
	dst = binary.BigEndian.AppendUint16(dst, uint16(exponent+len(digits)-1+1<<15))
	dst = append(dst, digits...)
	if sign == signNegative {
		for i := range dst[start:] {
			dst[start+i] ^= 0xff
		}
		dst = append(dst, negativeEnd)
	}
	return dst
}

// Number returns the number of a key that AppendNumber made. The error says that key is none.
func Number(key []byte) (decimal.Decimal, error) {
	if len(key) == 1 && key[0] == signZero {
		return decimal.Decimal{}, nil
	}
	if len(key) < 4 {
		return decimal.Decimal{}, errKey
	}
	rest, negative := key[1:], key[0] == signNegative
	if negative {
		rest = slices.Clone(rest[:len(rest)-1])
		for i := range rest {
			rest[i] ^= 0xff
		}
	}
	if len(rest) < 3 {
		return decimal.Decimal{}, errKey
	}
	first, digits := int(binary.BigEndian.Uint16(rest))-1<<15, string(rest[2:])
	if strings.Trim(digits, "0123456789") != "" {
		return decimal.Decimal{}, errKey
	}
	return decimal.Of(digits, first-len(digits)+1, negative), nil
}
