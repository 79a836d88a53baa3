package api

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/fanfold/fanfold"
)

// turns lets one writer at a time, in order of arrival, compute on a document's current
// revision: of many on one node each then succeeds at its first try.
type turns struct {
	mu    sync.Mutex
	lines map[fanfold.Key][]chan struct{} // those who wait, behind the one whose turn it is
}

// take waits for a turn at each of the keys; done gives them back. The error is ctx's.
func (t *turns) take(ctx context.Context, keys ...fanfold.Key) (done func(), err error) {
	keys = slices.SortedFunc(slices.Values(keys), func(a, b fanfold.Key) int { // the same order for all, so that nobody waits in a ring
		return cmp.Or(cmp.Compare(a.Collection, b.Collection), cmp.Compare(a.ID, b.ID))
	})
	for i, key := range keys {
		if err := t.enter(ctx, key); err != nil {
			t.leave(keys[:i])
			return nil, err
		}
	}
	return func() { t.leave(keys) }, nil
}

func (t *turns) enter(ctx context.Context, key fanfold.Key) error {
	t.mu.Lock()
	if t.lines == nil {
		t.lines = map[fanfold.Key][]chan struct{}{}
	}
	line, taken := t.lines[key]
	if !taken {
		t.lines[key] = nil
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	t.lines[key] = append(line, mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.lines[key], mine); i >= 0 {
		t.lines[key] = slices.Delete(t.lines[key], i, i+1)
		return ctx.Err()
	}
	t.pass(key) // the turn came at the last moment
	return ctx.Err()
}

func (t *turns) leave(keys []fanfold.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		t.pass(key)
	}
}

// pass gives the turn to the next in line. The caller holds mu.
func (t *turns) pass(key fanfold.Key) {
	line := t.lines[key]
	if len(line) == 0 {
		delete(t.lines, key)
		return
	}
	t.lines[key] = line[1:]
	close(line[0])
}
