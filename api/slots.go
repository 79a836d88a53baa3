package api

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// slots bounds how many requests of a kind run at a time.
type slots struct {
	taken   chan struct{}
	wait    time.Duration
	senders senders // the requests whose bodies hold a slot while they come
}

// newSlots returns n slots, for which a request waits at most wait.
func newSlots(n int, wait time.Duration) *slots {
	return &slots{taken: make(chan struct{}, n), wait: wait}
}

// enter waits for a slot. Senders that come too slowly make room meanwhile. Call leave when done. The error is ctx's, or Busy where none came free in time.
func (l *slots) enter(ctx context.Context) (leave func(), err error) {
	leave = func() { <-l.taken }
	select {
	case l.taken <- struct{}{}:
		return leave, nil
	default:
	}
	defer l.senders.press(1)()
	timeout := time.NewTimer(l.wait)
	defer timeout.Stop()
	select {
	case l.taken <- struct{}{}:
		return leave, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timeout.C:
		return nil, fanfold.Errorf(fanfold.Busy, "%d of these run already, as many as this node takes at once: try again later", cap(l.taken))
	}
}

// enterFor is enter for a request, whose sender it judges again after a wait. Errors are enter's and judgeAgain's.
func (l *slots) enterFor(c echo.Context) (leave func(), err error) {
	if leave, err = l.enter(c.Request().Context()); err != nil {
		return nil, err
	}
	if err := judgeAgain(c); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// tryEnter returns what leaves the slot that it takes, nil where none is free.
func (l *slots) tryEnter() (leave func()) {
	select {
	case l.taken <- struct{}{}:
		return func() { <-l.taken }
	default:
		return nil
	}
}

// enterSending is enter for a request that is to keep its slot only while its body comes.
func (l *slots) enterSending(ctx context.Context, body *pacedBody) (leave func(), err error) {
	free, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	l.senders.add(body, 1)
	return func() {
		l.senders.remove(body)
		free()
	}, nil
}

// limited returns a handler that lets in as many requests at a time as there are slots. Others wait a little, and are then refused with Busy.
func limited(running *slots, handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		leave, err := running.enterFor(c)
		if err != nil {
			return err
		}
		defer leave()
		return handle(c)
	}
}
