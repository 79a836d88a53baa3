package changefeed_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/tests/suite"
)

// open are the rights of everybody in an open store.
var open = openRights()

func openRights() *access.Rights {
	m := model.Empty()
	return access.NewJudge(access.Everybody{}, func() *model.Model { return m }).Of(access.Open)
}

// answer has a feed answer a request as the API does in an open store.
func answer(feed *changefeed.Feed, w http.ResponseWriter, r *http.Request) error {
	q, err := api.FeedQuery(r)
	if err != nil {
		return err
	}
	q.Rights = open
	return feed.Serve(w, r, q)
}

// serve runs a feed's handler on a server of its own. It closes the feed before the server, which
// waits for open requests.
func serve(t testing.TB, store changefeed.Store) (url string) {
	t.Helper()
	feed := changefeed.New(store, changefeed.Options{})
	t.Cleanup(feed.Close)
	return serveFeed(t, feed)
}

// serveFeed runs a feed's handler on a server of its own, which waits for open requests at the test's end.
func serveFeed(t testing.TB, feed *changefeed.Feed) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := answer(feed, w, r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	t.Cleanup(func() {
		feed.Close()
		server.Close()
	})
	return server.URL
}

// TestLimitDoesNotCutATransaction: the limit ends the answer after the event or transaction that reaches it, and the
// answer says how much is left.
func TestLimitDoesNotCutATransaction(t *testing.T) {
	part := func(seq uint64) fanfold.Change {
		ch := create(seq, fmt.Sprint("b", seq))
		ch.Tx = "t"
		return ch
	}
	feed := changefeed.New(newMemoryStore(create(1, "b1"), part(2), part(3), create(4, "b4")), changefeed.Options{})
	defer feed.Close()
	w := httptest.NewRecorder()
	if err := answer(feed, w, httptest.NewRequest(http.MethodGet, "/v1/_changes?mode=all&limit=2", nil)); err != nil {
		t.Fatal(err)
	}
	body := w.Body.String()
	if strings.Count(body, `"tx":"t"`) != 2 || !strings.Contains(body, `"last_seq":"3-0","pending":1`) {
		t.Errorf("the answer is %s", body)
	}
}

// TestCloseEndsFeeds: Close ends a long poll and an event stream that wait for changes.
func TestCloseEndsFeeds(t *testing.T) {
	suite.Concurrent(t)
	for _, kind := range []string{"longpoll", "eventsource", "continuous"} {
		feed := changefeed.New(newMemoryStore(), changefeed.Options{Timeout: time.Hour, Heartbeat: time.Hour})
		ended := make(chan error)
		go func() {
			ended <- answer(feed, httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/_changes?feed="+kind, nil))
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
	for _, query := range []string{"x=1", "limit=0", "limit=1&limit=2", "feed=poll", "mode=some", "since=yesterday", "include_docs=yes", "heartbeat=1", "collections=1a", "%zz"} {
		w := httptest.NewRecorder()
		err := answer(feed, w, httptest.NewRequest(http.MethodGet, "/v1/_changes?"+query, nil))
		if fanfold.CodeOf(err) != fanfold.Invalid || w.Body.Len() > 0 {
			t.Errorf("%s: %v, %s", query, err, w.Body)
		}
	}
}

// TestGonePositions: where the first changes are no longer kept, what begins before them is refused with the oldest
// position, and that one is taken.
func TestGonePositions(t *testing.T) {
	store := newMemoryStore(create(3, "b3"), create(4, "b4"))
	store.oldest = fanfold.At(3, 0) - 1
	feed := changefeed.New(store, changefeed.Options{Issuer: fanfold.Issuer{Store: "abcdefgh"}})
	defer feed.Close()
	var gone *fanfold.Error
	for _, since := range []string{"0", "1-0-abcdefgh", "2-0", "2001-02-03T04:05:06Z"} {
		w := httptest.NewRecorder()
		err := answer(feed, w, httptest.NewRequest(http.MethodGet, "/v1/_changes?feed=eventsource&since="+since, nil))
		if !errors.As(err, &gone) || gone.Code != fanfold.PositionGone || gone.Oldest == nil || w.Body.Len() > 0 {
			t.Fatalf("since=%s: %v", since, err)
		}
	}
	w := httptest.NewRecorder()
	if err := answer(feed, w, httptest.NewRequest(http.MethodGet, "/v1/_changes?since="+gone.Oldest.String(), nil)); err != nil || !strings.Contains(w.Body.String(), `"b3"`) {
		t.Errorf("%v, %s", err, w.Body)
	}
}
