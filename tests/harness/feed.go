package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/fanfold/fanfold/tests/suite"
)

// SSE is a stream of server-sent events.
type SSE struct {
	t    *testing.T
	body io.ReadCloser
	in   *bufio.Scanner
}

// Next is the next event; ok is false at the stream's end.
func (e *SSE) Next() (id, event string, row Change, ok bool) {
	e.t.Helper()
	for e.in.Scan() {
		name, value, _ := strings.Cut(e.in.Text(), ": ")
		switch name {
		case "id":
			id = value
		case "event":
			event = value
		case "data":
			if err := json.Unmarshal([]byte(value), &row); err != nil {
				e.t.Fatalf("%v in %s", err, value)
			}
		case ":": // a comment, and the end of its block
			e.in.Scan()
		case "":
			return id, event, row, true
		default:
			e.t.Fatalf("line %q", e.in.Text())
		}
	}
	if err := e.in.Err(); err != nil {
		e.t.Fatalf("the stream broke: %v", err)
	}
	return "", "", row, false
}

// OpenSSE opens a feed as server-sent events, for a minute at most. It is closed at the test's end.
func OpenSSE(t *testing.T, s *Store, query string, headers ...string) *SSE {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), suite.Deadline(time.Minute))
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/_changes?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.authorize(req.Header)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("%d %s", resp.StatusCode, got)
	}
	return &SSE{t: t, body: resp.Body, in: bufio.NewScanner(resp.Body)}
}

// DialFeed opens a feed as a WebSocket, and closes it at the test's end.
func DialFeed(t *testing.T, s *Store, query string, headers ...string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	h := http.Header{}
	s.authorize(h)
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	conn, resp, err := websocket.Dial(t.Context(), s.URL+"/v1/_changes?"+query, &websocket.DialOptions{HTTPHeader: h, HTTPClient: s.HTTP})
	if err == nil {
		t.Cleanup(func() { _ = conn.CloseNow() })
	}
	return conn, resp, err
}

// EndsByItself bounds how long a server takes to end whose ShutdownTimeout is a minute, where no request waits for the end of its
// context: that comes after three tenths.
const EndsByItself = 15 * time.Second

// SeqOf returns the sequence in a position.
func SeqOf(position string) (seq uint64) {
	if _, err := fmt.Sscanf(position, "%d-", &seq); err != nil {
		return 0
	}
	return seq
}
