package events

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/fanfold/fanfold"
)

// fences shares fence messages among readers. A reader that asks while a fence is on its way waits for the next one.
// Only a fence that starts after it asked is sure to cover everything acknowledged before.
type fences struct {
	mu      sync.Mutex
	running bool
	next    *fenceCall
}

// fenceCall is one fence and its result, which may be read once done is closed.
type fenceCall struct {
	done chan struct{}
	seq  uint64
	err  error
}

// Fence returns a sequence that is not before any event that was acknowledged, on any node, before the call. It blocks for a durable publish,
// which concurrent callers share. See undecided.fence for a log where nothing is published. Errors are Append, and ctx's.
func (l *Log) Fence(ctx context.Context) (uint64, error) {
	l.fences.mu.Lock()
	if l.fences.next == nil {
		l.fences.next = &fenceCall{done: make(chan struct{})}
	}
	call := l.fences.next
	if !l.fences.running {
		l.fences.running = true
		go l.fences.run(context.WithoutCancel(ctx), l)
	}
	l.fences.mu.Unlock()
	select {
	case <-call.done:
		return call.seq, call.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// run publishes one fence after another while readers wait, and returns when none does. Each
// fence takes Options.Timeout at most.
func (f *fences) run(ctx context.Context, l *Log) {
	for {
		f.mu.Lock()
		call := f.next
		f.next = nil
		f.running = call != nil
		f.mu.Unlock()
		if call == nil {
			return
		}
		call.seq, call.err = l.health.undecided.fence(ctx, l)
		close(call.done)
	}
}

// undecided knows whether this process waits for the log's decision about an append, or has ended without one.
type undecided struct {
	running atomic.Int64  // appends that have begun and not ended
	lost    atomic.Uint64 // appends that have ended in another way than with an event that is stored, or with Stale
	settled atomic.Uint64 // so many of these are decided: a fence was stored after them
}

// begin counts an append until end is called with its error.
func (u *undecided) begin() (end func(err error)) {
	u.running.Add(1)
	return func(err error) {
		if err != nil && fanfold.CodeOf(err) != fanfold.Stale {
			u.lost.Add(1)
		}
		u.running.Add(-1)
	}
}

// none returns whether everything that this process has sent is decided.
func (u *undecided) none() bool { return u.running.Load() == 0 && u.lost.Load() == u.settled.Load() }

// fence returns what Log.Fence does. It appends an event, unless the last sequence proves the same. It does if nobody but this process
// publishes, and the log has decided about everything that it sent. All that is stored is durable then.
func (u *undecided) fence(ctx context.Context, l *Log) (uint64, error) {
	if e := l.opt.Embedded; e != nil && e.OnlyPublisher() && u.none() && l.refuses() == nil {
		ctx, cancel := context.WithTimeout(ctx, l.opt.Timeout)
		defer cancel()
		run := l.run.Load()
		if last, err := l.LastSeq(ctx); err == nil && run.wait(ctx, last) == nil && run == l.run.Load() {
			return last, nil
		}
	}
	lost := u.lost.Load()
	seq, err := l.Append(ctx, &fanfold.Event{Kind: fanfold.KindFence}, fanfold.Expect{})
	if err == nil {
		advance(&u.settled, lost)
	}
	return seq, err
}
