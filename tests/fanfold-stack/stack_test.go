//go:build stack

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/client"
)

const bookshop = `{"collections":{
	"authors":{"derive":{"countOfBooks":{"count":"books.author"}}},
	"books":{"relations":{"author":{"path":"author","to":"authors"}},"derive":{"authorName":{"copy":"author","value":"doc.name"}}}}}`

type book struct {
	Author string `json:"author"`
	N      int    `json:"n"`
}

// openTestStack starts the services of docker-compose.yml, which end with the test.
func openTestStack(t *testing.T) *stack {
	t.Helper()
	began, dir := time.Now(), t.TempDir()
	s, err := openStack(t.Context(), root, dir, func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("built in %v", time.Since(began).Round(time.Millisecond))
	go func() { _ = s.names.Run(context.Background()) }() // ends with Down
	t.Cleanup(func() {
		if err := s.Down(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			showLogs(t, s)
		}
	})
	began = time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), healthTime)
	defer cancel()
	if err := s.Up(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("all services are healthy after %v", time.Since(began).Round(time.Millisecond))
	return s
}

// showLogs shows the end of what each container has said.
func showLogs(t *testing.T, s *stack) {
	for _, name := range s.services() {
		for _, c := range s.of(name) {
			t.Logf("%s:\n%s", c.name, c.said(4000))
		}
	}
}

// until waits until ask returns true, for limit at most.
func until(t *testing.T, limit time.Duration, what string, ask func() bool) {
	t.Helper()
	for began := time.Now(); !ask(); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > limit {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// TestStack goes through the services of docker-compose.yml while clients write and follow through the balancer. It scales to three nodes,
// kills a node and a NATS server, and sees the alert. It starts them again, and lets a node leave under load. With -short it kills one of
// two nodes, and starts it again.
func TestStack(t *testing.T) {
	s := openTestStack(t)
	api := s.URL(s.of("balancer")[0], 8080)
	p := &monitor{t: t, url: s.URL(s.of("prometheus")[0], 9090)}
	p.rulesAreLoaded()
	p.until("both nodes are scraped", `sum(up{job="fanfold"})`, "2")
	p.until("the balancer has both nodes", `haproxy_backend_active_servers{proxy="nodes"}`, "2")
	c := newClient(t, api)
	if _, err := c.ApplyModel(t.Context(), []byte(bookshop), client.ModelOptions{}); err != nil {
		t.Fatal(err)
	}
	w := startWork(t, c)
	if testing.Short() {
		killed := s.of("fanfold")[0]
		killed.Kill()
		w.goesOn("after a node was killed")
		startAgain(t, s, killed)
		w.goesOn("with it back")
	} else {
		killInPart(t, s, w, p)
	}
	w.end()
	if !testing.Short() {
		leave(t, s, api)
	}
	w.requireAll(t, s)
}

// killInPart scales to three nodes, kills one and a NATS server, sees the alert come, and go once they are started again.
func killInPart(t *testing.T, s *stack, w *work, p *monitor) {
	if err := s.Scale("fanfold", 3); err != nil {
		t.Fatal(err)
	}
	healthy(t, s)
	p.until("three nodes are scraped", `sum(up{job="fanfold"})`, "3")
	p.until("the balancer has found the third node", `haproxy_backend_active_servers{proxy="nodes"}`, "3")
	p.until("no node is lost", `count(ALERTS{alertname="FanfoldNodeLost"}) or vector(0)`, "0")

	nodes, nats := s.of("fanfold"), s.of("nats-2")[0]
	nodes[0].Kill()
	w.goesOn("after a node was killed")
	nats.Kill()
	w.goesOn("after a NATS server was killed, too")
	lost := fmt.Sprintf(`count(ALERTS{alertname="FanfoldNodeLost",alertstate="firing",instance="%s"})`, s.Address(nodes[0], 8080))
	p.until("the alert fires for the node that was killed, and for no other", lost+` and count(ALERTS{alertname="FanfoldNodeLost"}) == 1`, "1")

	startAgain(t, s, nats, nodes[0])
	p.until("the alert ends once the node is back", `count(ALERTS{alertname="FanfoldNodeLost",alertstate="firing"}) or vector(0)`, "0")
	p.until("the balancer has three nodes again", `haproxy_backend_active_servers{proxy="nodes"}`, "3")
	w.goesOn("with all of them back")
}

// startAgain starts containers that were killed, and waits until all are healthy.
func startAgain(t *testing.T, s *stack, killed ...*container) {
	t.Helper()
	for _, down := range killed {
		if err := down.Start(); err != nil {
			t.Fatal(err)
		}
	}
	healthy(t, s)
}

func healthy(t *testing.T, s *stack) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), healthTime)
	defer cancel()
	if err := s.Healthy(ctx); err != nil {
		t.Fatal(err)
	}
}

func newClient(t *testing.T, url string) *client.Client {
	t.Helper()
	c, err := client.New(url, client.Options{RetryFor: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// work is what clients do through the balancer all the while: they write, read what they wrote, and follow the feed.
type work struct {
	t                  *testing.T
	c                  *client.Client
	cancel             context.CancelFunc
	writing, following sync.WaitGroup
	writes             atomic.Int64 // acknowledged, and read back

	mu       sync.Mutex
	written  map[string]string // the document of each acknowledged write, by its event
	followed []string          // positions, in order
	slowest  time.Duration     // of the writes and reads since goesOn began
}

const writers = 8

// startWork starts the writers and the follower. They fail the test where a write or a read fails for good.
func startWork(t *testing.T, c *client.Client) *work {
	ctx, cancel := context.WithCancel(t.Context())
	w := &work{t: t, c: c, cancel: cancel, written: map[string]string{}}
	t.Cleanup(w.end)
	for i := range writers {
		w.writing.Go(func() { w.write(ctx, i) })
	}
	follower := newClient(t, c.Server())
	w.following.Go(func() {
		for change, err := range follower.Changes(t.Context(), client.ChangesOptions{Mode: client.All, Heartbeat: time.Second}) {
			if err != nil {
				if ctx.Err() == nil {
					t.Errorf("the feed ended: %v", err)
				}
				return
			}
			w.mu.Lock()
			w.followed = append(w.followed, change.Seq)
			enough := ctx.Err() != nil && change.ID == lastID
			w.mu.Unlock()
			if enough {
				return
			}
		}
	})
	return w
}

// lastID is the document whose change is the last one that the follower waits for.
const lastID = "the-last"

// write writes books, and now and then an author, whose name goes to all of their books, until ctx ends.
func (w *work) write(ctx context.Context, writer int) {
	c := newClient(w.t, w.c.Server())
	books, authors := client.Collection[book](c, "books"), client.Collection[map[string]any](c, "authors")
	for n := 0; ctx.Err() == nil; n++ {
		// An author has a hundred books at most, so that a rename stays small.
		author, id := fmt.Sprintf("a%d-%d", writer, n/100), fmt.Sprintf("%d-%d", writer, n)
		if n%20 == 0 {
			// The background context: what is under way is finished, so that its outcome is known.
			done, err := authors.Put(context.Background(), author, map[string]any{"name": fmt.Sprintf("%s at %d", author, n)})
			if err != nil {
				w.t.Errorf("author %s: %v", author, err)
				return
			}
			w.acknowledged("authors/"+author, done.Position)
		}
		began := time.Now()
		done, err := books.Put(context.Background(), id, book{Author: author, N: n})
		w.took(began)
		if err != nil {
			w.t.Errorf("book %s: %v", id, err)
			return
		}
		w.acknowledged("books/"+id, done.Position)
		if err := w.readBack(books, id, n); err != nil {
			w.t.Errorf("book %s: %v", id, err)
			return
		}
		w.writes.Add(1)
	}
}

// readBack reads a book that was written, which any node shows at once, or once it has caught up. A node whose NATS server
// was killed asks another one after a while; until then it says that it lags, and the read is tried again.
func (w *work) readBack(books *client.Documents[book], id string, n int) error {
	defer w.took(time.Now())
	for began := time.Now(); ; {
		got, err := books.Get(context.Background(), id)
		switch {
		case err == nil && got.Value.N == n:
			return nil
		case err == nil:
			return fmt.Errorf("it is read as %+v, which is not what was written", got.Value)
		case !errors.Is(err, client.Timeout) || time.Since(began) > time.Minute:
			return err
		}
	}
}

// took notes how long what began then has taken.
func (w *work) took(began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slowest = max(w.slowest, time.Since(began))
}

func (w *work) acknowledged(document, position string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written[event(position)] = document
}

// goesOn waits until every writer has written some more, and the follower has seen some more.
func (w *work) goesOn(when string) {
	w.t.Helper()
	began, writes, followed := time.Now(), w.writes.Load(), w.seen()
	until(w.t, 2*time.Minute, "writes, reads and the feed go on "+when, func() bool {
		return w.t.Failed() || w.writes.Load() >= writes+10*writers && w.seen() >= followed+10*writers
	})
	w.mu.Lock()
	slowest := w.slowest
	w.slowest = 0
	w.mu.Unlock()
	w.t.Logf("%s: %d writes and %d changes in %v; the slowest write or read since before took %v", when, w.writes.Load()-writes,
		w.seen()-followed, time.Since(began).Round(time.Millisecond), slowest.Round(time.Millisecond))
}

func (w *work) seen() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.followed)
}

// end ends the writers, and waits for what they still write; the follower goes on until it has seen the last document.
func (w *work) end() {
	w.cancel()
	w.writing.Wait()
}

// requireAll fails the test unless each node tells, from the beginning and without a gap, the feed that was followed through the balancer.
// Each node also has everything that was acknowledged, with its copies right.
func (w *work) requireAll(t *testing.T, s *stack) {
	t.Helper()
	last, err := client.Collection[book](w.c, "books").Put(t.Context(), lastID, book{})
	if err != nil {
		t.Fatal(err)
	}
	w.following.Wait()
	for _, n := range s.of("fanfold") {
		c := newClient(t, s.URL(n, 8080))
		if _, err := client.Collection[book](c, "books").Get(t.Context(), lastID, client.AtLeast(last.Position)); err != nil {
			t.Fatal(err)
		}
		told, events := []string{}, map[string]string{}
		for change, err := range c.Changes(t.Context(), client.ChangesOptions{Mode: client.All, Once: true}) {
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, change.Seq)
			if change.Cause == nil {
				events[event(change.Seq)] = change.Collection + "/" + change.ID
			}
		}
		if followed := slices.DeleteFunc(slices.Clone(w.followed), isRepeated()); !slices.Equal(told, followed) {
			t.Errorf("%s tells %d changes, %d were followed through the balancer, and they differ", n.name, len(told), len(followed))
		}
		for at, document := range w.written {
			if events[at] != document {
				t.Errorf("%s lacks %s, acknowledged as event %s", n.name, document, at)
			}
		}
		report, err := c.Verify(t.Context())
		if err != nil || !strings.Contains(string(report), `"wrong":[]`) {
			t.Errorf("%s: verify: %s %v", n.name, report, err)
		}
	}
	t.Logf("%d writes were acknowledged, %d changes followed", len(w.written), len(w.followed))
}

// event returns the event of a position.
func event(position string) string {
	e, _, _ := strings.Cut(position, "-")
	return e
}

// isRepeated returns what tells whether a position was there before: a change comes again where a connection breaks after it.
func isRepeated() func(string) bool {
	seen := map[string]bool{}
	return func(position string) bool {
		again := seen[position]
		seen[position] = true
		return again
	}
}

// leave lets a node leave, and come back, while 64 writers write through the balancer. Each tries a failed write once more, and none of
// them sees an error.
func leave(t *testing.T, s *stack, api string) {
	const clients = 64
	var first, second, written atomic.Int64
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	send := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				id := fmt.Sprintf("leave-%d-%d", i, n)
				if err := put(send, api, id); err != nil {
					first.Add(1)
					if err := put(send, api, id); err != nil {
						second.Add(1)
						t.Errorf("%s, the second time: %v", id, err)
					}
				}
				written.Add(1)
			}
		})
	}
	more := func(n int64, when string) {
		before := written.Load()
		until(t, time.Minute, "64 writers write "+when, func() bool { return written.Load() >= before+n })
	}
	more(10*clients, "before a node leaves")
	leaving := s.of("fanfold")[1]
	began := time.Now()
	if err := leaving.Stop(); err != nil {
		t.Error(err)
	}
	left := time.Since(began)
	more(10*clients, "after a node has left")
	if err := leaving.Start(); err != nil {
		t.Fatal(err)
	}
	healthy(t, s)
	more(10*clients, "with the node back")
	cancel()
	all.Wait()
	t.Logf("a node left in %v under 64 writers: %d writes, %d failed the first time, %d the second", left.Round(time.Millisecond), written.Load(), first.Load(), second.Load())
}

// put writes a document with a key, which makes it safe to be sent again.
func put(c *http.Client, api, id string) error {
	req, err := http.NewRequest(http.MethodPut, api+"/v1/books/"+id, strings.NewReader(`{"author":"a0"}`))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", id)
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	text, err := readAll(resp)
	if err == nil && resp.StatusCode >= 300 {
		err = errors.New(resp.Status + " " + text)
	}
	return err
}
