package writer

import (
	"context"
	"time"

	"github.com/fanfold/fanfold"
)

// retryPace paces the retries of a write whose condition was not met. It ends them once the client has gone, and where the
// log keeps naming one event that this node has folded and does not show: no retry can change that.
type retryPace struct {
	w     *Writer
	at    fanfold.Revision // that was named last
	since time.Time        // when it was named first
	times int              // since then
}

// Bounds of how long the log may name the same event, and of the pauses between retries then.
const (
	standstill = 10 * time.Second
	firstPause = time.Millisecond
	mostPause  = 100 * time.Millisecond
)

// next waits until this node has folded the write that was faster, whose event the log has named. Errors are Unavailable,
// also where ctx has ended, and LogDamaged.
func (r *retryPace) next(ctx context.Context, current fanfold.Revision) error {
	r.w.retries.Add(1)
	if err := ended(ctx); err != nil {
		return err
	}
	if current != r.at || r.times == 0 {
		r.at, r.since, r.times = current, time.Now(), 0
	}
	r.times++
	if err := r.w.wait(ctx, uint64(current), r.w.opt.Timeout); err != nil {
		return behind(err)
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

// ended returns an Unavailable once ctx has ended: a write is not tried again for a client that has gone.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the request ended before the write was made; nothing was written")
	}
	return nil
}
