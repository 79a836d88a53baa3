package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestLostAnswers: a write whose answer is lost is stored once, and its call returns what the first request did.
func TestLostAnswers(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, "")
	p := newProxy(t, s)
	c := connect(t, p.url(), client.Options{})
	books := client.Collection[book](c, "books")
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			p.dropAnswers(2)
			w, err := books.Create(t.Context(), book{Title: fmt.Sprint(i)})
			if err != nil || w.ID == "" {
				t.Errorf("create %d: %+v, %v", i, w, err)
				return
			}
			if doc, err := books.Get(t.Context(), w.ID); err != nil || doc.Value.Title != fmt.Sprint(i) || doc.Revision != w.Revision {
				t.Errorf("document %d is %+v, %v", i, doc, err)
			}
		})
	}
	wait.Wait()
	p.dropAnswers(1)
	must(c.Transact(t.Context(), []client.Operation{client.Create("books", "", book{Title: "20"})}))(t)
	titles := map[string]int{}
	for doc, err := range books.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		titles[doc.Value.Title]++
	}
	if dropped, _ := p.counts(); len(titles) != 21 || dropped == 0 {
		t.Errorf("%d titles with %d answers lost: %v", len(titles), dropped, titles)
	}
	for title, n := range titles {
		if n != 1 {
			t.Errorf("%s was stored %d times", title, n)
		}
	}
}

// TestWithoutKeys: a write without a key whose answer is lost is not sent again.
func TestWithoutKeys(t *testing.T) {
	s := harness.OpenTemp(t, "")
	p := newProxy(t, s)
	c := connect(t, p.url(), client.Options{NoKeys: true})
	books := client.Collection[book](c, "books")
	p.dropAnswers(1)
	if _, err := books.Create(t.Context(), book{Title: "1"}); !errors.Is(err, client.NoAnswer) {
		t.Errorf("create: %v", err)
	}
	s.CatchUp()
	p.dropAnswers(1)
	n := 0
	for _, err := range books.List(t.Context()) { // a read may always be sent again
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d documents are stored", n)
	}
}

// TestRestart: calls wait for a server that comes back, and no longer than they may.
func TestRestart(t *testing.T) {
	suite.Concurrent(t)
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	p := newProxy(t, s)
	c := connect(t, p.url(), client.Options{})
	books := client.Collection[book](c, "books")
	must(books.Put(t.Context(), "b", book{Title: "1"}))(t)
	p.lead(nil)
	p.cut()
	short := connect(t, p.url(), client.Options{RetryFor: 200 * time.Millisecond})
	if _, err := client.Collection[book](short, "books").Get(t.Context(), "b"); !errors.Is(err, client.NoAnswer) {
		t.Errorf("get from a server that is away: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := books.Get(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("get with a deadline: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := books.Put(t.Context(), "b", book{Title: "2"})
		done <- err
	}()
	s = s.Reopen()
	defer s.Close()
	p.lead(s)
	if err := <-done; err != nil {
		t.Errorf("put over a restart: %v", err)
	}
	s.WantDoc("books", "b", `{"id":"b","title":"2"}`)
	s.Verify()
}

// TestSessionReads: a client sends the newest position that it has seen, whatever order answers come in, and forgets it
// where the store is another one.
func TestSessionReads(t *testing.T) {
	var want atomic.Value
	var sent sync.Map
	var position atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Store(r.Method, r.Header.Get("Fanfold-Min-Position"))
		if problem := want.Load(); problem != nil && problem != "" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusGone)
			fmt.Fprintf(w, `{"type":"urn:fanfold:problem:%s","detail":"d","oldest":"7-0"}`, problem)
			return
		}
		w.Header().Set("Fanfold-Position", position.Load().(string))
		fmt.Fprint(w, `{}`)
	}))
	defer srv.Close()
	c := connect(t, srv.URL, client.Options{})
	books := client.Collection[book](c, "books")
	for _, step := range []struct{ answered, newest string }{{"9-0-aaaaaaaa", "9-0-aaaaaaaa"}, {"10-2-aaaaaaaa", "10-2-aaaaaaaa"},
		{"10-1-aaaaaaaa", "10-2-aaaaaaaa"}, {"9-5-aaaaaaaa", "10-2-aaaaaaaa"}, {"2-0-bbbbbbbb", "2-0-bbbbbbbb"}} {
		position.Store(step.answered)
		must(books.Put(t.Context(), "b", book{}))(t)
		if got := c.Position(); got != step.newest {
			t.Errorf("after %s the newest position is %s, want %s", step.answered, got, step.newest)
		}
		must(books.Get(t.Context(), "b"))(t)
		if got, _ := sent.Load(http.MethodGet); got != step.newest {
			t.Errorf("a read was sent with %v, want %s", got, step.newest)
		}
		if got, _ := sent.Load(http.MethodPut); got != "" {
			t.Errorf("a write was sent with %v", got)
		}
	}
	must(books.Get(t.Context(), "b", client.AtLeast("1-0")))(t)
	if got, _ := sent.Load(http.MethodGet); got != "1-0" {
		t.Errorf("a read was sent with %v", got)
	}
	want.Store("store-changed")
	var failure *client.Error
	if _, err := books.Get(t.Context(), "b"); !errors.Is(err, client.StoreChanged) || !errors.As(err, &failure) || string(failure.Members["oldest"]) != `"7-0"` {
		t.Errorf("get: %v", err)
	}
	if c.Position() != "" {
		t.Errorf("the position of another store is kept: %s", c.Position())
	}
	want.Store("")
	position.Store("3-0-cccccccc")
	must(books.Get(t.Context(), "b"))(t)
	if got, _ := sent.Load(http.MethodGet); got != "" {
		t.Errorf("a read of another store was sent with %v", got)
	}
}

// TestSessionReadsOnTheServer: a read shows an asynchronous write.
func TestSessionReadsOnTheServer(t *testing.T) {
	s := harness.OpenTemp(t, "")
	c := connect(t, s.URL, client.Options{})
	books := client.Collection[book](c, "books")
	for i := range 50 {
		must(books.Put(t.Context(), "b", book{Pages: i}, client.Async()))(t)
		if doc := must(books.Get(t.Context(), "b"))(t); doc.Value.Pages != i {
			t.Fatalf("write %d shows %+v", i, doc)
		}
	}
}

// TestWhatIsSentAgain: only what may be, as often as it may be, under the same key.
func TestWhatIsSentAgain(t *testing.T) {
	answers := []struct {
		name                 string
		status               int
		body                 string
		write, withKey, read bool // sent again
	}{
		{"busy", 429, `{"type":"urn:fanfold:problem:busy"}`, true, true, true},
		{"catching up", 503, `{"type":"urn:fanfold:problem:catching-up"}`, true, true, true},
		{"lagging", 503, `{"type":"urn:fanfold:problem:lagging"}`, true, true, true},
		{"unavailable", 503, `{"type":"urn:fanfold:problem:unavailable"}`, true, true, true},
		{"outcome unknown", 503, `{"type":"urn:fanfold:problem:outcome-unknown"}`, false, true, true},
		{"too slow", 408, `{"type":"urn:fanfold:problem:too-slow"}`, false, true, true},
		{"a gateway", 502, `<html>`, false, true, true},
		{"damaged", 503, `{"type":"urn:fanfold:problem:log-damaged"}`, false, false, false},
		{"stale", 412, `{"type":"urn:fanfold:problem:stale"}`, false, false, false},
		{"a page", 403, `<html>`, false, false, false},
		{"internal", 500, `{"type":"urn:fanfold:problem:internal"}`, false, false, false},
	}
	for _, a := range answers {
		t.Run(a.name, func(t *testing.T) {
			var keys []string
			var mu sync.Mutex
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				keys = append(keys, r.Header.Get("Idempotency-Key"))
				first := len(keys) == 1
				mu.Unlock()
				if !first {
					fmt.Fprint(w, "{}")
					return
				}
				if strings.HasPrefix(a.body, "{") {
					w.Header().Set("Content-Type", "application/problem+json")
				}
				w.WriteHeader(a.status)
				fmt.Fprint(w, a.body)
			}))
			defer srv.Close()
			c := connect(t, srv.URL, client.Options{})
			books := client.Collection[book](c, "books")
			for _, call := range []struct {
				again bool
				do    func() error
			}{
				{a.read, func() error { _, err := books.Get(t.Context(), "b"); return err }},
				{a.withKey, func() error { _, err := books.Put(t.Context(), "b", book{}); return err }},
				{a.withKey, func() error {
					_, err := books.Put(t.Context(), "b", book{}, client.IdempotencyKey("mine"))
					return err
				}},
				{a.write, func() error { return c.Replay(t.Context()) }},
			} {
				keys = nil
				err := call.do()
				if again := len(keys) == 2; again != call.again || (err == nil) != call.again || again && keys[0] != keys[1] {
					t.Errorf("sent with keys %q: %v", keys, err)
				}
			}
		})
	}
}

// TestBounds: an answer longer than MaxAnswer is an error, and so is one that does not come.
func TestBounds(t *testing.T) {
	hang := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "hangs") {
			<-hang
		}
		_, _ = w.Write(append(append([]byte(`{"title":"`), make([]byte, 5000)...), '"', '}'))
	}))
	defer srv.Close()
	defer close(hang)
	c := connect(t, srv.URL, client.Options{MaxAnswer: 4096, Attempt: 50 * time.Millisecond, RetryFor: 120 * time.Millisecond})
	books := client.Collection[book](c, "books")
	patient := client.Collection[book](connect(t, srv.URL, client.Options{MaxAnswer: 4096}), "books")
	if _, err := patient.Get(t.Context(), "b"); !errors.Is(err, client.AnswerLimit) {
		t.Errorf("get: %v", err)
	}
	if _, err := books.Get(t.Context(), "hangs"); !errors.Is(err, client.NoAnswer) {
		t.Errorf("get of what hangs: %v", err)
	}
	for _, bad := range []string{"", "localhost:8080", "ftp://x", "http://", "http://x/?a=b", ":"} {
		if _, err := client.New(bad, client.Options{}); !errors.Is(err, client.Invalid) {
			t.Errorf("New(%q): %v", bad, err)
		}
	}
}
