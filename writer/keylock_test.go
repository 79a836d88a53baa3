package writer

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/suite"
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
	suite.Concurrent(t)
	var locks keyLocks
	key := fanfold.Key{Collection: "books", ID: "b1"}
	_, unlock, err := locks.lock(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	const writers = 5
	order := make(chan int, writers)
	for i := range writers {
		go func() {
			_, unlock, err := locks.lock(t.Context(), key)
			if err != nil {
				t.Error(err)
				return
			}
			order <- i
			unlock(0)
		}()
		until(func() bool { return locks.waiting(key) == i+1 })
	}
	unlock(0)
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
	suite.Concurrent(t)
	var locks keyLocks
	a, b := fanfold.Key{Collection: "books", ID: "a"}, fanfold.Key{Collection: "books", ID: "b"}
	done := make(chan struct{})
	for _, keys := range [][]fanfold.Key{{a, b}, {b, a}} {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 1000 {
				_, unlock, err := locks.lock(t.Context(), keys...)
				if err != nil {
					t.Error(err)
					return
				}
				unlock(0)
			}
		}()
	}
	<-done
	<-done
	if !locks.isEmpty() {
		t.Errorf("locks are left: %v", locks.queue)
	}
}

// TestKeyLocksSayWhatWasStored: whoever gets a lock knows what was stored under it and has to be waited for, and no more
// documents are kept for that than there is room for.
func TestKeyLocksSayWhatWasStored(t *testing.T) {
	var locks keyLocks
	a, b := fanfold.Key{Collection: "books", ID: "a"}, fanfold.Key{Collection: "books", ID: "b"}
	for _, st := range []struct {
		keys          []fanfold.Key
		after, stored uint64
	}{{[]fanfold.Key{a}, 0, 7}, {[]fanfold.Key{b}, 0, 0}, {[]fanfold.Key{a, b}, 7, 9}, {[]fanfold.Key{b}, 9, 0}, {[]fanfold.Key{b}, 9, 0}} {
		after, unlock, err := locks.lock(t.Context(), st.keys...)
		if err != nil || after != st.after {
			t.Fatalf("%v: after %d, %v; want %d", st.keys, after, err, st.after)
		}
		unlock(st.stored)
	}
	for i := range 2 * maxStored {
		_, unlock, err := locks.lock(t.Context(), fanfold.Key{Collection: "books", ID: strconv.Itoa(i)})
		if err != nil {
			t.Fatal(err)
		}
		unlock(uint64(i + 10))
	}
	if n := len(locks.stored); n > maxStored {
		t.Errorf("%d stored events are kept", n)
	}
}

// TestKeyLockCancelled ends a writer's context while it holds one lock and waits for another: it must give both up.
func TestKeyLockCancelled(t *testing.T) {
	suite.Concurrent(t)
	var locks keyLocks
	free, taken := fanfold.Key{Collection: "books", ID: "a"}, fanfold.Key{Collection: "books", ID: "b"}
	_, unlock, err := locks.lock(t.Context(), taken)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, _, err := locks.lock(ctx, taken, free)
		failed <- err
	}()
	until(func() bool { return locks.waiting(taken) == 1 })
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Fatalf("%v instead of Canceled", err)
	}
	unlock(0)
	if !locks.isEmpty() {
		t.Errorf("locks are left: %v", locks.queue)
	}
}
