package writer

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold"
)

// plan says how a request comes to what it appends.
type plan struct {
	// try decides on what this node shows, appends what it has decided, and returns the first event's sequence. lost tells that
	// another write was faster than the try before. If try returns an error of type again, decide calls it once more.
	try func(ctx context.Context, lost bool) (first uint64, err error)
	// await waits until the next try is certain to see the event that was faster. nil waits for its fold, for Options.Timeout.
	await func(ctx context.Context, seq uint64) error
	tries int // at most; 0 for as many as it takes
}

// decide calls the plan's try until no other write was faster. Between two tries it waits for the write that was. It returns try's
// errors, the last Stale if there are no more tries, the errors of await, LogDamaged, and Unavailable, also once ctx has ended.
func (w *Writer) decide(ctx context.Context, p plan) (first uint64, err error) {
	pace := retryPace{w: w, await: p.await}
	for n := 1; ; n++ {
		first, err := p.try(w.observe(ctx), n > 1)
		lost := lostTo(err)
		switch {
		case lost == nil:
			return first, err
		case isBehindHorizon(err):
			err = pace.nextAt(ctx, lost.Current)
		case n == p.tries:
			return 0, lost
		default:
			err = pace.next(ctx, lost.Current)
		}
		if err != nil {
			return 0, err
		}
	}
}

// lostTry is the error of a try that another write was faster than.
type lostTry struct{ stale *fanfold.Error }

func (l lostTry) Error() string { return l.stale.Error() }

// Unwrap returns the Stale.
func (l lostTry) Unwrap() error { return l.stale }

// again returns the error by which decide plans again, where err is a Stale. A try returns it where the request itself has not
// asked for the revision that is no longer the current one. Other errors stay as they are.
func again(err error) error {
	if stale := staleError(err); stale != nil {
		return lostTry{stale}
	}
	return err
}

// lostTo returns the Stale in an error that again returned. It does so for one that isBehindHorizon, too, whatever the write asked for. It
// returns nil for any other.
func lostTo(err error) *fanfold.Error {
	if err == nil {
		return nil
	}
	if isBehindHorizon(err) {
		return staleError(err)
	}
	var lost lostTry
	if errors.As(err, &lost) {
		return lost.stale
	}
	return nil
}

// atOnce is the await of a plan that asks the log's leader rather than this node.
func atOnce(context.Context, uint64) error { return nil }

// retryPace paces the retries of a write whose condition was not met. It ends them once the client has gone, and where the
// log keeps naming one event that this node has folded and does not show: no retry can change that.
type retryPace struct {
	w     *Writer
	await func(ctx context.Context, seq uint64) error // see plan
	at    fanfold.Revision                            // that was named last
	since time.Time                                   // when it was named first
	times int                                         // since then
}

// Bounds of how long the log may name the same event, and of the pauses between retries then.
const (
	standstill = 10 * time.Second
	firstPause = time.Millisecond
	mostPause  = 100 * time.Millisecond
)

// nextAt waits until this node has folded an event, whatever the plan says. It returns the errors of next.
func (r *retryPace) nextAt(ctx context.Context, seq fanfold.Revision) error {
	planned := r.await
	defer func() { r.await = planned }()
	r.await = nil
	return r.next(ctx, seq)
}

// next waits for the write that was faster, whose event the log has named. It returns the errors of await, LogDamaged, and
// Unavailable, also once ctx has ended.
func (r *retryPace) next(ctx context.Context, current fanfold.Revision) error {
	if err := ended(ctx); err != nil {
		return err
	}
	if current != r.at || r.times == 0 {
		r.at, r.since, r.times = current, time.Now(), 0
	}
	r.times++
	if err := r.wait(ctx, uint64(current)); err != nil {
		return err
	}
	if r.times == 1 {
		return nil
	}
	if time.Since(r.since) > standstill {
		return fanfold.Errorf(fanfold.LogDamaged, "the log says that event %d is the last one, and this node, which has folded it, shows another: the log has lost events; nothing was written", current)
	}
	select {
	case <-ctx.Done():
	case <-time.After(min(firstPause<<min(r.times, 20), mostPause)):
	}
	return ended(ctx)
}

// wait waits as the plan says.
func (r *retryPace) wait(ctx context.Context, seq uint64) error {
	if r.await != nil {
		return r.await(ctx, seq)
	}
	r.w.retries.Add(1) // these lose against another write of a document, the others do not
	if err := r.w.wait(ctx, seq, r.w.opt.Timeout); err != nil {
		return behind(err)
	}
	return nil
}

// ended returns an Unavailable once ctx has ended: a write is not tried again for a client that has gone.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the request ended before the write was made; nothing was written")
	}
	return nil
}
