// Package sending bounds what a node holds in memory of answers that are on their way to clients.
package sending

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// The sizes by which answers are told apart, in bytes.
const (
	Free  = 16 << 10 // an answer up to here takes nothing of a budget: its connection costs as much
	Small = 64 << 10 // an answer up to here takes from a part of the budget that larger ones leave alone
)

// DefaultBudget is the size of a budget, in bytes.
const DefaultBudget = 256 << 20

// Budget bounds the bytes of all answers that are held at a time. A quarter of it is for small answers only, so that
// clients that are slow to read large ones do not keep others from reading small ones. Its methods may be called from many
// goroutines.
type Budget struct{ small, large lane }

// lane is a part of a budget. Whoever waits for it is served in order of arrival.
type lane struct {
	free *semaphore.Weighted
	size int64
}

// NewBudget returns a budget of size bytes, DefaultBudget where size is 0.
func NewBudget(size int64) *Budget {
	if size <= 0 {
		size = DefaultBudget
	}
	part := max(size/4, 1)
	return &Budget{small: newLane(part), large: newLane(max(size-part, 1))}
}

func newLane(size int64) lane { return lane{free: semaphore.NewWeighted(size), size: size} }

// Lease returns a lease that holds nothing yet. The caller releases it.
func (b *Budget) Lease() *Lease { return &Lease{budget: b} }

// Lease holds what one answer has taken of a budget. It is for one goroutine.
type Lease struct {
	budget *Budget
	from   *lane // nil for none
	taken  int64 // of from
	held   int64 // how many bytes the answer may have
}

// laneOf returns the lane from which an answer of n bytes is taken, and what it takes there. An answer that is larger than
// the lane takes all of it.
func (b *Budget) laneOf(n int64) (*lane, int64) {
	switch {
	case n <= Free:
		return nil, 0
	case n <= Small:
		return &b.small, min(n, b.small.size)
	}
	return &b.large, min(n, b.large.size)
}

// Held returns how many bytes the answer may have.
func (l *Lease) Held() int { return int(max(l.held, Free)) }

// TryHold makes the lease hold n bytes in all, where there is room now and nobody waits for it. It is false, and leaves
// the lease as it is, where not.
func (l *Lease) TryHold(n int) bool {
	to, want := l.budget.laneOf(int64(n))
	switch {
	case to != l.from:
		if to != nil && !to.free.TryAcquire(want) {
			return false
		}
		l.Release()
	case want > l.taken:
		if !to.free.TryAcquire(want - l.taken) {
			return false
		}
	case want < l.taken:
		to.free.Release(l.taken - want)
	}
	l.from, l.taken, l.held = to, want, int64(n)
	return true
}

// WaitToHold gives back what the lease holds, and blocks until it holds n bytes. Nobody waits while holding, so that
// waiting ends when those who send are done, or cut off. The error is ctx's, and the lease holds nothing then.
func (l *Lease) WaitToHold(ctx context.Context, n int) error {
	l.Release()
	to, want := l.budget.laneOf(int64(n))
	if to != nil {
		if err := to.free.Acquire(ctx, want); err != nil {
			return err
		}
	}
	l.from, l.taken, l.held = to, want, int64(n)
	return nil
}

// Shrink gives back what the lease holds beyond n bytes.
func (l *Lease) Shrink(n int) {
	if l.from == nil || int64(n) >= l.held {
		return
	}
	keep := min(int64(n), l.taken)
	l.from.free.Release(l.taken - keep)
	l.taken, l.held = keep, int64(n)
}

// Release gives back everything that the lease holds. It may be called again, and the lease be used again.
func (l *Lease) Release() {
	if l.from != nil {
		l.from.free.Release(l.taken)
	}
	l.from, l.taken, l.held = nil, 0, 0
}
