package events_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// puts returns writes of documents from one number up to another.
func puts(from, to int) (writes []fanfold.Write) {
	for i := from; i < to; i++ {
		writes = append(writes, fanfold.Write{Event: put(fmt.Sprint(i), `{}`)})
	}
	return writes
}

// lastPart returns the write of a document on a revision.
func lastPart(id string, rev fanfold.Revision) []fanfold.Write {
	return []fanfold.Write{{Event: put(id, `{}`), Expect: fanfold.Exactly(rev)}}
}

// wantIDs checks which documents the log's events up to one are about.
func wantIDs(t *testing.T, l *events.Log, last uint64, want []string) {
	t.Helper()
	r, err := l.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []string
	for seq := uint64(0); seq < last; {
		ev, _, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == fanfold.KindPut { // a log of several replicas has fences, too
			got = append(got, ev.Key.ID)
		}
		seq = ev.Seq
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log has %v, not %v", got, want)
	}
}

// TestStage: a stage is stored with the rest or not at all. So it is where another's events came between, where a condition of the rest is
// not met, and where the rest is too much.
func TestStage(t *testing.T) {
	l := open(t, natsserver.Start(t, 1)[0], 1)
	stage := func(from, to int) (appendLastPart func(rest []fanfold.Write) (uint64, error)) {
		t.Helper()
		fn, err := l.Stage(t.Context(), puts(from, to))
		if err != nil {
			t.Fatal(err)
		}
		return func(rest []fanfold.Write) (uint64, error) { return fn(t.Context(), rest) }
	}
	stage(90, 99) // and never more
	first, second := stage(0, 2), stage(2, 4)
	if seq, err := l.Append(t.Context(), put("between", `{}`), fanfold.Expect{}); err != nil || seq != 1 {
		t.Fatalf("beside what is staged an event is %d, %v", seq, err)
	}
	if seq, err := first(lastPart("rest", 0)); err != nil || seq != 2 {
		t.Fatalf("what is staged and the rest begin at %d, %v", seq, err)
	}
	_, err := second(lastPart("rest", 1))
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Code != fanfold.Stale || e.Operation == nil || *e.Operation != 2 || e.Current != 4 {
		t.Fatalf("a condition of the rest that is not met: %+v", e)
	}
	if seq, err := stage(4, 6)(lastPart("rest", 4)); err != nil || seq != 5 {
		t.Fatalf("what is staged next begins at %d, %v", seq, err)
	}
	if _, err := stage(0, events.MaxBatch)(lastPart("more", 0)); fanfold.CodeOf(err) != fanfold.Unprocessable {
		t.Errorf("more than a batch takes: %v", err)
	}
	wantIDs(t, l, 7, []string{"between", "0", "1", "rest", "4", "5", "rest"})
}

// TestStageLost: what is staged is stored once with the rest, whether the server lost it by a restart, or its answer was lost.
func TestStageLost(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d replicas", nodes), func(t *testing.T) {
			t.Parallel()
			servers := natsserver.StartCluster(t, nodes, false)
			proxy := natsserver.StartProxy(t, servers.URLs()[0])
			l := open(t, proxy.URL, nodes)
			before := confirmHorizon(t, l)
			appendLastPart, err := l.Stage(t.Context(), puts(0, 2))
			if err != nil {
				t.Fatal(err)
			}
			proxy.DropAcks(1)
			if seq, err := appendLastPart(t.Context(), lastPart("rest", 0)); err != nil || seq != before+1 || proxy.Lost() != 1 {
				t.Fatalf("after %d lost answers the batch begins at %d, %v", proxy.Lost(), seq, err)
			}
			if appendLastPart, err = l.Stage(t.Context(), puts(2, 4)); err != nil {
				t.Fatal(err)
			}
			leader := max(0, servers.Leader("fanfold")) // of one server none is told
			servers.Stop(leader)
			servers.Restart(leader)
			seq, err := appendLastPart(t.Context(), lastPart("rest", fanfold.Revision(before+3)))
			if err != nil || seq < 4 {
				t.Fatalf("after a restart the batch begins at %d, %v", seq, err)
			}
			wantIDs(t, l, seq+2, []string{"0", "1", "rest", "2", "3", "rest"})
		})
	}
}
