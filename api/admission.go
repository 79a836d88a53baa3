package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// Bounds of what is taken at once and of how long it may take to arrive.
const (
	minWeight  = 8 << 10         // what a write costs besides its body, in bytes
	bodyPerMiB = 5 * time.Second // for a body to arrive, besides Options.BodyGrace
	answerTime = 2 * time.Minute // for a client to take its answer
)

// lease is what one request has of the room.
type lease struct {
	s    *Server
	held int64
}

const leaseKey = "lease"

// grow adds to the lease; false where there is no room in time.
func (l *lease) grow(ctx context.Context, weight int64) bool {
	if !l.s.room.TryAcquire(weight) && !l.s.waitForRoom(ctx, weight) {
		return false
	}
	l.held += weight
	return true
}

// admitted bounds the bodies in memory: a write waits, in order of arrival, until there is room
// for what it has sent, and is refused where that takes too long. most is the largest body, in bytes.
func (s *Server) admitted(most int64, handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.ContentLength != 0 {
			size := r.ContentLength
			if size < 0 || size > most {
				size = most
			}
			limit := s.opt.BodyGrace + time.Duration(size>>20)*bodyPerMiB
			if err := readUntil(c, time.Now().Add(limit)); err != nil {
				return err
			}
		}
		l := &lease{s: s}
		defer func() { s.room.Release(l.held) }()
		if !l.grow(r.Context(), min(minWeight, s.opt.MaxInFlight)) {
			return drained(c, most)
		}
		c.Set(leaseKey, l)
		return handle(c)
	}
}

// drained is the answer where there is no room. It reads what the client still sends, for closing
// the connection on it would lose the answer.
func drained(c echo.Context, most int64) error {
	if _, err := io.CopyN(io.Discard, c.Request().Body, most); err != nil && !errors.Is(err, io.EOF) {
		return bodyError(err, most)
	}
	return fanfold.Errorf(fanfold.Busy, "more writes are under way than this node takes at once: try again a little later")
}

// firstPiece is what is read of a body before more room is asked for, in bytes.
const firstPiece = 32 << 10

// receive reads a body, and takes room for it as it arrives: a client that only announces one
// takes none.
func receive(c echo.Context, r io.Reader, most int64) ([]byte, error) {
	l := c.Get(leaseKey).(*lease)
	piece := int64(firstPiece)
	if n := c.Request().ContentLength; n >= 0 {
		piece = min(piece, n)
	}
	var body []byte
	for {
		weight := min(piece, l.s.opt.MaxInFlight-l.held)
		if weight > 0 && !l.grow(c.Request().Context(), weight) {
			return nil, drained(c, most)
		}
		body = slices.Grow(body, int(piece)+1)
		for full := len(body) + int(piece); len(body) < full; {
			n, err := r.Read(body[len(body):full])
			body = body[:len(body)+n]
			if errors.Is(err, io.EOF) {
				return body, nil
			}
			if err != nil {
				return nil, bodyError(err, most)
			}
		}
		if int64(len(body)) == c.Request().ContentLength {
			return body, nil
		}
		piece = int64(len(body)) // as much again
		if left := c.Request().ContentLength - int64(len(body)); left > 0 {
			piece = min(piece, left)
		}
	}
}

// waitForRoom waits for room as long as Options.Admission allows; false where none came free.
func (s *Server) waitForRoom(ctx context.Context, weight int64) bool {
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > s.opt.MaxWaiting {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Admission)
	defer cancel()
	return s.room.Acquire(ctx, weight) == nil
}

// arrived takes the body's deadline back: net/http would take it for the client's end.
func arrived(c echo.Context) error {
	control := http.NewResponseController(c.Response())
	err := control.SetReadDeadline(time.Time{})
	if c.Request().ContentLength > 1<<20 { // it may have taken a part of the answer's time
		err = errors.Join(err, control.SetWriteDeadline(time.Now().Add(answerTime)))
	}
	return supported(err)
}

// supported passes over what a connection without deadlines says to one.
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

// limitBodyTime gives a request's body a moment to arrive, on routes that read none too: net/http reads it
// to its end before it answers.
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

// slots bound how many of something run at a time.
type slots struct {
	taken chan struct{}
	wait  time.Duration
}

func newSlots(n int, wait time.Duration) *slots {
	return &slots{taken: make(chan struct{}, n), wait: wait}
}

// enter waits a little for a slot; call leave when done. The error is ctx's, or Busy where none came free.
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

// limited lets n requests of a route in at a time; others wait a little, and are then told to come again.
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

// bodyError translates what reading a body gives.
func bodyError(err error, most int64) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return fanfold.Errorf(fanfold.TooLarge, "the body has more than %d bytes", most)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fanfold.Errorf(fanfold.TooSlow, "the body did not arrive in time")
	default:
		return fanfold.Wrap(err, fanfold.Invalid, "the body ended early")
	}
}

// withoutAnswerTime lets the answer of a route that works for long take its time.
func withoutAnswerTime(handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := supported(http.NewResponseController(c.Response()).SetWriteDeadline(time.Time{})); err != nil {
			return err
		}
		return handle(c)
	}
}
