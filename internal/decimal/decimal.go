// Package decimal is the exact arithmetic of aggregates: numbers as JSON writes them, added
// without rounding, with one text and one order each.
package decimal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// Bounds of the numbers taken: a sum of them has at most some 2,000 digits.
const (
	maxDigits   = 1000
	maxExponent = 1000 // of the first digit, either way
)

// ErrRange is returned for numbers with more digits, or further from 1, than are taken.
var ErrRange = fmt.Errorf("numbers of more than %d digits, or beyond 1e±%d, are not aggregated", maxDigits, maxExponent)

var errKey = errors.New("not a sort key of a number")

// Decimal is an exact number. The zero value is 0.
type Decimal struct{ d apd.Decimal }

// Parse reads a JSON number. The error is ErrRange.
func Parse(text string) (Decimal, error) { return parse(text, maxDigits, maxExponent) }

// ParseExact reads what String wrote of a sum, which may be longer than what Parse takes.
func ParseExact(text string) (Decimal, error) { return parse(text, 1<<15, 1<<15-1) }

func parse(text string, mostDigits, mostExponent int) (Decimal, error) {
	var out Decimal
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return out, nil
	}
	e := 0
	if exponent != "" {
		var err error
		if e, err = strconv.Atoi(exponent); err != nil {
			return out, ErrRange
		}
	}
	trimmed := strings.TrimRight(digits, "0")
	e += len(digits) - len(trimmed) - len(fraction)
	if first := e + len(trimmed) - 1; len(trimmed) > mostDigits || first > mostExponent || first < -mostExponent {
		return out, ErrRange
	}
	return make10(trimmed, e, negative), nil
}

func make10(digits string, exponent int, negative bool) Decimal {
	var out Decimal
	c, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return out
	}
	out.d.Coeff.SetMathBigInt(c)
	out.d.Exponent = int32(exponent)
	out.d.Negative = negative
	return out
}

// exact rounds nothing; apd takes precision 0 for that.
var exact = func() *apd.Context {
	c := apd.BaseContext
	c.Traps = 0
	return &c
}()

// Add returns a + b.
func Add(a, b Decimal) Decimal {
	var out Decimal
	if _, err := exact.Add(&out.d, &a.d, &b.d); err != nil {
		panic(err) // within Parse's bounds there is none
	}
	return out
}

// Sub returns a - b.
func Sub(a, b Decimal) Decimal {
	b.d.Negative = !b.d.Negative
	return Add(a, b)
}

const meanDigits = 20

var mean = func() *apd.Context {
	c := apd.BaseContext.WithPrecision(meanDigits)
	c.Rounding = apd.RoundHalfEven
	c.Traps = 0
	return c
}()

// Mean returns sum / n to 20 significant digits, half to even; n is 1 or more.
func Mean(sum Decimal, n int64) Decimal {
	var out Decimal
	if _, err := mean.Quo(&out.d, &sum.d, apd.New(n, 0)); err != nil {
		panic(err) // n is not 0
	}
	return out
}

// parts are the number's digits without zeros at the end, and the exponent of the last one;
// digits is "" for 0.
func (a Decimal) parts() (digits string, exponent int) {
	if a.d.Coeff.Sign() == 0 {
		return "", 0
	}
	all := a.d.Coeff.String()
	digits = strings.TrimRight(all, "0")
	return digits, int(a.d.Exponent) + len(all) - len(digits)
}

// plain is how many digits are written without an exponent at most.
const plain = 40

// String is the number's one JSON text: without zeros that say nothing, with an exponent only
// where more than 40 digits would be needed without.
func (a Decimal) String() string {
	digits, e := a.parts()
	sign := ""
	if a.d.Negative {
		sign = "-"
	}
	switch first := e + len(digits) - 1; {
	case digits == "":
		return "0"
	case e >= 0 && first < plain:
		return sign + digits + strings.Repeat("0", e)
	case e < 0 && first >= 0 && len(digits) <= plain:
		return sign + digits[:len(digits)+e] + "." + digits[len(digits)+e:]
	case first < 0 && -e <= plain:
		return sign + "0." + strings.Repeat("0", -first-1) + digits
	default:
		point := ""
		if len(digits) > 1 {
			point = "."
		}
		return sign + digits[:1] + point + digits[1:] + "e" + strconv.Itoa(first)
	}
}

// The classes of sort keys.
const (
	keyNegative = 1
	keyZero     = 2
	keyPositive = 3
)

// AppendKey appends bytes that sort as the numbers do, and from which FromKey makes the number.
func (a Decimal) AppendKey(dst []byte) []byte {
	digits, e := a.parts()
	if digits == "" {
		return append(dst, keyZero)
	}
	class := byte(keyPositive)
	if a.d.Negative {
		class = keyNegative
	}
	dst = append(dst, class)
	start := len(dst)
	dst = binary.BigEndian.AppendUint16(dst, uint16(e+len(digits)-1+1<<15))
	dst = append(dst, digits...)
	if class == keyNegative {
		for i := range dst[start:] {
			dst[start+i] ^= 0xff
		}
		dst = append(dst, 0xff) // a number with more digits is less
	}
	return dst
}

// FromKey is the number of a sort key.
func FromKey(key []byte) (Decimal, error) {
	if len(key) == 1 && key[0] == keyZero {
		return Decimal{}, nil
	}
	if len(key) < 4 {
		return Decimal{}, errKey
	}
	rest, negative := key[1:], key[0] == keyNegative
	if negative {
		rest = slices.Clone(rest[:len(rest)-1])
		for i := range rest {
			rest[i] ^= 0xff
		}
	}
	if len(rest) < 3 {
		return Decimal{}, errKey
	}
	first, digits := int(binary.BigEndian.Uint16(rest))-1<<15, string(rest[2:])
	if strings.Trim(digits, "0123456789") != "" {
		return Decimal{}, errKey
	}
	return make10(digits, first-len(digits)+1, negative), nil
}
