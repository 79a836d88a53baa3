package writer

import (
	"context"
	"slices"
	"sync"

	"github.com/fanfold/fanfold"
)

// keyLocks holds a lock for each document that a writer of this node is computing on. It is granted in order of arrival, so
// that each of many writers of one document succeeds at its first try. A writer releases the lock once its event is stored,
// because the fold may take long. It says which event it is, and the next writer waits for the fold of that event.
type keyLocks struct {
	mu     sync.Mutex
	queue  map[fanfold.Key][]chan struct{} // for each locked key, the writers that wait for it
	stored map[fanfold.Key]uint64          // events that holders have stored; some may be missing, which costs a retry
}

// maxStored is how many stored events are kept.
const maxStored = 4096

// lock waits until it holds the locks of all keys, each given once. It returns the last event that former holders have
// stored, which the caller waits for to see it. Call unlock, with the last event stored, 0 for none, to release them. The
// error is ctx's, and no lock is held then.
func (l *keyLocks) lock(ctx context.Context, keys ...fanfold.Key) (after uint64, unlock func(stored uint64), err error) {
	keys = slices.SortedFunc(slices.Values(keys), fanfold.Key.Compare) // in one order for all callers, so that there is no deadlock
	for i, key := range keys {
		if err := l.lockOne(ctx, key); err != nil {
			l.unlockAll(keys[:i], 0)
			return 0, nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		after = max(after, l.stored[key])
	}
	return after, func(stored uint64) { l.unlockAll(keys, stored) }, nil
}

// lockOne waits until it holds the lock of one key. The error is ctx's.
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
	granted := make(chan struct{})
	l.queue[key] = append(queue, granted)
	l.mu.Unlock()
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.queue[key], granted); i >= 0 {
		l.queue[key] = slices.Delete(l.queue[key], i, i+1)
		return ctx.Err()
	}
	l.handOn(key) // the lock was granted just before ctx ended
	return ctx.Err()
}

// unlockAll releases the locks of keys, under which an event was stored, 0 for none.
func (l *keyLocks) unlockAll(keys []fanfold.Key, stored uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stored == nil || len(l.stored)+len(keys) > maxStored {
		l.stored = map[fanfold.Key]uint64{}
	}
	for _, key := range keys {
		if stored > 0 {
			l.stored[key] = stored
		}
		l.handOn(key)
	}
}

// handOn grants the lock of key to the writer that has waited longest, or removes it where none waits. The caller holds mu.
func (l *keyLocks) handOn(key fanfold.Key) {
	queue := l.queue[key]
	if len(queue) == 0 {
		delete(l.queue, key)
		return
	}
	l.queue[key] = queue[1:]
	close(queue[0])
}
