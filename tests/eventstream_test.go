package tests

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
)

// sse is a stream of server-sent events.
type sse struct {
	t    *testing.T
	body io.ReadCloser
	in   *bufio.Scanner
}

// next is the next event; ok is false at the stream's end.
func (e *sse) next() (id, event string, row harness.Change, ok bool) {
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

func openSSE(t *testing.T, s *harness.Store, query string, headers ...string) *sse {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/_changes?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("%d %s", resp.StatusCode, got)
	}
	return &sse{t: t, body: resp.Body, in: bufio.NewScanner(resp.Body)}
}

func TestEventStream(t *testing.T) {
	s := renamed(t)
	all, last := s.Changes("mode=all")
	e := openSSE(t, s, "mode=all", "Accept", "text/event-stream")
	for _, want := range all {
		id, event, row, _ := e.next()
		if id != want.Seq || event != "change" || row.Seq != want.Seq || row.ID != want.ID || row.Op != want.Op {
			t.Fatalf("event %s %s %+v, want %+v", id, event, row, want)
		}
	}
	written := s.Put("cities", "c1", `{}`).Header.Get("Fanfold-Position")
	if id, _, row, _ := e.next(); id != written || row.ID != "c1" {
		t.Errorf("event %s %+v, want %s", id, row, written)
	}
	e = openSSE(t, s, "feed=eventsource&mode=all&since=0&limit=1", "Last-Event-ID", last)
	if id, _, _, _ := e.next(); id != written {
		t.Errorf("event %s, want %s", id, written)
	}
	e = openSSE(t, s, "feed=eventsource&mode=all&limit=1&since="+all[7].Seq)
	n := 0
	for _, _, _, ok := e.next(); ok; _, _, _, ok = e.next() {
		n++
	}
	if n == 0 || n > len(all)-8 {
		t.Errorf("a stream with limit=1 had %d events", n)
	}
}
