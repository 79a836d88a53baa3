package changefeed_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/changefeed"
)

// TestScope: a scope gives the changes of its partition, from its beginning up to its end.
func TestScope(t *testing.T) {
	store := newMemoryStore()
	for i := range 20 {
		store.add(create(uint64(i+1), fmt.Sprint("b", i)))
	}
	feed := changefeed.New(store, changefeed.Options{})
	defer feed.Close()
	ask := func(q changefeed.Query, scope *changefeed.Scope) string {
		t.Helper()
		w := httptest.NewRecorder()
		q.Rights = open
		if err := feed.ServeScope(w, httptest.NewRequest(http.MethodGet, "/x", nil), q, scope); err != nil {
			t.Fatal(err)
		}
		return w.Body.String()
	}
	poll, rows := changefeed.Query{Transport: changefeed.LongPoll}, 0
	all := func(partition, partitions int) changefeed.Selection {
		return changefeed.Selection{AllChanges: true, Partition: partition, Partitions: partitions}
	}
	for p := range 3 {
		for _, line := range strings.Split(ask(changefeed.Query{}, &changefeed.Scope{Selection: all(p, 3)}), "\n") {
			if strings.Contains(line, `"seq"`) {
				rows++
			}
		}
	}
	if rows != 20 {
		t.Errorf("three partitions have %d changes of 20", rows)
	}
	body := ask(poll, &changefeed.Scope{Since: create(2, "").Position, Until: create(5, "").Position, Selection: all(0, 1)})
	if strings.Count(body, `"op"`) != 3 || !strings.Contains(body, `"last_seq":"5-0"`) {
		t.Errorf("from 2 up to 5 come %s", body)
	}
	key := create(6, "b5").Key
	empty := &changefeed.Scope{Since: create(5, "").Position, Until: create(6, "").Position, Selection: all(1-key.Partition(2), 2)}
	if body = ask(changefeed.Query{}, empty); !empty.Empty() || !strings.Contains(body, `"last_seq":"6-0"`) || strings.Contains(body, `"op"`) {
		t.Errorf("where nothing is, come %s", body)
	}
	begun := time.Now()
	body = ask(poll, &changefeed.Scope{Wait: 50 * time.Millisecond, Selection: all(0, 1)})
	if strings.Count(body, `"op"`) != 20 || time.Since(begun) < 50*time.Millisecond {
		t.Errorf("after %v come %s", time.Since(begun), body)
	}
	if body = ask(changefeed.Query{}, &changefeed.Scope{Wait: time.Hour, Selection: all(0, 1)}); !strings.Contains(body, `"last_seq":"0-0"`) || strings.Contains(body, `"op"`) {
		t.Errorf("before the wait is over come %s", body)
	}
}
