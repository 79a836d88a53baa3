package writer

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/fanfold/fanfold"
)

// keyLocks lets one writer of this node at a time, in order of arrival, compute on a document's current revision, so
// that each of many succeeds at its first try.
type keyLocks struct {
	mu    sync.Mutex
	queue map[fanfold.Key][]chan struct{} // for each key that is locked, those who wait for it
}

// lock waits until it holds the locks of all keys; unlock releases them. The error is ctx's, and nothing is locked then.
func (l *keyLocks) lock(ctx context.Context, keys ...fanfold.Key) (unlock func(), err error) {
	keys = slices.SortedFunc(slices.Values(keys), func(a, b fanfold.Key) int { // the same order for all, so that there is no deadlock
		return cmp.Or(cmp.Compare(a.Collection, b.Collection), cmp.Compare(a.ID, b.ID))
	})
	for i, key := range keys {
		if err := l.lockOne(ctx, key); err != nil {
			l.unlockAll(keys[:i])
			return nil, err
		}
	}
	return func() { l.unlockAll(keys) }, nil
}

func (l *keyLocks) lockOne(ctx context.Context, key fanfold.Key) error {
	l.mu.Lock()
	if l.queue == nil {
		l.queue = map[fanfold.Key][]chan struct{}{}
	}
	queue, locked := l.queue[key]
	if !locked {
		l.queue[key] = nil
		l.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	l.queue[key] = append(queue, mine)
	l.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.queue[key], mine); i >= 0 {
		l.queue[key] = slices.Delete(l.queue[key], i, i+1)
		return ctx.Err()
	}
	l.handOn(key) // the lock came at the last moment
	return ctx.Err()
}

func (l *keyLocks) unlockAll(keys []fanfold.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		l.handOn(key)
	}
}

// handOn gives the lock to the next in the queue. The caller holds mu.
func (l *keyLocks) handOn(key fanfold.Key) {
	queue := l.queue[key]
	if len(queue) == 0 {
		delete(l.queue, key)
		return
	}
	l.queue[key] = queue[1:]
	close(queue[0])
}
