package api

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// Bounds of how much is let in at a time, and of how long it may take to arrive.
const (
	minWeight  = 8 << 10         // the room that a write takes besides its body, in bytes
	bodyPerMiB = 5 * time.Second // in which each MiB of a body must arrive, besides Options.BodyGrace
	answerTime = 2 * time.Minute // in which a client must have read its answer
)

// lease records how much of the room for bodies one request has taken, in bytes.
type lease struct {
	s    *Server
	held int64
}

// leaseKey names the lease in a request's context.
const leaseKey = "lease"

// grow takes more room, and waits for it where there is none. It is false where none came free in time.
func (l *lease) grow(ctx context.Context, weight int64) bool {
	if !l.s.room.TryAcquire(weight) && !l.s.waitForRoom(ctx, weight) {
		return false
	}
	l.held += weight
	return true
}

// admitted returns a handler that bounds the bodies in memory: a write waits, in order of arrival, until there is room for
// what it has sent, and is refused with Busy where that takes too long. maxBody is the largest body, in bytes.
func (s *Server) admitted(maxBody int64, handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.ContentLength != 0 {
			size := r.ContentLength
			if size < 0 || size > maxBody {
				size = maxBody
			}
			limit := s.opt.BodyGrace + time.Duration(size>>20)*bodyPerMiB
			if err := readUntil(c, time.Now().Add(limit)); err != nil {
				return err
			}
		}
		l := &lease{s: s}
		defer func() { s.room.Release(l.held) }()
		if !l.grow(r.Context(), min(minWeight, s.opt.MaxInFlight)) {
			return refuseBody(c, maxBody)
		}
		c.Set(leaseKey, l)
		return handle(c)
	}
}

// refuseBody returns the Busy of a write for whose body there is no room. First it reads what the client still sends:
// closing the connection while the client is sending would lose the answer.
func refuseBody(c echo.Context, maxBody int64) error {
	if _, err := io.CopyN(io.Discard, c.Request().Body, maxBody); err != nil && !errors.Is(err, io.EOF) {
		return bodyError(err, maxBody)
	}
	return fanfold.Errorf(fanfold.Busy, "more writes are under way than this node takes at once: try again a little later")
}

// firstPiece bounds what is read of a body before more room is taken for it, in bytes.
const firstPiece = 32 << 10

// receive reads a body of length bytes, of at most maxBody where length is negative, from r, and takes room for it as it arrives: a client that only announces
// a body takes none. Errors are those of bodyError, and Busy.
func receive(c echo.Context, r io.Reader, length, maxBody int64) ([]byte, error) {
	l := c.Get(leaseKey).(*lease)
	piece := int64(firstPiece)
	if length >= 0 {
		piece = min(piece, length)
	}
	var body []byte
	for {
		weight := min(piece, l.s.opt.MaxInFlight-l.held)
		if weight > 0 && !l.grow(c.Request().Context(), weight) {
			return nil, refuseBody(c, maxBody)
		}
		body = slices.Grow(body, int(piece)+1)
		for full := len(body) + int(piece); len(body) < full; {
			n, err := r.Read(body[len(body):full])
			body = body[:len(body)+n]
			if errors.Is(err, io.EOF) {
				return body, nil
			}
			if err != nil {
				return nil, bodyError(err, maxBody)
			}
		}
		if int64(len(body)) == length {
			return body, nil
		}
		piece = min(int64(len(body)), maxBody+1-int64(len(body))) // as much again, and never more than is taken
		if left := length - int64(len(body)); left > 0 {
			piece = min(piece, left)
		}
	}
}

// waitForRoom takes room once it is free. It is false where none came free within Options.Admission, and where too many
// writes wait already.
func (s *Server) waitForRoom(ctx context.Context, weight int64) bool {
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > s.opt.MaxWaiting {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Admission)
	defer cancel()
	return s.room.Acquire(ctx, weight) == nil
}

// arrived removes the deadline of a body that has arrived: net/http would take it for the end of the client's
// connection when it passes.
func arrived(c echo.Context) error {
	control := http.NewResponseController(c.Response())
	err := control.SetReadDeadline(time.Time{})
	if c.Request().ContentLength > 1<<20 { // its arrival may have used up a part of the time for the answer
		err = errors.Join(err, control.SetWriteDeadline(time.Now().Add(answerTime)))
	}
	return supported(err)
}

// supported returns err unless it says that the connection has no deadlines.
func supported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// readUntil sets the time by which the rest of the request must have arrived.
func readUntil(c echo.Context, at time.Time) error {
	return supported(http.NewResponseController(c.Response()).SetReadDeadline(at))
}

// limitBodyTime returns a handler that bounds the time for a request's body to arrive, also on routes that read none:
// net/http reads a body to its end before it answers.
func (s *Server) limitBodyTime(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().ContentLength != 0 {
			if err := readUntil(c, time.Now().Add(s.opt.BodyGrace)); err != nil {
				return err
			}
		}
		return next(c)
	}
}

// slots bounds how many requests of a kind run at a time.
type slots struct {
	taken chan struct{}
	wait  time.Duration
}

// newSlots returns n slots, for which a request waits at most wait.
func newSlots(n int, wait time.Duration) *slots {
	return &slots{taken: make(chan struct{}, n), wait: wait}
}

// enter waits for a slot. Call leave when done. The error is ctx's, or Busy where none came free in time.
func (l *slots) enter(ctx context.Context) (leave func(), err error) {
	timeout := time.NewTimer(l.wait)
	defer timeout.Stop()
	select {
	case l.taken <- struct{}{}:
		return func() { <-l.taken }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timeout.C:
		return nil, fanfold.Errorf(fanfold.Busy, "%d of these run already, as many as this node takes at once: try again later", cap(l.taken))
	}
}

// limited returns a handler that lets n requests in at a time. Others wait a little, and are then refused with Busy.
func (s *Server) limited(n int, handle echo.HandlerFunc) echo.HandlerFunc {
	running := newSlots(n, s.opt.Admission)
	return func(c echo.Context) error {
		leave, err := running.enter(c.Request().Context())
		if err != nil {
			return err
		}
		defer leave()
		return handle(c)
	}
}

// bodyError translates an error of reading a body of at most maxBody bytes. It returns TooLarge, TooSlow or Invalid.
func bodyError(err error, maxBody int64) error {
	var tooLarge *http.MaxBytesError
	var known *fanfold.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &tooLarge):
		return fanfold.Errorf(fanfold.TooLarge, "the body has more than %d bytes", maxBody)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fanfold.Errorf(fanfold.TooSlow, "the body did not arrive in time")
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(*net.OpError)):
		return fanfold.Wrap(err, fanfold.Invalid, "the body ended early")
	default: // net/http cannot read the chunks
		return fanfold.Wrap(err, fanfold.Invalid, "the body is not in chunks as Transfer-Encoding says: %v", err)
	}
}

// withoutAnswerTime returns a handler whose answer may take any time, for a route that works for long.
func withoutAnswerTime(handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := supported(http.NewResponseController(c.Response()).SetWriteDeadline(time.Time{})); err != nil {
			return err
		}
		return handle(c)
	}
}
