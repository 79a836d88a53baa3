package writer

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/suite"
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
	suite.Concurrent(t)
	q := &guardRounds{busy: true} // no round begins by itself
	ctx, cancel := context.WithCancel(t.Context())
	begun := startAppend(ctx, q, "b1")
	members := q.next()
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
	q := &guardRounds{busy: true}
	write := func(id string) {
		q.waiting = append(q.waiting, &guardedWrite{write: fanfold.Write{Event: &fanfold.Event{Key: fanfold.Key{ID: id}}}})
	}
	write("twice")
	write("twice")
	for i := range roundSize {
		write(string(rune('A' + i)))
	}
	if n := len(q.next()); n != roundSize {
		t.Errorf("the first round has %d writes; want %d", n, roundSize)
	}
	if n := len(q.next()); n != 2 || !q.busy {
		t.Errorf("the second round has %d writes, busy %v; want 2, true", n, q.busy)
	}
	if n := len(q.next()); n != 0 || q.busy {
		t.Errorf("the third round has %d writes, busy %v; want none", n, q.busy)
	}
}

// TestRefusalsOfARound: a write that is refused leaves its round, and others go on. It has its answer at once if no other one stands before it, and
// otherwise once the round is stored.
func TestRefusalsOfARound(t *testing.T) {
	r := &guardRound{separable: true}
	for range 4 {
		r.members = append(r.members, &guardedWrite{})
	}
	all := slices.Clone(r.members)
	refused := &refusals{}
	for _, at := range []int{3, 0, 2} {
		refused.add(at, fanfold.Errorf(fanfold.CheckFailed, "write %d", at))
	}
	r.refuse(refused, false)
	if len(r.members) != 1 || r.members[0] != all[1] || len(r.doubted) != 2 || all[0].err == nil || all[2].err != nil || all[3].err != nil {
		t.Errorf("%d go on, %d wait; the errors are %v, %v, %v", len(r.members), len(r.doubted), all[0].err, all[2].err, all[3].err)
	}
}
