package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// keyedRequests are one of each kind of write, each under a key of its own.
var keyedRequests = []harness.CrashStep{
	{"POST", "/v1/books", `{"n":1}`, "application/json"},
	{"POST", "/v1/books", `{"id":"b2","n":1}`, "application/json"},
	{"PUT", "/v1/books/b3", `{"n":1}`, "application/json"},
	{"PUT", "/v1/books/b3", `{"n":2}`, "application/json"},
	{"PATCH", "/v1/books/b3", `[{"op":"replace","path":"/n","value":3}]`, "application/json-patch+json"},
	{"DELETE", "/v1/books/b2", ``, ""},
	{"POST", "/v1/_transactions", `{"operations":[{"op":"create","collection":"books","body":{"n":7}},{"op":"put","collection":"books","id":"b3","body":{"n":8}}]}`, "application/json"},
}

// sendKeyed sends a request under a key and returns everything of the answer that a client acts on.
func sendKeyed(t *testing.T, c *harness.Client, key string, st harness.CrashStep) string {
	t.Helper()
	r, err := c.Do(st.Method, st.Path, []byte(st.Body), "Idempotency-Key", key, "Content-Type", st.ContentType)
	if err != nil {
		t.Fatal(err)
	}
	h := r.Header
	return fmt.Sprintf("%d %s %s %s %s %s", r.Status, h.Get("Location"), h.Get("ETag"), h.Get("Fanfold-Revision"), h.Get("Fanfold-Position"), r.Body)
}

// TestSameKeySameAnswer: the same request under the same key gets the same answer and writes
// nothing, also after other writes, a restart, a replay, and on another node.
func TestSameKeySameAnswer(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	a := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	var first []string
	for i, st := range keyedRequests {
		first = append(first, sendKeyed(t, a.Client, fmt.Sprint("key-", i), st))
		if status := first[i][:3]; status != "201" && status != "204" && status != "200" {
			t.Fatalf("%s %s: %s", st.Method, st.Path, first[i])
		}
	}
	a.Put("books", "b3", `{"n":99}`)
	again := func(s *harness.Store, when string) {
		t.Helper()
		for i, st := range keyedRequests {
			if got := sendKeyed(t, s.Client, fmt.Sprint("key-", i), st); got != first[i] {
				t.Errorf("%s, %s %s is answered with\n  %s\nwant\n  %s", when, st.Method, st.Path, got, first[i])
			}
		}
	}
	again(a, "at once")
	a = a.Reopen()
	again(a, "after a restart")
	a.Replay()
	again(a, "after a replay")
	b := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	again(b, "on another node")
	for i, st := range keyedRequests {
		if st.Body == "" {
			continue
		}
		other := strings.Replace(st.Body, `"n":`, `"n": 1`, 1)
		other = strings.Replace(other, `"value":3`, `"value":4`, 1)
		for _, s := range []*harness.Store{a, b} {
			r := s.Want(http.StatusUnprocessableEntity, st.Method, st.Path, other, "Idempotency-Key", fmt.Sprint("key-", i), "Content-Type", st.ContentType)
			if r.Problem() != "urn:fanfold:problem:key-reused" {
				t.Errorf("another body: %s", r.Body)
			}
		}
	}
	a.CatchUp()
	cp, err := a.Node.Store.Checkpoint()
	if err != nil || cp.Changes != 9 {
		t.Errorf("%d changes, want the 9 of the first round, %v", cp.Changes, err)
	}
	b.CatchUp()
	a.WantSameDigest(b)
	a.Verify()
	a.Close()
	b.Close()
}

// TestRefusalsAreNotKept: a refused request did nothing, and under its key it may succeed later.
func TestRefusalsAreNotKept(t *testing.T) {
	s := harness.OpenTemp(t, "")
	key := []string{"Idempotency-Key", `"quoted"`}
	s.Want(http.StatusNotFound, http.MethodDelete, "/v1/books/b", "", key...)
	s.Put("books", "b", `{}`)
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/books/b", "", key...)
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/books/b", "", "Idempotency-Key", "quoted")
	for _, bad := range [][]string{{"Idempotency-Key", ""}, {"Idempotency-Key", `"`}, {"Idempotency-Key", strings.Repeat("k", 256)}, {"Idempotency-Key", "a\tb"}} {
		s.Want(http.StatusBadRequest, http.MethodPut, "/v1/books/b", `{}`, bad...)
	}
}

// TestNodesRaceOnOneKey: the same requests under the same key at two nodes at once are done once,
// and everybody gets one answer; where the requests differ, one kind is refused.
func TestNodesRaceOnOneKey(t *testing.T) {
	suite.Concurrent(t)
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d replicas", servers), func(t *testing.T) {
			cluster := natsserver.StartCluster(t, servers, false)
			nodes := make([]*harness.Store, 2)
			for i := range nodes {
				nodes[i] = harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: cluster.URLs()[i%servers], Replicas: servers})
				defer nodes[i].Close()
				harness.AwaitReady(t, nodes[i], http.StatusOK)
			}
			for round := range 10 {
				raceOnKeys(t, nodes, round)
			}
			nodes[0].Verify()
			nodes[0].WantSameDigest(nodes[1])
		})
	}
}

func raceOnKeys(t *testing.T, nodes []*harness.Store, round int) {
	t.Helper()
	requests := []harness.CrashStep{
		{"POST", "/v1/made", `{"n":1}`, "application/json"},
		{"PUT", fmt.Sprintf("/v1/put/%d", round), `{"n":1}`, "application/json"},
		{"POST", "/v1/given", fmt.Sprintf(`{"id":"%d"}`, round), "application/json"},
		{"POST", "/v1/_transactions", fmt.Sprintf(`{"operations":[{"op":"create","collection":"tx","body":{}},{"op":"create","collection":"tx","body":{"id":"%d"}}]}`, round), "application/json"},
	}
	var mu sync.Mutex
	answers := map[int]map[string]int{}
	var wg sync.WaitGroup
	for kind, st := range requests {
		for i := range 6 {
			wg.Go(func() {
				got := sendKeyed(t, nodes[i%2].Client, fmt.Sprintf("%d-%d", round, kind), st)
				mu.Lock()
				defer mu.Unlock()
				if answers[kind] == nil {
					answers[kind] = map[string]int{}
				}
				answers[kind][got]++
			})
		}
	}
	wg.Wait()
	for kind, a := range answers {
		if len(a) != 1 {
			t.Errorf("round %d: %s %s has several answers: %v", round, requests[kind].Method, requests[kind].Path, a)
		}
	}
	for _, n := range nodes {
		n.CatchUp()
	}
	for collection, want := range map[string]int{"made": round + 1, "put": round + 1, "given": round + 1, "tx": 2 * (round + 1)} {
		var list struct{ Items []json.RawMessage }
		harness.Decode(t, nodes[0].Want(http.StatusOK, http.MethodGet, "/v1/"+collection+"?limit=1000", "").Body, &list)
		if len(list.Items) != want {
			t.Errorf("round %d: %d documents in %s, want %d", round, len(list.Items), collection, want)
		}
	}
}

// TestOutcomeUnknown: the log does not say whether a write is stored, and the client is told so. The same request under the same key
// brings it to an end, once.
func TestOutcomeUnknown(t *testing.T) {
	var cut atomic.Bool
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), FailAppend: func(stored bool) error {
		if stored && cut.Load() {
			return errors.New("the acknowledgement is lost")
		}
		return nil
	}})
	defer s.Close()
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/books/none?consistency=strong", "") // from here on the node knows where it stands
	for i, st := range keyedRequests {
		cut.Store(true)
		r, err := s.Do(st.Method, st.Path, []byte(st.Body), "Idempotency-Key", fmt.Sprint(i), "Content-Type", st.ContentType)
		if err != nil || r.Status != http.StatusServiceUnavailable || r.Problem() != "urn:fanfold:problem:outcome-unknown" ||
			!strings.Contains(string(r.Body), "outcome unknown") || !strings.Contains(string(r.Body), "retry with the same Idempotency-Key") || r.Header.Get("Retry-After") == "" {
			t.Fatalf("%s %s: %v %+v", st.Method, st.Path, err, r)
		}
		cut.Store(false)
		if got := sendKeyed(t, s.Client, fmt.Sprint(i), st); got[0] != '2' {
			t.Errorf("%s %s again: %s", st.Method, st.Path, got)
		}
	}
	if cp, err := s.Node.Store.Checkpoint(); err != nil || cp.Changes != 8 {
		t.Errorf("%d changes, want 8, %v", cp.Changes, err)
	}
	s.Verify()
}

// TestOldKeysProveNothing: a node whose fold lags, and that answers for a key it knows, does
// not take that as a sign that it knows all keys.
func TestOldKeysProveNothing(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	var failing atomic.Bool
	b := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Writer: writer.Options{ProvenFor: 200 * time.Millisecond}, FailWrite: func() error {
		if failing.Load() {
			return errors.New("injected fault")
		}
		return nil
	}})
	b.Want(http.StatusCreated, http.MethodPost, "/v1/books", `{"n":1}`, "Idempotency-Key", "k1")
	failing.Store(true)
	for end := time.Now().Add(time.Second); time.Now().Before(end); { // longer than what was proven holds
		r, err := b.Do(http.MethodPost, "/v1/books", []byte(`{"n":1}`), "Idempotency-Key", "k1", "Fanfold-Timeout", "1")
		if err != nil || r.Status != http.StatusCreated && r.Status != http.StatusServiceUnavailable {
			t.Fatalf("%v %+v", err, r)
		}
	}
	b.Want(http.StatusServiceUnavailable, http.MethodPost, "/v1/books", `{"n":2}`, "Idempotency-Key", "k2", "Fanfold-Timeout", "1")
	again := b.Abandon()
	again.Verify()
	again.Close()
}
