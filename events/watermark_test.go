package events

import (
	"sync"
	"testing"

	"github.com/fanfold/fanfold/tests/suite"
)

// TestWatermark has goroutines wait for numbers that others raise.
func TestWatermark(t *testing.T) {
	suite.Concurrent(t)
	var w Watermark
	const last = 5_000
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for n := uint64(1); n <= last; n++ {
				for w.Load() < n {
					<-w.Raised(n)
				}
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for n := uint64(1); n <= last; n++ {
				w.Advance(n)
			}
		})
	}
	wg.Wait()
	if got := w.Load(); got != last {
		t.Errorf("%d, want %d", got, last)
	}
	wake := w.Raised(last + 1)
	w.Advance(last) // as a reader of what is long known does
	select {
	case <-wake:
		t.Error("who waits is woken though the number has not risen")
	default:
	}
	w.Advance(last + 1)
	<-wake
}
