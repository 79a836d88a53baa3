package events_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// seats is the collection that tests gate.
var seats = fanfold.Key{Collection: "seats"}

// gated returns a batch that writes a document of a gated collection.
func gated(id string) []fanfold.Write {
	return []fanfold.Write{{Event: &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "seats", ID: id}, Body: []byte(`{}`)}}, {Event: &fanfold.Event{Kind: fanfold.KindGate, Key: seats}}}
}

// called returns a transaction of a function that has read a collection as of a gate.
func called(gate uint64, id string) []fanfold.Write {
	return []fanfold.Write{
		{Event: &fanfold.Event{Kind: fanfold.KindCheck, Key: seats, Base: fanfold.Revision(gate)}, Expect: fanfold.Exactly(fanfold.Revision(gate))},
		{Event: &fanfold.Event{Kind: fanfold.KindCall, Call: &fanfold.Call{Function: "reserve", Model: 1, Writes: 1}, Actor: "key:k"}},
		{Event: put(id, `{}`)},
	}
}

// TestGateOfCollection: what requires the last gate of a collection is stored only while there is no later one. Gates of documents, and of
// collections whose names begin alike, are none of it.
func TestGateOfCollection(t *testing.T) {
	eachServer(t, func(t *testing.T, k kept) {
		l := k.open()
		all := func(tx string, writes []fanfold.Write) uint64 {
			t.Helper()
			first, err := l.AppendAll(t.Context(), tx, writes)
			if err != nil {
				t.Fatal(err)
			}
			return first
		}
		wantGate := func(want uint64) {
			t.Helper()
			if gate, err := l.LastAbout(t.Context(), fanfold.KindGate, seats); err != nil || gate != want {
				t.Errorf("the last gate is %d, not %d: %v", gate, want, err)
			}
		}
		stale := func(gate, now uint64) {
			t.Helper()
			_, err := l.AppendAll(t.Context(), "late", called(gate, "late"))
			var e *fanfold.Error
			if !errors.As(err, &e) || e.Code != fanfold.Stale || e.Operation == nil || *e.Operation != 0 || uint64(e.Current) != now {
				t.Errorf("a function that has read as of gate %d, where %d is the last: %v", gate, now, err)
			}
		}
		wantGate(0)
		all("first", called(0, "a"))
		for _, other := range []fanfold.Key{{Collection: "seats", ID: "s1"}, {Collection: "seats2"}, {Collection: "seat"}} {
			mustAppend(t, l, &fanfold.Event{Kind: fanfold.KindGate, Key: other}, fanfold.Expect{})
		}
		wantGate(0)
		all("second", called(0, "b"))
		gate := all("", gated("s1")) + 1
		wantGate(gate)
		stale(0, gate)
		all("third", called(gate, "c"))
		staged, err := l.Stage(t.Context(), gated("s2"))
		if err != nil {
			t.Fatal(err)
		}
		first, err := staged(t.Context(), []fanfold.Write{{Event: put("staged", `{}`)}})
		if err != nil {
			t.Fatal(err)
		}
		stale(gate, first+1)
		if staged, err = l.Stage(t.Context(), called(gate, "staged too")); err != nil {
			t.Fatal(err)
		}
		if _, err := staged(t.Context(), []fanfold.Write{{Event: put("d", `{}`)}}); fanfold.CodeOf(err) != fanfold.Stale {
			t.Errorf("what is staged on an earlier gate is stored: %v", err)
		}
		l = k.again()
		wantGate(first + 1)
		stale(gate, first+1)
		last := all("last", append(called(first+1, "e"), fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindGate, Key: seats}})) // which writes there, too
		stale(first+1, last+3)
	})
}

// TestGatesInARace: no function is stored that has read before a write to a gated collection, and no writer is refused.
func TestGatesInARace(t *testing.T) {
	eachServer(t, func(t *testing.T, k kept) {
		l := k.open()
		const writers, each = 4, 25
		var running sync.WaitGroup
		var stored, refused atomic.Int32
		end := make(chan struct{})
		for w := range writers {
			running.Go(func() {
				for i := range each {
					if _, err := l.AppendAll(t.Context(), fmt.Sprintf("w%d-%d", w, i), gated(fmt.Sprint(w, "-", i))); err != nil {
						t.Errorf("a writer: %v", err)
					}
				}
			})
		}
		var functions sync.WaitGroup
		for f := range 3 {
			functions.Go(func() {
				for i, ended := 0, false; !ended; i++ {
					select {
					case <-end:
						ended = true // with one that no writer is in the way of
					default:
					}
					gate, err := l.LastAbout(t.Context(), fanfold.KindGate, seats)
					if err != nil {
						t.Error(err)
						return
					}
					switch _, err := l.AppendAll(t.Context(), fmt.Sprintf("f%d-%d", f, i), called(gate, fmt.Sprintf("f%d-%d", f, i))); {
					case err == nil:
						stored.Add(1)
					case fanfold.CodeOf(err) == fanfold.Stale:
						refused.Add(1)
					default:
						t.Errorf("a function: %v", err)
						return
					}
				}
			})
		}
		running.Wait()
		close(end)
		functions.Wait()
		last, err := l.LastSeq(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		evs, err := eventsAs(t, l, 0, last)
		if err != nil {
			t.Fatal(err)
		}
		gate, checks := uint64(0), 0
		for _, ev := range evs {
			switch {
			case ev.Kind == fanfold.KindGate:
				gate = ev.Seq
			case ev.Kind == fanfold.KindCheck && ev.Key == seats:
				if checks++; uint64(ev.Base) != gate {
					t.Errorf("event %d requires gate %d, and the last one before it is %d", ev.Seq, ev.Base, gate)
				}
			}
		}
		if checks != int(stored.Load()) || checks == 0 {
			t.Errorf("%d functions are stored, %d were told so", checks, stored.Load())
		}
		t.Logf("%d functions were stored, %d refused", stored.Load(), refused.Load())
	})
}

// TestEventAt: an event is told by its sequence as readers see it, with all that a call says, as long as the log has it. A result that is
// too long is not stored.
func TestEventAt(t *testing.T) {
	eachServer(t, func(t *testing.T, k kept) {
		l := k.open()
		call := &fanfold.Call{Function: "reserve", Model: 7, Writes: 1, Result: []byte(`{"seat":"SECRET"}`)}
		key := fanfold.IdempotencyKey{Hash: "h", Digest: "d"}
		writes := []fanfold.Write{{Event: &fanfold.Event{Kind: fanfold.KindCall, Call: call, Actor: "key:k", IdempotencyKey: key}}, {Event: put("p", `{"id":"p","a":"SECRET"}`)}}
		first, err := l.AppendAll(t.Context(), "t", writes)
		if err != nil {
			t.Fatal(err)
		}
		ev, err := l.EventAt(t.Context(), first)
		if err != nil || ev.Kind != fanfold.KindCall || ev.Seq != first || ev.Actor != "key:k" || ev.IdempotencyKey != key || ev.Tx != (fanfold.TxPart{ID: "t", Count: 2}) ||
			ev.Call.Function != call.Function || ev.Call.Model != 7 || ev.Call.Writes != 1 || !bytes.Equal(ev.Call.Result, call.Result) {
			t.Fatalf("event %d is %+v, %v", first, ev, err)
		}
		if ev, err := l.EventAt(t.Context(), first+1); err != nil || ev.Key != targetOf("p") {
			t.Errorf("event %d is %+v, %v", first+1, ev, err)
		}
		if _, err := l.EventAt(t.Context(), first+9); fanfold.CodeOf(err) != fanfold.NotFound {
			t.Errorf("an event that is to come: %v", err)
		}
		call.Result = []byte(`"` + strings.Repeat("x", fanfold.MaxCallResult-1) + `"`)
		if _, err := l.AppendAll(t.Context(), "long", writes); fanfold.CodeOf(err) != fanfold.TooLarge {
			t.Errorf("a result of %d bytes: %v", len(call.Result), err)
		}
		l = k.again()
		eraseFrom(t, l, events.Collecting{Documents: []fanfold.ErasedDocument{{Key: targetOf("p")}}})
		if ev, err := l.EventAt(t.Context(), first); err != nil || ev.Call.Result != nil || ev.Call.Function != "reserve" || ev.IdempotencyKey != (fanfold.IdempotencyKey{Hash: "h"}) {
			t.Errorf("erased, event %d is %+v, %v", first, ev, err)
		}
		for range 10 {
			mustAppend(t, l, put("large", `{"a":"`+strings.Repeat("x", 1<<20)+`"}`), fanfold.Expect{})
		}
		horizon := mustAppend(t, l, put("last", `{}`), fanfold.Expect{})
		compactTo(t, l, horizon)
		if err := l.Prefix().Purge(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := l.EventAt(t.Context(), first); fanfold.CodeOf(err) != fanfold.PositionGone {
			t.Errorf("an event that was purged: %v", err)
		}
	})
}

// TestResultsGoWithDocuments: the result of a call goes with a document that the function has written or required, or whose collection it has read,
// and no other result does.
func TestResultsGoWithDocuments(t *testing.T) {
	const result = `{"a":"SECRET"}`
	check := func(key fanfold.Key, base uint64) fanfold.Write {
		return fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindCheck, Key: key, Base: fanfold.Revision(base)}}
	}
	call := fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindCall, Call: &fanfold.Call{Function: "f", Model: 1, Writes: 1, Result: []byte(result)}, IdempotencyKey: fanfold.IdempotencyKey{Hash: "h", Digest: "d"}}}
	person, other := fanfold.Write{Event: put("p", `{"id":"p","a":"SECRET"}`)}, fanfold.Write{Event: put("other", `{}`)}
	remove := fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindDelete, Key: targetOf("p")}}
	eachServer(t, func(t *testing.T, k kept) {
		l := k.open()
		mustAppend(t, l, person.Event, fanfold.Exactly(0))
		goes, keyed := map[uint64]bool{}, 0
		for i, c := range []struct {
			writes []fanfold.Write
			goes   bool
		}{
			{[]fanfold.Write{call, person}, true},
			{[]fanfold.Write{call, other}, false},
			{[]fanfold.Write{check(targetOf("p"), 1), call, other}, true},
			{[]fanfold.Write{call, check(targetOf("p"), 1), other}, true},
			{[]fanfold.Write{check(fanfold.Key{Collection: "c"}, 1), check(targetOf("q"), 1), call, other}, true},
			{[]fanfold.Write{check(fanfold.Key{Collection: "d"}, 1), check(targetOf("q"), 1), call, other}, false},
			{[]fanfold.Write{call, remove}, true},
			{[]fanfold.Write{check(targetOf("p"), 0), check(fanfold.Key{Collection: "c"}, 1), call, other}, false}, // it is gone
		} {
			for j, w := range c.writes {
				if ev := *w.Event; ev.Kind == fanfold.KindCall {
					keyed++
					ev.IdempotencyKey.Hash = fmt.Sprint("h", keyed)
					c.writes[j].Event = &ev
				}
			}
			first, err := l.AppendAll(t.Context(), fmt.Sprint("t", i), c.writes)
			if err != nil {
				t.Fatal(err)
			}
			for j, w := range c.writes {
				if w.Event.Kind == fanfold.KindCall {
					goes[first+uint64(j)] = c.goes
				}
			}
		}
		c := events.Collecting{Documents: []fanfold.ErasedDocument{{Key: targetOf("p")}}}
		e := eraseFrom(t, l, c)
		evs, err := eventsAs(t, l, e, e)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range evs {
			switch {
			case ev.Kind != fanfold.KindCall:
			case (ev.Call.Result == nil) != goes[ev.Seq] || ev.Call.Function != "f" || ev.Call.Writes != 1 || (ev.IdempotencyKey.Digest == "") != goes[ev.Seq]:
				t.Errorf("event %d is %+v, %+v; it goes: %t", ev.Seq, ev, ev.Call, goes[ev.Seq])
			}
		}
		if again, err := l.Prefix().Collect(t.Context(), c); err != nil || len(again.Erasures) > 0 {
			t.Errorf("is to be erased again: %+v, %v", again, err)
		}
		enforce(t, l, e)
		if err := l.Prefix().EraseMessages(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		l = k.again()
		if after, err := eventsAs(t, l, e, e); err != nil || !slices.Equal(lines(after), lines(evs)) {
			t.Errorf("with its messages deleted the log is another: %v", err)
		}
	})
}
