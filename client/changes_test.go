package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestChangesOnce: the changes up to now, of both modes, with what the server tells of each.
func TestChangesOnce(t *testing.T) {
	s := harness.OpenTemp(t, model)
	c := connect(t, s.URL, client.Options{})
	s.Put("authors", "a", `{"name":"Ann"}`)
	s.Put("books", "b", `{"authors":[{"id":"a"}]}`)
	s.Put("authors", "a", `{"name":"Bea"}`)
	var got []string
	for change, err := range c.Changes(t.Context(), client.ChangesOptions{Once: true, Mode: client.All, IncludeDocs: true}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s/%s", change.Op, change.Collection, change.ID))
		if change.Rev == 0 || change.Time.IsZero() || len(change.Raw) == 0 || (change.Op == "derive") != (change.Cause != nil && len(change.Patch) > 0) {
			t.Errorf("the change is %+v", change)
		}
		if change.Op == "replace" && (len(change.Previous) == 0 || len(change.Doc) == 0) {
			t.Errorf("the change is %+v", change)
		}
	}
	if want := []string{"create authors/a", "create books/b", "derive authors/a", "replace authors/a", "derive books/b"}; !slices.Equal(got, want) {
		t.Errorf("the changes are %v, want %v", got, want)
	}
	got = nil
	position := ""
	for change, err := range c.Changes(t.Context(), client.ChangesOptions{Once: true, Collections: []string{"books", "nothing"}, OnPosition: func(at string) { position = at }}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, change.Op+" "+change.ID)
	}
	if !slices.Equal(got, []string{"derive b"}) || position == "" {
		t.Errorf("the latest changes are %v, up to %q", got, position)
	}
	for change, err := range c.Changes(t.Context(), client.ChangesOptions{Once: true, Since: position}) {
		t.Errorf("behind the newest change is %+v, %v", change, err)
	}
}

// TestChangesGoOn: a consumer gets every change, in order, over cut connections and restarts of the server.
func TestChangesGoOn(t *testing.T) {
	suite.Concurrent(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer func() { s.Close() }()
	p := newProxy(t, s)
	c := connect(t, p.url(), client.Options{})
	const changes = 300
	writes := make(chan struct{})
	var seen atomic.Int64
	go func() {
		defer close(writes)
		for i := range changes {
			if i%20 == 10 { // a connection is there that can be cut
				for seen.Load() < int64(i) && t.Context().Err() == nil {
					time.Sleep(time.Millisecond)
				}
				if i%100 == 50 {
					s = s.Reopen()
					p.lead(s)
				} else {
					p.cut()
				}
			}
			s.Put("books", fmt.Sprint(i), `{}`)
		}
	}()
	next, last := 0, ""
	for change, err := range c.Changes(t.Context(), client.ChangesOptions{Mode: client.All}) {
		if err != nil {
			t.Fatal(err)
		}
		if change.Seq == last {
			continue // at least once
		}
		if last = change.Seq; change.ID != fmt.Sprint(next) {
			t.Fatalf("change %s is of %s, want %d", change.Seq, change.ID, next)
		}
		next++
		if seen.Store(int64(next)); next == changes {
			break
		}
	}
	<-writes
	if _, opened := p.counts(); opened <= changes/20 {
		t.Errorf("only %d connections were opened", opened)
	}
}

// TestChangesFromNow: a feed that begins now loses nothing where its connection breaks before the first change.
func TestChangesFromNow(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, "")
	s.Put("books", "before", `{}`)
	p := newProxy(t, s)
	c := connect(t, p.url(), client.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), suite.Deadline(time.Minute))
	defer cancel()
	begun := false
	opt := client.ChangesOptions{Since: "now", Heartbeat: 100 * time.Millisecond, OnPosition: func(string) {
		if begun {
			return
		}
		begun = true
		p.lead(nil)
		p.cut()
		s.Put("books", "between", `{}`)
		p.lead(s)
	}}
	for change, err := range c.Changes(ctx, opt) {
		if err != nil || change.ID != "between" {
			t.Fatal(change, err)
		}
		break
	}
}

// TestSilentConnection: a connection on which nothing comes any more is given up.
func TestSilentConnection(t *testing.T) {
	suite.Concurrent(t)
	if testing.Short() {
		t.Skip("takes five seconds")
	}
	release := make(chan struct{})
	asked := make(chan string, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Query().Get("since")
		fmt.Fprint(w, "id: 5-0\nevent: heartbeat\ndata: {}\n\n")
		w.(http.Flusher).Flush()
		<-release
	}))
	defer srv.Close()
	defer close(release)
	c := connect(t, srv.URL, client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for change, err := range c.Changes(ctx, client.ChangesOptions{Heartbeat: 100 * time.Millisecond}) {
			if ctx.Err() == nil {
				t.Errorf("the loop has %+v, %v", change, err)
			}
		}
	}()
	if first, second := <-asked, <-asked; first != "" || second != "5-0" {
		t.Errorf("asked from %q and then from %q", first, second)
	}
}

// TestChangesEnd: with ctx, with an error that stays, and where the loop is left.
func TestChangesEnd(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("books", "b", `{}`)
	c := connect(t, s.URL, client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var errs []error
	for change, err := range c.Changes(ctx, client.ChangesOptions{}) {
		if errs = append(errs, err); change.ID == "b" {
			cancel()
		}
	}
	if len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], context.Canceled) {
		t.Errorf("the loop had %v", errs)
	}
	for _, err := range c.Changes(t.Context(), client.ChangesOptions{Mode: "some"}) {
		if !errors.Is(err, client.Invalid) {
			t.Errorf("a wrong mode: %v", err)
		}
	}
	away := connect(t, "http://127.0.0.1:1", client.Options{})
	for _, err := range away.Changes(t.Context(), client.ChangesOptions{MustConnect: true}) {
		if !errors.Is(err, client.NoAnswer) {
			t.Errorf("no server: %v", err)
		}
	}
}

// TestBrokenFeeds: what ends the loop, and what makes it go on, where the server or something in between misbehaves.
func TestBrokenFeeds(t *testing.T) {
	problem := func(code string, status int) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"type":"urn:fanfold:problem:%s","detail":"d"}`, code)
		}
	}
	text := func(s string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) { fmt.Fprint(w, s) }
	}
	for _, test := range []struct {
		name  string
		first func(w http.ResponseWriter)
		ends  error // nil where the loop goes on
		since string
	}{
		{"gone", problem("position-gone", 410), client.PositionGone, ""},
		{"another store", problem("store-changed", 410), client.StoreChanged, ""},
		{"invalid", problem("invalid", 400), client.Invalid, ""},
		{"unavailable", problem("unavailable", 503), nil, ""},
		{"busy", problem("busy", 429), nil, ""},
		{"not reached", problem("timeout", 504), nil, ""},
		{"internal", problem("internal", 500), nil, ""},
		{"gateway", func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, nil, ""},
		{"gone later", text("id: 4-0\nevent: heartbeat\ndata: {}\n\nevent: error\ndata: {\"type\":\"urn:fanfold:problem:store-changed\",\"status\":410}\n\n"), client.StoreChanged, ""},
		{"unavailable later", text("id: 4-0\r\nevent:heartbeat\r\ndata:{}\r\n\r\n: comment\n\nevent: error\ndata: {\"type\":\"urn:fanfold:problem:unavailable\",\"status\":503}\n\n"), nil, "4-0"},
		{"cut in an event", text("id: 4-0\nevent: heartbeat\ndata: {}\n\nid: 5-0\nevent: change\ndata: {\"seq\":\"5-0\"}\n"), nil, "4-0"},
		{"unknown events", text("id: 9-0\nevent: news\ndata: 1\n\nid: 8-0\ndata: 2\n\n"), nil, ""},
		{"not a change", text("id: 5-0\nevent: change\ndata: [1\n\n"), client.BadAnswer, ""},
		{"a long change", text("id: 5-0\nevent: change\ndata: \"" + string(make([]byte, 20000)) + "\"\n\n"), client.AnswerLimit, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			requests := 0
			since := ""
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if requests++; requests == 1 {
					test.first(w)
					return
				}
				since = r.URL.Query().Get("since")
				fmt.Fprint(w, "id: 6-0\nevent: change\ndata: {\"seq\":\"6-0\"}\n\n")
			}))
			defer srv.Close()
			c := connect(t, srv.URL, client.Options{MaxAnswer: 10000})
			for change, err := range c.Changes(t.Context(), client.ChangesOptions{}) {
				if !errors.Is(err, test.ends) || test.ends == nil && change.Seq != "6-0" {
					t.Errorf("the loop has %+v, %v", change, err)
				}
				break
			}
			if since != test.since || test.ends != nil && requests != 1 {
				t.Errorf("%d requests, the last from %q", requests, since)
			}
		})
	}
}

// TestOnceGoesOn: an answer that is cut is asked for again after the last change.
func TestOnceGoesOn(t *testing.T) {
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("since"))
		if len(asked) == 1 {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"results":[{"seq":"1-0"},{"seq":"2-0"}`)
			return
		}
		fmt.Fprint(w, `{"results":[{"seq":"3-0"}],"last_seq":"4-0","pending":0}`)
	}))
	defer srv.Close()
	c := connect(t, srv.URL, client.Options{})
	var got []string
	for change, err := range c.Changes(t.Context(), client.ChangesOptions{Once: true, OnPosition: func(at string) { asked = append(asked, "at "+at) }}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, change.Seq)
	}
	if !slices.Equal(got, []string{"1-0", "2-0", "3-0"}) || !slices.Equal(asked, []string{"", "2-0", "at 4-0"}) {
		t.Errorf("changes %v, asked %v", got, asked)
	}
}

// TestChosenChanges: a consumer has the changes that it chooses, and nothing else.
func TestChosenChanges(t *testing.T) {
	s := harness.OpenTemp(t, model)
	c := connect(t, s.URL, client.Options{})
	s.Put("authors", "a", `{"name":"Ann"}`)
	for i := range 20 {
		s.Put("books", fmt.Sprint(i), fmt.Sprintf(`{"pages":%d,"authors":[{"id":"a"}]}`, i))
	}
	s.Put("authors", "a", `{"name":"Bea"}`)
	count := func(opt client.ChangesOptions) (n int) {
		t.Helper()
		opt.Once, opt.Mode = true, client.All
		for _, err := range c.Changes(t.Context(), opt) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	if all, direct := count(client.ChangesOptions{}), count(client.ChangesOptions{NoDerived: true}); all != 62 || direct != 22 {
		t.Errorf("%d changes, %d of them direct", all, direct)
	}
	if n := count(client.ChangesOptions{Filter: "change.op == 'create' && doc.pages > params.pages", Params: map[string]int{"pages": 14}}); n != 5 {
		t.Errorf("the filter gives %d", n)
	}
	sum := 0
	for i := range 3 {
		sum += count(client.ChangesOptions{Partition: i, Partitions: 3})
	}
	if sum != 62 {
		t.Errorf("the partitions have %d changes", sum)
	}
	for change, err := range c.Changes(t.Context(), client.ChangesOptions{Once: true, Collections: []string{"books"}, IncludeDocs: true, Referenced: true}) {
		if b := must(client.Decode[book](change.Doc))(t); err != nil || b.Authors[0].Name != "" {
			t.Fatalf("%s, %v", change.Raw, err)
		}
	}
}

// TestAnotherStore: a position of another store ends the loop, and a client goes on without it.
func TestAnotherStore(t *testing.T) {
	suite.Concurrent(t)
	s, other := harness.OpenTemp(t, ""), harness.OpenTemp(t, "")
	s.Put("books", "b", `{}`)
	other.Put("books", "b", `{}`)
	p := newProxy(t, s)
	c := connect(t, p.url(), client.Options{})
	books := client.Collection[book](c, "books")
	saved := must(books.Get(t.Context(), "b"))(t).Position
	p.lead(other)
	p.cut()
	for _, err := range c.Changes(t.Context(), client.ChangesOptions{Since: saved}) {
		if !errors.Is(err, client.StoreChanged) {
			t.Errorf("the loop has %v", err)
		}
		break
	}
	if _, err := books.Get(t.Context(), "b"); !errors.Is(err, client.StoreChanged) {
		t.Errorf("get: %v", err)
	}
	must(books.Get(t.Context(), "b"))(t)
}

// TestRightsChange: where the server ends a feed because the rights have changed, the loop asks once more, from there. It ends with a
// refusal, and goes on where it is let in with other rights.
func TestRightsChange(t *testing.T) {
	end := `{"end":"rights-changed","last_seq":"6-0"}`
	for _, test := range []struct {
		name, first string
		once        bool
	}{
		{"stream", "id: 5-0\nevent: change\ndata: {\"seq\":\"5-0\",\"actor\":\"key:a\"}\n\nid: 6-0\nevent: end\ndata: " + end + "\n\n", false},
		{"one answer", `{"results":[{"seq":"5-0","actor":"key:a"}],` + end[1:], true},
	} {
		for status, code := range map[int]client.Code{401: "unauthenticated", 403: client.Forbidden, 200: ""} {
			var asked []string
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Query().Get("since"))
				switch {
				case len(asked) == 1:
					fmt.Fprint(w, test.first)
				case status != 200:
					w.Header().Set("Content-Type", "application/problem+json")
					w.WriteHeader(status)
					fmt.Fprintf(w, `{"type":"urn:fanfold:problem:%s","detail":"d"}`, code)
				case test.once:
					fmt.Fprint(w, `{"results":[{"seq":"7-0"}],"last_seq":"7-0"}`)
				default:
					fmt.Fprint(w, "id: 7-0\nevent: change\ndata: {\"seq\":\"7-0\"}\n\n")
				}
			}))
			c := connect(t, srv.URL, client.Options{})
			var got []string
			var ended error
			for change, err := range c.Changes(t.Context(), client.ChangesOptions{Once: test.once}) {
				if ended = err; err == nil {
					got = append(got, change.Seq+change.Actor)
				}
				if change.Seq == "7-0" {
					break
				}
			}
			srv.Close()
			want := []string{"5-0key:a", "7-0"}
			if status != 200 {
				want = want[:1]
			}
			if !slices.Equal(asked, []string{"", "6-0"}) || !slices.Equal(got, want) || (status == 200) != (ended == nil) || ended != nil && !errors.Is(ended, code) {
				t.Errorf("%s, then %d: asked %q, got %q, ended with %v", test.name, status, asked, got, ended)
			}
		}
	}
}
