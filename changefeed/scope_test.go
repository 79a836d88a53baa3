package changefeed_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
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
	ask := func(query string, scope *changefeed.Scope) string {
		t.Helper()
		w := httptest.NewRecorder()
		if err := feed.ServeScope(w, httptest.NewRequest(http.MethodGet, "/x?partition=0&token=t"+query, nil), scope); err != nil {
			t.Fatal(err)
		}
		return w.Body.String()
	}
	all, rows := url.Values{"mode": {"all"}}, 0
	for p := range 3 {
		for _, line := range strings.Split(ask("", &changefeed.Scope{Selection: all, Partition: p, Partitions: 3}), "\n") {
			if strings.Contains(line, `"seq"`) {
				rows++
			}
		}
	}
	if rows != 20 {
		t.Errorf("three partitions have %d changes of 20", rows)
	}
	body := ask("&feed=longpoll&timeout=60000", &changefeed.Scope{Since: create(2, "").Position, Until: create(5, "").Position, Selection: all, Partitions: 1})
	if strings.Count(body, `"op"`) != 3 || !strings.Contains(body, `"last_seq":"5-0"`) {
		t.Errorf("from 2 up to 5 come %s", body)
	}
	key := create(6, "b5").Key
	empty := &changefeed.Scope{Since: create(5, "").Position, Until: create(6, "").Position, Selection: all, Partition: 1 - key.Partition(2), Partitions: 2}
	if body = ask("", empty); !empty.Empty() || !strings.Contains(body, `"last_seq":"6-0"`) || strings.Contains(body, `"op"`) {
		t.Errorf("where nothing is, come %s", body)
	}
	begun := time.Now()
	body = ask("&feed=longpoll", &changefeed.Scope{Wait: 50 * time.Millisecond, Selection: all, Partitions: 1})
	if strings.Count(body, `"op"`) != 20 || time.Since(begun) < 50*time.Millisecond {
		t.Errorf("after %v come %s", time.Since(begun), body)
	}
	if body = ask("", &changefeed.Scope{Wait: time.Hour, Selection: all, Partitions: 1}); !strings.Contains(body, `"last_seq":"0-0"`) || strings.Contains(body, `"op"`) {
		t.Errorf("before the wait is over come %s", body)
	}
}
