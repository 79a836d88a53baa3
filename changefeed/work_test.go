package changefeed_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed"
)

// ended is an answer that has ended.
type ended struct {
	Results []struct{ ID string }
	LastSeq string `json:"last_seq"`
	Pending *int
	End     string
}

// ask returns an answer.
func ask(t *testing.T, feed *changefeed.Feed, query string) (a ended) {
	t.Helper()
	w := httptest.NewRecorder()
	if err := answer(feed, w, httptest.NewRequest(http.MethodGet, "/v1/_changes?"+query, nil)); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return a
}

// TestWorkOfAnAnswer: an answer ends once it has looked at many changes, or for long, without a row for it. It says how far it has
// looked, and the next one goes on there. A row begins the count anew.
func TestWorkOfAnAnswer(t *testing.T) {
	const bound, changes = 65_536, 100_000
	store := newMemoryStore()
	list := make([]fanfold.Change, changes)
	for i := range list {
		list[i] = create(uint64(i+1), fmt.Sprint("b", i+1))
	}
	store.add(list...)
	now, tick := time.Unix(0, 0), time.Duration(0)
	feed := changefeed.New(store, changefeed.Options{Now: func() time.Time { now = now.Add(tick); return now }})
	defer feed.Close()
	for _, kind := range []string{"normal", "longpoll"} {
		query := "feed=" + kind + "&limit=1&mode=all&filter=change.id==%27b99999%27&since="
		before := store.readCount()
		a := ask(t, feed, query+"0")
		if len(a.Results) > 0 || a.LastSeq != fanfold.At(bound, 0).String() || a.Pending != nil || kind == "normal" && a.End != "work-bound" {
			t.Errorf("%s: %+v", kind, a)
		}
		if reads := store.readCount() - before; reads != bound/256 {
			t.Errorf("%s: %d pages", kind, reads)
		}
		if a := ask(t, feed, query+a.LastSeq); len(a.Results) != 1 || a.End != "" {
			t.Errorf("%s: %+v", kind, a)
		}
	}
	if a := ask(t, feed, "mode=all&filter=change.id.endsWith(%27000%27)"); len(a.Results) != changes/1000 || a.LastSeq != fanfold.At(changes, 0).String() || a.End != "" {
		t.Errorf("%d rows, %s, %s", len(a.Results), a.LastSeq, a.End)
	}
	tick = time.Second
	before := store.readCount()
	if a := ask(t, feed, "mode=all&filter=false"); a.End != "work-bound" || store.readCount()-before != 5 {
		t.Errorf("%d pages, %s", store.readCount()-before, a.End)
	}
}
