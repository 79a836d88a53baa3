package batch

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// eventList is a log in memory.
type eventList []*fanfold.Event

// Events returns a reader of the events from a sequence on.
func (l eventList) Events(_ context.Context, from uint64, _ fanfold.AsOf) (Reader, error) {
	reader := make(slowReader, len(l))
	for _, ev := range l[min(from-1, uint64(len(l))):] {
		reader <- ev
	}
	close(reader)
	return reader, nil
}

// Base returns none.
func (l eventList) Base(context.Context) (*Base, error) { return nil, nil }

// WaitSynced returns at once: everything is durable.
func (l eventList) WaitSynced(context.Context, uint64) error { return nil }

// numbered gives events their sequences, and times that go back at every third one.
func numbered(events ...*fanfold.Event) eventList {
	for i, ev := range events {
		ev.Seq, ev.Time = uint64(i+1), time.Unix(int64(i-i%3*2), 0)
	}
	return events
}

// TestSafeEnd: the log is cut after the last event up to one that is neither within a transaction nor between a guard and its document. The
// time is the latest one up to there.
func TestSafeEnd(t *testing.T) {
	a, b := fanfold.Key{Collection: "bs", ID: "a"}, fanfold.Key{Collection: "bs", ID: "b"}
	target := fanfold.Key{Collection: "as", ID: "1"}
	log := numbered(
		&fanfold.Event{Kind: fanfold.KindPut, Key: a},
		&fanfold.Event{Kind: fanfold.KindPut, Key: a, Tx: fanfold.TxPart{ID: "t", Index: 0, Count: 3}},
		&fanfold.Event{Kind: fanfold.KindCheck, Key: b, Tx: fanfold.TxPart{ID: "t", Index: 1, Count: 3}},
		&fanfold.Event{Kind: fanfold.KindDelete, Key: a, Tx: fanfold.TxPart{ID: "t", Index: 2, Count: 3}},
		&fanfold.Event{Kind: fanfold.KindClaim, Key: a, Held: true},
		&fanfold.Event{Kind: fanfold.KindLink, Key: target, Holders: []fanfold.Key{b}, Held: true},
		&fanfold.Event{Kind: fanfold.KindPut, Key: a},
		&fanfold.Event{Kind: fanfold.KindFence},
		&fanfold.Event{Kind: fanfold.KindPut, Key: b},
		&fanfold.Event{Kind: fanfold.KindFence})
	for seq, want := range []uint64{1: 1, 2: 1, 3: 1, 4: 4, 5: 4, 6: 4, 7: 4, 8: 4, 9: 9, 10: 10} {
		if seq == 0 {
			continue
		}
		safe, latest, err := SafeEnd(t.Context(), log, 0, uint64(seq))
		if err != nil || safe != want {
			t.Errorf("up to event %d: %d, %v, want %d", seq, safe, err, want)
			continue
		}
		var end End
		now := time.Time{}
		for _, ev := range log[:safe] {
			if end.Add(ev); ev.Time.After(now) {
				now = ev.Time
			}
		}
		if end.Open() || !latest.Equal(now) {
			t.Errorf("up to event %d: a guard is open: %v; the time is %v, want %v", seq, end.Open(), latest, now)
		}
	}
	for _, seq := range []uint64{5, 8} {
		if safe, _, err := SafeEnd(t.Context(), log, 4, seq); fanfold.CodeOf(err) != fanfold.Conflict {
			t.Errorf("from event 5 to %d, which belong together: %d, %v", seq, safe, err)
		}
	}
}

// TestSafeEndOfLongLogs: of a long log only its end is read, also where that begins within a transaction, and it gives what the whole log gives.
func TestSafeEndOfLongLogs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var events []*fanfold.Event
	for n := 0; len(events) < 5*maxGuardedRound; n++ {
		key := fanfold.Key{Collection: "c", ID: string(rune('a' + n%26))}
		switch r.IntN(3) {
		case 0:
			size := 1 + r.IntN(50)
			for i := range size {
				events = append(events, &fanfold.Event{Kind: fanfold.KindPut, Key: key, Tx: fanfold.TxPart{ID: "t", Index: i, Count: size}})
			}
		case 1:
			events = append(events, &fanfold.Event{Kind: fanfold.KindClaim, Key: key, Held: true}, &fanfold.Event{Kind: fanfold.KindPut, Key: key})
		default:
			events = append(events, &fanfold.Event{Kind: fanfold.KindPut, Key: key})
		}
	}
	log := numbered(events...)
	var end End
	want := uint64(0)
	for _, ev := range log {
		if end.Add(ev); end.Reached() {
			want = ev.Seq
		}
		if ev.Seq < 2*maxGuardedRound || ev.Seq%97 > 0 {
			continue
		}
		if safe, _, err := SafeEnd(t.Context(), log, 0, ev.Seq); err != nil || safe != want {
			t.Fatalf("up to event %d: %d, %v, want %d", ev.Seq, safe, err, want)
		}
	}
}

// Erasures implements Log.
func (l eventList) Erasures() (last, inForce fanfold.AsOf) { return 0, 0 }

// ErasuresAfter implements Log.
func (l eventList) ErasuresAfter(fanfold.AsOf, fanfold.AsOf) []*fanfold.Erasure { return nil }
