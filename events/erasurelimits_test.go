package events

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// TestErasureBounds: erase events have at most 4 MiB and 500 documents each, and one that would make all of them too large is refused.
func TestErasureBounds(t *testing.T) {
	l := &Log{}
	s := &search{log: l, out: &Collected{}}
	for i := range 1201 {
		key := fanfold.Key{Collection: "c", ID: fmt.Sprint("d", i)}
		s.docs = append(s.docs, &searchedDocument{ErasedDocument: fanfold.ErasedDocument{Key: key}, index: i})
		for j := range 1 + i%7*(i%3) {
			text := strings.Repeat("x", i*j%20_000)
			s.found = append(s.found, foundMessage{document: i, Substitute: fanfold.Substitute{Seq: uint64(i*20 + j + 1), Time: time.Unix(1, 0), Subject: subjects{"db"}.document(key), Payload: []byte(`{"v":1,"op":"put","body":{"a":"` + text + `"}}`)}})
		}
	}
	found := len(s.found)
	s.split()
	listed, documents := 0, map[fanfold.Key]bool{}
	for _, e := range s.out.Erasures {
		payload := encodeLoss(&fanfold.Loss{List: e})
		if len(payload) > MaxErasureEvent || len(e.Documents) > MaxErasureDocuments {
			t.Errorf("an event has %d bytes and %d documents", len(payload), len(e.Documents))
		}
		var back fanfold.Event
		if err := Decode(payload, &back); err != nil {
			t.Fatal(err)
		}
		listed += len(e.Messages)
		for _, d := range e.Documents {
			documents[d.Key] = true
		}
	}
	if listed != found || len(documents) != 1201 || len(s.out.Erasures) < 3 {
		t.Errorf("%d events list %d of %d messages of %d documents", len(s.out.Erasures), listed, found, len(documents))
	}
	l.prefix.losses.note([]int{MaxErasureBytes - 10}, &fanfold.Event{Seq: 9, Loss: &fanfold.Loss{List: &fanfold.Erasure{}}})
	if l.prefix.losses.mayErase(10) != nil || fanfold.CodeOf(l.prefix.losses.mayErase(11)) != fanfold.Conflict {
		t.Error("the bound of all erase events is another one")
	}
}

// TestMayShareBlock: only a purge that took more messages than a server's file can have is known to have passed the file in which an earlier one ended.
func TestMayShareBlock(t *testing.T) {
	for after, may := range map[uint64]bool{7: true, 8: true, 7 + 139_809: true, 7 + 139_810: false, 1 << 40: false} {
		if mayShareBlock(7, after) != may {
			t.Errorf("purges up to 7 and %d: %t", after, !may)
		}
	}
}
