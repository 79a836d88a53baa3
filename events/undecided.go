package events

import (
	"context"
	"sync/atomic"

	"github.com/fanfold/fanfold"
)

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
