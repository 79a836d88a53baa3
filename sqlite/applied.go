package sqlite

import (
	"context"
	"sync"

	"github.com/fanfold/fanfold"
)

// Applied tells waiters how far the log is folded. A Store makes it; the zero value is not usable.
// Its methods may be called from many goroutines.
type Applied struct {
	mu      sync.Mutex
	seq     uint64
	stopped error // why nothing more will be folded
	changed chan struct{}
	waiters map[chan struct{}]uint64
	recent  [recentEvents]Outcome
}

// Outcome says what an event did to the document it is about.
type Outcome struct {
	Seq     uint64
	Op      fanfold.Op
	Derived int64 // derived changes that it caused
	Tx      bool  // it is part of a transaction
}

// recentEvents is the number of events whose outcomes are kept.
const recentEvents = 8192

// newApplied returns an Applied at sequence 0.
func newApplied() *Applied {
	return &Applied{changed: make(chan struct{}), waiters: map[chan struct{}]uint64{}}
}

// Set records that everything up to seq is folded and visible, and what the last events did. It
// wakes the waiters for seq and everything before, and takes back Stop.
func (a *Applied) Set(seq uint64, outcomes ...Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = nil
	for _, o := range outcomes {
		a.recent[o.Seq%recentEvents] = o
	}
	if seq <= a.seq {
		return
	}
	a.seq = seq
	close(a.changed)
	a.changed = make(chan struct{})
	for w, want := range a.waiters {
		if want <= seq {
			delete(a.waiters, w)
			close(w)
		}
	}
}

// Stop makes every wait fail with err, now and later, until Set or Resume is called.
func (a *Applied) Stop(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = err
	close(a.changed)
	a.changed = make(chan struct{})
	for w := range a.waiters {
		delete(a.waiters, w)
		close(w)
	}
}

// restart makes everything begin again, of a store that is emptied. Nobody waits.
func (a *Applied) restart() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seq, a.recent = 0, [recentEvents]Outcome{}
}

// Resume takes Stop back.
func (a *Applied) Resume() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = nil
}

// Seq returns the sequence of the last event folded.
func (a *Applied) Seq() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seq
}

// Outcome returns what the event at seq did: the operation and the number of derived changes. ok is
// false where the outcome is no longer kept, and for the events of a transaction.
func (a *Applied) Outcome(seq uint64) (op fanfold.Op, derived int64, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := a.recent[seq%recentEvents]
	return o.Op, o.Derived, o.Seq == seq && !o.Tx
}

// Err returns the error that Stop was given, and nil while events may be folded.
func (a *Applied) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stopped
}

// Wait blocks until everything up to seq is folded or ctx has ended. It returns the errors of ctx and Stop, and
// Unavailable if the projector was stopped and resumed meanwhile.
func (a *Applied) Wait(ctx context.Context, seq uint64) error {
	a.mu.Lock()
	if a.seq >= seq {
		a.mu.Unlock()
		return nil
	}
	if err := a.stopped; err != nil {
		a.mu.Unlock()
		return err
	}
	w := make(chan struct{})
	a.waiters[w] = seq
	a.mu.Unlock()
	select {
	case <-w:
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.seq >= seq {
			return nil
		}
		if a.stopped != nil {
			return a.stopped
		}
		return fanfold.Errorf(fanfold.Unavailable, "the projector was interrupted")
	case <-ctx.Done():
		a.mu.Lock()
		delete(a.waiters, w)
		a.mu.Unlock()
		return ctx.Err()
	}
}

// Changed returns a channel that is closed once more than seq is folded or Stop is called. If that is so already, the
// channel is closed.
func (a *Applied) Changed(seq uint64) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seq > seq || a.stopped != nil {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return a.changed
}
