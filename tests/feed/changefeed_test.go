package feed_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// renamed is a store in whose feed the last event is a rename of a1 with five derived changes.
func renamed(t *testing.T) *harness.Store {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	for i := range 5 {
		s.Put("books", fmt.Sprint("b", i), `{"authors":[{"id":"a1"}]}`)
	}
	s.Put("books", "b0", `{"authors":[{"id":"a1"}],"n":1}`)
	s.Put("authors", "a1", `{"name":"B"}`)
	return s
}

func TestFeedLimitIsSoft(t *testing.T) {
	s := renamed(t)
	all, last := s.Changes("mode=all")
	for limit := 1; limit <= len(all); limit++ {
		var got []harness.Change
		since := "0"
		for {
			rows, next := s.Changes(fmt.Sprintf("mode=all&limit=%d&since=%s", limit, since))
			if len(rows) == 0 {
				break
			}
			got, since = append(got, rows...), next
			if n := len(got); n < len(all) && event(all[n].Seq) == event(all[n-1].Seq) {
				t.Fatalf("limit=%d cuts event %s", limit, event(all[n].Seq))
			}
		}
		if len(got) != len(all) || since != last {
			t.Fatalf("limit=%d: %d rows up to %s, want %d up to %s", limit, len(got), since, len(all), last)
		}
	}
	for i, row := range all {
		if rows, _ := s.Changes("mode=all&since=" + row.Seq); len(rows) != len(all)-i-1 {
			t.Errorf("since=%s: %d rows, want %d", row.Seq, len(rows), len(all)-i-1)
		}
	}
	r := s.Want(200, "GET", "/v1/_changes?limit=1&mode=all", "")
	if strings.Contains(string(r.Body), `"pending":0`) {
		t.Errorf("nothing is pending in %s", r.Body)
	}
}

// event is a position's sequence.
func event(position string) string { seq, _, _ := strings.Cut(position, "-"); return seq }

func TestFeedModes(t *testing.T) {
	s := renamed(t)
	latest, _ := s.Changes("")
	if len(latest) != 6 {
		t.Fatalf("latest: %d rows, want one a document: %v", len(latest), latest)
	}
	for i, row := range latest[1:] {
		c := row.Cause
		if row.Op != "derive" || row.Collection != "books" || c == nil || c.Seq != latest[0].Seq || c.Collection != "authors" || c.ID != "a1" || !strings.Contains(c.Rule, "name") || event(row.Seq) != event(latest[0].Seq) {
			t.Errorf("row %d: %+v, cause %+v", i, row, c)
		}
		if row.Doc != nil || row.Previous != nil || row.Patch != nil {
			t.Errorf("latest has documents: %+v", row)
		}
	}
	all, _ := s.Changes("mode=all&collections=books,cities&include_docs=true")
	for _, row := range all {
		if row.Collection != "books" || !strings.Contains(string(row.Doc), `"_meta"`) {
			t.Errorf("%+v with %s", row, row.Doc)
		}
		if row.Op == "replace" && string(row.Previous) != `{"id":"b0","authors":[{"id":"a1","name":"A"}]}` {
			t.Errorf("previous is %s", row.Previous)
		}
		if row.Op == "derive" && (!strings.Contains(string(row.Patch), `"old":"A"`) || !strings.Contains(string(row.Patch), `"value":"B"`)) {
			t.Errorf("the patch is %s", row.Patch)
		}
	}
	s.Delete("books", "b1")
	rows, _ := s.Changes("include_docs=true&collections=books")
	if row := rows[len(rows)-1]; row.Op != "delete" || row.ID != "b1" || row.Doc != nil {
		t.Errorf("%+v", row)
	}
}

func TestFeedSince(t *testing.T) {
	s := renamed(t)
	all, last := s.Changes("mode=all")
	count := func(since string) int {
		rows, _ := s.Changes("mode=all&since=" + url.QueryEscape(since))
		return len(rows)
	}
	begin, err := time.Parse(time.RFC3339Nano, all[0].Time)
	if err != nil {
		t.Fatal(err)
	}
	for since, want := range map[string]int{"0": len(all), "0-0": len(all), "now": 0, last: 0, event(all[0].Seq): len(all) - 1, "2001-02-03T04:05:06Z": len(all),
		begin.Format(time.RFC3339Nano): len(all), begin.Add(time.Hour).Format(time.RFC3339): 0, all[0].Seq: len(all) - 1} {
		if got := count(since); got != want {
			t.Errorf("since=%s: %d rows, want %d", since, got, want)
		}
	}
	r := s.Want(200, "GET", "/v1/_changes?mode=all&since=0", "", "Last-Event-ID", last)
	if !strings.Contains(string(r.Body), `"results":[`+"\n]") {
		t.Errorf("Last-Event-ID does not go before since: %s", r.Body)
	}
}

func TestLongPoll(t *testing.T) {
	suite.Concurrent(t)
	s := renamed(t)
	rows, last := s.Changes("feed=longpoll&timeout=20&since=now")
	if _, head := s.Changes(""); len(rows) > 0 || last != head {
		t.Errorf("a quiet long poll has %v up to %s, want %s", rows, last, head)
	}
	got := make(chan []harness.Change)
	go func() {
		rows, _ := s.Changes("feed=longpoll&collections=cities&timeout=30000&since=" + last)
		got <- rows
	}()
	s.Put("books", "b1", `{}`) // is not asked about
	s.Put("cities", "c1", `{}`)
	if rows := <-got; len(rows) != 1 || rows[0].ID != "c1" {
		t.Errorf("the long poll has %v", rows)
	}
	if rows, _ := s.Changes("feed=longpoll&limit=1"); len(rows) == 0 {
		t.Error("what is there already is not answered")
	}
}

// TestHeartbeatsCarryPositions: a consumer whose filter matches nothing still learns where it is.
func TestHeartbeatsCarryPositions(t *testing.T) {
	s := renamed(t)
	e := harness.OpenSSE(t, s, "feed=eventsource&collections=cities&heartbeat=100&since=now")
	written := s.Put("books", "b9", `{}`).Header.Get("Fanfold-Position")
	for reached := false; !reached; {
		id, event, _, ok := e.Next()
		if !ok || event != "heartbeat" {
			t.Fatalf("event %s %s", id, event)
		}
		reached = event == "heartbeat" && id == written
	}
	s.Put("cities", "c1", `{}`)
	for {
		id, event, row, _ := e.Next()
		if event == "change" {
			if row.ID != "c1" || id != row.Seq {
				t.Errorf("event %s %+v", id, row)
			}
			return
		}
	}
}

// TestFeedsEndWithTheServer: open streams and long polls end in order, at once, and not only where the time for requests under
// way is over.
func TestFeedsEndWithTheServer(t *testing.T) {
	suite.Concurrent(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{ShutdownTimeout: 5 * time.Minute}})
	s.Put("books", "b1", `{}`)
	e := harness.OpenSSE(t, s, "feed=eventsource")
	e.Next()
	poll := make(chan *harness.Response, 1)
	go func() {
		r, _ := s.Do("GET", "/v1/_changes?feed=longpoll&since=now", nil) // an error where the server went before it was asked
		poll <- r
	}()
	s.Put("books", "b1", `{}`)
	e.Next()
	begin := time.Now()
	s.Close()
	if _, _, _, ok := e.Next(); ok {
		t.Error("the stream goes on")
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("closing took %v", took)
	}
	if r := <-poll; r != nil && r.Status != 200 && r.Status != 503 {
		t.Errorf("the long poll ends with %d %s", r.Status, r.Body)
	}
}
