package events_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestGroupCommit: many writes at a time are stored in batches. Each gets its own sequence, also several to one document, and each whose
// condition is not met gets a verdict of its own.
func TestGroupCommit(t *testing.T) {
	suite.Concurrent(t)
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d replicas", nodes), func(t *testing.T) {
			l := open(t, natsserver.Start(t, nodes)[0], nodes)
			const writers, rounds = 100, 5
			taken, err := l.Append(t.Context(), put("taken", `{}`), fanfold.Expect{})
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			seqs := map[uint64]string{taken: "taken"}
			var wg sync.WaitGroup
			for i := range writers {
				wg.Go(func() {
					for n := range rounds {
						id, expect := fmt.Sprintf("%d-%d", i, n), fanfold.Exactly(0)
						switch i % 10 {
						case 0:
							id = "taken"
						case 1:
							id, expect = "shared", fanfold.Expect{}
						}
						seq, err := l.Append(context.Background(), put(id, `{}`), expect)
						if id == "taken" {
							var e *fanfold.Error
							if !errors.As(err, &e) || e.Code != fanfold.Stale || uint64(e.Current) != taken {
								t.Errorf("a write to what is there gives %v", err)
							}
							continue
						}
						if err != nil {
							t.Error(err)
							continue
						}
						mu.Lock()
						if was, twice := seqs[seq]; twice {
							t.Errorf("%s and %s were both told sequence %d", was, id, seq)
						}
						seqs[seq] = id
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			requireLog(t, l, seqs)
			if s := l.Stats(); s.Batches == 0 || s.Refused == 0 {
				t.Errorf("nothing was refused in a batch: %+v", s)
			}
		})
	}
}

// requireLog wants exactly these documents at these sequences, and fences at any.
func requireLog(t *testing.T, l *events.Log, seqs map[uint64]string) {
	t.Helper()
	last, err := l.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stored := 0
	for range last {
		ev, _, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == fanfold.KindFence {
			continue
		}
		if stored++; seqs[ev.Seq] != ev.Key.ID {
			t.Fatalf("event %d is of %q; told was %q", ev.Seq, ev.Key.ID, seqs[ev.Seq])
		}
	}
	if stored != len(seqs) {
		t.Fatalf("%d events for %d writes", stored, len(seqs))
	}
}

// TestLostAckOfBatch loses the acknowledgements of group commits and transactions: each write is
// stored once, and told at its own sequence.
func TestLostAckOfBatch(t *testing.T) {
	suite.Concurrent(t)
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d replicas", nodes), func(t *testing.T) {
			url := natsserver.Start(t, nodes)[0]
			_ = open(t, url, nodes)
			proxy := natsserver.StartProxy(t, url)
			l := open(t, proxy.URL, nodes)
			var mu sync.Mutex
			seqs := map[uint64]string{}
			record := func(first uint64, ids ...string) {
				mu.Lock()
				defer mu.Unlock()
				for i, id := range ids {
					seqs[first+uint64(i)] = id
				}
			}
			for round := range 4 {
				proxy.DropAcks(2)
				var wg sync.WaitGroup
				for i := range 60 {
					id := fmt.Sprintf("%d-%d", round, i)
					wg.Go(func() {
						if i%20 != 0 {
							seq, err := l.Append(context.Background(), put(id, `{}`), fanfold.Exactly(0))
							if err != nil {
								t.Error(err)
							}
							record(seq, id)
							return
						}
						first, err := l.AppendAll(context.Background(), "tx"+id, []fanfold.Write{
							{Event: put(id+"a", `{}`), Expect: fanfold.Exactly(0)}, {Event: put(id+"b", `{}`)}, {Event: put(id+"c", `{}`), Expect: fanfold.Exactly(0)}})
						if err != nil {
							t.Error(err)
						}
						record(first, id+"a", id+"b", id+"c")
					})
				}
				wg.Wait()
			}
			requireLog(t, l, seqs)
			if proxy.Lost() == 0 {
				t.Error("no acknowledgement was lost")
			}
		})
	}
}

// TestAppendAllNamesTheWriteAtFault: one condition that is not met refuses everything.
func TestAppendAllNamesTheWriteAtFault(t *testing.T) {
	l := open(t, natsserver.Start(t, 1)[0], 1)
	first, err := l.AppendAll(t.Context(), "t1", []fanfold.Write{{Event: put("a", `{}`)}, {Event: put("b", `{}`)}})
	if err != nil || first != 1 {
		t.Fatal(first, err)
	}
	check := func(id string, rev fanfold.Revision) fanfold.Write {
		return fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindCheck, Key: fanfold.Key{Collection: "c", ID: id}, Base: rev}, Expect: fanfold.Exactly(rev)}
	}
	for at, writes := range map[int][]fanfold.Write{
		1: {{Event: put("x", `{}`)}, {Event: put("a", `{}`), Expect: fanfold.Exactly(7)}},
		2: {{Event: put("x", `{}`)}, check("a", 1), check("b", 1)},
		0: {check("none", 3), {Event: put("x", `{}`)}},
	} {
		_, err := l.AppendAll(t.Context(), "t2", writes)
		var e *fanfold.Error
		if !errors.As(err, &e) || e.Code != fanfold.Stale || e.Operation == nil || *e.Operation != at {
			t.Errorf("write %d is at fault; told was %v", at, err)
		}
	}
	if first, err = l.AppendAll(t.Context(), "t3", []fanfold.Write{check("a", 1), check("b", 2), check("none", 0), {Event: put("x", `{}`), Expect: fanfold.Exactly(0)}}); err != nil || first != 3 {
		t.Errorf("%d %v", first, err)
	}
	if _, err := l.AppendAll(t.Context(), "t4", make([]fanfold.Write, events.MaxBatch+1)); fanfold.CodeOf(err) != fanfold.Unprocessable {
		t.Error(err)
	}
}

// TestUnknownOutcomeOfTransaction: a log that never answers leaves the outcome unknown, and one
// that was never reached, nothing written.
func TestUnknownOutcomeOfTransaction(t *testing.T) {
	t.Parallel()
	urls := natsserver.Start(t, 1)
	proxy := natsserver.StartProxy(t, urls[0])
	nc, err := servers.Connect(proxy.URL, nats.IgnoreDiscoveredServers())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	l, err := events.Open(t.Context(), nc, events.Options{Attempt: 500 * time.Millisecond, Timeout: 8 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	proxy.DropAcks(1 << 40)
	if _, err = l.AppendAll(t.Context(), "t", []fanfold.Write{{Event: put("a", `{}`)}, {Event: put("b", `{}`)}}); fanfold.CodeOf(err) != fanfold.OutcomeUnknown {
		t.Fatalf("told is %v", err)
	}
	direct := open(t, urls[0], 1)
	if last, err := direct.LastSeq(t.Context()); err != nil || last != 2 {
		t.Errorf("%d events are stored, %v", last, err)
	}
}

// TestLargeBatches: an ordinary server stores no more messages at once than a transaction has.
func TestLargeBatches(t *testing.T) {
	many := func(n int) (writes []fanfold.Write) {
		for i := range n {
			writes = append(writes, fanfold.Write{Event: put(fmt.Sprint(i), `{}`), Expect: fanfold.Exactly(0)})
		}
		return writes
	}
	l := open(t, natsserver.Start(t, 1)[0], 1)
	if n := l.MaxBatch(); n != events.MaxBatch {
		t.Errorf("another server takes %d messages at once", n)
	}
	if _, err := l.AppendAll(t.Context(), "", many(events.MaxBatch+1)); fanfold.CodeOf(err) != fanfold.Unprocessable {
		t.Errorf("%d messages at once: %v", events.MaxBatch+1, err)
	}
	if _, err := l.AppendAll(t.Context(), "", many(events.MaxBatch)); err != nil {
		t.Errorf("%d messages at once: %v", events.MaxBatch, err)
	}
}
