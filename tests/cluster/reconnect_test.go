package cluster_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// awaitAnswer blocks until the node answers a path with a status, a minute at most.
func awaitAnswer(t *testing.T, c *harness.Client, path string, status int) {
	t.Helper()
	harness.Await(t, path, time.Minute, func() bool {
		r, err := c.Do("GET", path, nil)
		return err == nil && r.Status == status
	})
}

// TestConnectionComesBack: while the log's server is away reads go on, and writes are refused clearly, at once after the first seconds.
// When it is there again all goes on by itself. The node was started with the URL of an absent server, too.
func TestConnectionComesBack(t *testing.T) {
	suite.Parallel(t)
	servers := natsserver.StartCluster(t, 1, false)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: "nats://127.0.0.1:1," + servers.URLs()[0]})
	defer s.Close()
	awaitAnswer(t, s.Client, "/readyz", http.StatusOK)
	s.Put("books", "b", `{"x":1}`)
	for round := range 2 { // it comes back more than once
		servers.Stop(0)
		awaitAnswer(t, s.Client, "/readyz", http.StatusServiceUnavailable)
		if round > 0 {
			servers.Restart(0)
			awaitAnswer(t, s.Client, "/readyz", http.StatusOK)
			break
		}
		r := s.Want(http.StatusServiceUnavailable, "PUT", "/v1/books/c", `{}`)
		if r.Header.Get("Retry-After") == "" || !strings.Contains(string(r.Body), "nothing was written") {
			t.Errorf("refused with %v %s", r.Header, r.Body)
		}
		began := time.Now()
		for range 10 { // would take 100 s if each waited for the server
			s.Want(http.StatusServiceUnavailable, "PUT", "/v1/books/c", `{}`)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("ten writes were refused in %v", took)
		}
		s.WantDoc("books", "b", `{"id":"b","x":1}`)
		s.Want(http.StatusNotFound, "GET", "/v1/books/c", "")
		if status := s.Want(http.StatusOK, "GET", "/v1/_status", ""); !strings.Contains(string(status.Body), "none of nats://127.0.0.1:1") {
			t.Errorf("_status says %s", status.Body)
		}
		servers.Restart(0)
		awaitAnswer(t, s.Client, "/readyz", http.StatusOK)
	}
	s.Put("books", "c", `{"x":2}`)
	s.WantDoc("books", "c", `{"id":"c","x":2}`)
	s.Verify()
}

// putUntilDecided puts a document under one idempotency key until it is decided, three minutes at most. It repeats the request if the
// outcome is unknown, the log does not answer, or the write is not folded yet.
func putUntilDecided(t *testing.T, c *harness.Client, key, path, body string) {
	t.Helper()
	var r *harness.Response
	harness.Await(t, "PUT "+path, 3*time.Minute, func() bool {
		var err error
		r, err = c.Do("PUT", path, []byte(body), "Idempotency-Key", key)
		return err == nil && r.Status != http.StatusServiceUnavailable && r.Status != http.StatusAccepted
	})
	if r.Status != http.StatusNoContent {
		t.Errorf("PUT %s: status %d: %s", path, r.Status, r.Body)
	}
}

// TestOtherServersOfTheList: a node that loses its server goes over to another of the list.
func TestOtherServersOfTheList(t *testing.T) {
	suite.Parallel(t)
	cluster := natsserver.StartCluster(t, 3, false)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: strings.Join(cluster.URLs(), ","), Replicas: 3})
	defer s.Close()
	harness.AwaitReady(t, s, http.StatusOK)
	s.Put("books", "b", `{"x":1}`)
	for i := range 2 {
		cluster.Stop(i)
		putUntilDecided(t, s.Client, "stop-"+strconv.Itoa(i), "/v1/books/b", `{"x":2}`)
		cluster.Restart(i)
		cluster.AwaitWhole("fanfold", func() bool { return false })
	}
	s.WantDoc("books", "b", `{"id":"b","x":2}`)
	s.Verify()
}
