package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// fill imports documents that have a number n, which is 0.
func fill(t *testing.T, s *harness.Store, collection string, count int) {
	t.Helper()
	var lines strings.Builder
	for i := range count {
		fmt.Fprintf(&lines, `{"id":"d%04d","n":0,"m":0}`+"\n", i)
	}
	harness.ImportText(t, s.Client, "collection="+collection, lines.String())
}

// wantEach checks that a filter is true of every document of a collection.
func wantEach(t *testing.T, s *harness.Store, collection, filter string, count int) {
	t.Helper()
	var got struct{ Count int }
	harness.Decode(t, s.Want(http.StatusOK, http.MethodGet, where(collection, filter, "count", "true", "limit", "1"), "").Body, &got)
	if got.Count != count {
		t.Errorf("%s is true of %d documents, want %d", filter, got.Count, count)
	}
}

const addOne = `[{"op":"increment","path":"/n","value":1}]`

// TestUpdatesBesideWriters: updates by query, and writers of the same documents on two nodes. No write is lost, and each update writes each
// document once.
func TestUpdatesBesideWriters(t *testing.T) {
	suite.Concurrent(t)
	url := natsserver.Start(t, 1)[0]
	var nodes [2]*harness.Store
	for i := range nodes {
		nodes[i] = harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
		defer nodes[i].Close()
	}
	const documents, writers, updates = 700, 6, 4
	fill(t, nodes[0], "docs", documents)
	nodes[1].CatchUp()
	var added atomic.Int64
	var wg, busy sync.WaitGroup
	ended := make(chan struct{})
	for w := range writers {
		busy.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-ended:
					return
				default:
				}
				path := fmt.Sprintf("/v1/docs/d%04d", (i*37+w*101)%documents)
				r, err := nodes[w%2].Do(http.MethodPatch, path, []byte(`[{"op":"increment","path":"/m","value":1}]`), "Content-Type", operations, "Fanfold-Timeout", "60")
				if err != nil || r.Status != http.StatusNoContent {
					t.Errorf("a writer: %v %+v", err, r)
					return
				}
				added.Add(1)
			}
		})
	}
	for u := range updates {
		wg.Go(func() {
			for range 2 { // two requests under each key, one after the other
				if end := update(t, nodes[u%2], http.MethodPatch, where("docs", "doc.n >= 0"), addOne, "Content-Type", operations, "Idempotency-Key", fmt.Sprint(u/2*2)); !end.Done {
					t.Errorf("an update: %+v", end)
				}
			}
		})
	}
	wg.Wait()
	close(ended)
	busy.Wait()
	nodes[0].CatchUp()
	wantEach(t, nodes[0], "docs", fmt.Sprintf("doc.n == %d", updates/2), documents)
	var sum struct {
		Groups []struct{ Values map[string]int64 }
	}
	harness.Decode(t, nodes[0].Want(http.StatusOK, http.MethodGet, "/v1/docs?compute=sum(m)", "").Body, &sum)
	if got := sum.Groups[0].Values["sum(m)"]; got != added.Load() {
		t.Errorf("%d increments are there of %d", got, added.Load())
	}
	nodes[0].Verify()
}

// TestUpdateResumes: an update is cut at each of its appends, stored or not, and sent again under its key: each document is written once.
func TestUpdateResumes(t *testing.T) {
	var cutAt, appends atomic.Int64
	var lost atomic.Bool
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), FailAppend: func(stored bool) error {
		if n := cutAt.Load(); n > 0 && stored == lost.Load() && appends.Add(1) >= n {
			return errors.New("cut")
		}
		return nil
	}})
	defer func() { s.Close() }()
	const documents = 1200
	fill(t, s, "docs", documents)
	rounds, cut := 0, 0
	for _, stored := range []bool{false, true} {
		lost.Store(stored)
		for at := range int64(6) {
			rounds++
			key := []string{"Content-Type", operations, "Idempotency-Key", fmt.Sprint("k", rounds)}
			appends.Store(0)
			cutAt.Store(at + 1)
			r, err := s.Do(http.MethodPatch, where("docs", "doc.n >= 0"), []byte(addOne), key...)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(r.Body), `"done":true`) {
				cut++
			}
			cutAt.Store(0)
			if at == 3 && stored { // by another process
				s = s.Reopen()
			}
			if end := update(t, s, http.MethodPatch, where("docs", "doc.n >= 0"), addOne, key...); !end.Done || end.Written != documents || end.Matched != documents {
				t.Errorf("cut at %d, stored %t: %+v", at, stored, end)
			}
			wantEach(t, s, "docs", fmt.Sprintf("doc.n == %d", rounds), documents)
		}
	}
	if cut < 8 {
		t.Errorf("%d updates were cut", cut)
	}
	s.Verify()
}

// TestUpdateIsLeft: a client leaves at the first line. The same request goes on from there.
func TestUpdateIsLeft(t *testing.T) {
	s := harness.OpenTemp(t, "")
	const documents = 2000
	fill(t, s, "docs", documents)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, s.URL+where("docs", "true"), strings.NewReader(addOne))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", operations)
	req.Header.Set("Idempotency-Key", "k")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Errorf("the first line: %v", err)
	}
	leave()
	_ = resp.Body.Close() // the client has gone
	if end := update(t, s, http.MethodPatch, where("docs", "true"), addOne, "Content-Type", operations, "Idempotency-Key", "k"); !end.Done || end.Written != documents {
		t.Errorf("the same again: %+v", end)
	}
	wantEach(t, s, "docs", "doc.n == 1", documents)
}

// TestUpdateNeedsRights: an update needs the right to write, which is one to read. A key of one sender is not another's.
func TestUpdateNeedsRights(t *testing.T) {
	s := harness.OpenClosed(t, `collections: { docs: { access: { read: [readers], write: [writers] } } }`)
	s.Put("docs", "d", `{"n":0}`)
	for _, c := range []struct {
		role   string
		status int
	}{{"readers", http.StatusForbidden}, {"others", http.StatusForbidden}, {"writers", http.StatusOK}} {
		as := s.As(c.role)
		as.Want(c.status, http.MethodPatch, where("docs", "doc.n == 0"), addOne, "Content-Type", operations)
		as.Want(c.status, http.MethodDelete, where("docs", "doc.n == 0"), "")
		as.Want(c.status, http.MethodDelete, where("docs", "true", "dryRun", "true"), "")
	}
	s.WantDoc("docs", "d", `{"id":"d","n":1}`)
	one, other := s.As("writers"), s.As("writers")
	for _, as := range []*harness.Client{one, other, one} {
		as.Want(http.StatusOK, http.MethodPatch, where("docs", "true"), addOne, "Content-Type", operations, "Idempotency-Key", "k")
	}
	s.WantDoc("docs", "d", `{"id":"d","n":3}`)
}

// TestFewUpdatesAtATime: two updates run at a time. A third one waits, and is refused.
func TestFewUpdatesAtATime(t *testing.T) {
	suite.Concurrent(t)
	var held atomic.Bool
	release := make(chan struct{})
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{Admission: 50 * time.Millisecond}, FailAppend: func(stored bool) error {
		if held.Load() && !stored {
			<-release
		}
		return nil
	}})
	defer s.Close()
	s.Put("docs", "d", `{"n":0}`)
	s.CatchUp()
	held.Store(true)
	answers := make(chan *harness.Response, 3)
	for range 3 {
		go func() {
			r, err := s.Do(http.MethodPatch, where("docs", "true"), []byte(addOne), "Content-Type", operations)
			if err != nil {
				t.Error(err)
			}
			answers <- r
		}()
	}
	if r := <-answers; r == nil || r.Status != http.StatusTooManyRequests || r.Header.Get("Retry-After") == "" {
		t.Errorf("the third: %+v", r)
	}
	held.Store(false)
	close(release)
	for range 2 {
		if r := <-answers; r == nil || !strings.Contains(string(r.Body), `"done":true`) {
			t.Errorf("another: %+v", r)
		}
	}
	s.WantDoc("docs", "d", `{"id":"d","n":2}`)
	s.Verify()
}

// TestUpdateStepsByBytes: a step has events of 4 MiB, and one more at most.
func TestUpdateStepsByBytes(t *testing.T) {
	s := harness.OpenTemp(t, "")
	fill(t, s, "docs", 12)
	body, err := json.Marshal(map[string]string{"x": strings.Repeat("x", 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	if end := update(t, s, http.MethodPatch, where("docs", "true"), string(body), "Content-Type", merge); !end.Done || end.Written != 12 || end.steps < 3 || end.steps > 4 {
		t.Errorf("the update: %+v", end)
	}
}

// TestUpdateOfGuardedMembers: a unique value goes to one of the documents, and a strict reference to none is refused; the others go on.
func TestUpdateOfGuardedMembers(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  targets: {}
  docs:
    unique: [name]
    relations: { target: { path: target, to: targets, strict: true, onDelete: restrict } }
`)
	s.Put("targets", "t", `{}`)
	for i := range 700 {
		s.Put("docs", fmt.Sprintf("d%03d", i), fmt.Sprintf(`{"name":"n%d"}`, i))
	}
	end := update(t, s, http.MethodPatch, where("docs", `doc.name.startsWith("n5")`), `{"name":"same"}`, "Content-Type", merge)
	if !end.Done || end.Matched != 111 || end.Written != 1 || end.Refused != 110 || len(end.refused) != 110 {
		t.Errorf("one name for all: %+v", end)
	}
	if end = update(t, s, http.MethodPatch, where("docs", "true"), `{"target":"none"}`, "Content-Type", merge); !end.Done || end.Refused != 700 {
		t.Errorf("a reference to none: %+v", end)
	}
	if end = update(t, s, http.MethodPatch, where("docs", "true"), `{"target":"t"}`, "Content-Type", merge, "Idempotency-Key", "k"); !end.Done || end.Written != 700 {
		t.Errorf("a reference: %+v", end)
	}
	if end = update(t, s, http.MethodDelete, where("targets", "true"), ""); !end.Done || end.Refused != 1 {
		t.Errorf("a delete of what is referred to: %+v", end)
	}
	if end = update(t, s, http.MethodDelete, where("docs", "true"), ""); !end.Done || end.Written != 700 {
		t.Errorf("deletes: %+v", end)
	}
	s.Verify()
}

// TestUpdateUnderAnotherModel: the model changes while an update is cut. The rest of it is judged by the new one.
func TestUpdateUnderAnotherModel(t *testing.T) {
	var cut atomic.Bool
	var appends atomic.Int64
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), FailAppend: func(stored bool) error {
		if cut.Load() && !stored && appends.Add(1) > 3 { // a fence, that it has begun, and a step
			return errors.New("cut")
		}
		return nil
	}})
	defer s.Close()
	fill(t, s, "docs", 1000)
	key := []string{"Content-Type", operations, "Idempotency-Key", "k"}
	cut.Store(true)
	if end := update(t, s, http.MethodPatch, where("docs", "true"), addOne, key...); end.Done || end.Written != 500 || end.Status != http.StatusServiceUnavailable {
		t.Errorf("the first part: %+v", end)
	}
	cut.Store(false)
	s.Want(http.StatusOK, http.MethodPut, "/v1/_model?allowMisfits=true", `{collections: {docs: {schema: {properties: {n: {maximum: 0}}}}}}`, "Content-Type", "application/yaml")
	if end := update(t, s, http.MethodPatch, where("docs", "true"), addOne, key...); !end.Done || end.Written != 500 || end.Refused != 500 || len(end.refused) != 500 {
		t.Errorf("the rest: %+v", end)
	}
	s.Verify()
}

// TestUpdateAfterACompaction: the log has lost the events of an update, and what was done under its key is known.
func TestUpdateAfterACompaction(t *testing.T) {
	s := harness.OpenTemp(t, "")
	fill(t, s, "docs", 10)
	key := []string{"Content-Type", operations, "Idempotency-Key", "k"}
	first := update(t, s, http.MethodPatch, where("docs", "true"), addOne, key...)
	s.Put("other", "d", `{}`)
	s.CatchUp()
	s.Compact(s.Node.Store.Applied.Seq())
	if again := update(t, s, http.MethodPatch, where("docs", "true"), addOne, key...); !again.Done || again.Written != first.Written {
		t.Errorf("first %+v, again %+v", first, again)
	}
	wantEach(t, s, "docs", "doc.n == 1", 10)
	if end := update(t, s, http.MethodPatch, where("docs", "true"), addOne, "Content-Type", operations); !end.Done || end.Written != 10 {
		t.Errorf("another one: %+v", end)
	}
}

// TestUpdateAgainstChecks: checks hold against updates by query, also checks of a sum over the documents. As many seats are
// taken as there are.
func TestUpdateAgainstChecks(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  events:
    derive: { sold: { sum: orders.event, of: seats }, left: { value: doc.capacity - doc.sold } }
    checks: { notOversold: { that: doc.left >= 0, message: "No seat is left" } }
  orders:
    relations: { event: { to: events, path: event } }
    checks: { some: { that: doc.seats < 3 } }
`)
	s.Put("events", "e", `{"capacity":25}`)
	for i := range 20 {
		s.Put("orders", fmt.Sprintf("o%02d", i), `{"event":"e","seats":1}`)
	}
	seat := `[{"op":"increment","path":"/seats","value":1}]`
	end := update(t, s, http.MethodPatch, where("orders", "true"), seat, "Content-Type", operations, "Idempotency-Key", "k")
	if !end.Done || end.Written != 5 || end.Refused != 15 || !strings.Contains(end.refused["o19"], "No seat is left") {
		t.Errorf("one seat more for each: %+v", end)
	}
	var event struct{ Sold, Left int }
	harness.Decode(t, s.Want(http.StatusOK, http.MethodGet, "/v1/events/e?consistency=strong", "").Body, &event)
	if event.Sold != 25 || event.Left != 0 {
		t.Errorf("the event is %+v", event)
	}
	if end = update(t, s, http.MethodPatch, where("orders", "doc.seats == 2"), seat, "Content-Type", operations); !end.Done || end.Written != 0 || end.Refused != 5 {
		t.Errorf("three seats: %+v", end)
	}
	if end = update(t, s, http.MethodDelete, where("orders", "doc.seats == 2"), ""); !end.Done || end.Written != 5 {
		t.Errorf("deletes: %+v", end)
	}
	s.Verify()
}
