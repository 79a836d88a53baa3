package changefeed_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/fanfold/fanfold/tests/suite"
)

// streams are the endless transports.
var streams = []string{"continuous", "eventsource", "websocket"}

// message is what a consumer was told: a change, or a position alone.
type message struct {
	Seq     string
	ID      string
	LastSeq string `json:"last_seq"`
	Head    string
	End     string
	Oldest  string
}

// consumer reads an endless feed.
type consumer struct {
	t     testing.TB
	kind  string
	lines *bufio.Reader
	conn  *websocket.Conn
	close func()
}

// consume opens a feed, and closes it at the test's end.
func consume(t testing.TB, url, kind, query string) *consumer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), suite.Deadline(time.Minute))
	t.Cleanup(cancel)
	c := &consumer{t: t, kind: kind, close: cancel}
	url += "?feed=" + kind + "&" + query
	if kind == "websocket" {
		conn, _, err := websocket.Dial(ctx, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetReadLimit(-1)
		c.conn, c.close = conn, func() { _ = conn.CloseNow(); cancel() }
		t.Cleanup(c.close)
		return c
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("answered %d", resp.StatusCode)
	}
	c.lines = bufio.NewReaderSize(resp.Body, 64<<10)
	return c
}

// next returns what comes next. The error is how the feed ended.
func (c *consumer) next() (m message, err error) {
	c.t.Helper()
	var text string
	switch c.kind {
	case "websocket":
		var data []byte
		if _, data, err = c.conn.Read(context.Background()); err != nil {
			return m, err
		}
		text = string(data)
	case "continuous":
		if text, err = c.lines.ReadString('\n'); err != nil {
			return m, err
		}
	default:
		var id string
		for text == "" {
			line, err := c.lines.ReadString('\n')
			if err != nil {
				return m, err
			}
			id = strings.TrimSuffix(cmpPrefix(line, "id: ", id), "\n")
			text = cmpPrefix(line, "data: ", text)
		}
		defer func() {
			if id != m.Seq && id != m.LastSeq {
				c.t.Errorf("the id is %s, the event %+v", id, m)
			}
		}()
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, fmt.Errorf("%w in %q", err, text)
	}
	return m, nil
}

// cmpPrefix returns a line without a prefix, or else where it has none.
func cmpPrefix(line, prefix, otherwise string) string {
	if rest, ok := strings.CutPrefix(line, prefix); ok {
		return rest
	}
	return otherwise
}

// change returns the next change, and nothing where the feed ended, which fails the test.
func (c *consumer) change() message {
	c.t.Helper()
	for {
		m, err := c.next()
		if err != nil {
			c.t.Errorf("%s ended: %v", c.kind, err)
			return m
		}
		if m.ID != "" {
			return m
		}
	}
}

// readToEnd reads to the feed's end, and returns the last position told, and how the feed ended.
func (c *consumer) readToEnd() (last message, err error) {
	c.t.Helper()
	for {
		m, err := c.next()
		if errors.Is(err, io.EOF) && c.conn == nil {
			err = nil
			return last, err
		}
		if err != nil {
			return last, err
		}
		last = m
	}
}
