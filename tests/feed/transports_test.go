package feed_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestGroupsHaveEveryTransport: a member of a group may follow its partition by every transport of the feed, and openapi.json
// says so.
func TestGroupsHaveEveryTransport(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, "")
	s.Put("books", "b1", "{}")
	s.Want(http.StatusCreated, http.MethodPut, "/v1/_groups/g", `{"partitions":1}`)
	l := harness.Lease(t, s.Client, "g", "m")[0]
	path := fmt.Sprintf("/v1/_groups/g/_changes?partition=0&token=%s&limit=1&timeout=0&feed=", l.Token)
	for _, feed := range []string{"normal", "longpoll", "continuous", "eventsource"} {
		if r := s.Want(http.StatusOK, http.MethodGet, path+feed, ""); !strings.Contains(string(r.Body), `"id":"b1"`) {
			t.Errorf("feed=%s has %s", feed, r.Body)
		}
	}
	conn, _, err := websocket.Dial(t.Context(), s.URL+path+"websocket", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	if _, row, err := conn.Read(t.Context()); err != nil || !strings.Contains(string(row), `"id":"b1"`) {
		t.Errorf("the WebSocket has %s: %v", row, err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(s.Want(http.StatusOK, http.MethodGet, "/openapi.json", "").Body)
	if err != nil {
		t.Fatal(err)
	}
	feed, ofGroup := doc.Paths.Value("/v1/_changes").Get, doc.Paths.Value("/v1/_groups/{name}/_changes").Get
	if want, got := feed.Parameters.GetByInAndName("query", "feed").Schema.Value.Enum, ofGroup.Parameters.GetByInAndName("query", "feed").Schema.Value.Enum; !slices.Equal(got, want) {
		t.Errorf("openapi.json has the transports %v for a group, and %v for the feed", got, want)
	}
	for kind := range feed.Responses.Status(http.StatusOK).Value.Content {
		if ofGroup.Responses.Status(http.StatusOK).Value.Content[kind] == nil || ofGroup.Responses.Status(http.StatusSwitchingProtocols) == nil {
			t.Errorf("openapi.json does not have the answer %s, or that of the handshake, for a group", kind)
		}
	}
}

// TestTransportsAgree: every transport, compressed or not, has the rows that one answer has, byte for byte.
func TestTransportsAgree(t *testing.T) {
	s := renamed(t)
	s.Put("books", "lines", "{\n \"a\":\n1 }")
	s.Put("books", "lines", "{\n \"a\":\n2 }")
	answer := string(s.Want(http.StatusOK, http.MethodGet, "/v1/_changes?mode=all&include_docs=true", "").Body)
	var want []string
	for _, line := range strings.Split(answer, "\n{\"seq\"")[1:] {
		line, _, _ = strings.Cut("{\"seq\""+line, "\n],\"last_seq\"")
		want = append(want, strings.Map(func(r rune) rune {
			if r == '\n' {
				return ' '
			}
			return r
		}, strings.TrimSuffix(strings.TrimSuffix(line, "\n"), ",")))
	}
	for _, encoding := range []string{"identity", "gzip"} {
		r := s.Want(http.StatusOK, http.MethodGet, "/v1/_changes?mode=all&include_docs=true&feed=continuous&timeout=0", "", "Accept-Encoding", encoding)
		if got := lines(t, r); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s lines are\n%s\nwant\n%s", encoding, got, want)
		}
	}
	conn, _, err := harness.DialFeed(t, s, "mode=all&include_docs=true") // the handshake says what it is
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range want {
		_, text, err := conn.Read(t.Context())
		if err != nil || strings.ReplaceAll(string(text), "\n", " ") != row {
			t.Fatalf("%v, %s, want %s", err, text, row)
		}
	}
}

// lines returns the rows of an answer of lines.
func lines(t *testing.T, r *harness.Response) (rows []string) {
	t.Helper()
	body := r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		in, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body, err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(string(body)) {
		var m struct{ ID string }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if m.ID != "" {
			rows = append(rows, strings.TrimSuffix(line, "\n"))
		}
	}
	return rows
}

// TestForeignPagesOpenNoWebSocket: a browser lets any page read a WebSocket, so that the node has to keep others out.
func TestForeignPagesOpenNoWebSocket(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for origin, status := range map[string]int{"https://evil.example": http.StatusForbidden, "null": http.StatusForbidden, "http://127.0.0.1:1": http.StatusForbidden,
		s.URL: http.StatusSwitchingProtocols, "": http.StatusBadRequest} {
		_, resp, err := harness.DialFeed(t, s, "feed=websocket", "Origin", origin)
		if resp == nil || resp.StatusCode != status {
			t.Errorf("%q: %v, %v", origin, resp, err)
		}
	}
	r := s.Want(http.StatusBadRequest, http.MethodGet, "/v1/_changes?feed=websocket", "")
	if !strings.Contains(string(r.Body), "RFC 6455") {
		t.Errorf("the problem is %s", r.Body)
	}
}

// TestBeyondTheHead: a position that the node has yet to reach is no reason to be silent, nor to jump.
func TestBeyondTheHead(t *testing.T) {
	s := renamed(t)
	_, last := s.Changes("")
	for _, feed := range []string{"continuous", "eventsource"} {
		ctx, cancel := context.WithTimeout(t.Context(), suite.Deadline(20*time.Second))
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/_changes?heartbeat=100&since=99999-0&feed="+feed, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		in := bufio.NewScanner(resp.Body)
		for in.Scan() && !strings.Contains(in.Text(), `{"last_seq":"99999-0`+storeOf(last)+`","head":"`+last+`"}`) {
		}
		if in.Err() != nil {
			t.Errorf("%s: %v", feed, in.Err())
		}
	}
	for _, feed := range []string{"normal", "longpoll&timeout=20"} {
		r := s.Want(http.StatusOK, http.MethodGet, "/v1/_changes?since=99999-0&feed="+feed, "")
		if want := `"last_seq":"99999-0` + storeOf(last) + `","head":"` + last + `"}`; !strings.Contains(string(r.Body), want) {
			t.Errorf("feed=%s: %s, want %s", feed, r.Body, want)
		}
	}
}

// storeOf returns the store in a position that was given out, with the dash before it.
func storeOf(position string) string { return "-" + strings.Split(position, "-")[2] }

// TestStreamsEndWithTheServer: streams of every kind end at once, with the position, also of clients that do not answer.
func TestStreamsEndWithTheServer(t *testing.T) {
	suite.Concurrent(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{ShutdownTimeout: time.Minute}})
	at := s.Put("books", "b1", `{}`).Header.Get("Fanfold-Position")
	conn, _, err := harness.DialFeed(t, s, "feed=websocket")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := harness.DialFeed(t, s, "feed=websocket"); err != nil { // does not read, nor close
		t.Fatal(err)
	}
	resp, err := http.Get(s.URL + "/v1/_changes?feed=continuous")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewScanner(resp.Body)
	for in.Scan() && !strings.Contains(in.Text(), `"b1"`) {
	}
	ended := make(chan error)
	go func() {
		var err error
		for err == nil {
			_, _, err = conn.Read(context.Background())
		}
		ended <- err
	}()
	begin := time.Now()
	s.Close()
	if took := time.Since(begin); took > harness.EndsByItself {
		t.Errorf("closing took %v", took)
	}
	if err := <-ended; websocket.CloseStatus(err) != websocket.StatusGoingAway || !strings.Contains(err.Error(), at) {
		t.Errorf("the WebSocket ended with %v", err)
	}
	text := ""
	for in.Scan() {
		text = in.Text()
	}
	if in.Err() != nil || text != `{"last_seq":"`+at+`"}` {
		t.Errorf("the lines end with %s, %v", text, in.Err())
	}
}
