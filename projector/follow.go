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

// next waits for an event and takes with it what else is waiting, up to event last, and the rest of what
// was stored at once: see whole.
func (f *follower) next(ctx context.Context, opt Options, last uint64) ([]*fanfold.Event, error) {
	var batch []*fanfold.Event
	var end atomicEnd
	size, ended := 0, 0 // ended is how many events there are up to the last end
	take := func(ev *fanfold.Event) bool {
		if ev.Seq > last && end.reached() {
			f.held = ev
			return false
		}
		f.room.Release(weight(ev))
		batch = append(batch, ev)
		size += len(ev.Body)
		if end.add(ev); !end.reached() {
			return true
		}
		ended = len(batch)
		return len(batch) < opt.BatchEvents && size < opt.BatchBytes && ev.Seq < last
	}
	if f.held != nil {
		ev := f.held
		f.held = nil
		if !take(ev) {
			return batch, nil
		}
	}
	for {
		if len(batch) == 0 || !end.reached() {
			select {
			case e := <-f.events:
				if e.err != nil && ended > 0 {
					f.events <- e // for the next call; the reader has ended, so there is room
					return batch[:ended], nil
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

// whole tells whether events end where nothing is yet to come of what the log stored at once: of a
// transaction, and of a link or claim the write of the document that it is of. Whoever saw a claim without
// its document would take the value for free.
type atomicEnd struct {
	tx   bool
	keys map[fanfold.Key]struct{} // documents whose writes are to come
	n    int                      // events since the first of them was announced
}

// guardedTogether is how many events are stored at once at most.
const guardedTogether = 1000

func (w *atomicEnd) add(ev *fanfold.Event) {
	w.tx = ev.Tx.Open()
	switch ev.Kind {
	case fanfold.KindLink:
		w.await(ev.Holder)
	case fanfold.KindClaim:
		w.await(ev.Key)
	case fanfold.KindPut, fanfold.KindPatch, fanfold.KindDelete:
		delete(w.keys, ev.Key)
	}
	if w.n++; len(w.keys) == 0 || w.n > guardedTogether {
		w.n = 0
		clear(w.keys)
	}
}

func (w *atomicEnd) await(key fanfold.Key) {
	if w.keys == nil {
		w.keys = map[fanfold.Key]struct{}{}
	}
	w.keys[key] = struct{}{}
}

// reached tells whether the events end there.
func (w *atomicEnd) reached() bool { return !w.tx && len(w.keys) == 0 }

// gather is how many events are waited for where the log has said that it has them, and for how
// long: a transaction of SQLite costs as much as several events.
const (
	gatherEvents = 1024
	gatherFor    = 10 * time.Millisecond
)

// more returns what else is waiting, or on its way.
func (f *follower) more(have int) (e followed, ok bool) {
	select {
	case e = <-f.events:
		return e, true
	default:
	}
	if f.pending == 0 || have >= gatherEvents {
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
