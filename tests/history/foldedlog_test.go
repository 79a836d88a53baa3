package history_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/skeleton"
	"github.com/fanfold/fanfold/projector/batch"
)

// eventList is a batch.Log in memory.
type eventList struct {
	mu      sync.Mutex
	first   uint64           // the sequence of the first event that is kept
	events  []*fanfold.Event // from first on, as they were appended
	bodies  map[uint64][]byte
	base    *batch.Base
	inForce fanfold.AsOf
	more    chan struct{} // closed by append
}

// newEventList returns a log without events.
func newEventList() *eventList {
	return &eventList{first: 1, bodies: map[uint64][]byte{}, more: make(chan struct{})}
}

// clockAt is what a clock says at an event: clocks go back, and two events may have one time.
func clockAt(seq uint64) time.Time { return time.Unix(int64(1_000_000+seq/2*10-seq*7%3), 0).UTC() }

// foldedTime is the time of an event once it is folded. It is no earlier than one before it.
func foldedTime(seq uint64) (last time.Time) {
	for ; seq > 0; seq-- {
		if at := clockAt(seq); at.After(last) {
			last = at
		}
	}
	return last
}

// append stores events, as one transaction where there are several of documents, and returns the sequence of the first.
func (l *eventList) append(events ...*fanfold.Event) (first uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = l.first + uint64(len(l.events))
	for i, ev := range events {
		ev.Seq = first + uint64(i)
		ev.Time = clockAt(ev.Seq)
		if len(events) > 1 && ev.Kind != fanfold.KindLoss {
			ev.Tx = fanfold.TxPart{ID: fmt.Sprint("t", first), Index: i, Count: len(events)}
		}
		if ev.Loss.Erases() {
			l.inForce = ev.Loss.UpTo
		}
	}
	l.events = append(l.events, events...)
	close(l.more)
	l.more = make(chan struct{})
	return first
}

// last returns the sequence of the last event.
func (l *eventList) last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first + uint64(len(l.events)) - 1
}

// beginWith lets the log begin with a base, and drops the events up to it.
func (l *eventList) beginWith(base *batch.Base) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = slices.Clone(l.events[base.Horizon.Seq+1-l.first:])
	l.base, l.first = base, base.Horizon.Seq+1
}

// note notes what a document is after an event.
func (l *eventList) note(seq uint64, body string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bodies[seq] = []byte(body)
}

func (l *eventList) Base(context.Context) (*batch.Base, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.base, nil
}

func (l *eventList) Erasures() (last, inForce fanfold.AsOf) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inForce, l.inForce // each comes into force at once
}

func (l *eventList) ErasuresAfter(after, upTo fanfold.AsOf) (out []*fanfold.Erasure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ev := range l.erasures(upTo) {
		if fanfold.AsOf(ev.Seq) > after {
			out = append(out, ev.Loss.List)
		}
	}
	return out
}

// erasures returns the erase events up to one. It is called with l.mu held.
func (l *eventList) erasures(upTo fanfold.AsOf) (out []*fanfold.Event) {
	for _, ev := range l.events {
		if ev.Loss.Lists() && fanfold.AsOf(ev.Seq) <= upTo {
			out = append(out, ev)
		}
	}
	return out
}

func (l *eventList) Events(_ context.Context, from uint64, erasure fanfold.AsOf) (batch.Reader, error) {
	return &listReader{l, from, erasure}, nil
}

// listReader reads an eventList as of an erasure.
type listReader struct {
	log  *eventList
	next uint64
	asOf fanfold.AsOf
}

func (r *listReader) Next(ctx context.Context) (*fanfold.Event, uint64, error) {
	for {
		ev, pending, more, err := r.log.at(r.next, r.asOf)
		if ev != nil || err != nil {
			r.next++
			return ev, pending, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

func (r *listReader) WaitSynced(context.Context, uint64) error { return nil }

func (r *listReader) Close() {}

// at returns an event as of an erasure, nil where it has yet to come, which more tells.
func (l *eventList) at(seq uint64, asOf fanfold.AsOf) (ev *fanfold.Event, pending uint64, more <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq < l.first {
		return nil, 0, nil, fanfold.Errorf(fanfold.PositionGone, "the log begins with event %d", l.first)
	}
	i := seq - l.first
	if i >= uint64(len(l.events)) {
		return nil, 0, l.more, nil
	}
	copied := *l.events[i]
	for _, e := range l.erasures(asOf) {
		if copied.Seq > e.Seq {
			continue
		}
		for _, d := range e.Loss.List.Documents {
			if d.Key == copied.Key {
				if err := l.substitute(&copied, d, e.Loss.List.Keep[d.Collection]); err != nil {
					return nil, 0, nil, err
				}
			}
		}
	}
	copied.Digest = sha256.Sum256(fmt.Appendf(nil, "%d %s %s", copied.Seq, copied.Kind, copied.Body))
	return &copied, uint64(len(l.events)) - i - 1, nil, nil
}

// substitute makes an event what stands for it once a document is erased: a put of what is left, also in place of a patch.
func (l *eventList) substitute(ev *fanfold.Event, d fanfold.ErasedDocument, keep []string) error {
	before := l.bodies[ev.Seq]
	switch ev.Kind {
	case fanfold.KindPut:
		before = ev.Body
	case fanfold.KindPatch:
	default:
		return nil
	}
	after := skeleton.Without(before, d.Members)
	if d.Members == nil {
		paths, err := skeleton.Paths(keep)
		if err != nil {
			return err
		}
		if after = skeleton.Of(before, paths); string(after) == compacted(before) {
			after = before
		}
	}
	if ev.Kind == fanfold.KindPatch || !bytes.Equal(before, after) {
		ev.Kind, ev.Body, ev.Patch, ev.Base = fanfold.KindPut, after, "", 0
	}
	return nil
}

// baseOf returns a base whose file is in memory.
func baseOf(c fanfold.Horizon, asOf fanfold.AsOf, file []byte) *batch.Base {
	return &batch.Base{Horizon: c, AsOf: asOf, Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(file)), nil }}
}

// pointers returns the JSON Pointers of members.
func pointers(members []string) (out []string) {
	for _, m := range members {
		out = append(out, "/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(m))
	}
	return out
}
