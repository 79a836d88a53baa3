package decimal

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// Precision is how many significant digits the result of an operation on Scaled numbers has at most, unless its integer part has more.
const Precision = 34

// ErrDivisionByZero is the error of a division by 0.
var ErrDivisionByZero = errors.New("division by zero")

// ErrOverflow is the error of an operation whose result is none that Parse takes.
var ErrOverflow = errors.New("the result is no number of at most 1,000 digits within 1e±1000")

// Scaled is a number as arithmetic has it: exact, and with as many digits after the point as it is written with. So 1.50 and 1.5 are equal
// and have different texts. The zero value is 0.
//
// An operation rounds half to even to Precision digits, or to the integer where that has more digits. The scale of its result is the one that
// IEEE 754-2008 (5.2) prefers: the longer one for sums, the sum of both for products, the shortest exact one for quotients.
type Scaled struct {
	small int64    // the digits as an integer, where large is nil
	large *big.Int // never changed
	exp   int      // the power of ten of the last digit
}

// ScaledInt returns a whole number.
func ScaledInt(n int64) Scaled { return Scaled{small: n} }

// ParseScaled returns the number that the text of a JSON number says, which must be well formed. The error is ErrRange, as for Parse.
func ParseScaled(text []byte) (Scaled, error) {
	mantissa, exponent := text, 0
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.Atoi(string(text[i+1:]))
		if err != nil {
			n = math.MaxInt32 // more than is taken, unless the number is 0
		}
		mantissa, exponent = text[:i], n
	}
	var out Scaled
	if digits, ok := out.parseSmall(mantissa); !ok {
		if out.large, ok = new(big.Int).SetString(string(digits), 10); !ok {
			return out, ErrRange
		}
	}
	out.exp += exponent
	return out.taken(ErrRange)
}

// parseSmall sets the number to the one of a text without exponent, if it has few digits. Otherwise it sets the exponent and returns the digits.
func (a *Scaled) parseSmall(text []byte) (digits []byte, ok bool) {
	negative, count := false, 0
	for i, c := range text {
		switch {
		case c == '-':
			negative = true
		case c == '.':
			a.exp = -(len(text) - i - 1)
		case count < smallDigits:
			if a.small = a.small*10 + int64(c-'0'); a.small != 0 {
				count++
			}
		default:
			a.small, a.exp = 0, 0
			if i := bytes.IndexByte(text, '.'); i >= 0 {
				a.exp = -(len(text) - i - 1)
			}
			return bytes.ReplaceAll(text, []byte("."), nil), false
		}
	}
	if negative {
		a.small = -a.small
	}
	return nil, true
}

// smallDigits is how many digits always fit an int64.
const smallDigits = 18

// powers are the powers of ten that fit an int64.
var powers = func() (all [smallDigits + 1]int64) {
	all[0] = 1
	for i := 1; i < len(all); i++ {
		all[i] = all[i-1] * 10
	}
	return all
}()

var ten = big.NewInt(10)

// largePowers are the powers of ten that operations mostly need.
var largePowers = func() (all [100]*big.Int) {
	for i := range all {
		all[i] = new(big.Int).Exp(ten, big.NewInt(int64(i)), nil)
	}
	return all
}()

// power returns 10 to the power of n. It must not be changed.
func power(n int) *big.Int {
	if n < len(largePowers) {
		return largePowers[n]
	}
	return new(big.Int).Exp(ten, big.NewInt(int64(n)), nil)
}

// digits returns the digits as an integer. It must not be changed.
func (a Scaled) digits() *big.Int {
	if a.large != nil {
		return a.large
	}
	return big.NewInt(a.small)
}

// Sign returns -1 for a negative number, 0 for 0 and 1 for a positive one.
func (a Scaled) Sign() int {
	switch {
	case a.large != nil:
		return a.large.Sign()
	case a.small < 0:
		return -1
	case a.small > 0:
		return 1
	}
	return 0
}

// count returns how many digits an integer has; 1 for 0.
func count(n *big.Int) int {
	if n.IsInt64() {
		var room [20]byte
		return len(strconv.AppendUint(room[:0], new(big.Int).Abs(n).Uint64(), 10))
	}
	guess := int(float64(n.BitLen()-1)*math.Log10(2)) + 1
	if new(big.Int).Abs(n).Cmp(power(guess)) >= 0 {
		guess++
	}
	return guess
}

// taken returns the number, or the error for one that Parse does not take. The digits of 0 after the point are at most as many as are taken.
func (a Scaled) taken(refused error) (Scaled, error) {
	if a.Sign() == 0 {
		return Scaled{exp: min(max(a.exp, -maxExponent), 0)}, nil
	}
	if a.large == nil && a.exp <= 0 && a.exp > smallDigits-maxExponent {
		return a, nil
	}
	n := count(a.digits())
	if first := a.exp + n - 1; first > maxExponent || first < -maxExponent {
		return Scaled{}, refused
	}
	if n > maxDigits {
		if trimmed := a.trimmed(a.exp + n); count(trimmed.digits()) > maxDigits {
			return Scaled{}, refused
		}
	}
	return a, nil
}

// trimmed returns the number without zeros at its end, as far as its exponent stays at most atMost.
func (a Scaled) trimmed(atMost int) Scaled {
	if a.Sign() == 0 {
		return a
	}
	n, rest := a.digits(), new(big.Int)
	for a.exp < atMost {
		q := new(big.Int)
		if q.QuoRem(n, ten, rest); rest.Sign() != 0 {
			break
		}
		n = q
		a.exp++
	}
	return a.with(n)
}

// with returns a number of other digits and the same exponent.
func (a Scaled) with(n *big.Int) Scaled {
	if n.IsInt64() {
		return Scaled{small: n.Int64(), exp: a.exp}
	}
	return Scaled{large: n, exp: a.exp}
}

// rounded returns the result of an operation: rounded to as many digits as it may have.
func (a Scaled) rounded() (Scaled, error) {
	if a.large == nil && a.exp <= 0 {
		return a.taken(ErrOverflow)
	}
	n := count(a.digits())
	if drop := n - max(Precision, n+a.exp); drop > 0 {
		a = a.cut(drop)
	}
	return a.taken(ErrOverflow)
}

// cut returns the number without its last n digits, rounded half to even.
func (a Scaled) cut(n int) Scaled {
	unit, rest := power(n), new(big.Int)
	q, _ := new(big.Int).QuoRem(a.digits(), unit, rest)
	rest.Abs(rest).Lsh(rest, 1)
	if c := rest.Cmp(unit); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(int64(a.Sign())))
	}
	a.exp += n
	return a.with(q)
}

// scaledTo returns the digits that the number has with a smaller exponent.
func (a Scaled) scaledTo(exp int) *big.Int {
	if a.exp == exp {
		return a.digits()
	}
	return new(big.Int).Mul(a.digits(), power(a.exp-exp))
}

// smallTo does what scaledTo does where the digits fit an int64.
func (a Scaled) smallTo(exp int) (n int64, ok bool) {
	by := a.exp - exp
	if a.large != nil || by > smallDigits {
		return 0, false
	}
	high, low := bits.Mul64(magnitude(a.small), uint64(powers[by]))
	if high != 0 || low > math.MaxInt64 {
		return 0, false
	}
	if a.small < 0 {
		return -int64(low), true
	}
	return int64(low), true
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// Plus returns a + b. The error is ErrOverflow.
func (a Scaled) Plus(b Scaled) (Scaled, error) { return a.sum(b).rounded() }

// ExactSum returns a + b without rounding. The error is ErrOverflow.
func (a Scaled) ExactSum(b Scaled) (Scaled, error) { return a.sum(b).taken(ErrOverflow) }

// sum returns a + b, which may be none that Parse takes.
func (a Scaled) sum(b Scaled) Scaled {
	exp := min(a.exp, b.exp)
	if x, ok := a.smallTo(exp); ok {
		if y, ok := b.smallTo(exp); ok {
			if sum := x + y; (sum > x) == (y > 0) {
				return Scaled{small: sum, exp: exp}
			}
		}
	}
	return Scaled{exp: exp}.with(new(big.Int).Add(a.scaledTo(exp), b.scaledTo(exp)))
}

// Minus returns a - b. The error is ErrOverflow.
func (a Scaled) Minus(b Scaled) (Scaled, error) { return a.Plus(b.Negated()) }

// Negated returns -a.
func (a Scaled) Negated() Scaled {
	if a.large == nil && a.small != math.MinInt64 {
		a.small = -a.small
		return a
	}
	return a.with(new(big.Int).Neg(a.digits()))
}

// Times returns a * b. The error is ErrOverflow.
func (a Scaled) Times(b Scaled) (Scaled, error) {
	out := Scaled{exp: a.exp + b.exp}
	if a.large == nil && b.large == nil {
		if high, low := bits.Mul64(magnitude(a.small), magnitude(b.small)); high == 0 && low <= math.MaxInt64 {
			if out.small = int64(low); (a.small < 0) != (b.small < 0) {
				out.small = -out.small
			}
			return out.rounded()
		}
	}
	return out.with(new(big.Int).Mul(a.digits(), b.digits())).rounded()
}

// DividedBy returns a / b. The error is ErrDivisionByZero or ErrOverflow.
func (a Scaled) DividedBy(b Scaled) (Scaled, error) {
	if b.Sign() == 0 {
		return Scaled{}, ErrDivisionByZero
	}
	ideal := a.exp - b.exp
	if a.large == nil && b.large == nil {
		// Most quotients end after a few digits.
		for i := range 4 {
			if n, ok := a.smallTo(a.exp - i); ok && n%b.small == 0 {
				return Scaled{small: n / b.small, exp: ideal - i}.rounded()
			}
		}
	}
	q, more, exact := a.quotient(b)
	out := Scaled{exp: ideal - more}
	if exact {
		return out.with(q).trimmed(ideal).rounded()
	}
	q.Add(q.Mul(q, ten), big.NewInt(int64(a.Sign()*b.Sign()))) // one more digit tells the rounding of the rest
	out.exp--
	return out.with(q).rounded()
}

// quotient returns the digits of a / b, with at least one more than a result may have: more of them than the operands' scales give. exact says
// that there is no rest.
func (a Scaled) quotient(b Scaled) (q *big.Int, more int, exact bool) {
	if a.large == nil && b.large == nil && a.exp <= b.exp {
		return smallQuotient(a.small, b.small)
	}
	n, by := a.digits(), b.digits()
	more = max(0, count(by)-count(n)+max(Precision, a.exp+count(n)-b.exp-count(by)+1)+2)
	rest := new(big.Int)
	q, _ = new(big.Int).QuoRem(new(big.Int).Mul(n, power(more)), by, rest)
	return q, more, rest.Sign() == 0
}

// smallQuotient does what quotient does, some digits at a time.
func smallQuotient(a, b int64) (q *big.Int, more int, exact bool) {
	const each = 17 // digits: a rest with as many zeros takes less than 128 bits
	n, by := magnitude(a), magnitude(b)
	whole, rest := n/by, n%by
	q = new(big.Int).SetUint64(whole)
	steps := 2
	if whole == 0 {
		steps = 4
	}
	for range steps {
		high, low := bits.Mul64(rest, uint64(powers[each]))
		var digits uint64
		digits, rest = bits.Div64(high, low, by)
		q.Add(q.Mul(q, power(each)), new(big.Int).SetUint64(digits))
	}
	if (a < 0) != (b < 0) {
		q.Neg(q)
	}
	return q, steps * each, rest == 0
}

// Remainder returns what a leaves when it is divided by b to a whole quotient. It has the sign of a. The error is ErrDivisionByZero or
// ErrOverflow.
func (a Scaled) Remainder(b Scaled) (Scaled, error) {
	if b.Sign() == 0 {
		return Scaled{}, ErrDivisionByZero
	}
	exp := min(a.exp, b.exp)
	return Scaled{exp: exp}.with(new(big.Int).Rem(a.scaledTo(exp), b.scaledTo(exp))).rounded()
}

// Rounded returns the number with n digits after the point, rounded half to even. It has zeros there where it had fewer digits, as long as
// these are not more than it may have. A negative n rounds to tens, hundreds and so on.
func (a Scaled) Rounded(n int) (Scaled, error) {
	n = min(max(n, -maxExponent-1), maxExponent)
	switch by := a.exp + n; {
	case by > 0 && a.exp <= 0 && count(a.digits())+by <= Precision:
		a = Scaled{exp: -n}.with(a.scaledTo(-n))
	case by > 0 && a.exp > 0:
		a = Scaled{}.with(a.scaledTo(0))
		return a.Rounded(n)
	case by < 0:
		a = a.cut(-by)
	}
	return a.rounded()
}

// Floor returns the largest whole number that is not greater.
func (a Scaled) Floor() (Scaled, error) { return a.whole(-1) }

// Ceil returns the smallest whole number that is not less.
func (a Scaled) Ceil() (Scaled, error) { return a.whole(1) }

// whole returns the number without its fraction. If there was one and the number has the sign, it moves on by 1 in the sign's direction.
func (a Scaled) whole(sign int) (Scaled, error) {
	if a.exp >= 0 {
		return a, nil
	}
	rest := new(big.Int)
	q, _ := new(big.Int).QuoRem(a.digits(), power(-a.exp), rest)
	if rest.Sign() == sign {
		q.Add(q, big.NewInt(int64(sign)))
	}
	return Scaled{}.with(q).rounded()
}

// Int returns the number where it is a whole one that is written without a point, and fits an int64.
func (a Scaled) Int() (n int64, ok bool) { return a.small, a.large == nil && a.exp == 0 }

// Append appends the number's JSON text: with its scale where at most 40 digits say it, and as Decimal's text otherwise.
func (a Scaled) Append(dst []byte) []byte {
	n := a
	if a.exp > 0 && a.exp < plainDigits {
		n = Scaled{}.with(a.scaledTo(0))
	}
	var room [64]byte
	var digits []byte
	if n.large == nil {
		digits = strconv.AppendUint(room[:0], magnitude(n.small), 10)
	} else {
		digits = new(big.Int).Abs(n.large).Append(room[:0], 10)
	}
	if n.exp > 0 || len(digits) > plainDigits || -n.exp > plainDigits {
		d := Of(string(digits), n.exp, n.Sign() < 0)
		return append(dst, d.String()...)
	}
	if n.Sign() < 0 {
		dst = append(dst, '-')
	}
	whole := len(digits) + n.exp
	if whole <= 0 {
		dst = append(dst, "0."...)
		for range -whole {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	dst = append(dst, digits[:whole]...)
	if n.exp < 0 {
		dst = append(append(dst, '.'), digits[whole:]...)
	}
	return dst
}
