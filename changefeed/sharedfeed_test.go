package changefeed_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/internal/sending"
	"github.com/fanfold/fanfold/tests/suite"
)

// wantAll reads a feed's changes up to an event and fails the test where one is missing or comes twice.
func wantAll(t *testing.T, c *consumer, first, last uint64) {
	t.Helper()
	for seq := first; seq <= last; seq++ {
		if m := c.change(); m.Seq != fanfold.At(seq, 0).String() {
			t.Errorf("change %s, want %d", m.Seq, seq)
			return
		}
	}
}

// TestOneReadServesAll: consumers at the head that ask the same share the reading, whatever their transports. Those that
// ask something else do not get what they did not ask for.
func TestOneReadServesAll(t *testing.T) {
	const each, changes = 40, 50
	store := newMemoryStore()
	url := serve(t, store)
	var all []*consumer
	for _, kind := range streams {
		for range each {
			all = append(all, consume(t, url, kind, "heartbeat=100&mode=all"))
		}
	}
	other := consume(t, url, "eventsource", "mode=all&collections=cities&heartbeat=100")
	for _, c := range all {
		if m, err := c.next(); err != nil || m.LastSeq != "0-0" { // it has caught up
			t.Fatalf("%+v, %v", m, err)
		}
	}
	before := store.readCount()
	for seq := range uint64(changes) {
		store.add(create(seq+1, fmt.Sprint("b", seq+1)))
		for _, c := range all {
			if m := c.change(); m.Seq != fanfold.At(seq+1, 0).String() {
				t.Fatalf("change %s, want %d", m.Seq, seq+1)
			}
		}
	}
	if reads := store.readCount() - before; reads > 4*changes { // of two shared feeds, and of some that were still catching up
		t.Errorf("%d reads for %d changes and %d consumers", reads, changes, len(all))
	}
	for {
		m, err := other.next()
		if err != nil || m.ID != "" {
			t.Fatalf("%+v, %v", m, err)
		}
		if m.LastSeq == fanfold.At(changes, 0).String() {
			return
		}
	}
}

// TestFanoutIsReadOnce: an event with thousands of rows is read once for all who follow, whole and in order.
func TestFanoutIsReadOnce(t *testing.T) {
	suite.Concurrent(t)
	const each, rows = 4, 5000
	store := newMemoryStore()
	url := serve(t, store)
	var all []*consumer
	for _, kind := range streams {
		for range each {
			c := consume(t, url, kind, "heartbeat=100&mode=all")
			if m, err := c.next(); err != nil || m.LastSeq != "0-0" { // it has caught up
				t.Fatalf("%+v, %v", m, err)
			}
			all = append(all, c)
		}
	}
	before := store.readCount()
	var event []fanfold.Change
	for n := range rows {
		ch := create(1, fmt.Sprint("b", n))
		ch.Position = fanfold.At(1, n)
		event = append(event, ch)
	}
	store.add(event...)
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() {
			for n := range rows {
				if m := c.change(); m.Seq != fanfold.At(1, n).String() {
					t.Errorf("%s has %s, want change %d", c.kind, m.Seq, n)
					return
				}
			}
		})
	}
	wg.Wait()
	if reads, pages := store.readCount()-before, rows/256+1; reads > 3*pages {
		t.Errorf("%d reads for %d pages and %d consumers", reads, pages, len(all))
	}
}

// large is a change with a value of n bytes.
func large(seq uint64, n int) fanfold.Change {
	ch := create(seq, fmt.Sprint("b", seq))
	ch.Op, ch.Previous = fanfold.OpReplace, []byte(`"`+strings.Repeat("x", n)+`"`)
	return ch
}

// TestFallsBehindAndCatchesUp: a consumer that does not read for a while leaves the others, who are not held up, and gets
// every change later. All that is held for them comes back.
func TestFallsBehindAndCatchesUp(t *testing.T) {
	for _, kind := range streams {
		t.Run(kind, func(t *testing.T) {
			const changes, size = 200, 64 << 10 // more than a connection and a window hold
			store := newMemoryStore()
			budget := sending.NewBudget(64 << 20)
			feed := changefeed.New(store, changefeed.Options{Budget: budget})
			url := serveFeed(t, feed)
			slow, fast := consume(t, url, kind, "mode=all"), consume(t, url, kind, "mode=all")
			for seq := range uint64(changes) {
				store.add(large(seq+1, size))
				if m := fast.change(); m.Seq != fanfold.At(seq+1, 0).String() {
					t.Fatalf("change %s, want %d", m.Seq, seq+1)
				}
			}
			wantAll(t, slow, 1, changes)
			store.add(create(changes+1, "end"))
			wantAll(t, fast, changes+1, changes+1)
			wantAll(t, slow, changes+1, changes+1)
			slow.close()
			fast.close()
			feed.Close()
			wantWhole(t, budget, 64<<20)
		})
	}
}

// wantWhole waits until nothing of a budget is held.
func wantWhole(t *testing.T, budget *sending.Budget, size int) {
	t.Helper()
	for _, n := range []int{size, sending.Small} { // all of the part for large answers, and some of the other
		lease := budget.Lease()
		if err := lease.WaitToHold(t.Context(), n); err != nil {
			t.Error(err)
		}
		lease.Release()
	}
}

// TestSlowAreEnded: who does not read at all is cut off after the write timeout, and holds nothing then.
func TestSlowAreEnded(t *testing.T) {
	store := newMemoryStore()
	budget := sending.NewBudget(16 << 20)
	feed := changefeed.New(store, changefeed.Options{Budget: budget, WriteTimeout: 2 * time.Second})
	url := serveFeed(t, feed)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /?feed=eventsource&mode=all HTTP/1.1\r\nHost: localhost\r\n\r\n")
	fast := consume(t, url, "eventsource", "mode=all")
	const changes = 200
	for seq := range uint64(changes) {
		store.add(large(seq+1, 64<<10))
		wantAll(t, fast, seq+1, seq+1)
	}
	wantWhole(t, budget, 16<<20)
	var got bytes.Buffer
	if _, err := got.ReadFrom(conn); err == nil && strings.HasSuffix(got.String(), "0\r\n\r\n") {
		t.Error("the feed looks whole")
	}
	last := strings.LastIndex(got.String(), "\n\n")
	ids := strings.Split(got.String()[:last], "\nid: ")
	if len(ids) < 2 || len(ids) > changes { // a position to go on from, after which there is more
		t.Fatalf("%d changes were sent", len(ids)-1)
	}
	position, _, _ := strings.Cut(ids[len(ids)-1], "\n")
	again := consume(t, url, "eventsource", "mode=all&since="+position)
	wantAll(t, again, uint64(len(ids)), changes)
}

// TestConsumersComeAndGo: consumers of all transports come, read at their own pace and leave at random, beside writes of random length.
// Each gets every change after its position once, in order.
func TestConsumersComeAndGo(t *testing.T) {
	suite.Concurrent(t)
	store := newMemoryStore()
	budget := sending.NewBudget(8 << 20)
	feed := changefeed.New(store, changefeed.Options{Budget: budget})
	url := serveFeed(t, feed)
	const consumers, rounds, changes = 16, 4, 1000
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range consumers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(3, uint64(i)))
			for range rounds {
				_, head, _ := store.Bounds()
				since := max(1, int64(head.Seq())-r.Int64N(200))
				c := consume(t, url, streams[r.IntN(3)], fmt.Sprintf("mode=all&heartbeat=100&since=%d-0", since))
				for seq := uint64(since) + 1; seq < uint64(since)+100+r.Uint64N(500) && seq <= changes; seq++ {
					if m := c.change(); m.Seq != fanfold.At(seq, 0).String() {
						t.Errorf("%s since=%d: change %s, want %d", c.kind, since, m.Seq, seq)
						break
					}
					if r.IntN(50) == 0 {
						time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond) // it does other work
					}
				}
				c.close()
			}
		})
	}
	go func() { wg.Wait(); close(stop) }()
	r := rand.New(rand.NewPCG(4, 0))
	for seq := uint64(1); seq <= changes; seq++ {
		store.add(large(seq, r.IntN(20)*r.IntN(2000)))
		if r.IntN(20) == 0 {
			time.Sleep(time.Duration(r.IntN(5)) * time.Millisecond)
		}
	}
	<-stop
	feed.Close()
	http.DefaultClient.CloseIdleConnections()
	wantWhole(t, budget, 8<<20)
}
