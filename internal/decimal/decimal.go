// Package decimal computes the values of aggregates exactly: numbers as JSON writes them are added without rounding,
// and each number has one text.
package decimal

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// The bounds of the numbers that Parse accepts. A sum of such numbers has some 2,000 digits at most.
const (
	maxDigits   = 1000
	maxExponent = 1000 // of the first digit, either way
)

// ErrRange is returned for a number that has more digits, or a larger or smaller power of ten, than is accepted.
var ErrRange = fmt.Errorf("numbers of more than %d digits, or beyond 1e±%d, are not aggregated", maxDigits, maxExponent)

// Decimal is an exact number. The zero value is 0.
type Decimal struct{ d apd.Decimal }

// Parse returns the value of a JSON number, which must be well formed. The error is ErrRange.
func Parse(text string) (Decimal, error) { return parse(text, maxDigits, maxExponent) }

// ParseExact does what Parse does for a text that String returned of a sum: it may be longer than Parse accepts.
func ParseExact(text string) (Decimal, error) { return parse(text, 1<<15, 1<<15-1) }

func parse(text string, digitLimit, exponentLimit int) (Decimal, error) {
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
	if first := e + len(trimmed) - 1; len(trimmed) > digitLimit || first > exponentLimit || first < -exponentLimit {
		return out, ErrRange
	}
	return Of(trimmed, e, negative), nil
}

// Of returns the number of these digits whose last one stands for 10 to the power of exponent.
func Of(digits string, exponent int, negative bool) Decimal {
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

// exact is apd's context of precision 0, which rounds nothing.
var exact = func() *apd.Context {
	c := apd.BaseContext
	c.Traps = 0
	return &c
}()

// Add returns a + b.
func Add(a, b Decimal) Decimal {
	var out Decimal
	if _, err := exact.Add(&out.d, &a.d, &b.d); err != nil {
		panic(err) // cannot happen within the bounds of ParseExact
	}
	return out
}

// Sub returns a - b.
func Sub(a, b Decimal) Decimal {
	b.d.Negative = !b.d.Negative
	return Add(a, b)
}

// meanDigits is how many significant digits a mean has.
const meanDigits = 20

// mean is the context that rounds to meanDigits, half to even.
var mean = func() *apd.Context {
	c := apd.BaseContext.WithPrecision(meanDigits)
	c.Rounding = apd.RoundHalfEven
	c.Traps = 0
	return c
}()

// Mean returns sum / n, rounded half to even to 20 significant digits. n must be 1 or more.
func Mean(sum Decimal, n int64) Decimal {
	var out Decimal
	if _, err := mean.Quo(&out.d, &sum.d, apd.New(n, 0)); err != nil {
		panic(err) // n is not 0
	}
	return out
}

// Sign returns -1 for a negative number, 0 for 0 and 1 for a positive one.
func (a Decimal) Sign() int { return a.d.Sign() }

// Digits returns the number's digits without zeros at the end ("" for 0), and the power of ten of the last one.
func (a Decimal) Digits() (digits string, exponent int) {
	if a.d.Coeff.Sign() == 0 {
		return "", 0
	}
	all := a.d.Coeff.String()
	digits = strings.TrimRight(all, "0")
	return digits, int(a.d.Exponent) + len(all) - len(digits)
}

// plainDigits is how many digits String writes at most before it uses an exponent.
const plainDigits = 40

// String returns the number's one JSON text: without superfluous zeros, and with an exponent only where more than
// 40 digits would be needed without.
func (a Decimal) String() string {
	digits, e := a.Digits()
	sign := ""
	if a.d.Negative {
		sign = "-"
	}
	switch first := e + len(digits) - 1; {
	case digits == "":
		return "0"
	case e >= 0 && first < plainDigits:
		return sign + digits + strings.Repeat("0", e)
	case e < 0 && first >= 0 && len(digits) <= plainDigits:
		return sign + digits[:len(digits)+e] + "." + digits[len(digits)+e:]
	case first < 0 && -e <= plainDigits:
		return sign + "0." + strings.Repeat("0", -first-1) + digits
	default:
		point := ""
		if len(digits) > 1 {
			point = "."
		}
		return sign + digits[:1] + point + digits[1:] + "e" + strconv.Itoa(first)
	}
}
