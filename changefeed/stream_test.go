package changefeed_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestStreamsFollow: every endless transport sends what is there, then what comes.
func TestStreamsFollow(t *testing.T) {
	for _, kind := range streams {
		t.Run(kind, func(t *testing.T) {
			store := newMemoryStore(create(1, "b1"))
			c := consume(t, serve(t, store), kind, "mode=all")
			for seq := uint64(1); seq <= 300; seq++ {
				if m := c.change(); m.Seq != fanfold.At(seq, 0).String() {
					t.Fatalf("change %s, want %d", m.Seq, seq)
				}
				store.add(create(seq+1, fmt.Sprint("b", seq+1)))
			}
		})
	}
}

// TestStreamsBeatBeyondTheHead: a consumer that is ahead of this node is told so at once, and gets the changes after
// its position once they are here. Others that ask the same are not held up.
func TestStreamsBeatBeyondTheHead(t *testing.T) {
	for _, kind := range streams {
		t.Run(kind, func(t *testing.T) {
			store := newMemoryStore(create(1, "b1"))
			url := serve(t, store)
			ahead := consume(t, url, kind, "since=3-0&heartbeat=100")
			for range 2 {
				if m, err := ahead.next(); err != nil || m.LastSeq != "3-0" || m.Head != "1-0" {
					t.Fatalf("%+v, %v", m, err)
				}
			}
			other := consume(t, url, kind, "since=1-0")
			for seq := uint64(2); seq <= 5; seq++ {
				store.add(create(seq, fmt.Sprint("b", seq)))
				if m := other.change(); m.Seq != fanfold.At(seq, 0).String() {
					t.Errorf("change %s, want %d", m.Seq, seq)
				}
			}
			for _, want := range []string{"4-0", "5-0"} {
				if m := ahead.change(); m.Seq != want {
					t.Errorf("change %s, want %s", m.Seq, want)
				}
			}
		})
	}
}

// TestAnswersBeyondTheHead: one answer says at once that this node lags, a long poll when its time is over, and both
// where it stands. A long poll whose position comes in time is answered.
func TestAnswersBeyondTheHead(t *testing.T) {
	suite.Concurrent(t)
	store := newMemoryStore(create(1, "b1"))
	feed := changefeed.New(store, changefeed.Options{Timeout: time.Hour})
	defer feed.Close()
	ask := func(query string) (string, error) {
		w := httptest.NewRecorder()
		err := answer(feed, w, httptest.NewRequest(http.MethodGet, "/v1/_changes?since=2-0&"+query, nil))
		return w.Body.String(), err
	}
	for _, query := range []string{"", "feed=longpoll&timeout=20"} {
		if body, err := ask(query); err != nil || !strings.Contains(body, `"last_seq":"2-0","head":"1-0"}`) || strings.Contains(body, "b1") {
			t.Errorf("%q: %v, %s", query, err, body)
		}
	}
	answered := make(chan string)
	go func() {
		body, err := ask("feed=longpoll")
		answered <- fmt.Sprint(err, body)
	}()
	store.add(create(2, "b2"))
	store.add(create(3, "b3"))
	if got := <-answered; !strings.Contains(got, `"3-0"`) || strings.Contains(got, "b2") {
		t.Error(got)
	}
}

// TestHeartbeatsOfEveryStream: quiet feeds tell positions that are new to the consumer, also of changes that it does not
// ask about.
func TestHeartbeatsOfEveryStream(t *testing.T) {
	for _, kind := range streams {
		t.Run(kind, func(t *testing.T) {
			store := newMemoryStore(create(1, "b1"))
			c := consume(t, serve(t, store), kind, "collections=cities&heartbeat=100")
			store.add(create(2, "b2"))
			for {
				m, err := c.next()
				if err != nil || m.ID != "" {
					t.Fatalf("%+v, %v", m, err)
				}
				if m.LastSeq == "2-0" {
					return
				}
			}
		})
	}
}

// TestStreamsEnd: a stream ends after its limit, after its timeout without a change, and with the feed, and tells its
// position.
func TestStreamsEnd(t *testing.T) {
	for _, kind := range streams {
		for _, c := range []struct {
			query, last string
			rows        uint64
			code        websocket.StatusCode
			close       bool
		}{
			{"limit=2", "2-0", 3, websocket.StatusNormalClosure, false},
			{"limit=3", "3-0", 3, websocket.StatusNormalClosure, false},
			{"timeout=50", "3-0", 3, websocket.StatusNormalClosure, false},
			{"timeout=0", "3-0", 3, websocket.StatusNormalClosure, false},
			{"collections=cities&heartbeat=100", "3-0", 3, websocket.StatusGoingAway, true},
		} {
			t.Run(kind+" "+c.query, func(t *testing.T) {
				store := newMemoryStore()
				for seq := range c.rows {
					store.add(create(seq+1, fmt.Sprint("b", seq+1)))
				}
				feed := changefeed.New(store, changefeed.Options{})
				defer feed.Close()
				in := consume(t, serveFeed(t, feed), kind, c.query)
				var before message
				for c.close && before.LastSeq != c.last {
					before, _ = in.next()
				}
				if c.close {
					feed.Close()
				}
				m, err := in.readToEnd()
				if m == (message{}) {
					m = before
				}
				if m.Seq != c.last && m.LastSeq != c.last {
					t.Errorf("the last position is %+v", m)
				}
				if kind != "websocket" && err != nil || kind == "websocket" && websocket.CloseStatus(err) != c.code {
					t.Errorf("it ended with %v", err)
				}
				if kind == "websocket" && !strings.Contains(err.Error(), c.last) {
					t.Errorf("the reason has no position: %v", err)
				}
			})
		}
	}
}

// TestLinesAreWhole: a document that was written with line breaks is one line of a stream.
func TestLinesAreWhole(t *testing.T) {
	for _, kind := range streams {
		for _, live := range []bool{false, true} {
			store := newMemoryStore()
			broken := create(1, "b1")
			broken.Op, broken.Previous = fanfold.OpReplace, []byte("{\n\"a\":\r\n1\n}")
			if !live {
				store.add(broken)
			}
			c := consume(t, serve(t, store), kind, "mode=all")
			if live {
				store.add(broken)
			}
			if m := c.change(); m.Seq != "1-0" {
				t.Errorf("%s: %+v", kind, m)
			}
		}
	}
}

// TestHandshake: what is no handshake is refused with what to do.
func TestHandshake(t *testing.T) {
	feed := changefeed.New(newMemoryStore(), changefeed.Options{})
	defer feed.Close()
	whole := map[string]string{"Connection": "keep-alive, Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
	for name, value := range map[string]string{"Connection": "", "Upgrade": "h2c", "Sec-WebSocket-Version": "12", "Sec-WebSocket-Key": "x"} {
		r := httptest.NewRequest(http.MethodGet, "/v1/_changes?feed=websocket", nil)
		for k, v := range whole {
			r.Header.Set(k, v)
		}
		r.Header.Set(name, value)
		w := httptest.NewRecorder()
		if err := answer(feed, w, r); fanfold.CodeOf(err) != fanfold.Invalid || w.Body.Len() > 0 {
			t.Errorf("%s: %s: %v", name, value, err)
		}
	}
}

// TestWebSocketTakesNothing: a client that sends messages, of whatever length, is cut off with a reason.
func TestWebSocketTakesNothing(t *testing.T) {
	c := consume(t, serve(t, newMemoryStore()), "websocket", "")
	if err := c.conn.Write(t.Context(), websocket.MessageText, make([]byte, 1<<20)); err != nil {
		t.Log(err) // it may be cut off before
	}
	if _, err := c.readToEnd(); err == nil || websocket.CloseStatus(err) != websocket.StatusPolicyViolation && websocket.CloseStatus(err) != -1 {
		t.Errorf("it ended with %v", err)
	}
}

// TestClientThatDoesNotAnswerPings: a WebSocket whose client is gone without a word is cut.
func TestClientThatDoesNotAnswerPings(t *testing.T) {
	feed := changefeed.New(newMemoryStore(), changefeed.Options{WriteTimeout: 2 * time.Second})
	url := serveFeed(t, feed)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /?heartbeat=100 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	text, err := io.ReadAll(conn) // which answers nothing
	if err != nil || !bytes.Contains(text, []byte(`{"last_seq":"0-0"}`)) {
		t.Errorf("%v, %q", err, text)
	}
}
