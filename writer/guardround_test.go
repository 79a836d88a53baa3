package writer

import (
	"context"
	"errors"
	"testing"

	"github.com/fanfold/fanfold"
)

// appended is what guardRounds.append returned.
type appended struct {
	seq uint64
	err error
}

// startAppend appends a write of a document in the background, and returns once it waits for a round.
func startAppend(ctx context.Context, q *guardRounds, id string) <-chan appended {
	result := make(chan appended, 1)
	waiting := q.count()
	go func() {
		seq, err := q.append(ctx, nil, fanfold.Write{Event: &fanfold.Event{Key: fanfold.Key{Collection: "books", ID: id}}})
		result <- appended{seq, err}
	}()
	until(func() bool { return q.count() == waiting+1 })
	return result
}

// count returns how many writes wait for a round.
func (q *guardRounds) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// TestGuardedWriteIsWithdrawn ends the context of a write that waits for its round, and of one whose round has begun: the
// first is not written, the second keeps its outcome.
func TestGuardedWriteIsWithdrawn(t *testing.T) {
	q := newTestRounds() // no round begins by itself
	ctx, cancel := context.WithCancel(t.Context())
	begun := startAppend(ctx, q, "b1")
	members := q.next(nil)
	waiting := startAppend(ctx, q, "b2")
	cancel()

	var e *fanfold.Error
	if r := <-waiting; !errors.As(r.err, &e) || e.Code != fanfold.Unavailable || !errors.Is(r.err, context.Canceled) {
		t.Errorf("a write that waited ends with %v; want Unavailable", r.err)
	}
	if n := q.count(); n != 0 {
		t.Errorf("%d writes still wait", n)
	}
	members[0].end(7, nil)
	if r := <-begun; r.seq != 7 || r.err != nil {
		t.Errorf("a write whose round had begun ends with %d, %v; want 7", r.seq, r.err)
	}
}

// TestRoundHasEachDocumentOnce fills a round: a second write of one document waits for the next, and so do those for
// which there is no room.
func TestRoundHasEachDocumentOnce(t *testing.T) {
	q := newTestRounds()
	write := func(id string) {
		q.waiting = append(q.waiting, &guardedWrite{write: fanfold.Write{Event: &fanfold.Event{Key: fanfold.Key{ID: id}}}})
	}
	write("twice")
	write("twice")
	for i := range roundSize {
		write(string(rune('A' + i)))
	}
	first := q.next(nil)
	if len(first) != roundSize {
		t.Errorf("the first round has %d writes; want %d", len(first), roundSize)
	}
	beside := q.next(nil)
	if len(beside) != 1 || q.count() != 1 {
		t.Errorf("a round beside it has %d writes, and %d wait; want 1, 1", len(beside), q.count())
	}
	if n := len(q.next([]fanfold.Key{first[0].write.Event.Key})); n != 1 || q.running != 1 {
		t.Errorf("the round behind it has %d writes, %d are running; want 1, 1", n, q.running)
	}
	if n := len(q.next(nil)); n != 0 || q.running != 0 {
		t.Errorf("the last round has %d writes, %d are running; want none", n, q.running)
	}
}

// newTestRounds returns rounds of which one is running, so that no other begins.
func newTestRounds() *guardRounds {
	q := newGuardRounds(1)
	q.running = 1
	return &q
}
