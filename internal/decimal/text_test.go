package decimal

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestScan: what Scan takes, and how it compares, is as Parse has it.
func TestScan(t *testing.T) {
	number := rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,4})?`),
		rapid.SampledFrom([]string{"0", "-0", "0.0e5", "0e99999999999999999999", "1e99999999999999999999", "1e-99999999999999999999", "1e1000", "10e1000", "0.1e1001", "1e-1000", "0.1e-1000",
			"9007199254740992", "9007199254740993", "1" + strings.Repeat("0", 1000), "1" + strings.Repeat("0", 1001), strings.Repeat("1", 1000), "0." + strings.Repeat("1", 1001), "0.1", "0.10000000000000000001"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		x, y := number.Draw(t, "x"), number.Draw(t, "y")
		a, err := Parse(x)
		b, errOther := Parse(y)
		n, ok := Scan(nil, []byte(x))
		other, okOther := Scan(nil, []byte(y))
		if ok != (err == nil) || okOther != (errOther == nil) {
			t.Fatalf("%s and %s are taken: %v, %v, and by Parse %v, %v", x, y, ok, okOther, err, errOther)
		}
		if !ok || !okOther {
			return
		}
		if got, want := n.Compare(other), Sub(a, b).Sign(); got != want {
			t.Fatalf("%s and %s compare as %d, want %d", x, y, got, want)
		}
		if digits, exponent := a.Digits(); digits != string(n.Digits) || n.Sign != a.Sign() || n.Sign != 0 && n.First != exponent+len(digits)-1 {
			t.Fatalf("%s is %+v", x, n)
		}
	})
}
