// Package readiness says whether a node may be asked, and why not: what of the log it has, and what else it waits for.
package readiness

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/membership"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/sqlite"
)

// Options say what a node's readiness follows from.
type Options struct {
	Log       *events.Log
	Store     *sqlite.Store
	Projector *projector.Projector
	Last      uint64              // the last event that the log had at the start
	MaxLag    membership.LagBound // the greatest lag of a node that is ready; default a minute

	// Why the node is not ready besides, nil where it is.
	Scan       func() error // the log is being read through
	Withheld   func() error // a restored store erases something first
	MayPublish func() error // the node's lease has lapsed
	Leaving    func() bool  // the node is being stopped
}

// defaultMaxLag is the lag beyond which a node is not ready, where none is configured.
const defaultMaxLag = time.Minute

// Readiness knows how far a node is, and how far the log is.
type Readiness struct {
	Options
	lag     *membership.Lag
	reached atomic.Bool // the read model has reached Last
}

// New returns the readiness of a node whose log and read model are open. Call Run.
func New(opt Options) *Readiness {
	if opt.MaxLag == (membership.LagBound{}) {
		opt.MaxLag.Age = defaultMaxLag
	}
	return &Readiness{Options: opt, lag: membership.NewLag(membership.LagOptions{Head: opt.Log.LastSeq, Applied: opt.Store.Applied.Seq})}
}

// lagInterval is the time between two questions how far the log is.
const lagInterval = 2 * time.Second

// Run asks the log how far it is, at intervals, until ctx ends.
func (r *Readiness) Run(ctx context.Context) {
	tick := time.NewTicker(lagInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		_, _ = r.lag.QueryHead(ctx) // the age grows where it fails, which says it
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// Lag returns the node's lag, for people.
func (r *Readiness) Lag() membership.LagReading { return r.lag.Shown(2*lagInterval + lagInterval/2) }

// reason says why a node is not ready.
type reason struct {
	check string // what was looked at: shutdown, log, projector, erasure, catching-up, lag, lease
	err   error
}

// reasons returns why the node is not ready, the most important one first, none where it is.
func (r *Readiness) reasons() (list []reason) {
	add := func(check string, err error) {
		if err != nil {
			list = append(list, reason{check, err})
		}
	}
	if r.Leaving() {
		add("shutdown", fanfold.Errorf(fanfold.Unavailable, "the node is shutting down"))
	}
	damage := r.Log.Damage()
	add("log", damage)
	s := r.Projector.Status().Stopped
	switch {
	case s.LogAway() && !r.Log.Connected(): // which is said below
	case s.LogAway():
		add("log", fanfold.Errorf(fanfold.Unavailable, "the log cannot be read from event %d on: %s", s.Seq, s.Reason))
	case s != nil:
		add("projector", fanfold.Errorf(fanfold.Unavailable, "the projector has stopped at event %d: %s", s.Seq, s.Reason))
	case !r.Projector.Begun():
		add("projector", fanfold.Errorf(fanfold.Unavailable, "the base at which the log begins is being looked for"))
	}
	if !r.Log.Connected() {
		add("log", fanfold.Errorf(fanfold.Unavailable, "the log cannot be reached"))
	} else if damage == nil {
		add("log", r.Log.Failing())
	}
	add("erasure", r.Withheld())
	add("catching-up", r.catchingUp())
	add("catching-up", r.Scan())
	add("lag", r.TooFar())
	add("lease", r.MayPublish())
	return list
}

// Ready tells whether the node is ready.
func (r *Readiness) Ready() bool { return len(r.reasons()) == 0 }

// Err returns the first reason why the node is not ready as an error that lists all of them, nil for none.
func (r *Readiness) Err() error {
	list := r.reasons()
	if len(list) == 0 {
		return nil
	}
	var first *fanfold.Error
	if !errors.As(list[0].err, &first) {
		return list[0].err
	}
	out := *first
	for _, one := range list {
		out.Problems = append(out.Problems, fanfold.Problem{Path: one.check, Detail: fanfold.MessageOf(one.err)})
	}
	return &out
}

// catchingUp returns the CatchingUp of a node that has not reached the log's end of its start yet, nil once it has.
func (r *Readiness) catchingUp() error {
	if r.reached.Load() {
		return nil
	}
	applied := r.Store.Applied.Seq()
	if applied >= r.Last {
		r.reached.Store(true)
		return nil
	}
	return fanfold.Errorf(fanfold.CatchingUp, "the read model is at event %d and catches up with event %d, the log's last one at the start: ask another node, try again later, or read what is there with consistency=eventual", applied, r.Last)
}

// TooFar returns the Lagging of a node that lags the log beyond its bound, nil for another node. It is too far for strong reads and for
// writes under a key.
func (r *Readiness) TooFar() error {
	b := r.Lag()
	if r.MaxLag.Holds(b.Events, b.Age) {
		return nil
	}
	return fanfold.Errorf(fanfold.Lagging, "%s, beyond its bound (--max-lag %v): ask another node, or try again later", behindText(b), r.MaxLag)
}

// behindText says how far a node lags.
func behindText(b membership.LagReading) string {
	if b.Events == 0 {
		return fmt.Sprintf("this node has not heard for %v how far the log is", b.Age.Round(time.Millisecond))
	}
	return fmt.Sprintf("this node is %d events and %v behind the log", b.Events, b.Age.Round(time.Millisecond))
}

// soon is how many events a node may have to fold before it has reached the log's end of its start, for a read to wait.
const soon = 10_000

// CatchingUp returns why the node cannot answer with a prefix of the log that is not an older one than it has shown, nil
// where it can. If it soon can, it waits, until ctx ends at most. If an event cannot be folded, reads go on with the
// prefix that was folded before it.
func (r *Readiness) CatchingUp(ctx context.Context) error {
	if r.reached.Load() {
		return nil
	}
	left := r.Last - min(r.Last, r.Store.Applied.Seq())
	if left > 0 && left <= soon && r.Projector.Status().Stopped == nil {
		_ = r.Store.Applied.Wait(ctx, r.Last) // what follows says how far it is
	}
	if r.Projector.Status().Stopped != nil {
		return nil
	}
	return r.catchingUp()
}

// CaughtUp tells whether CatchingUp returns nil at once.
func (r *Readiness) CaughtUp() bool { return r.reached.Load() }

// Wait waits until the node is within a bound of the log. The error is Lagging where ctx ends before, and Unavailable.
func (r *Readiness) Wait(ctx context.Context, bound membership.LagBound) error {
	if b := r.lag.Now(); bound.Events == 0 && b.Proved && bound.Holds(b.Events, b.Age) {
		return nil // the age is known without asking; how many events there are is not
	}
	head, err := r.lag.QueryHead(ctx)
	for err == nil {
		applied := r.Store.Applied.Seq()
		b := r.lag.Now()
		if applied >= head || (b.Proved || bound.Events > 0) && bound.Holds(b.Events, b.Age) {
			return nil // with the head, everything from before the call is there
		}
		select {
		case <-r.Store.Applied.Changed(applied):
			err = r.Store.Applied.Err()
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if ctx.Err() == nil {
		return err
	}
	return fanfold.Wrap(ctx.Err(), fanfold.Lagging, "%s, beyond maxLag=%v: ask another node, try again later, or allow more", behindText(r.lag.Now()), bound)
}
