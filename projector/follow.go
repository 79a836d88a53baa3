package projector

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/fanfold/fanfold"
)

// follower reads ahead of the fold.
type follower struct {
	reader  Reader
	events  chan followed
	end     context.CancelFunc
	done    chan struct{}
	held    *fanfold.Event // read, but for a later batch
	pending uint64
	room    *semaphore.Weighted // bytes that may wait in events
	timer   *time.Timer
}

// readAhead bounds the bodies that wait to be folded, in bytes.
const readAhead = 4 << 20

// weight is what an event takes of the room.
func weight(ev *fanfold.Event) int64 {
	if ev == nil {
		return 0
	}
	return min(int64(len(ev.Body)), readAhead)
}

type followed struct {
	ev      *fanfold.Event
	pending uint64
	err     error
}

func (p *Projector) follow(ctx context.Context, from uint64) (*follower, error) {
	reader, err := p.source.Events(ctx, from)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{reader: reader, events: make(chan followed, 4096), end: cancel, done: make(chan struct{}), room: semaphore.NewWeighted(readAhead), timer: time.NewTimer(0)}
	go func() {
		defer close(f.done)
		for {
			ev, pending, err := reader.Next(ctx)
			if f.room.Acquire(ctx, weight(ev)) != nil {
				return
			}
			select {
			case f.events <- followed{ev, pending, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return f, nil
}

func (f *follower) stop() {
	f.end()
	<-f.done
	f.reader.Close()
}

// next waits for an event and takes with it what else is waiting, up to event last, and the rest
// of a transaction it has begun.
func (f *follower) next(ctx context.Context, opt Options, last uint64) ([]*fanfold.Event, error) {
	var batch []*fanfold.Event
	size := 0
	take := func(ev *fanfold.Event) bool {
		if ev.Seq > last && !open(batch) {
			f.held = ev
			return false
		}
		f.room.Release(weight(ev))
		batch = append(batch, ev)
		size += len(ev.Body)
		return open(batch) || len(batch) < opt.BatchEvents && size < opt.BatchBytes && ev.Seq < last
	}
	if f.held != nil {
		ev := f.held
		f.held = nil
		if !take(ev) {
			return batch, nil
		}
	}
	for {
		if len(batch) == 0 || open(batch) {
			select {
			case e := <-f.events:
				if whole := closed(batch); e.err != nil && len(whole) > 0 {
					f.events <- e // for the next call; the reader has ended, so there is room
					return whole, nil
				}
				if e.err != nil {
					return nil, e.err
				}
				f.pending = e.pending
				if !take(e.ev) {
					return batch, nil
				}
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			continue
		}
		e, ok := f.more(len(batch))
		if !ok {
			return batch, nil
		}
		if e.err != nil {
			f.events <- e     // for the next call; the reader has ended, so there is room
			return batch, nil //nolint:nilerr // told by the next call
		}
		f.pending = e.pending
		if !take(e.ev) {
			return batch, nil
		}
	}
}

// gather is how many events are waited for where the log has said that it has them, and for how
// long: a transaction of SQLite costs as much as several events.
const (
	gather    = 1024
	gatherFor = 10 * time.Millisecond
)

// more returns what else is waiting, or on its way.
func (f *follower) more(have int) (e followed, ok bool) {
	select {
	case e = <-f.events:
		return e, true
	default:
	}
	if f.pending == 0 || have >= gather {
		return e, false
	}
	f.timer.Reset(gatherFor)
	defer f.timer.Stop()
	select {
	case e = <-f.events:
		return e, true
	case <-f.timer.C:
		return e, false
	}
}

// open tells whether the batch's last event has a transaction of which more is to come.
func open(batch []*fanfold.Event) bool {
	return len(batch) > 0 && batch[len(batch)-1].Tx.Open()
}

// closed is the batch without a transaction of which more is to come.
func closed(batch []*fanfold.Event) []*fanfold.Event {
	if !open(batch) {
		return batch
	}
	return batch[:len(batch)-1-batch[len(batch)-1].Tx.Index]
}
