package events_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

func open(t *testing.T, url string, replicas int) *events.Log {
	t.Helper()
	nc, err := servers.Connect(url, nats.IgnoreDiscoveredServers()) // a cluster would lead around the proxy
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	opt := events.Options{Replicas: replicas, Attempt: 500 * time.Millisecond, Timeout: time.Minute} // an election may take more than the default
	l, err := events.Open(t.Context(), nc, opt)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// confirmHorizon has the log ask where it begins, as the first conditional write does, and returns its last sequence then: with several replicas
// a fence comes of it.
func confirmHorizon(t *testing.T, l *events.Log) uint64 {
	t.Helper()
	_, err := l.Horizon(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last, err := l.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return last
}

func put(id, body string) *fanfold.Event {
	return &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "c", ID: id}, Body: []byte(body)}
}

func TestAppendAndRead(t *testing.T) {
	l := open(t, natsserver.Start(t, 1)[0], 1)
	ids := []string{"1", "a.b", "*", ">", "a b", "ü€😀", "x/y", "%41"}
	for i, id := range ids {
		seq, err := l.Append(t.Context(), put(id, fmt.Sprintf(`{ "id": %q }`, id)), fanfold.Exactly(0))
		if err != nil || seq != uint64(i+1) {
			t.Fatalf("append %q: %d, %v", id, seq, err)
		}
	}
	r, err := l.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, id := range ids {
		ev, pending, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if ev.Key.ID != id || string(ev.Body) != fmt.Sprintf(`{ "id": %q }`, id) || ev.Seq != uint64(i+1) || pending != uint64(len(ids)-1-i) {
			t.Errorf("event %d: %+v %s, pending %d", i, ev.Key, ev.Body, pending)
		}
	}
}

func TestStaleNamesTheRevision(t *testing.T) {
	l := open(t, natsserver.Start(t, 1)[0], 1)
	first, err := l.Append(t.Context(), put("1", `{}`), fanfold.Exactly(0))
	if err != nil {
		t.Fatal(err)
	}
	for _, expect := range []fanfold.Revision{0, 99} {
		_, err = l.Append(t.Context(), put("1", `{}`), fanfold.Exactly(expect))
		var e *fanfold.Error
		if !errors.As(err, &e) || e.Code != fanfold.Stale || e.Current != fanfold.Revision(first) {
			t.Errorf("expecting %d: %v", expect, err)
		}
	}
	if rev, deleted, err := l.Last(t.Context(), fanfold.Key{Collection: "c", ID: "1"}); rev != fanfold.Revision(first) || deleted || err != nil {
		t.Errorf("last is %d, %v, %v", rev, deleted, err)
	}
}

// TestLostAck loses the acknowledgement of every write. Each must be reported as stored, once, at its own sequence. On one replica the
// resend's condition fails, and on three the server calls it a duplicate.
func TestLostAck(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d replicas", nodes), func(t *testing.T) {
			url := natsserver.Start(t, nodes)[0]
			direct := open(t, url, nodes)
			proxy := natsserver.StartProxy(t, url)
			l := open(t, proxy.URL, nodes)
			before := confirmHorizon(t, l)
			for i, expect := range []fanfold.Expect{{}, fanfold.Exactly(0), {}, fanfold.Exactly(0)} {
				id := fmt.Sprint(i)
				want := before + uint64(i+1)
				if nodes > 1 { // each Last below has published a fence
					want += uint64(i)
				}
				proxy.DropAcks(1)
				seq, err := l.Append(t.Context(), put(id, `{}`), expect)
				if err != nil {
					t.Fatalf("write %d: %v", i, err)
				}
				if rev, _, err := direct.Last(t.Context(), fanfold.Key{Collection: "c", ID: id}); err != nil || uint64(rev) != seq || seq != want {
					t.Fatalf("write %d was told as %d and is %d, %v", i, seq, rev, err)
				}
			}
			if proxy.Lost() != 4 {
				t.Fatalf("%d acknowledgements were lost, want 4", proxy.Lost())
			}
		})
	}
}

// TestLostAckThenOvertaken: the write is stored, its ack lost, and another write follows before
// the resend. It is still ours.
func TestLostAckThenOvertaken(t *testing.T) {
	suite.Concurrent(t)
	url := natsserver.Start(t, 1)[0]
	direct := open(t, url, 1)
	js, err := jetstream.New(natsserver.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	// The other writer reacts to the stored event itself, which comes before any resend.
	overtaken := make(chan error, 1)
	sub, err := js.CreateConsumer(t.Context(), "fanfold", jetstream.ConsumerConfig{FilterSubject: "fanfold.fanfold.doc.c.1"})
	if err != nil {
		t.Fatal(err)
	}
	proxy := natsserver.StartProxy(t, url)
	l := open(t, proxy.URL, 1)
	proxy.DropAcks(1)
	go func() {
		msg, err := sub.Next(jetstream.FetchMaxWait(20 * time.Second))
		if err == nil && msg != nil {
			_, err = direct.Append(context.Background(), put("1", `{"other":1}`), fanfold.Exactly(1))
		}
		overtaken <- err
	}()
	seq, err := l.Append(t.Context(), put("1", `{}`), fanfold.Exactly(0))
	if err != nil || seq != 1 {
		t.Fatalf("told as %d, %v; want 1", seq, err)
	}
	if err := <-overtaken; err != nil {
		t.Fatal(err)
	}
}

// TestRacesHaveOneWinner provokes both conflict codes: 10071 on one replica, mostly 10164 on
// three. Each revision has exactly one writer; everybody else is told Stale.
func TestRacesHaveOneWinner(t *testing.T) {
	suite.Concurrent(t)
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d replicas", nodes), func(t *testing.T) {
			urls := natsserver.Start(t, nodes)
			logs := make([]*events.Log, 16)
			for i := range logs {
				logs[i] = open(t, urls[i%len(urls)], nodes)
			}
			rev := fanfold.Revision(0)
			for round := range 10 {
				rev = race(t, logs, round, rev)
			}
		})
	}
}

func race(t *testing.T, logs []*events.Log, round int, rev fanfold.Revision) fanfold.Revision {
	t.Helper()
	var wg sync.WaitGroup
	seqs, errs := make([]uint64, len(logs)), make([]error, len(logs))
	for i, l := range logs {
		wg.Go(func() { seqs[i], errs[i] = l.Append(t.Context(), put("1", `{}`), fanfold.Exactly(rev)) })
	}
	wg.Wait()
	won := fanfold.Revision(0)
	for i, err := range errs {
		switch {
		case err == nil && won == 0:
			won = fanfold.Revision(seqs[i])
		case err == nil:
			t.Fatalf("round %d: revisions %d and %d both followed %d", round, won, seqs[i], rev)
		case fanfold.CodeOf(err) != fanfold.Stale:
			t.Fatalf("round %d: %v", round, err)
		}
	}
	if won == 0 {
		t.Fatalf("round %d: nobody won: %v", round, errs)
	}
	return won
}

func TestUnreachableLogWritesNothing(t *testing.T) {
	t.Parallel()
	urls := natsserver.Start(t, 1)
	proxy := natsserver.StartProxy(t, urls[0])
	nc, err := servers.Connect(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	l, err := events.Open(t.Context(), nc, events.Options{Attempt: 500 * time.Millisecond, Timeout: 8 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	proxy.DropAcks(1 << 40)
	_, err = l.Append(t.Context(), put("1", `{}`), fanfold.Exactly(0))
	if code := fanfold.CodeOf(err); code != fanfold.OutcomeUnknown {
		t.Fatalf("a write whose every ack is lost is told as %q: %v", code, err)
	}
}

// TestFailingLogIsTriedAgain: an outside server that refused an event is tried again by itself, for a node that is not ready
// because of it gets no writes.
func TestFailingLogIsTriedAgain(t *testing.T) {
	suite.Concurrent(t)
	url := natsserver.Start(t, 1)[0]
	l := open(t, url, 1)
	js, err := jetstream.New(natsserver.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	limit := func(messages int64) {
		s, err := js.Stream(t.Context(), "fanfold")
		if err != nil {
			t.Fatal(err)
		}
		cfg := s.CachedInfo().Config
		cfg.MaxMsgs, cfg.Discard = messages, jetstream.DiscardNew
		if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Append(t.Context(), put("1", `{}`), fanfold.Expect{}); err != nil {
		t.Fatal(err)
	}
	limit(1)
	if _, err := l.Append(t.Context(), put("2", `{}`), fanfold.Expect{}); err == nil || l.Failing() == nil {
		t.Fatalf("a full stream takes an event: %v, %v", err, l.Failing())
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Recovery().Run(ctx, func() (uint64, error) { return 1, nil }) }()
	limit(-1)
	// Whether the log takes events again has no position to wait for.
	for deadline := time.Now().Add(suite.Deadline(time.Minute)); l.Failing() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is still failing: %v", l.Failing())
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestFenceCoversWhatWasAcknowledged(t *testing.T) {
	suite.Concurrent(t)
	l := open(t, natsserver.Start(t, 1)[0], 1)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			seq, err := l.Append(t.Context(), put(fmt.Sprint(i), `{}`), fanfold.Expect{})
			if err != nil {
				t.Error(err)
				return
			}
			fence, err := l.Fence(t.Context())
			if err != nil || fence <= seq {
				t.Errorf("fence %d after write %d: %v", fence, seq, err)
			}
		})
	}
	wg.Wait()
	last, err := l.LastSeq(t.Context())
	if err != nil || last > 64 {
		t.Errorf("%d events for 32 writes and at most 32 fences, %v", last, err)
	}
}
