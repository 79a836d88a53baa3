package forget

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/internal/wire"
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
			for i, ev := range erasedEvents(&fanfold.Loss{UpTo: 7, Base: &fanfold.Compaction{AsOf: 7}}, documents) {
				for _, d := range ev.Loss.List.Documents {
					if d.Key != documents[named] {
						t.Fatalf("%s: document %d is %s", name, named, d.Key)
					}
					named++
				}
				if size := len(events.Encode(ev)); size > 4<<20 || ev.Loss.UpTo != 7 || (ev.Loss.Base != nil) != (i == 0) {
					t.Errorf("%s: event %d has %d bytes: %d %v", name, i, size, ev.Loss.UpTo, ev.Loss.Base)
				}
			}
			if named != count {
				t.Errorf("%s: %d of %d documents are named", name, named, count)
			}
		}
	}
}

// twoNodes are two live nodes. The other one leads.
type twoNodes struct{}

func (twoNodes) All() []wire.Node { return []wire.Node{{Live: true}, {Self: true, Live: true}} }

func (n twoNodes) Live(context.Context) ([]wire.Node, error) { return n.All(), nil }

// TestWaitOfAStep: the wait for nodes begins with what was noticed first, not with the last, and anew with another number.
func TestWaitOfAStep(t *testing.T) {
	g := New(Options{})
	g.Nodes = twoNodes{}
	due, done := uint64(1), 0
	s := &step{who: leaderFirst, due: func() uint64 { return due }, late: func(wire.Node) bool { return true }, do: func(context.Context) error { done++; return nil }}
	take := func(want int, what string) {
		t.Helper()
		if err := g.take(t.Context(), s); err != nil || done != want {
			t.Fatalf("%s: done %d times, %v", what, done, err)
		}
	}
	take(0, "at first")
	first := s.since
	take(0, "again")
	if first.IsZero() || s.since != first {
		t.Errorf("the wait begins at %v, and again at %v", first, s.since)
	}
	s.since = first.Add(-patience)
	take(1, "after the wait")
	due = 7
	take(1, "what comes after it has a wait of its own")
	s.since = first.Add(-patience)
	due = 0
	take(1, "nothing is due")
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
