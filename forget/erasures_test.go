package forget

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestErasedEvents: events that bring an erasure into force name each document once, and are below 4 MiB, also with ids that JSON escapes.
func TestErasedEvents(t *testing.T) {
	for name, id := range map[string]string{"short": "%d", "escaped": strings.Repeat("\x01", 200) + "%d"} {
		for _, count := range []int{0, 1, 50_000} {
			documents := make([]fanfold.Key, count)
			for i := range documents {
				documents[i] = fanfold.Key{Collection: "customers", ID: fmt.Sprintf(id, i)}
			}
			named := 0
			for i, ev := range erasedEvents(&fanfold.Erased{UpTo: 7, Base: &fanfold.Compaction{Erasure: 7}}, documents) {
				for _, key := range ev.Erased.Documents {
					if key != documents[named] {
						t.Fatalf("%s: document %d is %s", name, named, key)
					}
					named++
				}
				if size := len(events.Encode(ev)); size > 4<<20 || ev.Erased.UpTo != 7 || (ev.Erased.Base != nil) != (i == 0) {
					t.Errorf("%s: event %d has %d bytes: %d %v", name, i, size, ev.Erased.UpTo, ev.Erased.Base)
				}
			}
			if named != count {
				t.Errorf("%s: %d of %d documents are named", name, named, count)
			}
		}
	}
}

// TestNotice: the wait for nodes begins with the first erase event, not with the last, and anew once something has come into force.
func TestNotice(t *testing.T) {
	var e erasures
	e.notice(true, 0)
	first := e.noticedAt
	e.notice(true, 0)
	if first.IsZero() || e.noticedAt != first {
		t.Errorf("the wait begins at %v, and again at %v", first, e.noticedAt)
	}
	if e.notice(true, 7); e.noticedIn != 7 {
		t.Error("what comes after an erasure has no wait of its own")
	}
	if e.notice(false, 7); !e.noticedAt.IsZero() {
		t.Error("nothing is waited for")
	}
}

// TestEraseEndsWithItsContext: a request that waits for another one ends with its client.
func TestEraseEndsWithItsContext(t *testing.T) {
	suite.Concurrent(t)
	g := New(Options{}).Eraser
	g.erasures.requesting <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Erase(ctx, fanfold.EraseRequest{}, ""); fanfold.CodeOf(err) != fanfold.Unavailable {
		t.Errorf("the error is %v", err)
	}
}
