package harness

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/tests/suite"
)

// Await waits until done says so, for limit at most (suite.Deadline).
func Await(t *testing.T, what string, limit time.Duration, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(suite.Deadline(limit)); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// AwaitReady waits until /readyz is answered with a status, a minute at most. Right after its start a node on a server that others may
// use, too, takes no writes yet.
func AwaitReady(t testing.TB, s *Store, status int) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		r, err := s.Do(http.MethodGet, "/readyz", nil)
		if err == nil && r.Status == status {
			return
		}
		if time.Since(begin) > suite.Deadline(time.Minute) {
			t.Fatalf("readyz is %+v, %v", r, err)
		}
	}
}

// Work decodes work.
func Work(t *testing.T, body []byte) (w wire.Work) {
	t.Helper()
	Decode(t, body, &w)
	return w
}

// AwaitWork waits for the end of work in the background, which an answer tells of.
func AwaitWork(t *testing.T, s *Store, accepted *Response) (w wire.Work) {
	t.Helper()
	at := accepted.Header.Get("Location")
	if w = Work(t, accepted.Body); at != "/v1/_work/"+w.ID || accepted.Header.Get("Preference-Applied") != "respond-async" || w.Result != nil {
		t.Fatalf("the answer is %s, with %v", accepted.Body, accepted.Header)
	}
	Await(t, "the end of the work", WaitTime, func() bool {
		w = Work(t, s.Want(http.StatusOK, "GET", at, "").Body)
		return w.Status != 0
	})
	return w
}

// WaitTime bounds how long a test waits for what must happen.
const WaitTime = 20 * time.Second

// MetricOf returns the value of a series, as /metrics writes its name and labels, and fails the test where it is not there.
func MetricOf(t *testing.T, c *Client, series string) float64 {
	t.Helper()
	_, rest, found := strings.Cut(string(c.Want(http.StatusOK, "GET", "/metrics", "").Body), "\n"+series+" ")
	if !found {
		t.Fatalf("%s is not in the metrics", series)
	}
	value, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
