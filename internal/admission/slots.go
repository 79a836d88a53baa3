package admission

import (
	"context"
	"slices"
	"sync"
	"time"

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
	brief int          // how many of them wait for a moment alone
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

// enter waits for a slot for a principal: see Budget.Enter.
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

// moment is how long a request waits for a slot at most while it keeps what it has read. A query has worked as long by then: to begin anew costs no more.
const moment = 50 * time.Millisecond

// enterSoon waits a moment for a slot for a principal, and returns what leaves it; nil where none comes free. At most as many wait so as there are slots.
func (l *slots) enterSoon(ctx context.Context, who string) (leave func()) {
	if leave = l.tryEnter(who); leave != nil || !l.waitBriefly(1) {
		return leave
	}
	defer l.waitBriefly(-1)
	ctx, cancel := context.WithTimeout(ctx, moment)
	defer cancel()
	leave, _ = l.enter(ctx, who, nil) // the error says that none came free
	return leave
}

// waitBriefly counts who waits for a moment. It returns false where no more may.
func (l *slots) waitBriefly(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.brief+n > l.size {
		return false
	}
	l.brief += n
	return true
}
