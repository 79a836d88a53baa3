package membership

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// TestLagBounds: a bound is a number of events or a time, within limits, and is written as it is read.
func TestLagBounds(t *testing.T) {
	for text, want := range map[string]LagBound{"1": {Events: 1}, "1000000000": {Events: 1e9}, "30s": {Age: 30 * time.Second}, "1ms": {Age: time.Millisecond}, "24h0m0s": {Age: 24 * time.Hour}} {
		b, err := ParseLagBound(text)
		if err != nil || b != want || b.String() != text {
			t.Errorf("%s: %v as %s, %v", text, b, b, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "1000000001", "0s", "-1s", "999us", "25h", "x", "1.5", "1e3", "10 s"} {
		if b, err := ParseLagBound(text); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%q: %v, %v", text, b, err)
		}
	}
	for _, c := range []struct {
		bound  LagBound
		events uint64
		age    time.Duration
		holds  bool
	}{{LagBound{}, 9, time.Hour, true}, {LagBound{Events: 9}, 9, time.Hour, true}, {LagBound{Events: 9}, 10, 0, false}, {LagBound{Age: time.Second}, 9, time.Second, true}, {LagBound{Age: time.Second}, 0, time.Second + 1, false}} {
		if c.bound.Holds(c.events, c.age) != c.holds {
			t.Errorf("%v with %d events and %v: %v", c.bound, c.events, c.age, !c.holds)
		}
	}
}
