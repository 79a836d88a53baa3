package decimal

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustParse(t testing.TB, text string) Decimal {
	t.Helper()
	d, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "0.00": "0", "0e5": "0", "1": "1", "-1.50": "-1.5", "1e3": "1000", "1.20E+2": "120", "12e-1": "1.2",
		"0.001": "0.001", "-5e-7": "-0.0000005", "9007199254740993": "9007199254740993",
		"1e39": "1" + strings.Repeat("0", 39), "1e40": "1e40", "-1.25e400": "-1.25e400", "1e-40": "0." + strings.Repeat("0", 39) + "1", "15e-42": "1.5e-41",
		"123456789012345678901234567890123456789012.5": "1.234567890123456789012345678901234567890125e41",
	} {
		if got := mustParse(t, in).String(); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{"1e1001", "1e-1001", "1e99999999999999999999", "-1e999999", strings.Repeat("1", 1001)} {
		if d, err := Parse(in); err == nil {
			t.Errorf("%s is taken for %s", in, d)
		}
	}
}

func TestArithmetic(t *testing.T) {
	if got := Add(mustParse(t, "0.1"), mustParse(t, "0.2")).String(); got != "0.3" {
		t.Errorf("0.1 + 0.2 is %s", got)
	}
	if got := Sub(Add(mustParse(t, "1e300"), mustParse(t, "1e-300")), mustParse(t, "1e300")).String(); got != "1e-300" {
		t.Errorf("1e300 + 1e-300 - 1e300 is %s", got)
	}
	for _, c := range []struct {
		sum  string
		n    int64
		want string
	}{{"1", 3, "0.33333333333333333333"}, {"2", 3, "0.66666666666666666667"}, {"10", 4, "2.5"}, {"0", 7, "0"}, {"-1", 8, "-0.125"},
		{"3.00000000000000000001", 2, "1.5"}, {"3.0000000000000000003", 2, "1.5000000000000000002"}} {
		if got := Mean(mustParse(t, c.sum), c.n).String(); got != c.want {
			t.Errorf("%s / %d is %s, want %s", c.sum, c.n, got, c.want)
		}
	}
}

// number draws the text of a JSON number.
func number(t *rapid.T, name string) string {
	return rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?`).Draw(t, name)
}

func rat(t *rapid.T, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%s is not a number", text)
	}
	return r
}

// TestAgainstRationals compares sums and texts with what math/big's fractions give.
func TestAgainstRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := number(t, "x"), number(t, "y")
		a, err := Parse(x)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Parse(y)
		if err != nil {
			t.Fatal(err)
		}
		rx, ry := rat(t, x), rat(t, y)
		for got, want := range map[string]*big.Rat{
			a.String():         rx,
			Add(a, b).String(): new(big.Rat).Add(rx, ry),
			Sub(a, b).String(): new(big.Rat).Sub(rx, ry),
		} {
			if !json.Valid([]byte(got)) || rat(t, got).Cmp(want) != 0 {
				t.Fatalf("%s, %s: %s, want %s", x, y, got, want)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"0", "-1.5e10", "1e1000", "1E-1000", "00001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || strings.Trim(text, "-0123456789.eE+") != "" {
			return
		}
		d, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(d.String())
		if err != nil || again.String() != d.String() {
			t.Fatalf("%s is %s, which is %s (%v)", text, d, again, err)
		}
	})
}
