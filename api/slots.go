package api

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// slots bounds how many requests of a kind run at a time. While others wait, one principal has at most half of the slots: its newest requests beyond
// that make room, where they can be cut.
type slots struct {
	size    int
	wait    time.Duration
	senders senders // the requests whose bodies hold a slot while they come

	mu    sync.Mutex
	taken []*slot      // in the order in which they were taken
	queue []*applicant // in the order in which they came
}

// slot is one that a request has.
type slot struct {
	who string
	cut func() // ends the request; nil for one that is not to be cut, or that was
}

// applicant is a request that waits for a slot.
type applicant struct {
	slot
	given chan struct{} // closed once it has a slot
}

// newSlots returns n slots, for which a request waits at most wait.
func newSlots(n int, wait time.Duration) *slots { return &slots{size: n, wait: wait} }

// enter waits for a slot for a principal. Senders that come too slowly make room meanwhile. After half of the wait a principal with more than
// half of the slots makes room, too: cut ends this request then, unless it is nil. Call leave when done. The error is ctx's, or Busy where
// none came free in time.
func (l *slots) enter(ctx context.Context, who string, cut func()) (leave func(), err error) {
	a := &applicant{slot{who, cut}, make(chan struct{})}
	l.mu.Lock()
	l.queue = append(l.queue, a)
	l.give()
	l.mu.Unlock()
	select {
	case <-a.given:
		return func() { l.leave(&a.slot) }, nil
	default:
	}
	defer l.senders.press(1)()
	half, timeout := time.NewTimer(l.wait/2), time.NewTimer(l.wait)
	defer half.Stop()
	defer timeout.Stop()
	for {
		select {
		case <-a.given:
			return func() { l.leave(&a.slot) }, nil
		case <-half.C:
			l.makeRoom(a)
		case <-ctx.Done():
			l.giveUp(a)
			return nil, ctx.Err()
		case <-timeout.C:
			l.giveUp(a)
			return nil, fanfold.Errorf(fanfold.Busy, "%d of these run already, as many as this node takes at once: try again later", l.size)
		}
	}
}

// has returns how many slots a principal has. The caller has the lock.
func (l *slots) has(who string) (n int) {
	for _, s := range l.taken {
		if s.who == who {
			n++
		}
	}
	return n
}

// share is how many slots a principal has at most while others wait.
func (l *slots) share() int { return max(1, l.size/2) }

// give gives the slots that are free to those who wait: first to those with less than their share. The caller has the lock.
func (l *slots) give() {
	for len(l.taken) < l.size && len(l.queue) > 0 {
		next := max(0, slices.IndexFunc(l.queue, func(a *applicant) bool { return l.has(a.who) < l.share() }))
		a := l.queue[next]
		l.queue = slices.Delete(l.queue, next, next+1)
		l.taken = append(l.taken, &a.slot)
		close(a.given)
	}
}

// leave gives a slot back.
func (l *slots) leave(s *slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = slices.DeleteFunc(l.taken, func(o *slot) bool { return o == s })
	l.give()
}

// giveUp takes a request out of those that wait, which may have got a slot at this very moment.
func (l *slots) giveUp(a *applicant) {
	l.mu.Lock()
	l.queue = slices.DeleteFunc(l.queue, func(o *applicant) bool { return o == a })
	l.mu.Unlock()
	l.leave(&a.slot)
}

// makeRoom cuts the newest request of a principal that has more than its share, for one that has less and waits.
func (l *slots) makeRoom(a *applicant) {
	l.mu.Lock()
	var cut func()
	if l.has(a.who) < l.share() && slices.Contains(l.queue, a) {
		for _, s := range slices.Backward(l.taken) {
			if s.cut != nil && l.has(s.who) > l.share() {
				cut, s.cut = s.cut, nil
				break
			}
		}
	}
	l.mu.Unlock()
	if cut != nil {
		cut()
	}
}

// enterFor is enter for a request that is not to be cut. It judges the sender again after a wait. Errors are enter's and judgeAgain's.
func (l *slots) enterFor(c echo.Context) (leave func(), err error) { return l.enterCut(c, nil) }

// enterCut is enterFor for a request that cut ends.
func (l *slots) enterCut(c echo.Context, cut func()) (leave func(), err error) {
	if leave, err = l.enter(c.Request().Context(), rightsOf(c).String(), cut); err != nil {
		return nil, err
	}
	if err := judgeAgain(c); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// tryEnter returns what leaves the slot that a principal takes, nil where none is free.
func (l *slots) tryEnter(who string) (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.taken) == l.size || len(l.queue) > 0 {
		return nil
	}
	s := &slot{who: who}
	l.taken = append(l.taken, s)
	return func() { l.leave(s) }
}

// enterSending is enterCut for a request that is to keep its slot only while its body comes.
func (l *slots) enterSending(c echo.Context, body *pacedBody) (leave func(), err error) {
	free, err := l.enterCut(c, func() { body.cut(errShare) })
	if err != nil {
		return nil, err
	}
	l.senders.add(body, 1)
	return func() {
		l.senders.remove(body)
		free()
	}, nil
}

// errShare ends what has more than its share. It is a Busy.
var errShare = fanfold.Errorf(fanfold.Busy, "others wait for a place, and your key has more than half of those there are: send fewer of these at once, and this one again")

// limited returns a handler that lets in as many requests at a time as there are slots. Others wait a little, and are then refused with Busy. An
// answer of a principal with more than its share is cut for others.
func limited(running *slots, handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, cancel := context.WithCancelCause(c.Request().Context())
		defer cancel(nil)
		control := http.NewResponseController(c.Response())
		leave, err := running.enterCut(c, func() {
			cancel(errShare)
			_ = control.SetWriteDeadline(time.Now())
		})
		if err != nil {
			return err
		}
		defer leave()
		defer c.SetRequest(c.Request()) // whose context has not ended
		c.SetRequest(c.Request().WithContext(ctx))
		return handle(c)
	}
}
