package membership

import (
	"context"
	"errors"
	"testing"
	"time"
)

// fakeLog is what a Lag asks, and its clock.
type fakeLog struct {
	last, applied uint64
	err           error
	now           time.Duration
}

func (f *fakeLog) lag() *Lag {
	return NewLag(LagOptions{Head: func(context.Context) (uint64, error) { return f.last, f.err }, Applied: func() uint64 { return f.applied },
		Now: func() time.Duration { return f.now }})
}

// TestLag: the age is the age of the oldest event which is not folded, by the clock between questions to the log.
func TestLag(t *testing.T) {
	f := &fakeLog{last: 10, now: time.Hour}
	l := f.lag()
	ask := func() {
		t.Helper()
		if _, err := l.QueryHead(t.Context()); err != nil && f.err == nil {
			t.Fatal(err)
		}
	}
	want := func(events uint64, age time.Duration, proved bool) {
		t.Helper()
		if b := l.Now(); b != (LagReading{events, age, proved}) {
			t.Fatalf("%+v, want %d events, %v, %v", b, events, age, proved)
		}
	}
	ask()
	f.now += 2 * time.Second
	want(10, 2*time.Second, false)
	f.applied = 10
	want(0, 2*time.Second, true)
	if b := l.Shown(5 * time.Second); b.Age != 0 {
		t.Fatalf("shown: %+v", b)
	}
	ask()
	want(0, 0, true)
	for range 5 { // the log goes on, and nothing is folded
		f.now += 2 * time.Second
		f.last++
		ask()
	}
	want(5, 10*time.Second, true)
	f.applied = 13
	want(2, 4*time.Second, true)
	f.now, f.err = f.now+time.Hour, errors.New("cut off") // nothing is known of the log for an hour
	ask()
	want(2, time.Hour+4*time.Second, true)
	if b := l.Shown(5 * time.Second); b.Age == 0 {
		t.Fatalf("shown: %+v", b)
	}
	f.err, f.last, f.applied = nil, 1_000_000, 15 // folded what it knew of; there is more, from within that hour
	want(0, time.Hour, true)
	ask()
	want(999_985, time.Hour, true)
}

// TestLagOfLong: a node that lags for long keeps a bounded number of answers.
func TestLagOfLong(t *testing.T) {
	f := &fakeLog{}
	l := f.lag()
	for range 10 * maxHeads {
		f.last++
		f.now += time.Second
		if _, err := l.QueryHead(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.heads) > maxHeads {
		t.Fatalf("%d answers are kept", len(l.heads))
	}
	f.applied = f.last - maxHeads
	if b := l.Now(); b.Age < maxHeads*time.Second || b.Age > 2*maxHeads*time.Second {
		t.Fatalf("%+v", b)
	}
}
