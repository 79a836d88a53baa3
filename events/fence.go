package events

import (
	"context"
	"sync"
)

// fences shares fence messages among readers. A reader that asks while a fence is on its way waits
// for the next one, because only a fence that starts after it asked is sure to cover everything
// acknowledged before.
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

// Fence returns a sequence at or behind every event that was acknowledged, on any node, before the
// call. It blocks for a durable publish, which concurrent callers share. See undecided.fence for a log where nothing is published. Errors are as of
// Append, and ctx's.
func (l *Log) Fence(ctx context.Context) (uint64, error) {
	l.fences.mu.Lock()
	if l.fences.next == nil {
		l.fences.next = &fenceCall{done: make(chan struct{})}
	}
	call := l.fences.next
	if !l.fences.running {
		l.fences.running = true
		go l.runFences(context.WithoutCancel(ctx))
	}
	l.fences.mu.Unlock()
	select {
	case <-call.done:
		return call.seq, call.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// runFences publishes one fence after another while readers wait, and returns when none does. Each
// fence takes Options.Timeout at most.
func (l *Log) runFences(ctx context.Context) {
	for {
		l.fences.mu.Lock()
		call := l.fences.next
		l.fences.next = nil
		l.fences.running = call != nil
		l.fences.mu.Unlock()
		if call == nil {
			return
		}
		call.seq, call.err = l.inFlight.fence(ctx, l)
		close(call.done)
	}
}
