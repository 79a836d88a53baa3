package feed_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestTransportsOverTLS: every transport of the feed brings what is there and what comes, over HTTP/1.1 and HTTP/2. A WebSocket takes
// HTTP/1.1.
func TestTransportsOverTLS(t *testing.T) {
	suite.Parallel(t)
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint("HTTP/", version), func(t *testing.T) {
			s, cert := harness.OpenTLS(t, harness.Options{})
			s.Speak(cert, version)
			if r := s.Put("books", "b1", `{}`); r.Status != http.StatusCreated {
				t.Fatal(r.Status)
			}
			r := s.Want(http.StatusOK, http.MethodGet, "/v1/_changes", "")
			if !strings.Contains(string(r.Body), `"id":"b1"`) {
				t.Errorf("feed=normal has %s", r.Body)
			}
			var page struct {
				LastSeq string `json:"last_seq"`
			}
			harness.Decode(t, r.Body, &page)
			longPollOverTLS(t, s, page.LastSeq)
			continuousOverTLS(t, s)
			eventsOverTLS(t, s)
			socketOverTLS(t, s, version)
		})
	}
}

// longPollOverTLS waits for a change that comes later.
func longPollOverTLS(t *testing.T, s *harness.Store, since string) {
	t.Helper()
	answer := make(chan string, 1)
	go func() {
		r, err := s.Do(http.MethodGet, "/v1/_changes?feed=longpoll&timeout=60000&since="+since, nil)
		if err != nil {
			answer <- err.Error()
			return
		}
		answer <- string(r.Body)
	}()
	for {
		select {
		case got := <-answer:
			if !strings.Contains(got, `"id":"polled"`) {
				t.Errorf("feed=longpoll has %s", got)
			}
			return
		case <-time.After(200 * time.Millisecond):
			s.Put("books", "polled", fmt.Sprintf(`{"at":%d}`, time.Now().UnixNano()))
		}
	}
}

// openStream opens an endless answer, and returns its lines.
func openStream(t *testing.T, s *harness.Store, query string) (lines *bufio.Scanner, proto int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), suite.Deadline(time.Minute))
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/_changes?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return bufio.NewScanner(resp.Body), resp.ProtoMajor
}

func continuousOverTLS(t *testing.T, s *harness.Store) {
	t.Helper()
	rows := openLines(t, s, "feed=continuous&heartbeat=100")
	rows.until(`"id":"b1"`)
	for rows.in.Scan() && rows.in.Text() != "" && strings.Contains(rows.in.Text(), `"id"`) { // up to a heartbeat, which shows that each is flushed
	}
	s.Put("books", "live", fmt.Sprintf(`{"at":%d}`, time.Now().UnixNano()))
	rows.until(`"id":"live"`)
}

func eventsOverTLS(t *testing.T, s *harness.Store) {
	t.Helper()
	in := harness.OpenSSE(t, s, "feed=eventsource&heartbeat=100")
	for want := "b1"; ; {
		_, _, row, ok := in.Next()
		switch {
		case !ok:
			t.Fatalf("the stream ended before %s", want)
		case row.ID != want:
		case want == "b1":
			want = "sent"
			s.Put("books", want, fmt.Sprintf(`{"at":%d}`, time.Now().UnixNano()))
		default:
			return
		}
	}
}

func socketOverTLS(t *testing.T, s *harness.Store, version int) {
	t.Helper()
	if version == 2 {
		if r := s.Want(http.StatusBadRequest, http.MethodGet, "/v1/_changes?feed=websocket", ""); !strings.Contains(string(r.Body), "HTTP/1.1") {
			t.Errorf("a WebSocket over HTTP/2 is answered %s", r.Body)
		}
		return
	}
	conn, _, err := harness.DialFeed(t, s, "heartbeat=100")
	if err != nil {
		t.Fatal(err)
	}
	for want := "b1"; ; {
		_, text, err := conn.Read(t.Context())
		switch {
		case err != nil:
			t.Fatal(err)
		case !strings.Contains(string(text), `"id":"`+want+`"`):
		case want == "b1":
			want = "message"
			s.Put("books", want, fmt.Sprintf(`{"at":%d}`, time.Now().UnixNano()))
		default:
			return
		}
	}
}
