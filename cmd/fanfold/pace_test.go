package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// TestPace: whatever pieces pass, no more than the rate passes in any time from the first byte on. The piece of an eighth of a second may pass at
// once.
func TestPace(t *testing.T) {
	for _, bytes := range []int64{minRate, 1_000_000, 1 << 40} {
		pace := newPace(bytes)
		begun := time.Unix(1000, 0)
		now, passed := begun, 0
		for i := range 1000 {
			n := min(pace.Burst(), 1+i*i*7919%100_000)
			passed += n
			now = now.Add(pace.ReserveN(now, n).DelayFrom(now))
			if allowed := float64(bytes)*now.Sub(begun).Seconds() + float64(pace.Burst()); float64(passed) > allowed+1+float64(bytes)/1e9 { // a wait has whole nanoseconds
				t.Fatalf("at %d bytes a second %d have passed after %v", bytes, passed, now.Sub(begun))
			}
			if i%10 == 0 {
				now = now.Add(time.Duration(i) * time.Microsecond) // the server is slow
			}
		}
		if least := float64(bytes) * now.Sub(begun).Seconds() * 0.5; bytes == minRate && float64(passed) < least {
			t.Errorf("at %d bytes a second only %d have passed after %v", bytes, passed, now.Sub(begun))
		}
	}
}

// TestPacedReader: a reader without a pace reads all at once, one with a pace reads pieces that may pass, and both end with their context.
func TestPacedReader(t *testing.T) {
	text := bytes.Repeat([]byte("x"), minRate)
	free := &pacedReader{ctx: context.Background(), r: bytes.NewReader(text), pace: newPace(0)}
	if n, err := free.Read(make([]byte, len(text))); n != len(text) || err != nil || free.n != minRate {
		t.Errorf("without a rate it reads %d of %d, %v", n, free.n, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	slow := &pacedReader{ctx: ctx, r: bytes.NewReader(text), pace: newPace(minRate)}
	if n, err := slow.Read(make([]byte, len(text))); n != minRate/8 || err != nil {
		t.Errorf("with a rate it reads %d, %v", n, err)
	}
	cancel()
	if _, err := io.Copy(io.Discard, slow); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context's end it reads on: %v", err)
	}
}
