package api

import (
	"context"
	"sync/atomic"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/semaphore"
)

// Bounds of what bodies take from the room for them, in bytes.
const (
	freeBytes  = 1 << 10  // up to here a body takes no room: it costs no more than its connection does
	leastBytes = 4 << 10  // the least that is taken after that, while a body arrives: most end there
	minWeight  = 2 << 10  // the least that a write takes, once its body has arrived
	smallBytes = 64 << 10 // up to here a body is small
	smallPart  = 4        // of the room, one part is for small bodies alone
)

// share is a part of the room for bodies.
type share struct {
	size    int64
	free    *semaphore.Weighted
	waiting atomic.Int64 // how many writes wait for room in it
	senders senders      // bodies with a part that has arrived
}

// room bounds the bodies of writes that are in memory. Small ones have a share of their own, so that large ones cannot keep
// them out.
type room struct{ small, large share }

// newRoom returns room for so many bytes.
func newRoom(size int64) *room {
	r := &room{}
	r.small.size = max(1, size/smallPart)
	r.large.size = max(1, size-r.small.size)
	for _, s := range []*share{&r.small, &r.large} {
		s.free = semaphore.NewWeighted(s.size)
	}
	return r
}

// bodies takes in the bodies of requests.
type bodies struct {
	opt  *Options
	room *room // for those in memory
}

// lease is what one request has taken of the room.
type lease struct {
	of   *bodies
	in   *share
	held int64      // in bytes
	body *pacedBody // nil where there is none
}

// newLease returns the lease of a request, which has taken nothing yet. The caller releases it.
func (b *bodies) newLease(c echo.Context) *lease {
	l := &lease{of: b, in: &b.room.small}
	if c.Request().ContentLength > smallBytes {
		l.in = &b.room.large
	}
	l.body, _ = c.Request().Body.(*pacedBody)
	contextOf(c).lease = l
	return l
}

// grow takes room so that the lease holds so many bytes, or all that its share has. It waits where there is none. It is
// false where none came free within Options.Admission, and where too many wait already.
func (l *lease) grow(ctx context.Context, to int64) bool {
	if in := &l.of.room.large; to > smallBytes && l.in != in {
		if !in.take(ctx, min(to, in.size), l.of.opt) {
			return false
		}
		l.release()
		l.in, l.held = in, min(to, in.size)
	} else if more := min(to, l.in.size) - l.held; more > 0 {
		if !l.in.take(ctx, more, l.of.opt) {
			return false
		}
		l.held += more
	}
	if l.body != nil {
		l.in.senders.add(l.body, l.held)
	}
	return true
}

// arrived takes note that the body has come: others do not wait for it any more.
func (l *lease) arrived() {
	if l.body != nil && l.held > 0 {
		l.in.senders.remove(l.body)
	}
	l.body = nil
}

// release gives the room back.
func (l *lease) release() {
	if l.held == 0 {
		return
	}
	if l.body != nil {
		l.in.senders.remove(l.body)
	}
	l.in.free.Release(l.held)
	l.held = 0
}

// take takes room in a share. It is false where none came free in time, and where too many wait already. Bodies that come
// too slowly make room meanwhile.
func (s *share) take(ctx context.Context, weight int64, opt *Options) bool {
	if s.free.TryAcquire(weight) {
		return true
	}
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > opt.MaxWaiting {
		return false
	}
	defer s.senders.press(weight)()
	ctx, cancel := context.WithTimeout(ctx, opt.Admission)
	defer cancel()
	return s.free.Acquire(ctx, weight) == nil
}
