package main

import (
	"testing"
	"time"
)

// TestPace: whatever pieces pass, no more than the rate passes in any time from the first byte on, but for the last piece.
func TestPace(t *testing.T) {
	for _, rate := range []int64{minRate, 1_000_000, 1 << 40} {
		p := pace{rate: rate}
		begun := time.Unix(1000, 0)
		now, passed := begun, int64(0)
		for i := range 1000 {
			n := int(min(p.most(), int64(1+i*i*7919%100_000)))
			if allowed := float64(rate) * now.Sub(begun).Seconds(); float64(passed) > allowed+1+float64(rate)/1e9 { // a wait has whole nanoseconds
				t.Fatalf("at %d bytes a second %d have passed after %v", rate, passed, now.Sub(begun))
			}
			wait := p.pass(n, now)
			passed += int64(n)
			now = now.Add(wait)
			if i%10 == 0 {
				now = now.Add(time.Duration(i) * time.Microsecond) // the server is slow
			}
		}
		if least := float64(rate) * now.Sub(begun).Seconds() * 0.5; rate == minRate && float64(passed) < least {
			t.Errorf("at %d bytes a second only %d have passed after %v", rate, passed, now.Sub(begun))
		}
	}
	free := pace{}
	if wait := free.pass(1<<30, time.Unix(1000, 0)); wait != 0 {
		t.Errorf("without a rate there is a wait of %v", wait)
	}
}
