package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// mayRetry tells whether the request may be sent again after a failure. A verdict, such as a condition that does not hold,
// is final. Of anything that leaves open whether the server did what it was asked, only requests are sent again that may
// be done twice.
func (r *request) mayRetry(failure *Error) bool {
	switch failure.Code {
	case Busy, Unavailable, CatchingUp, Lagging, RightsStale: // the server says that nothing happened
		return true
	case OutcomeUnknown, TooSlow:
		return r.repeatable
	case NoAnswer:
		fleeting := failure.Status == 0 || failure.Status >= http.StatusBadGateway
		return fleeting && (r.repeatable || failure.unsent)
	}
	return false
}

// lost returns the error for a request whose answer did not come, or not to its end.
func (c *Client) lost(err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var op *net.OpError
	return &Error{Code: NoAnswer, Err: err, unsent: errors.As(err, &op) && op.Op == "dial",
		Detail: fmt.Sprintf("no answer from %s: is a server running there? (%v)", c.base, err)}
}

// ended returns the error of a call whose context has ended, and before that the failure of its last request.
func ended(ctx context.Context, failure *Error) error {
	if failure == nil || errors.Is(failure, ctx.Err()) {
		return ctx.Err()
	}
	return fmt.Errorf("%w, while trying again after: %w", ctx.Err(), failure)
}

// Bounds of the pause before a request is sent again.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// backOff gives pauses, each twice as long as the one before, up to lastPause.
type backOff struct{ pause time.Duration }

func newBackOff() *backOff { return &backOff{pause: firstPause} }

// next returns how long to wait: at least what the server asks for, and a random part more, so that many clients do not
// come back at once.
func (b *backOff) next(atLeast time.Duration) time.Duration {
	wait := b.pause/2 + rand.N(b.pause/2+1)
	b.pause = min(2*b.pause, lastPause)
	return max(wait, atLeast)
}

// reset makes the next pause the first.
func (b *backOff) reset() { b.pause = firstPause }

// sleep waits, and tells whether ctx lasted that long.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
