package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestSession: a client sends the newest position that it has seen unless it is told not to, and takes over another's,
// also while many goroutines use it.
func TestSession(t *testing.T) {
	suite.Concurrent(t)
	var mu sync.Mutex
	event, sent := 0, ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		event++
		sent = r.Header.Get("Fanfold-Min-Position")
		w.Header().Set("Fanfold-Position", fmt.Sprintf("%d-0-aaaaaaaa", event))
		fmt.Fprint(w, `{}`)
	}))
	defer srv.Close()
	read := func(c *client.Client, opts ...client.ReadOption) string {
		t.Helper()
		must(client.Collection[book](c, "books").Get(t.Context(), "b", opts...))(t)
		mu.Lock()
		defer mu.Unlock()
		return sent
	}
	a, b, none := connect(t, srv.URL, client.Options{}), connect(t, srv.URL, client.Options{}), connect(t, srv.URL, client.Options{NoSession: true})
	if got := read(a); got != "" {
		t.Errorf("the first read is sent with %s", got)
	}
	if got := read(a); got != "1-0-aaaaaaaa" {
		t.Errorf("the second read is sent with %s", got)
	}
	for _, opt := range []client.ReadOption{client.Strong(), client.Bounded("30s"), client.Consistency("prefix")} {
		if before := a.Position(); read(a, opt) != before {
			t.Errorf("a read is not sent with %s", before)
		}
	}
	if got := read(a, client.Eventual()); got != "" {
		t.Errorf("an eventual read is sent with %s", got)
	}
	read(none)
	if got := read(none); got != "" {
		t.Errorf("a read without a session is sent with %s", got)
	}
	if err := b.See(a.Position()); err != nil {
		t.Fatal(err)
	}
	if got := read(b); got != a.Position() {
		t.Errorf("the other client's read is sent with %s, want %s", got, a.Position())
	}
	for _, text := range []string{"x", "1", "-1-0", "1-0-AAAAAAAA", "99999999999999-0", "1-0-aaaaaaaa-1-1"} {
		if err := b.See(text); !errors.Is(err, client.Invalid) {
			t.Errorf("See(%q): %v", text, err)
		}
	}
	if err := b.See(""); err != nil {
		t.Error(err)
	}
	export := must(a.Export(t.Context()))(t)
	if err := export.Close(); err != nil || a.Position() != export.Position {
		t.Errorf("after an export at %s the client is at %s, %v", export.Position, a.Position(), err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				before := a.Position()
				if _, err := client.Collection[book](a, "books").Get(t.Context(), "b"); err != nil || a.Position() == before {
					t.Errorf("%v; at %s, before at %s", err, a.Position(), before)
				}
			}
		})
	}
	wg.Wait()
	if want := fmt.Sprintf("%d-0-aaaaaaaa", event); a.Position() != want {
		t.Errorf("the newest position is %s, want %s", a.Position(), want)
	}
}
