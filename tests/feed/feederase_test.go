package feed_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestFeedsAcrossAnErasure: feeds that are open go on, and tell of what is erased and of what shows it no more. Nothing of it comes after that.
func TestFeedsAcrossAnErasure(t *testing.T) {
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.PurgeWait = time.Millisecond }})
	t.Cleanup(s.Close)
	s.Model(`collections: {customers: {}, orders: {relations: {customer: {path: customer, to: customers, onDelete: keep}}, derive: {name: {copy: customer, value: doc.name}}}}`)
	const erased = "geheim"
	lines := map[string]*lineFeed{}
	events := map[string]*harness.SSE{}
	filter := "&filter=" + url.QueryEscape("has(doc.name) && doc.name == '"+erased+"' || has(doc.last)")
	for _, query := range []string{"mode=all", "mode=latest", "mode=all" + filter, "mode=latest" + filter} {
		lines[query] = openLines(t, s, "feed=continuous&heartbeat=100&include_docs=true&since=now&"+query)
		lines[query].until(`{"last_seq"`)
		events[query] = harness.OpenSSE(t, s, "feed=eventsource&include_docs=true&since=now&"+query)
	}
	s.Put("customers", "ann", `{"name":"`+erased+`"}`)
	s.Put("orders", "o", `{"customer":"ann"}`)
	for query, feed := range lines {
		feed.until(`"id":"o"`)
		for row := (harness.Change{}); row.ID != "o"; {
			var ok bool
			if _, _, row, ok = events[query].Next(); !ok {
				t.Fatalf("the events of %s end", query)
			}
		}
	}
	s.Erased(s.Want(http.StatusAccepted, http.MethodPost, "/v1/customers/ann/_erase", "{}").Header.Get("Location"))
	s.Put("orders", "after", `{"last":true}`)
	for query, feed := range lines {
		shown := "derive"
		if strings.Contains(query, filter) {
			shown = "leave"
		}
		feed.until(`"id":"ann","op":"erase"`)
		if row := feed.until(`"id":"o"`); strings.Contains(row, erased) || !strings.Contains(row, fmt.Sprintf(`"op":%q`, shown)) {
			t.Errorf("%s has %s, want %s", query, row, shown)
		}
		if row := feed.until(`"id"`); !strings.Contains(row, `"id":"after"`) {
			t.Errorf("%s goes on with %s", query, row)
		}
		var ops []string
		for row := (harness.Change{}); row.ID != "after"; {
			var ok bool
			if _, _, row, ok = events[query].Next(); !ok {
				t.Fatalf("the events of %s end after %v", query, ops)
			}
			if ops = append(ops, row.Op+" "+row.ID); row.Op != "delete" && strings.Contains(string(row.Doc)+string(row.Previous)+string(row.Patch), erased) {
				t.Errorf("%s has %+v", query, row)
			}
		}
		got := strings.TrimPrefix(strings.Join(ops, ", "), "delete ann, ") // which an erase that came sooner hides from mode=latest
		if want := "erase ann, " + shown + " o, create after"; got != want {
			t.Errorf("the events of %s are %s, want %s", query, got, want)
		}
	}
}
