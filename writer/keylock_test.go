package writer

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/fanfold/fanfold"
)

// waiting returns how many writers wait for the lock of key.
func (l *keyLocks) waiting(key fanfold.Key) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue[key])
}

// until yields to other goroutines until a condition holds.
func until(condition func() bool) {
	for !condition() {
		runtime.Gosched()
	}
}

// TestKeyLocksAreGrantedInOrder queues several writers for one document, and expects them to get the lock in order of
// arrival.
func TestKeyLocksAreGrantedInOrder(t *testing.T) {
	var locks keyLocks
	key := fanfold.Key{Collection: "books", ID: "b1"}
	unlock, err := locks.lock(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	const writers = 5
	order := make(chan int, writers)
	for i := range writers {
		go func() {
			unlock, err := locks.lock(t.Context(), key)
			if err != nil {
				t.Error(err)
				return
			}
			order <- i
			unlock()
		}()
		until(func() bool { return locks.waiting(key) == i+1 })
	}
	unlock()
	for i := range writers {
		if got := <-order; got != i {
			t.Fatalf("writer %d got the lock as number %d", got, i)
		}
	}
	until(locks.isEmpty)
}

// isEmpty tells whether no key is locked.
func (l *keyLocks) isEmpty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) == 0
}

// TestKeyLocksOfSeveralKeys locks the same keys in opposite orders at a time, which must not deadlock.
func TestKeyLocksOfSeveralKeys(t *testing.T) {
	var locks keyLocks
	a, b := fanfold.Key{Collection: "books", ID: "a"}, fanfold.Key{Collection: "books", ID: "b"}
	done := make(chan struct{})
	for _, keys := range [][]fanfold.Key{{a, b}, {b, a}} {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 1000 {
				unlock, err := locks.lock(t.Context(), keys...)
				if err != nil {
					t.Error(err)
					return
				}
				unlock()
			}
		}()
	}
	<-done
	<-done
	if !locks.isEmpty() {
		t.Errorf("locks are left: %v", locks.queue)
	}
}

// TestKeyLockCancelled ends a writer's context while it holds one lock and waits for another: it must give both up.
func TestKeyLockCancelled(t *testing.T) {
	var locks keyLocks
	free, taken := fanfold.Key{Collection: "books", ID: "a"}, fanfold.Key{Collection: "books", ID: "b"}
	unlock, err := locks.lock(t.Context(), taken)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := locks.lock(ctx, taken, free)
		failed <- err
	}()
	until(func() bool { return locks.waiting(taken) == 1 })
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Fatalf("%v instead of Canceled", err)
	}
	unlock()
	if !locks.isEmpty() {
		t.Errorf("locks are left: %v", locks.queue)
	}
}
