package embedded_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/tests/suite"
)

// manyPuts returns writes of so many new documents.
func manyPuts(prefix string, n int) (writes []fanfold.Write) {
	for i := range n {
		writes = append(writes, fanfold.Write{Event: put(fmt.Sprint(prefix, "-", i), `{"n":1}`), Expect: fanfold.Exactly(0)})
	}
	return writes
}

// guardedPuts returns writes of documents, after the guards of all of them.
func guardedPuts(prefix string, n int) []fanfold.Write {
	docs := manyPuts(prefix, n)
	var guards []fanfold.Write
	for _, w := range docs {
		guards = append(guards, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindLink, Key: fanfold.Key{Collection: "c", ID: "target"}, Holders: []fanfold.Key{w.Event.Key}, Held: true}},
			fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindClaim, Key: w.Event.Key, Path: "code", Value: "s" + w.Event.Key.ID, Held: true}, Expect: fanfold.Exactly(0)})
	}
	return slices.Concat(guards, docs)
}

// records returns where the records of a block end.
func records(b []byte) (ends []int) {
	for at := 0; at < len(b); {
		at += int(binary.LittleEndian.Uint32(b[at:]) &^ (1 << 31))
		ends = append(ends, at)
	}
	return ends
}

// TestCutTailBetweenAnyTwoMessages: a kill leaves the end of the log between any two messages, or within one. Transactions of 2 to 1,000
// messages, guards with their documents and batches of imports are there whole or not at all.
func TestCutTailBetweenAnyTwoMessages(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "jetstream", "$G", "streams", "fanfold", "msgs", "1.blk")
	ends := map[uint64]bool{0: true} // with which the log may end
	err := openIn(t, dir, events.Options{}, func(l *events.Log) {
		n := 0
		single := func() {
			n++
			seq, err := l.Append(t.Context(), put(fmt.Sprint("single", n), `{}`), fanfold.Exactly(0))
			if err != nil {
				t.Fatal(err)
			}
			ends[seq] = true
		}
		together := func(tx string, writes []fanfold.Write) {
			first, err := l.AppendAll(t.Context(), tx, writes)
			if err != nil {
				t.Fatal(err)
			}
			ends[first+uint64(len(writes))-1] = true
		}
		single()
		for i, size := range []int{2, 3, 17, 1000} {
			together(fmt.Sprint("tx", i), manyPuts(fmt.Sprint("tx", i), size))
			together("", guardedPuts(fmt.Sprint("guarded", i), min(size, 20)))
			single()
			together("", manyPuts(fmt.Sprint("import", i), size))
		}
		together("one", manyPuts("one", 1))
	})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ats := records(whole)
	for last, at := range ats {
		if last > 300 && last%37 != 0 && len(ats)-last > 60 { // the rest goes like it
			continue
		}
		for _, torn := range []int{0, 9} {
			if last+1 == len(ats) && torn > 0 {
				continue
			}
			if err := os.WriteFile(path, whole[:at+torn], 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(filepath.Dir(path), "index.db")); err != nil {
				t.Fatal(err)
			}
			if _, err := embedded.CutTail(t.Context(), dir, 0); err != nil {
				t.Fatal(err)
			}
			want := uint64(last + 1)
			for !ends[want] {
				want--
			}
			left, _ := os.ReadFile(path)
			if got := len(records(left)); uint64(got) != want {
				t.Fatalf("of %d messages and %d bytes %d are left, not %d", last+1, torn, got, want)
			}
		}
	}
}

// TestCutTailFindsHoles: a transaction, or what else belongs together, is cut where a message is missing in its middle, with everything
// that follows.
func TestCutTailFindsHoles(t *testing.T) {
	for name, headers := range map[string][]map[string]string{
		"a transaction":             {{"Fanfold-Tx": "a", "Fanfold-Tx-Index": "0", "Fanfold-Tx-Count": "3"}, {"Fanfold-Tx": "a", "Fanfold-Tx-Index": "2", "Fanfold-Tx-Count": "3"}},
		"a transaction and another": {{"Fanfold-Tx": "a", "Fanfold-Tx-Index": "0", "Fanfold-Tx-Count": "2"}, {"Fanfold-Tx": "b", "Fanfold-Tx-Index": "0", "Fanfold-Tx-Count": "1"}},
		"a single one":              {{"Fanfold-Tx": "a", "Fanfold-Tx-Index": "0", "Fanfold-Tx-Count": "2"}, {jetstream.MsgIDHeader: "x"}},
		"a batch":                   {{"Fanfold-Batch-Count": "3", jetstream.MsgIDHeader: "x"}, {}, {jetstream.MsgIDHeader: "y"}},
		"a batch and another":       {{"Fanfold-Batch-Count": "2", jetstream.MsgIDHeader: "x"}, {"Fanfold-Batch-Count": "2", jetstream.MsgIDHeader: "y"}, {}},
	} {
		dir := twelveEvents(t, 10)
		server, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, Durability: embedded.Always, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		nc, err := server.Connect()
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range headers {
			msg := nats.NewMsg(fmt.Sprint("fanfold.fanfold.doc.c.hole", i))
			msg.Data = events.Encode(put(fmt.Sprint("hole", i), `{}`))
			for name, value := range h {
				msg.Header.Set(name, value)
			}
			if _, err := nc.RequestMsgWithContext(t.Context(), msg); err != nil {
				t.Fatal(err)
			}
		}
		nc.Close()
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
		if tails, err := embedded.CutTail(t.Context(), dir, 12); err != nil || len(tails) != 1 || tails[0].Last != 12 {
			t.Errorf("%s: cut %+v, %v", name, tails, err)
		}
	}
}

// stored is a write that the log has acknowledged.
type stored struct {
	at, first uint64 // its sequence, and the one of the first message that was stored with it
	expect    fanfold.Expect
	key       fanfold.Key
}

// TestConditionsOfBatches: many writers write transactions of 2 to 100 messages and single events of few documents, some of them on a
// condition. Every condition held right before its batch, and a batch's messages follow each other.
func TestConditionsOfBatches(t *testing.T) {
	suite.Concurrent(t)
	const writers, rounds, documents = 12, 60, 30
	var mu sync.Mutex
	var all []stored
	var refused, revisions atomic.Int64
	err := openIn(t, t.TempDir(), events.Options{}, func(l *events.Log) {
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(7, uint64(w)))
				for range rounds {
					writes := someWrites(t, l, r, documents)
					var first uint64
					var err error
					if len(writes) == 1 {
						first, err = l.Append(t.Context(), writes[0].Event, writes[0].Expect)
					} else {
						first, err = l.AppendAll(t.Context(), []string{"", fmt.Sprint("tx", w, r.Uint64())}[r.IntN(2)], writes)
					}
					if fanfold.CodeOf(err) == fanfold.Stale {
						refused.Add(1)
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for i, write := range writes {
						if write.Expect.Set && write.Expect.Rev > 0 {
							revisions.Add(1)
						}
						all = append(all, stored{first + uint64(i), first, write.Expect, write.Event.Key})
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		checkConditions(t, l, all)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d messages, %d conditions on a revision, %d writes refused", len(all), revisions.Load(), refused.Load())
	if refused.Load() == 0 || revisions.Load() == 0 {
		t.Error("nothing was refused, or nothing had a condition")
	}
}

// someWrites returns a single write or several of different documents. A few have a condition: mostly one that holds now.
func someWrites(t *testing.T, l *events.Log, r *rand.Rand, documents int) (writes []fanfold.Write) {
	size := []int{1, 1, 2, 2, 3, 5, 100}[r.IntN(7)]
	for i := range size {
		id := strconv.Itoa(r.IntN(documents))
		if i >= 5 {
			id = fmt.Sprint("other", i)
		}
		if slices.ContainsFunc(writes, func(w fanfold.Write) bool { return w.Event.Key.ID == id }) {
			continue
		}
		w := fanfold.Write{Event: put(id, `{}`)}
		if r.IntN(2) == 0 && i < 5 {
			rev, _, err := l.Last(t.Context(), w.Event.Key)
			if err != nil {
				t.Error(err)
			}
			w.Expect = fanfold.Exactly(rev)
		}
		writes = append(writes, w)
	}
	return writes
}

// checkConditions holds what was acknowledged against what the log has.
func checkConditions(t *testing.T, l *events.Log, all []stored) {
	t.Helper()
	bySeq := map[uint64]stored{}
	for _, s := range all {
		if _, twice := bySeq[s.at]; twice {
			t.Fatalf("two writes are event %d", s.at)
		}
		bySeq[s.at] = s
	}
	r, err := l.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	last := map[fanfold.Key][]uint64{} // of each document, its revisions
	for seq := uint64(1); seq <= uint64(len(all)); seq++ {
		ev, _, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s, acknowledged := bySeq[seq]
		if ev.Seq != seq || !acknowledged || s.key != ev.Key {
			t.Fatalf("event %d is about %s, and acknowledged was %+v", ev.Seq, ev.Key, s)
		}
		before := uint64(0)
		for _, rev := range last[ev.Key] {
			if rev < s.first {
				before = rev
			}
		}
		if s.expect.Set && uint64(s.expect.Rev) != before {
			t.Errorf("event %d, stored with %d, required revision %d of %s, which was at %d", seq, s.first, s.expect.Rev, ev.Key, before)
		}
		if at := seq - s.first; ev.Tx.ID != "" && uint64(ev.Tx.Index) != at {
			t.Errorf("event %d is %d of its transaction, which begins at %d", seq, ev.Tx.Index, s.first)
		}
		last[ev.Key] = append(last[ev.Key], seq)
	}
}

// TestKeysOfBatches: of transactions under one key, and single events under it, one is stored.
func TestKeysOfBatches(t *testing.T) {
	suite.Concurrent(t)
	err := openIn(t, t.TempDir(), events.Options{}, func(l *events.Log) {
		for round := range 20 {
			var wg sync.WaitGroup
			var storedOnce atomic.Int64
			for w := range 8 {
				wg.Go(func() {
					writes := manyPuts(fmt.Sprint("round", round, "writer", w), 1+w%3*2)
					writes[len(writes)-1].Event.IdempotencyKey = fanfold.IdempotencyKey{Hash: fmt.Sprint("hash", round), Digest: fmt.Sprint("digest", w)}
					var err error
					if len(writes) == 1 {
						_, err = l.Append(t.Context(), writes[0].Event, writes[0].Expect)
					} else {
						_, err = l.AppendAll(t.Context(), fmt.Sprint("tx", w), writes)
					}
					switch fanfold.CodeOf(err) {
					case "":
						storedOnce.Add(1)
					case fanfold.Duplicate, fanfold.KeyReused:
					default:
						t.Errorf("under a key that another has: %v", err)
					}
				})
			}
			wg.Wait()
			if storedOnce.Load() != 1 {
				t.Fatalf("%d requests are stored under one key", storedOnce.Load())
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRefusalMidway: the server refuses a message in the middle of a transaction. No part of it stays, and nobody is shown any of it.
// Single events beside it are stored all the same, and the log goes on.
func TestRefusalMidway(t *testing.T) {
	suite.Concurrent(t)
	dir := t.TempDir()
	err := connectIn(t, dir, events.Options{}, func(l *events.Log, nc *nats.Conn) {
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		if _, err := l.Append(ctx, put("first", `{}`), fanfold.Exactly(0)); err != nil {
			t.Fatal(err)
		}
		limitMessages(t, nc, 2000)
		wg.Go(func() {
			if err := l.Recovery().Run(ctx, func() (uint64, error) { return 1, nil }); err != nil {
				t.Error(err)
			}
		})
		shown := make(chan error, 1)
		wg.Go(func() { shown <- followWhole(ctx, l) })
		var singles sync.WaitGroup
		for w := range 4 {
			singles.Go(func() {
				for i := range 20 {
					key := fanfold.Key{Collection: "c", ID: fmt.Sprint("single", w, "-", i)}
					seq, err := l.Append(ctx, put(key.ID, `{}`), fanfold.Exactly(0))
					for fanfold.CodeOf(err) == fanfold.Unavailable && ctx.Err() == nil { // while the server is being started again
						seq, err = l.Append(ctx, put(key.ID, `{}`), fanfold.Exactly(0))
					}
					if err != nil {
						t.Errorf("a single event beside it: %v", err)
						return
					}
					if rev, _, err := l.Last(ctx, key); err != nil && fanfold.CodeOf(err) != fanfold.Unavailable || err == nil && uint64(rev) != seq {
						t.Errorf("a single event was acknowledged as %d, and is %d: %v", seq, rev, err)
					}
				}
			})
		}
		writes := manyPuts("tx", 5)
		writes[2].Event.Body = fmt.Appendf(nil, `{"text":"%03000d"}`, 1)
		if _, err := l.AppendAll(ctx, "tx", writes); fanfold.CodeOf(err) != fanfold.Unavailable {
			t.Errorf("a transaction of which the server refuses a part: %v", err)
		}
		singles.Wait()
		if rev, _, err := l.Last(ctx, writes[0].Event.Key); err != nil || rev != 0 {
			t.Errorf("of the transaction there is event %d, %v", rev, err)
		}
		if _, err := l.AppendAll(ctx, "again", manyPuts("again", 5)); err != nil {
			t.Errorf("the next transaction: %v", err)
		}
		if l.Recovery().Restarts() == 0 {
			t.Error("the server was not started again")
		}
		stop()
		if err := <-shown; err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// limitMessages makes the log's stream refuse messages of more than a size.
func limitMessages(t *testing.T, nc *nats.Conn, size int32) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "fanfold")
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.MaxMsgSize = size
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

// followWhole reads the log until ctx ends, as a projector does: it goes by what WaitSynced lets through. The error tells of a
// part of a transaction that was shown.
func followWhole(ctx context.Context, l *events.Log) error {
	shownTo := uint64(0)
	for ctx.Err() == nil {
		r, err := l.Read(ctx, shownTo+1)
		if err != nil {
			continue
		}
		for {
			ev, _, err := r.Next(ctx)
			if err != nil || r.WaitSynced(ctx, ev.Seq) != nil {
				break
			}
			if ev.Tx.ID == "tx" {
				r.Close()
				return errors.New("a part of the transaction is shown")
			}
			shownTo = ev.Seq
		}
		r.Close()
	}
	return nil
}
