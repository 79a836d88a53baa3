package cluster_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/membership"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// heldBack is a node of three, whose fold can be held.
type heldBack struct {
	*harness.Store
	hold *harness.ActivationHold
}

// threeNodes opens three nodes on three NATS servers, the last with a hold of its fold, and an author with books that copy its name.
func threeNodes(t *testing.T) (a *harness.Store, last heldBack) {
	t.Helper()
	urls := natsserver.Start(t, 3)
	hold := harness.NewActivationHold()
	hold.Release()
	var nodes []*harness.Store
	for i, url := range urls {
		opt := harness.Options{Dir: t.TempDir(), NATS: url, Replicas: 3}
		if i == 2 {
			opt.FailWrite = func() error { return hold.Wait(t.Context()) }
		}
		s := harness.Open(t, opt)
		t.Cleanup(func() {
			s.Verify()
			s.Close()
		})
		nodes = append(nodes, s)
	}
	nodes[0].Model(`collections: {authors: {}, books: {relations: {author: {path: author, to: authors}}, derive: {name: {copy: author, value: doc.name}}}}`)
	nodes[0].Put("authors", "1", `{"name":"old"}`)
	for i := range 20 {
		nodes[0].Put("books", fmt.Sprint(i), `{"author":"1"}`)
	}
	for _, s := range nodes {
		s.CatchUp()
	}
	return nodes[0], heldBack{nodes[2], hold}
}

// names returns what a list of books says of their author's name, each answer once, and the answer's status.
func names(c *harness.Client, query string, headers ...string) string {
	r, err := c.Do(http.MethodGet, "/v1/books?"+query, nil, headers...)
	if err != nil {
		return err.Error()
	}
	if r.Status != http.StatusOK {
		return fmt.Sprintf("%d %s", r.Status, strings.TrimPrefix(r.Problem(), "urn:fanfold:problem:"))
	}
	var seen []string
	for _, name := range []string{"old", "new"} {
		if n := strings.Count(string(r.Body), fmt.Sprintf(`"name":%q`, name)); n > 0 {
			seen = append(seen, fmt.Sprintf("%d %s", n, name))
		}
	}
	return strings.Join(seen, ", ")
}

// TestConsistencyLevels: of three nodes one is held back. It keeps the promise of each level. It answers at once with an older but whole
// prefix, refuses where it must not wait, or answers with what was asked for once it can.
func TestConsistencyLevels(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	a, c := threeNodes(t)
	awaitStatus(t, c.Client, "its readiness", func(s node.Status) bool { return len(s.Nodes) == 3 && s.Lag == 0 })
	before := a.Want(http.StatusOK, http.MethodGet, "/v1/books/1", "").Header.Get("Fanfold-Position")
	c.hold.Renew()
	renamed := a.Merge("authors", "1", `{"name":"new"}`).Header.Get("Fanfold-Position")
	for i := range 5 {
		a.Put("other", fmt.Sprint(i), `{}`)
	}
	waiting := map[string]<-chan string{}
	for _, level := range []struct {
		query, position string
		want            string // of the node that is held back, within a moment
		waits           bool   // it answers with the new name once it can
	}{
		{"", "", "20 old", false},
		{"consistency=prefix", "", "20 old", false},
		{"consistency=eventual", "", "20 old", false},
		{"consistency=session", before, "20 old", false},
		{"consistency=bounded&maxLag=1000", "", "20 old", false},
		{"consistency=bounded&maxLag=24h", "", "20 old", false},
		{"consistency=strong", "", "504 timeout", true},
		{"consistency=session", renamed, "504 timeout", true},
		{"", renamed, "504 timeout", true},
		{"consistency=bounded&maxLag=5", "", "503 lagging", true},
		{"consistency=bounded&maxLag=1ms", "", "503 lagging", true},
	} {
		headers := []string{"Fanfold-Timeout", "60"}
		if level.waits {
			headers[1] = "300ms"
		}
		if level.position != "" {
			headers = append(headers, "Fanfold-Min-Position", level.position)
		}
		if got := names(c.Client, level.query, headers...); got != level.want {
			t.Errorf("%q from %q on the node that is held back: %s, want %s", level.query, level.position, got, level.want)
		}
		patient := append([]string{"Fanfold-Timeout", "60"}, headers[2:]...)
		if got := names(a.Client, level.query, patient...); got != "20 new" {
			t.Errorf("%q from %q on the other node: %s", level.query, level.position, got)
		}
		if level.waits {
			answer := make(chan string, 1)
			waiting[level.query+" from "+level.position] = answer
			go func() { answer <- names(c.Client, level.query, patient...) }()
		}
	}
	time.Sleep(50 * time.Millisecond) // what does not wait has answered by then
	for what, answer := range waiting {
		if len(answer) > 0 {
			t.Errorf("%s does not wait", what)
		}
	}
	c.hold.Release()
	for what, answer := range waiting {
		if got := <-answer; got != "20 new" {
			t.Errorf("%s shows %s once it can", what, got)
		}
	}
}

// TestCatchingUp: a node that has not reached the end that the log had at its start answers no read that promises a prefix, for it would
// show what is long past. It answers eventual reads, and reads of a session that it has reached.
func TestCatchingUp(t *testing.T) {
	suite.Parallel(t)
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	for i := range 300 {
		s.Put("books", fmt.Sprint(i), `{}`)
	}
	s.Close()
	if err := os.RemoveAll(filepath.Join(dir, "readmodel")); err != nil {
		t.Fatal(err)
	}
	hold, writes := harness.NewActivationHold(), atomic.Int64{}
	s = harness.Open(t, harness.Options{Dir: dir, FailWrite: func() error {
		if writes.Add(1) > 200 {
			return hold.Wait(t.Context())
		}
		return nil
	}})
	defer s.Close()
	for _, path := range []string{"/v1/books/299", "/v1/books/299?consistency=prefix", "/v1/books?limit=1", "/v1/_model", "/v1/_export", "/v1/books/299/_lineage"} {
		r := s.Want(http.StatusServiceUnavailable, http.MethodGet, path, "", "Fanfold-Timeout", "50ms")
		if r.Problem() != "urn:fanfold:problem:catching-up" || !strings.Contains(string(r.Body), "consistency=eventual") {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/books/299?consistency=eventual", "")
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/books/299?consistency=session", "", "Fanfold-Min-Position", "0-0")
	s.Want(http.StatusServiceUnavailable, http.MethodGet, "/readyz", "")
	hold.Release()
	s.Want(http.StatusOK, http.MethodGet, "/v1/books/299", "", "Fanfold-Timeout", "60")
}

// TestBeyondMaxLag: a node beyond its bound is not ready, and refuses strong reads and writes under a key; it answers others,
// and is ready again once it has caught up.
func TestBeyondMaxLag(t *testing.T) {
	for name, bound := range map[string]membership.LagBound{"events": {Events: 10}, "age": {Age: 500 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			suite.Parallel(t)
			hold := harness.NewActivationHold()
			hold.Release()
			s := harness.Open(t, harness.Options{Dir: t.TempDir(), MaxLag: bound, FailWrite: func() error { return hold.Wait(t.Context()) }})
			defer s.Close()
			s.Put("c", "1", `{}`)
			harness.AwaitReady(t, s, http.StatusOK)
			hold.Renew()
			for i := range 20 {
				s.Want(http.StatusAccepted, http.MethodPut, fmt.Sprintf("/v1/c/%d", i+2), `{}`, "Prefer", "respond-async")
			}
			harness.Await(t, "all of the lag", time.Minute, func() bool {
				r, err := s.Do(http.MethodGet, "/readyz", nil)
				return err == nil && strings.Contains(string(r.Body), "20 events")
			})
			harness.AwaitReady(t, s, http.StatusServiceUnavailable)
			figures := "--max-lag " + bound.String()
			for _, r := range []*harness.Response{
				s.Want(http.StatusServiceUnavailable, http.MethodGet, "/readyz", ""),
				s.Want(http.StatusServiceUnavailable, http.MethodGet, "/v1/c/1?consistency=strong", ""),
				s.Want(http.StatusServiceUnavailable, http.MethodPut, "/v1/c/k", `{}`, "Idempotency-Key", "k"),
				s.Want(http.StatusServiceUnavailable, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"put","collection":"c","id":"k","body":{}}]}`, "Idempotency-Key", "k"),
			} {
				if r.Problem() != "urn:fanfold:problem:lagging" || !strings.Contains(string(r.Body), figures) || !strings.Contains(string(r.Body), "20 events") {
					t.Errorf("%s", r.Body)
				}
			}
			s.Want(http.StatusOK, http.MethodGet, "/v1/c/1", "")
			s.Want(http.StatusNotFound, http.MethodGet, "/v1/c/2", "")
			s.Want(http.StatusAccepted, http.MethodPut, "/v1/c/1", `{"n":1}`, "Prefer", "respond-async")
			hold.Release()
			harness.AwaitReady(t, s, http.StatusOK)
			// On a busy machine the node may be beyond its bound of age again for a moment.
			awaitAnswer(t, s.Client, "/v1/c/1?consistency=strong", http.StatusOK)
			harness.Await(t, "a write under a key", time.Minute, func() bool {
				r, err := s.Do(http.MethodPut, "/v1/c/k", []byte(`{}`), "Idempotency-Key", "k")
				return err == nil && r.Status == http.StatusCreated
			})
		})
	}
}

// TestConsistencyParameters: what is no level, or does not go with one, is refused.
func TestConsistencyParameters(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("c", "1", `{}`)
	for _, query := range []string{"consistency=local", "consistency=STRONG", "consistency=bounded", "maxLag=5", "consistency=strong&maxLag=5", "consistency=session",
		"consistency=bounded&maxLag=0", "consistency=bounded&maxLag=25h", "consistency=bounded&maxLag=x", "consistency=bounded&maxLag=" + strings.Repeat("9", 1000)} {
		for _, path := range []string{"/v1/c/1", "/v1/c", "/v1/_model", "/v1/_export"} {
			if r := s.Want(http.StatusBadRequest, http.MethodGet, path+"?"+query, ""); len(r.Body) > 1000 {
				t.Errorf("%s: %s", query, r.Body)
			}
		}
	}
	s.Want(http.StatusOK, http.MethodGet, "/v1/c/1?consistency=bounded&maxLag=30s", "")
	s.Want(http.StatusOK, http.MethodGet, "/v1/c/1?consistency=strong", "", "Fanfold-Min-Position", "1")
}

// BenchmarkConsistency measures a read of each level on three nodes, while four clients write to one.
func BenchmarkConsistency(b *testing.B) {
	urls := natsserver.Start(b, 3)
	var nodes []*harness.Store
	for _, url := range urls {
		s := harness.Open(b, harness.Options{Dir: b.TempDir(), NATS: url, Replicas: 3})
		b.Cleanup(s.Close)
		nodes = append(nodes, s)
	}
	nodes[0].Put("c", "1", `{}`)
	for _, writers := range []int{0, 4} {
		stop := make(chan struct{})
		var position atomic.Value
		position.Store(nodes[0].Put("c", "1", `{}`).Header.Get("Fanfold-Position"))
		done := make(chan struct{}, writers)
		for w := range writers {
			go func() {
				defer func() { done <- struct{}{} }()
				for {
					select {
					case <-stop:
						return
					default:
						position.Store(nodes[0].Put("c", fmt.Sprint("w", w), `{"n":1}`).Header.Get("Fanfold-Position"))
					}
				}
			}()
		}
		for _, level := range []string{"eventual", "prefix", "session", "bounded&maxLag=30s", "bounded&maxLag=100", "strong"} {
			b.Run(fmt.Sprintf("%s/writers=%d", level, writers), func(b *testing.B) {
				for range b.N {
					var headers []string
					if level == "session" {
						headers = []string{"Fanfold-Min-Position", position.Load().(string)}
					}
					nodes[1].Want(http.StatusOK, http.MethodGet, "/v1/c/1?consistency="+level, "", headers...)
				}
			})
		}
		close(stop)
		for range writers {
			<-done
		}
	}
}
