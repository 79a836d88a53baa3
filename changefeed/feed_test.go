package changefeed_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed"
)

// serve runs a feed's handler on a server of its own. It closes the feed before the server, which
// waits for open requests.
func serve(t *testing.T, store changefeed.Store) (url string) {
	t.Helper()
	feed := changefeed.New(store, changefeed.Options{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := feed.ServeHTTP(w, r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(feed.Close)
	return server.URL
}

// TestEventStreamFollows: an event stream sends what is there, then what comes, each change with
// its position as id.
func TestEventStreamFollows(t *testing.T) {
	store := newMemoryStore(create(1, "b1"))
	resp, err := http.Get(serve(t, store) + "?feed=eventsource")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for seq := uint64(1); seq <= 3; seq++ {
		want := "id: " + fanfold.At(seq, 0).String()
		for lines.Scan() && lines.Text() != want {
			if strings.HasPrefix(lines.Text(), "id: ") {
				t.Fatalf("%s, want %s", lines.Text(), want)
			}
		}
		store.add(create(seq+1, fmt.Sprint("b", seq+1)))
	}
}

// TestLimitDoesNotCutATransaction: the limit ends the answer behind the event or transaction that
// reaches it, and the answer says how much is left.
func TestLimitDoesNotCutATransaction(t *testing.T) {
	part := func(seq uint64) fanfold.Change {
		ch := create(seq, fmt.Sprint("b", seq))
		ch.Tx = "t"
		return ch
	}
	feed := changefeed.New(newMemoryStore(create(1, "b1"), part(2), part(3), create(4, "b4")), changefeed.Options{})
	defer feed.Close()
	w := httptest.NewRecorder()
	if err := feed.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/_changes?limit=2", nil)); err != nil {
		t.Fatal(err)
	}
	body := w.Body.String()
	if strings.Count(body, `"tx":"t"`) != 2 || !strings.Contains(body, `"last_seq":"3-0","pending":1`) {
		t.Errorf("the answer is %s", body)
	}
}

// TestCloseEndsFeeds: Close ends a long poll and an event stream that wait for changes.
func TestCloseEndsFeeds(t *testing.T) {
	for _, kind := range []string{"longpoll", "eventsource"} {
		feed := changefeed.New(newMemoryStore(), changefeed.Options{Timeout: time.Hour, Heartbeat: time.Hour})
		ended := make(chan error)
		go func() {
			ended <- feed.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/_changes?feed="+kind, nil))
		}()
		feed.Close()
		if err := <-ended; err != nil {
			t.Errorf("%s ended with %v", kind, err)
		}
	}
}

// TestBadRequests: what the feed does not understand is Invalid, and nothing is written.
func TestBadRequests(t *testing.T) {
	feed := changefeed.New(newMemoryStore(), changefeed.Options{})
	defer feed.Close()
	for _, query := range []string{"x=1", "limit=0", "limit=1&limit=2", "feed=poll", "mode=some", "since=yesterday", "include_docs=yes", "heartbeat=1", "collections=A", "%zz"} {
		w := httptest.NewRecorder()
		err := feed.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/_changes?"+query, nil))
		if fanfold.CodeOf(err) != fanfold.Invalid || w.Body.Len() > 0 {
			t.Errorf("%s: %v, %s", query, err, w.Body)
		}
	}
}
