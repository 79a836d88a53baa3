package api_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// logText is a log that is kept.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// lines returns the lines that have a text.
func (l *logText) lines(with string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, with) {
			found = append(found, line)
		}
	}
	return found
}

// logged starts a node whose log is kept.
func logged(t *testing.T, opt api.Options) (*harness.Store, *logText) {
	t.Helper()
	log := &logText{}
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: opt, Logger: slog.New(slog.NewJSONHandler(log, nil))})
	t.Cleanup(s.Close)
	return s, log
}

// TestRequestIDs: every answer has the request's id, which is the client's where that is short and plain.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "")
	for given, taken := range map[string]bool{"abc-1.2:3_X": true, strings.Repeat("a", 64): true, "": false, strings.Repeat("a", 65): false,
		"a b": false, "a\tb": false, "<x>": false, "\u00e4": false, `a"b`: false} {
		r := s.Want(http.StatusNotFound, "GET", "/v1/books/none", "", "X-Request-Id", given)
		switch id := r.Header.Get("X-Request-Id"); {
		case taken != (id == given):
			t.Errorf("%q gives the id %q", given, id)
		case id == "" || len(id) > 64:
			t.Errorf("the id is %q", id)
		}
	}
	one := s.Want(http.StatusOK, "GET", "/healthz", "").Header.Get("X-Request-Id")
	if other := s.Want(http.StatusOK, "GET", "/healthz", "").Header.Get("X-Request-Id"); one == other {
		t.Errorf("two requests have the id %s", one)
	}
}

// TestRequestLogIsBounded: a request that fails or is slow leaves one line, with its id and without parameters, and many of
// them leave few lines.
func TestRequestLogIsBounded(t *testing.T) {
	suite.Concurrent(t)
	t.Parallel()
	s, log := logged(t, api.Options{SlowRequest: time.Nanosecond})
	long := strings.Repeat("x", 250)
	s.Want(http.StatusNotFound, "GET", "/v1/books/"+long+"?view=embedded", "", "X-Request-Id", "my-id")
	lines := log.lines("my-id")
	if len(lines) != 1 || !strings.Contains(lines[0], `"slow request"`) || strings.Contains(lines[0], "embedded") || strings.Contains(lines[0], long) {
		t.Errorf("the log has %q", lines)
	}
	begun := time.Now()
	for range 500 {
		s.Want(http.StatusOK, "GET", "/healthz", "")
	}
	took := time.Since(begun)
	if n, most := len(log.lines("slow request")), 50+10*int(took.Seconds()+1); n > most {
		t.Errorf("500 requests in %v left %d lines, more than %d", took, n, most)
	}
	awaitLine(t, log, s, `"leftOut"`)
}

// TestLongRequestsAreNotSlow: what takes as long as there is to do or to wait for is not told as slow.
func TestLongRequestsAreNotSlow(t *testing.T) {
	suite.Concurrent(t)
	t.Parallel()
	s, log := logged(t, api.Options{SlowRequest: time.Nanosecond})
	s.Want(http.StatusOK, "POST", "/v1/_import?collection=c", `{"n":1}`, "X-Request-Id", "import", "Content-Type", harness.NDJSON)
	s.Want(http.StatusOK, "GET", "/v1/_changes?since=0", "", "X-Request-Id", "feed")
	s.Want(http.StatusOK, "GET", "/v1/_export", "", "X-Request-Id", "export")
	s.Want(http.StatusOK, "POST", "/v1/_verify", "", "X-Request-Id", "verify")
	s.Want(http.StatusOK, "PUT", "/v1/_model", `{"collections":{"c":{}}}`, "X-Request-Id", "model")
	s.Want(http.StatusOK, "GET", "/v1/c", "", "X-Request-Id", "list")
	awaitLine(t, log, s, `"request":"list"`)
	for _, id := range []string{"import", "feed", "export", "verify", "model"} {
		if lines := log.lines(`"request":"` + id + `"`); len(lines) > 0 {
			t.Errorf("the log has %q", lines)
		}
	}
}

// awaitLine sends requests, several at a time, until the log has a line with a text.
func awaitLine(t *testing.T, log *logText, s *harness.Store, text string) {
	t.Helper()
	for begun := time.Now(); len(log.lines(text)) == 0; time.Sleep(10 * time.Millisecond) {
		var sent sync.WaitGroup
		for range 32 {
			sent.Go(func() { _, _ = s.Do("GET", "/healthz", nil) })
		}
		sent.Wait()
		if time.Since(begun) > suite.Deadline(harness.WaitTime) {
			t.Fatalf("no line of the log has %s", text)
		}
	}
}

// TestFailuresAreLogged: what fails at the server leaves a line with the id that the problem names, and no body.
func TestFailuresAreLogged(t *testing.T) {
	t.Parallel()
	log := &logText{}
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Logger: slog.New(slog.NewJSONHandler(log, nil)), FailAppend: func(bool) error {
		return errors.New("no log")
	}})
	defer s.Close()
	r := s.Want(http.StatusServiceUnavailable, "PUT", "/v1/books/b", `{"secret":"hidden"}`)
	var p struct{ RequestID string }
	if err := json.Unmarshal(r.Body, &p); err != nil || p.RequestID == "" || p.RequestID != r.Header.Get("X-Request-Id") {
		t.Errorf("the problem is %s, %v", r.Body, err)
	}
	if lines := log.lines(p.RequestID); len(lines) != 1 || strings.Contains(lines[0], "hidden") {
		t.Errorf("the log has %q", lines)
	}
}
