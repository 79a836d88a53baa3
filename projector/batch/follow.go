package batch

import (
	"context"
	"errors"
	"io"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/fanfold/fanfold"
)

// Follower reads the log in a goroutine of its own, ahead of the fold, and hands out batches. Whoever called Follow
// stops it.
type Follower struct {
	Reader     Reader // its WaitSynced may be called; nothing else reads from it
	deliveries chan delivery
	cancel     context.CancelFunc
	done       chan struct{}  // closed once the goroutine has ended
	heldBack   *fanfold.Event // read, but for a later batch
	Pending    uint64         // events that the log has after the last delivery
	room       *semaphore.Weighted
	timer      *time.Timer
}

// delivery is what one call of Reader.Next returned.
type delivery struct {
	ev      *fanfold.Event
	pending uint64
	err     error
}

const (
	readAheadBytes  = 4 << 20 // bodies that may wait to be folded
	readAheadEvents = 4096    // events that may wait to be folded
)

// weight returns how many bytes of the read-ahead an event takes.
func weight(ev *fanfold.Event) int64 {
	if ev == nil {
		return 0
	}
	return min(int64(len(ev.Body)), readAheadBytes)
}

// Follow starts to read a log at event from, as of some lists. The caller calls Stop on what it returns.
func Follow(ctx context.Context, log Log, from uint64, asOf fanfold.AsOf) (*Follower, error) {
	reader, err := log.Events(ctx, from, asOf)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &Follower{Reader: reader, deliveries: make(chan delivery, readAheadEvents), cancel: cancel, done: make(chan struct{}),
		room: semaphore.NewWeighted(readAheadBytes), timer: time.NewTimer(0)}
	go f.read(ctx)
	return f, nil
}

// read delivers events until the reader fails or ctx ends.
func (f *Follower) read(ctx context.Context) {
	defer close(f.done)
	for {
		ev, pending, err := f.Reader.Next(ctx)
		if f.room.Acquire(ctx, weight(ev)) != nil {
			return
		}
		select {
		case f.deliveries <- delivery{ev, pending, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// Stop ends the goroutine, waits for it, and closes the reader.
func (f *Follower) Stop() {
	f.cancel()
	<-f.done
	f.Reader.Close()
}

// Next waits for an event and returns it with what else is waiting, up to event last, as one batch. The batch goes
// past last, and past its bounds, where it would otherwise cut what the log stored at once: see End.
// The error is ctx's, or the reader's, which every later call returns again.
func (f *Follower) Next(ctx context.Context, last uint64) ([]*fanfold.Event, error) {
	b := &batch{last: last}
	if ev := f.heldBack; ev != nil {
		f.heldBack = nil
		if !f.addTo(b, ev) {
			return b.events, nil
		}
	}
	for {
		d, ok, err := f.receive(ctx, b)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return b.events, nil
		case errors.Is(d.err, io.EOF) && len(b.events) > 0: // nothing follows: guards may come without their documents
			f.deliveries <- d
			return b.events, nil
		case d.err != nil && b.whole > 0:
			f.deliveries <- d // for the next call; the goroutine has ended, so there is room
			return b.events[:b.whole], nil
		case d.err != nil: // for each later call, too
			f.deliveries <- d
			return nil, d.err
		}
		f.Pending = d.pending
		if !f.addTo(b, d.ev) {
			return b.events, nil
		}
	}
}

// receive returns the batch's next delivery. It waits where the batch cannot end yet; where it can, ok is false if
// nothing is on its way. The error is ctx's.
func (f *Follower) receive(ctx context.Context, b *batch) (d delivery, ok bool, err error) {
	if len(b.events) > 0 && b.end.Reached() {
		d, ok = f.nextSoon(len(b.events))
		return d, ok, nil
	}
	select {
	case d = <-f.deliveries:
		return d, true, nil
	case <-ctx.Done():
		return d, false, ctx.Err()
	}
}

// addTo adds an event to the batch, or holds it back for the next one. It returns whether the batch takes more.
func (f *Follower) addTo(b *batch, ev *fanfold.Event) (more bool) {
	if ev.Seq > b.last && b.end.Reached() {
		f.heldBack = ev
		return false
	}
	f.room.Release(weight(ev))
	return b.add(ev)
}

// A transaction of SQLite costs as much as several events. If the log has said that more events are there, it waits
// for them.
const (
	fullBatch = 1024 // a batch of this many is not held up for more
	pollFor   = 10 * time.Millisecond
)

// nextSoon returns a delivery that is waiting or, where the log has more, comes soon. A batch has size events already.
func (f *Follower) nextSoon(size int) (d delivery, ok bool) {
	if d, ok = f.poll(); ok {
		return d, true
	}
	runtime.Gosched() // events may have come for which the reader has not had the processor yet
	if d, ok = f.poll(); ok {
		return d, true
	}
	if f.Pending == 0 || size >= fullBatch {
		return d, false
	}
	f.timer.Reset(pollFor)
	defer f.timer.Stop()
	select {
	case d = <-f.deliveries:
		return d, true
	case <-f.timer.C:
		return d, false
	}
}

// poll returns a delivery that is waiting; ok is false where there is none.
func (f *Follower) poll() (d delivery, ok bool) {
	select {
	case d = <-f.deliveries:
		return d, true
	default:
		return d, false
	}
}

// Pause waits for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
