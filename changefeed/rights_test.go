package changefeed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/internal/sending"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/tests/suite"
)

// house is a closed store with principals by their roles. It implements access.Keys.
type house struct {
	judge *access.Judge

	mu      sync.Mutex
	revoked map[*access.Principal]bool
	version uint64
	model   *model.Model
	known   map[string]*access.Principal
}

// newHouse returns a house whose collection books is for role reader, and cities for the role admin alone.
func newHouse(t testing.TB) *house {
	h := &house{revoked: map[*access.Principal]bool{}, known: map[string]*access.Principal{}}
	h.grant("books", "reader")
	h.judge = access.NewJudge(h, h.current)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = h.judge.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return h
}

// grant makes a model by which roles read a collection, and only administrators any other.
func (h *house) grant(collection string, roles ...string) {
	m := &model.Model{Collections: []*model.Collection{
		{Name: collection, Access: &model.Access{Read: model.Right{Roles: roles}}}, {Name: "cities", Access: &model.Access{}}}}
	m.Index()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.model = m
}

func (h *house) current() *model.Model {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.model
}

// as returns the rights of a principal with a name and its roles, as reader or reader.other.
func (h *house) as(name string) *access.Rights {
	h.mu.Lock()
	p := h.known[name]
	if p == nil {
		role, _, _ := strings.Cut(name, ".")
		p = &access.Principal{ID: name, Roles: []string{role}}
		h.known[name] = p
	}
	h.mu.Unlock()
	return h.judge.Of(p)
}

// revoke ends a principal's key.
func (h *house) revoke(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.revoked[h.known[name]] = true
	h.version++
}

func (h *house) Holder(string, []byte) (*access.Principal, error) { panic("nobody asks") }

func (h *house) Authenticate([]string) (*access.Principal, error) { panic("nobody asks") }

func (h *house) Valid(p *access.Principal) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.revoked[p]
}

func (h *house) Secret() []byte { return nil }

func (h *house) Version() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.version
}

// answer has a feed answer a request as the API does for the principal whom the path names.
func (h *house) answer(feed *changefeed.Feed, w http.ResponseWriter, r *http.Request) error {
	q, err := api.FeedQuery(r)
	if err != nil {
		return err
	}
	if name := strings.Trim(r.URL.Path, "/"); name != "" {
		q.Rights = h.as(name)
	}
	return feed.Serve(w, r, q)
}

// serve runs a feed's handler on a server of its own.
func (h *house) serve(t testing.TB, feed *changefeed.Feed) (url string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h.answer(feed, w, r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
		}
	}))
	t.Cleanup(func() { feed.Close(); server.Close() })
	return server.URL + "/"
}

// ask returns one answer.
func (h *house) ask(t testing.TB, feed *changefeed.Feed, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	if err := h.answer(feed, w, httptest.NewRequest(http.MethodGet, "/"+path, nil)); err != nil {
		t.Fatal(err)
	}
	return w.Body.String()
}

// in returns a change in a collection.
func in(collection string, ch fanfold.Change) fanfold.Change {
	ch.Key.Collection = collection
	return ch
}

// causes is a store of books that a city has caused to change: by a rule, and by deletes that are done and to come. It has a city,
// too.
func causes() *memoryStore {
	city := fanfold.Key{Collection: "cities", ID: "secret"}
	derived := create(3, "b3")
	derived.Position, derived.Op, derived.Rules = fanfold.At(3, 1), fanfold.OpDerive, []string{"books.city", "books.size"}
	derived.Actor = "key:abcdefghijkl"
	done, coming := create(4, "b4"), create(5, "b5")
	done.ByDelete = &fanfold.ByDelete{Key: city, Relations: []string{"books.cities"}, Seq: 3}
	coming.ByDelete = &fanfold.ByDelete{Key: city, Relations: []string{"books.cities"}}
	store := newMemoryStore(create(1, "b1"), in("cities", create(2, "secret")), derived, done, coming)
	store.cause = &city
	return store
}

// TestHiddenCollections: who does not read a collection gets no row of it, by any transport. Other rows do not tell
// which of its documents has caused them, also not by a filter. A reader of all is told.
func TestHiddenCollections(t *testing.T) {
	suite.Concurrent(t)
	h, feed := newHouse(t), changefeed.New(causes(), changefeed.Options{})
	defer feed.Close()
	const shown = `"collection":"cities","id":"secret"`
	for _, kind := range []string{"normal", "longpoll", "continuous&timeout=0", "eventsource&timeout=0"} {
		admin, reader := h.ask(t, feed, "admin?mode=all&feed="+kind), h.ask(t, feed, "reader?mode=all&feed="+kind)
		if n := strings.Count(admin, shown); n != 4 {
			t.Errorf("%s: the city is named %d times to an administrator: %s", kind, n, admin)
		}
		if strings.Contains(reader, "cities\",") || strings.Contains(reader, "secret") || strings.Contains(reader, "pending") || strings.Contains(reader, "actor") {
			t.Errorf("%s: a reader of books is told %s", kind, reader)
		}
		for _, cause := range []string{`"cause":{"seq":"3-0","rule":"books.city","rules":["books.city","books.size"]}`, `"cause":{"seq":"3-0","rule":"books.cities"}`, `"cause":{"rule":"books.cities"}`} {
			if strings.Count(reader, cause) != 1 {
				t.Errorf("%s: %s is missing in %s", kind, cause, reader)
			}
		}
		if strings.Count(reader, `"op"`) != 4 || !strings.Contains(reader, `"last_seq":"5-0"`) && !strings.Contains(reader, "id: 5-0") {
			t.Errorf("%s: a reader of books gets %s", kind, reader)
		}
		if strings.Count(admin, `"actor":"key:abcdefghijkl"`) != 1 {
			t.Errorf("%s: an administrator is not told who wrote: %s", kind, admin)
		}
	}
	if latest := h.ask(t, feed, "admin?feed=normal"); strings.Contains(latest, "actor") || !strings.Contains(latest, `"pending":0`) {
		t.Errorf("with mode=latest an administrator is told %s", latest)
	}
	filter := "?mode=all&filter=change.cause.id=='secret'"
	if admin, reader := h.ask(t, feed, "admin"+filter), h.ask(t, feed, "reader"+filter); strings.Count(admin, `"op"`) != 3 || strings.Contains(reader, `"op"`) {
		t.Errorf("a filter finds the cause:\n%s%s", admin, reader)
	}
	if none := h.ask(t, feed, "stranger?mode=all"); strings.Contains(none, `"op"`) || !strings.Contains(none, `"last_seq":"5-0"`) {
		t.Errorf("who reads nothing gets %s", none)
	}
	w := httptest.NewRecorder()
	if err := h.answer(feed, w, httptest.NewRequest(http.MethodGet, "/", nil)); fanfold.CodeOf(err) != fanfold.Forbidden || w.Body.Len() > 0 {
		t.Errorf("nobody is answered with %v, %s", err, w.Body)
	}
}

// TestOpenHouseIsToldNoActor: where nobody has a key, rows are as they always were.
func TestOpenHouseIsToldNoActor(t *testing.T) {
	feed := changefeed.New(causes(), changefeed.Options{})
	defer feed.Close()
	w := httptest.NewRecorder()
	if err := answer(feed, w, httptest.NewRequest(http.MethodGet, "/?mode=all", nil)); err != nil || strings.Contains(w.Body.String(), "actor") || strings.Count(w.Body.String(), "secret") != 4 {
		t.Errorf("%v, %s", err, w.Body)
	}
}

// TestLimitBesideHiddenRows: rows that are left out count for no limit, and a transaction stays whole.
func TestLimitBesideHiddenRows(t *testing.T) {
	suite.Concurrent(t)
	part := func(ch fanfold.Change) fanfold.Change {
		ch.Tx = "t"
		return ch
	}
	store := newMemoryStore()
	for seq := range uint64(300) {
		store.add(in("cities", create(seq+1, fmt.Sprint("c", seq))))
	}
	store.add(create(301, "b1"), in("cities", create(302, "c")), part(create(303, "b2")), part(in("cities", create(304, "c"))), part(create(305, "b3")), create(306, "b4"))
	feed := changefeed.New(store, changefeed.Options{})
	defer feed.Close()
	h := newHouse(t)
	for since, c := range map[string]struct {
		rows int
		last string
	}{"0": {3, "305-0"}, "302-0": {2, "305-0"}, "305-0": {1, "306-0"}} {
		body := h.ask(t, feed, "reader?mode=all&limit=2&since="+since)
		if strings.Count(body, `"op"`) != c.rows || !strings.Contains(body, `"last_seq":"`+c.last+`"`) {
			t.Errorf("after %s: %s", since, body)
		}
	}
}

// TestHeartbeatsBesideHiddenRows: who reads nothing of what comes is told positions all the same.
func TestHeartbeatsBesideHiddenRows(t *testing.T) {
	suite.Concurrent(t)
	h, store := newHouse(t), newMemoryStore()
	url := h.serve(t, changefeed.New(store, changefeed.Options{}))
	for _, kind := range streams {
		c := consume(t, url+"reader", kind, "mode=all&heartbeat=100")
		last, _ := c.next()
		_, head, _ := store.Bounds()
		for seq := head.Seq() + 1; seq < head.Seq()+2000; seq++ {
			store.add(in("cities", create(seq, "c")))
		}
		_, head, _ = store.Bounds()
		for last.LastSeq != head.String() {
			var err error
			if last, err = c.next(); err != nil || last.ID != "" {
				t.Fatalf("%s: %+v, %v", kind, last, err)
			}
		}
	}
}

// TestSharedByEqualRights: consumers with the same rights share a reading, and no others do.
func TestSharedByEqualRights(t *testing.T) {
	suite.Concurrent(t)
	const each, changes = 10, 40
	h, store := newHouse(t), newMemoryStore()
	url := h.serve(t, changefeed.New(store, changefeed.Options{}))
	var readers, admins []*consumer
	for _, kind := range streams {
		for i := range each {
			readers = append(readers, consume(t, fmt.Sprint(url, "reader.", i), kind, "heartbeat=100&mode=all"))
			admins = append(admins, consume(t, fmt.Sprint(url, "admin.", i), kind, "heartbeat=100&mode=all"))
		}
	}
	for _, c := range slices.Concat(readers, admins) {
		if _, err := c.next(); err != nil { // it has caught up
			t.Fatal(err)
		}
	}
	before := store.readCount()
	for i := range uint64(changes) {
		store.add(in("cities", create(2*i+1, "c")), create(2*i+2, "b"))
		for _, c := range readers {
			if m := c.change(); m.ID != "b" {
				t.Fatalf("a reader has %+v", m)
			}
		}
		for _, c := range admins {
			if first, second := c.change(), c.change(); first.ID != "c" || second.ID != "b" {
				t.Fatalf("an administrator has %+v, %+v", first, second)
			}
		}
	}
	if reads := store.readCount() - before; reads > 6*changes {
		t.Errorf("%d reads for %d changes", reads, changes)
	}
}

// soon bounds when a stream ends after its rights.
const soon = time.Second

// wantEnd reads a stream that has lost its rights to its end.
func wantEnd(t *testing.T, c *consumer, last string) {
	t.Helper()
	begun := time.Now()
	m, err := c.readToEnd()
	if took := time.Since(begun); took > soon+time.Second/2 { // of a machine that has more to do
		t.Errorf("%s ends after %v", c.kind, took)
	}
	if m.End != "rights-changed" || m.LastSeq != last {
		t.Errorf("%s ends with %+v, want the position %s", c.kind, m, last)
	}
	if c.kind == "websocket" && (websocket.CloseStatus(err) != websocket.StatusPolicyViolation || !strings.Contains(err.Error(), last)) || c.kind != "websocket" && err != nil {
		t.Errorf("%s ends with %v", c.kind, err)
	}
}

// TestStreamsEndWithTheirRights: whether it waits or reads, a stream ends soon after its key, and after the access to collections
// has changed. Others that share its reading go on.
func TestStreamsEndWithTheirRights(t *testing.T) {
	suite.Concurrent(t)
	for _, kind := range streams {
		for _, query := range []string{"mode=all", "mode=all&limit=1000", "mode=all&since=9-0", "mode=all&filter=true"} {
			t.Run(kind+" "+query, func(t *testing.T) {
				t.Parallel()
				h, store := newHouse(t), newMemoryStore(create(1, "b1"))
				url := h.serve(t, changefeed.New(store, changefeed.Options{}))
				first, other := consume(t, url+"reader.first", kind, query), consume(t, url+"reader.other", kind, query)
				last := "9-0"
				if !strings.Contains(query, "since") {
					first.change()
					other.change()
					last = "1-0"
				}
				h.revoke("reader.first")
				wantEnd(t, first, last)
				store.add(create(10, "b10"))
				if m := other.change(); m.Seq != "10-0" {
					t.Errorf("the other has %+v", m)
				}
				h.grant("books", "others")
				wantEnd(t, other, "10-0")
			})
		}
	}
}

// TestBusyStreamEnds: a stream with more to send than its client reads ends after the piece under way.
func TestBusyStreamEnds(t *testing.T) {
	suite.Concurrent(t)
	for _, kind := range streams {
		t.Run(kind, func(t *testing.T) {
			h, store := newHouse(t), newMemoryStore()
			const changes = 2000
			for seq := range uint64(changes) {
				store.add(large(seq+1, 64<<10))
			}
			c := consume(t, h.serve(t, changefeed.New(store, changefeed.Options{}))+"reader", kind, "mode=all")
			c.change()
			h.revoke("reader")
			rows := 1
			var m message
			var err error
			for err == nil && m.End == "" {
				if m, err = c.next(); m.ID != "" {
					rows++
				}
			}
			if m.End != "rights-changed" || err != nil || rows > changes/2 || m.LastSeq != fmt.Sprint(rows, "-0") {
				t.Errorf("after %d rows it ends with %+v, %v", rows, m, err)
			}
		})
	}
}

// TestAnswersEndWithTheirRights: a long poll answers with what it has, and one answer says that it is not whole.
func TestAnswersEndWithTheirRights(t *testing.T) {
	suite.Concurrent(t)
	h, store := newHouse(t), newMemoryStore(create(1, "b1"))
	feed := changefeed.New(store, changefeed.Options{Timeout: 20 * time.Second})
	defer feed.Close()
	answered := make(chan string)
	go func() { answered <- h.ask(t, feed, "reader.poll?feed=longpoll&since=1-0") }()
	go func() { answered <- h.ask(t, feed, "admin.poll?feed=longpoll&since=7-0") }()
	for feed.Subscribers("longpoll") < 2 {
		time.Sleep(time.Millisecond)
	}
	begun := time.Now()
	h.revoke("reader.poll")
	h.revoke("admin.poll")
	for range 2 {
		var answer struct {
			Results []any
			LastSeq string `json:"last_seq"`
			End     *string
		}
		text := <-answered
		if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Results) > 0 || answer.LastSeq != "1-0" && answer.LastSeq != "7-0" || answer.End != nil {
			t.Errorf("the long poll has %s, %v", text, err)
		}
	}
	if took := time.Since(begun); took > soon+time.Second/2 {
		t.Errorf("the long polls end after %v", took)
	}
	for seq := range uint64(600) {
		store.add(create(seq+2, "b"))
	}
	leaving := changefeed.New(store, changefeed.Options{OnSent: func(_ context.Context, seq uint64) {
		if seq == 256 {
			h.revoke("admin")
		}
	}})
	defer leaving.Close()
	body := h.ask(t, leaving, "admin?mode=all")
	if strings.Count(body, `"op"`) != 256 || !strings.HasSuffix(body, "\"last_seq\":\"256-0\",\"end\":\"rights-changed\"}\n") {
		t.Errorf("one answer ends with %s", body[max(0, len(body)-200):])
	}
}

// narrow is a listener whose connections hold next to nothing that their clients do not read.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
	conn, err := n.Listener.Accept()
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(4 << 10)
	}
	return conn, err
}

// TestNothingForTheSlow: a client that reads late is sent nothing that had yet to be written when its rights ended: neither of a page nor of what it shares with others.
func TestNothingForTheSlow(t *testing.T) {
	suite.Concurrent(t)
	const changes, size = 200, 4 << 10
	for _, live := range []bool{false, true} {
		h, store := newHouse(t), newMemoryStore()
		feed := changefeed.New(store, changefeed.Options{})
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := h.answer(feed, w, r); err != nil {
				t.Error(err)
			}
		}))
		server.Listener = narrow{server.Listener}
		server.Start()
		defer server.Close()
		defer feed.Close()
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		for seq := range uint64(changes) {
			if !live {
				store.add(large(seq+1, size))
			}
		}
		fmt.Fprint(conn, "GET /reader?mode=all HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
		for feed.Subscribers("websocket") == 0 || live && store.readCount() == 0 {
			time.Sleep(time.Millisecond)
		}
		if live {
			time.Sleep(50 * time.Millisecond) // it has caught up, and follows
			for seq := range uint64(changes) {
				store.add(large(seq+1, size))
				time.Sleep(time.Millisecond) // a piece for each
			}
		}
		time.Sleep(100 * time.Millisecond)
		h.revoke("reader")
		time.Sleep(500 * time.Millisecond)
		_ = conn.(*net.TCPConn).SetReadBuffer(1 << 20) // so that the rest comes fast
		text, err := io.ReadAll(conn)
		if n := bytes.Count(text, []byte(`"op"`)); n == 0 || n > changes/2 || !bytes.Contains(text, []byte(`{"end":"rights-changed",`)) {
			t.Errorf("live %v: %d changes were sent, %v", live, n, err)
		}
	}
}

// TestStreamsEndWhileTheyWait: a stream that waits for room, or for its turn to evaluate a filter, ends soon after its key.
func TestStreamsEndWhileTheyWait(t *testing.T) {
	suite.Concurrent(t)
	const size = 4 << 20
	for name, c := range map[string]struct {
		query string
		fill  func(t *testing.T, feed *changefeed.Feed, budget *sending.Budget) (free func())
	}{
		"room": {"mode=all&since=0", func(t *testing.T, _ *changefeed.Feed, budget *sending.Budget) func() {
			lease := budget.Lease()
			if err := lease.WaitToHold(t.Context(), size); err != nil {
				t.Fatal(err)
			}
			return lease.Release
		}},
		"filter": {"mode=all&since=0&filter=true", func(_ *testing.T, feed *changefeed.Feed, _ *sending.Budget) func() { return feed.TakeFilterPlaces() }},
	} {
		for _, kind := range streams {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				h, budget := newHouse(t), sending.NewBudget(size)
				feed := changefeed.New(newMemoryStore(large(1, 1<<20)), changefeed.Options{Budget: budget})
				url := h.serve(t, feed)
				free := c.fill(t, feed, budget)
				waiting := consume(t, url+"reader.first", kind, c.query+"&heartbeat=100")
				if m, err := waiting.next(); err != nil || m.ID != "" { // a heartbeat: it has begun, and waits
					t.Fatalf("%+v, %v", m, err)
				}
				h.revoke("reader.first")
				wantEnd(t, waiting, "0-0")
				free()
				if m := consume(t, url+"reader.other", kind, c.query).change(); m.Seq != "1-0" {
					t.Errorf("another reader has %+v", m)
				}
			})
		}
	}
}
