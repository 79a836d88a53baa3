package feed_test

import (
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

func TestEventStream(t *testing.T) {
	s := renamed(t)
	all, last := s.Changes("mode=all")
	e := harness.OpenSSE(t, s, "mode=all", "Accept", "text/event-stream")
	for _, want := range all {
		id, event, row, _ := e.Next()
		if id != want.Seq || event != "change" || row.Seq != want.Seq || row.ID != want.ID || row.Op != want.Op {
			t.Fatalf("event %s %s %+v, want %+v", id, event, row, want)
		}
	}
	written := s.Put("cities", "c1", `{}`).Header.Get("Fanfold-Position")
	if id, _, row, _ := e.Next(); id != written || row.ID != "c1" {
		t.Errorf("event %s %+v, want %s", id, row, written)
	}
	e = harness.OpenSSE(t, s, "feed=eventsource&mode=all&since=0&limit=1", "Last-Event-ID", last)
	if id, _, _, _ := e.Next(); id != written {
		t.Errorf("event %s, want %s", id, written)
	}
	e = harness.OpenSSE(t, s, "feed=eventsource&mode=all&since=0&limit=1&lastEventId="+last)
	if id, _, _, _ := e.Next(); id != written {
		t.Errorf("event %s by the parameter, want %s", id, written)
	}
	e = harness.OpenSSE(t, s, "feed=eventsource&mode=all&limit=1&lastEventId=0-0", "Last-Event-ID", last)
	if id, _, _, _ := e.Next(); id != written {
		t.Errorf("event %s: the parameter goes before the header", id)
	}
	e = harness.OpenSSE(t, s, "feed=eventsource&mode=all&limit=1&since="+all[7].Seq)
	n := 0
	for _, _, _, ok := e.Next(); ok; _, _, _, ok = e.Next() {
		n++
	}
	if n == 0 || n > len(all)-8 {
		t.Errorf("a stream with limit=1 had %d events", n)
	}
}
