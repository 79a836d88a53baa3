package embedded_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestFenceWritesNothing: a fence of a log to which this process alone publishes is the log's last sequence, and no event. Once an append
// has ended without the log's decision, the next fence is an event, which comes after whatever is still under way.
func TestFenceWritesNothing(t *testing.T) {
	var lose atomic.Bool
	opt := events.Options{FailAppend: func(stored bool) error {
		if stored && lose.Load() {
			return errors.New("the answer is lost")
		}
		return nil
	}}
	err := openIn(t, t.TempDir(), opt, func(l *events.Log) {
		fence := func(want uint64) {
			t.Helper()
			if seq, err := l.Fence(t.Context()); err != nil || seq != want {
				t.Errorf("fence %d, %v, want %d", seq, err, want)
			}
		}
		fence(0)
		if _, err := l.Append(t.Context(), put("1", `{}`), fanfold.Expect{}); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			fence(1)
		}
		if _, err := l.Append(t.Context(), put("1", `{}`), fanfold.Expect{Set: true}); fanfold.CodeOf(err) != fanfold.Stale {
			t.Fatal(err)
		}
		fence(1)
		lose.Store(true)
		if _, err := l.Append(t.Context(), put("2", `{}`), fanfold.Expect{}); fanfold.CodeOf(err) != fanfold.OutcomeUnknown {
			t.Fatal(err)
		}
		lose.Store(false)
		fence(3) // an event
		fence(3)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFencesBesideWrites: a fence is never before a write that was acknowledged, nor after the log's end.
func TestFencesBesideWrites(t *testing.T) {
	suite.Concurrent(t)
	err := openIn(t, t.TempDir(), events.Options{}, func(l *events.Log) {
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				seq, err := l.Append(t.Context(), put(string(rune('a'+i)), `{}`), fanfold.Expect{})
				if err != nil {
					t.Error(err)
					return
				}
				if fence, err := l.Fence(t.Context()); err != nil || fence < seq {
					t.Errorf("fence %d after write %d: %v", fence, seq, err)
				}
			})
		}
		wg.Wait()
		last, err := l.LastSeq(t.Context())
		if fence, err2 := l.Fence(t.Context()); err != nil || err2 != nil || fence != last {
			t.Errorf("fence %d of a log up to %d, %v", fence, last, errors.Join(err, err2))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
