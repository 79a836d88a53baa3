package api

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed"
)

// failing is a feed that fails.
type failing struct{ err error }

func (f failing) Serve(http.ResponseWriter, *http.Request, changefeed.Query) error { return f.err }

// TestFeedQuery: each parameter and header of the feed comes to stand in the query, and what is none is Invalid.
func TestFeedQuery(t *testing.T) {
	second, none := time.Second, time.Duration(0)
	for _, c := range []struct {
		parameters, header string
		want               changefeed.Query
	}{
		{"", "", changefeed.Query{Transport: changefeed.Normal}},
		{"feed=longpoll&timeout=1000&since=now&limit=5", "", changefeed.Query{Transport: changefeed.LongPoll, Since: "now", Limit: 5, Timeout: &second}},
		{"timeout=0&heartbeat=true", "", changefeed.Query{Transport: changefeed.Normal, Timeout: &none}},
		{"heartbeat=100&include_docs=true", "Accept: text/event-stream", changefeed.Query{Transport: changefeed.EventStream, Heartbeat: 100 * time.Millisecond, Docs: true}},
		{"feed=normal", "Accept: text/event-stream", changefeed.Query{Transport: changefeed.Normal}},
		{"", "Accept: application/x-ndjson", changefeed.Query{Transport: changefeed.Continuous}},
		{"", "Upgrade: websocket", changefeed.Query{Transport: changefeed.WebSocket}},
		{"since=0", "Last-Event-ID: 7-0", changefeed.Query{Transport: changefeed.Normal, Since: "7-0"}},
		{"mode=all&collections=a,b&derived=exclude&cascades=exclude&partition=3/16&view=referenced&filter=true", "", changefeed.Query{Transport: changefeed.Normal, Selection: changefeed.Selection{
			Collections: []string{"a", "b"}, AllChanges: true, Direct: true, NoCascades: true, View: fanfold.Referenced, Filter: "true", Partition: 3, Partitions: 16}}},
	} {
		r := httptest.NewRequest(http.MethodGet, "/v1/_changes?"+c.parameters, nil)
		if name, value, given := strings.Cut(c.header, ": "); given {
			r.Header.Set(name, value)
		}
		if got, err := FeedQuery(r); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s: %+v, %v, want %+v", c.parameters, c.header, got, err, c.want)
		}
	}
	for _, wrong := range []string{"x=1", "feed=x", "mode=x", "include_docs=x", "limit=0", "timeout=-1", "heartbeat=99", "collections=1a", "derived=x", "cascades=no", "view=x", "partition=4/4", "partition=01/4", "since="} {
		if _, err := FeedQuery(httptest.NewRequest(http.MethodGet, "/v1/_changes?"+wrong, nil)); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%s: %v, want an Invalid", wrong, err)
		}
	}
}
