package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/membership"
)

// reason says why a node is not ready.
type reason struct {
	check string // what was looked at: shutdown, log, projector, erasure, catching-up, lag, lease
	err   error
}

// reasons returns why the node is not ready, the most important one first, none where it is.
func (n *Node) reasons() (list []reason) {
	add := func(check string, err error) {
		if err != nil {
			list = append(list, reason{check, err})
		}
	}
	if n.api.Leaving() {
		add("shutdown", fanfold.Errorf(fanfold.Unavailable, "the node is shutting down"))
	}
	damage := n.Log.Damage()
	add("log", damage)
	s := n.Projector.Status().Stopped
	switch {
	case s.LogAway() && !n.Log.Connected(): // which is said below
	case s.LogAway():
		add("log", fanfold.Errorf(fanfold.Unavailable, "the log cannot be read from event %d on: %s", s.Seq, s.Reason))
	case s != nil:
		add("projector", fanfold.Errorf(fanfold.Unavailable, "the projector has stopped at event %d: %s", s.Seq, s.Reason))
	case !n.Projector.Begun():
		add("projector", fanfold.Errorf(fanfold.Unavailable, "the base at which the log begins is being looked for"))
	}
	if !n.Log.Connected() {
		add("log", fanfold.Errorf(fanfold.Unavailable, "the log cannot be reached"))
	} else if damage == nil {
		add("log", n.Log.Failing())
	}
	add("erasure", n.Forget.Restored.Withheld())
	add("catching-up", n.catchingUp())
	add("catching-up", n.check.Progress())
	add("lag", n.tooFar())
	add("lease", n.mayPublish())
	return list
}

// notReady returns the first of the reasons as an error that lists all of them, nil for none.
func notReady(list []reason) error {
	if len(list) == 0 {
		return nil
	}
	var first *fanfold.Error
	if !errors.As(list[0].err, &first) {
		return list[0].err
	}
	out := *first
	for _, r := range list {
		out.Problems = append(out.Problems, fanfold.Problem{Path: r.check, Detail: fanfold.MessageOf(r.err)})
	}
	return &out
}

// catchingUp returns the CatchingUp of a node that has not reached the log's end of its start yet, nil once it has.
func (n *Node) catchingUp() error {
	if n.reached.Load() {
		return nil
	}
	applied := n.Store.Applied.Seq()
	if applied >= n.startLast {
		n.reached.Store(true)
		return nil
	}
	return fanfold.Errorf(fanfold.CatchingUp, "the read model is at event %d and catches up with event %d, the log's last one at the start: ask another node, try again later, or read what is there with consistency=eventual", applied, n.startLast)
}

// tooFar returns the Lagging of a node that lags the log beyond its bound, nil for another node.
func (n *Node) tooFar() error {
	b := n.shownLag()
	if n.cfg.MaxLag.Holds(b.Events, b.Age) {
		return nil
	}
	return fanfold.Errorf(fanfold.Lagging, "%s, beyond its bound (--max-lag %v): ask another node, or try again later", behindText(b), n.cfg.MaxLag)
}

// behindText says how far a node lags.
func behindText(b membership.LagReading) string {
	if b.Events == 0 {
		return fmt.Sprintf("this node has not heard for %v how far the log is", b.Age.Round(time.Millisecond))
	}
	return fmt.Sprintf("this node is %d events and %v behind the log", b.Events, b.Age.Round(time.Millisecond))
}

// lagging makes a node an api.Lag.
type lagging struct{ *Node }

// soon is how many events a node may have to fold before it has reached the log's end of its start, for a read to wait.
const soon = 10_000

// CatchingUp returns why the node cannot answer with a prefix of the log that is not an older one than it has shown, nil
// where it can. If it soon can, it waits, until ctx ends at most. If an event cannot be folded, reads go on with the
// prefix that was folded before it.
func (l lagging) CatchingUp(ctx context.Context) error {
	if l.reached.Load() {
		return nil
	}
	left := l.startLast - min(l.startLast, l.Store.Applied.Seq())
	if left > 0 && left <= soon && l.Projector.Status().Stopped == nil {
		_ = l.Store.Applied.Wait(ctx, l.startLast) // what follows says how far it is
	}
	if l.Projector.Status().Stopped != nil {
		return nil
	}
	return l.catchingUp()
}

// CaughtUp tells whether CatchingUp returns nil at once.
func (l lagging) CaughtUp() bool { return l.reached.Load() }

// TooFar returns why the node lags too far for strong reads and writes under a key, nil if it does not.
func (l lagging) TooFar() error { return l.tooFar() }

// Wait waits until the node is within a bound of the log. The error is Lagging where ctx ends before, and Unavailable.
func (l lagging) Wait(ctx context.Context, bound membership.LagBound) error {
	if b := l.lag.Now(); bound.Events == 0 && b.Proved && bound.Holds(b.Events, b.Age) {
		return nil // the age is known without asking; how many events there are is not
	}
	head, err := l.lag.QueryHead(ctx)
	for err == nil {
		applied := l.Store.Applied.Seq()
		b := l.lag.Now()
		if applied >= head || (b.Proved || bound.Events > 0) && bound.Holds(b.Events, b.Age) {
			return nil // with the head, everything from before the call is there
		}
		select {
		case <-l.Store.Applied.Changed(applied):
			err = l.Store.Applied.Err()
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if ctx.Err() == nil {
		return err
	}
	return fanfold.Wrap(ctx.Err(), fanfold.Lagging, "%s, beyond maxLag=%v: ask another node, try again later, or allow more", behindText(l.lag.Now()), bound)
}
