package events

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// scanStall is how long a scan waits for an event that the log has before it asks for that event by itself. A server
// skips what it cannot read where something follows, and waits where nothing does.
const scanStall = 2 * time.Second

// Scan reads the events from one sequence to another in order. It calls fn with each that can be read: its sequence,
// the size of its payload in bytes, and its digest. Sequences that it leaves out are missing, or cannot be read. It
// begins after the log's base, blocks until it is through, and returns fn's first error, ctx's, or Unavailable.
func (l *Log) Scan(ctx context.Context, from, to uint64, fn func(seq uint64, size int, d fanfold.Digest) error) error {
	return l.Messages(ctx, from, to, func(m *Message) error { return fn(m.Seq, len(m.Data), m.digest) })
}

// Messages is Scan for the whole messages. Both read as of the last erasure that is in force as they begin.
func (l *Log) Messages(ctx context.Context, from, to uint64, fn func(m *Message) error) error {
	_, inForce := l.prefix.Erasures()
	return l.messagesAs(ctx, from, to, inForce, true, fn)
}

// messagesAs does what Messages does as of an erasure, and leaves the digests out that nobody looks at. It goes on where a planned start of the
// server has interrupted it, unless another erasure has come into force: messages may be gone then, and the error is Unavailable.
func (l *Log) messagesAs(ctx context.Context, from, to uint64, asOf fanfold.AsOf, digests bool, fn func(m *Message) error) (err error) {
	next := max(from, l.prefix.Base().Seq+1)
	_, begun := l.prefix.Erasures()
	interrupted := false
	for next <= to {
		var failed error // fn's
		asked := l.Outlast(ctx, func(ctx context.Context) error {
			if _, inForce := l.prefix.Erasures(); interrupted && inForce != begun {
				failed = errAnotherRun()
				return nil
			}
			next, err = messagesFrom(ctx, l, next, to, asOf, digests, func(m *Message) error {
				failed = fn(m)
				return failed
			})
			if interrupted = true; failed != nil || errors.Is(err, errStalled) {
				return nil //nolint:nilerr // which is told below
			}
			return err
		})
		if err = cmp.Or(failed, asked, err); !errors.Is(err, errStalled) {
			return err
		}
		if next, err = l.nextReadable(ctx, next, to); err != nil {
			return err
		}
	}
	return nil
}

// messagesFrom reads with one reader, and returns the next sequence. The error is errStalled where nothing is delivered.
func messagesFrom(ctx context.Context, l *Log, next, to uint64, asOf fanfold.AsOf, digests bool, fn func(m *Message) error) (uint64, error) {
	r, err := l.ReadAs(ctx, next, asOf)
	if err != nil {
		return next, err
	}
	defer r.Close()
	r.bare = !digests
	return r.scan(ctx, next, to, fn)
}

// errStalled is the error of a reader to which nothing is delivered.
var errStalled = errors.New("nothing is delivered")

// scan does what Messages does, until nothing is delivered for a while, when it returns the next sequence and errStalled.
func (r *Reader) scan(ctx context.Context, next, to uint64, fn func(m *Message) error) (uint64, error) {
	var stalled atomic.Bool
	watch := time.AfterFunc(scanStall, func() {
		stalled.Store(true)
		r.interrupt() // which ends the wait below
	})
	defer watch.Stop()
	for next <= to {
		m, err := r.receive(ctx)
		switch {
		case err != nil && stalled.Load() && ctx.Err() == nil:
			return next, errStalled
		case err != nil:
			return next, err
		case m.Seq > to:
			return m.Seq, nil
		}
		next = m.Seq + 1
		watch.Stop() // fn may take its time
		if err := fn(&m); err != nil {
			return next, err
		}
		watch.Reset(scanStall)
	}
	return next, nil
}

// nextReadable returns the first sequence from seq on whose event the leader can read, to+1 if there is none.
func (l *Log) nextReadable(ctx context.Context, seq, to uint64) (uint64, error) {
	for ; seq <= to; seq++ {
		m, err := l.getMsg(ctx, servers.LeaderQuery{Seq: seq})
		if fanfold.CodeOf(err) == fanfold.Unavailable && ctx.Err() == nil && isRefusal(err) {
			continue
		}
		if err != nil {
			return seq, err
		}
		if m != nil {
			return seq, nil
		}
	}
	return seq, nil
}

// isRefusal reports whether err is an answer of the server rather than the lack of one.
func isRefusal(err error) bool { return servers.Refusal(err) != nil }
