package decimal

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func scaled(t testing.TB, text string) Scaled {
	t.Helper()
	s, err := ParseScaled([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// operate returns what an operator gives, and its text.
func operate(a Scaled, op string, b Scaled) (text string, out Scaled, err error) {
	apply := map[string]func(Scaled, Scaled) (Scaled, error){"+": Scaled.Plus, "-": Scaled.Minus, "*": Scaled.Times, "/": Scaled.DividedBy, "%": Scaled.Remainder}
	out, err = apply[op](a, b)
	return string(out.Append(nil)), out, err
}

func TestScaled(t *testing.T) {
	for expression, want := range map[string]string{
		"29.90 * 3": "89.70", "0.1 + 0.2": "0.3", "1.50 + 1": "2.50", "5 - 7.25": "-2.25", "10 / 4": "2.5", "89.70 / 3": "29.90", "6.00 / 2": "3.00",
		"1 / 3": "0." + strings.Repeat("3", 34), "2 / 3": "0." + strings.Repeat("6", 33) + "7", "-1 / 8": "-0.125", "7 % 3": "1", "-7 % 3": "-1", "7.5 % 2": "1.5",
		"9223372036854775807 + 1": "9223372036854775808", "9223372036854775807 * 9223372036854775807": "85070591730234615847396907784232501249",
		"-9223372036854775808 / -1": "9223372036854775808", "1e3 * 2": "2000", "1e39 + 1": "1" + strings.Repeat("0", 38) + "1",
		"1e40 + 0.1": "1e40", "1e-20 * 1e-20": "0." + strings.Repeat("0", 39) + "1", "1e-21 * 1e-20": "1e-41", "0.00 + 0": "0.00", "0 * 1.50": "0.00",
		"12345678901234567890123456789012345 + 0.5": "12345678901234567890123456789012346", "12345678901234567890123456789012344 + 0.5": "12345678901234567890123456789012344",
		"1e1000 + 1e-1000": "1e1000", "1e1000 - 1e1000": "0", "100 / 8": "12.5", "1 / 1e3": "0.001", "1e3 / 1": "1000",
	} {
		parts := strings.Fields(expression)
		if got, _, err := operate(scaled(t, parts[0]), parts[1], scaled(t, parts[2])); got != want || err != nil {
			t.Errorf("%s is %s (%v), want %s", expression, got, err, want)
		}
	}
	for expression, want := range map[string]error{"1 / 0": ErrDivisionByZero, "1 % 0.00": ErrDivisionByZero, "1e1000 * 10": ErrOverflow, "1e-1000 / 10": ErrOverflow} {
		parts := strings.Fields(expression)
		if got, _, err := operate(scaled(t, parts[0]), parts[1], scaled(t, parts[2])); !errors.Is(err, want) {
			t.Errorf("%s is %s (%v), want %v", expression, got, err, want)
		}
	}
}

func TestScaledRounds(t *testing.T) {
	for _, c := range []struct {
		text   string
		digits int
		want   string
	}{{"29.9", 2, "29.90"}, {"2.345", 2, "2.34"}, {"2.355", 2, "2.36"}, {"-2.5", 0, "-2"}, {"3", 2, "3.00"}, {"1249", -2, "1200"}, {"1250", -2, "1200"},
		{"1350", -2, "1400"}, {"49", -2, "0"}, {"51", -2, "100"}, {"1e3", 1, "1000.0"}, {"5", 2000, "5"}, {"0", 2, "0.00"}, {"1e1000", -2000, "0"}} {
		got, err := scaled(t, c.text).Rounded(c.digits)
		if text := string(got.Append(nil)); text != c.want || err != nil {
			t.Errorf("%s with %d digits is %s (%v), want %s", c.text, c.digits, text, err, c.want)
		}
	}
	for text, want := range map[string][2]string{"1.5": {"1", "2"}, "-1.5": {"-2", "-1"}, "3": {"3", "3"}, "2.00": {"2", "2"}, "-0.1": {"-1", "0"}, "1e2": {"100", "100"}} {
		floor, err := scaled(t, text).Floor()
		ceil, err2 := scaled(t, text).Ceil()
		if got := [2]string{string(floor.Append(nil)), string(ceil.Append(nil))}; got != want || err != nil || err2 != nil {
			t.Errorf("%s lies between %v (%v, %v), want %v", text, got, err, err2, want)
		}
	}
}

// TestScaledAgainstRationals compares operations with fractions of math/big: the results are equal where they can be said with as many
// digits as a result has, and nearest otherwise.
func TestScaledAgainstRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := number(t, "x"), number(t, "y")
		a, err := ParseScaled([]byte(x))
		if err != nil {
			t.Fatal(err)
		}
		b, err := ParseScaled([]byte(y))
		if err != nil {
			t.Fatal(err)
		}
		if text := string(a.Append(nil)); rat(t, text).Cmp(rat(t, x)) != 0 {
			t.Fatalf("%s is %s", x, text)
		}
		rx, ry := rat(t, x), rat(t, y)
		exact := map[string]func() *big.Rat{
			"+": func() *big.Rat { return new(big.Rat).Add(rx, ry) },
			"-": func() *big.Rat { return new(big.Rat).Sub(rx, ry) },
			"*": func() *big.Rat { return new(big.Rat).Mul(rx, ry) },
			"/": func() *big.Rat { return new(big.Rat).Quo(rx, ry) },
		}
		for op, want := range exact {
			if op == "/" && ry.Sign() == 0 {
				continue
			}
			text, got, err := operate(a, op, b)
			if err != nil {
				t.Fatalf("%s %s %s: %v", x, op, y, err)
			}
			checkNearest(t, x+" "+op+" "+y+" = "+text, got, want())
		}
	})
}

// checkNearest checks that a result is the exact one, or has all digits that it may have and is at most half a unit of the last one away.
func checkNearest(t *rapid.T, what string, got Scaled, want *big.Rat) {
	off := new(big.Rat).Sub(rat(t, string(got.Append(nil))), want)
	if off.Sign() == 0 {
		return
	}
	if n := count(got.digits()); n < Precision && got.exp != 0 {
		t.Fatalf("%s has %d digits and is not exact", what, n)
	}
	unit := new(big.Rat).SetInt(power(max(got.exp, -got.exp)))
	if got.exp < 0 {
		unit.Inv(unit)
	}
	if off.Abs(off).Cmp(unit.Quo(unit, big.NewRat(2, 1))) > 0 {
		t.Fatalf("%s is more than half of its last digit away", what)
	}
}
