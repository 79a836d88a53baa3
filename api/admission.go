package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
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

// admitted bounds the bodies in memory: a write waits, in order of arrival, until there is room
// for its body of at most most bytes, and is refused where that takes too long.
func (s *Server) admitted(most int64, handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		size := r.ContentLength
		if size < 0 || size > most {
			size = most // not said; or larger, and then refused unread
		}
		weight := min(size+minWeight, max(s.opt.MaxInFlight/2, 1)) // the largest must not wait for all others to end
		entered := s.room.TryAcquire(weight) || s.enter(r.Context(), weight)
		if entered {
			defer s.room.Release(weight)
		}
		if r.ContentLength != 0 {
			limit := s.opt.BodyGrace + time.Duration(size>>20)*bodyPerMiB
			err := http.NewResponseController(c.Response()).SetReadDeadline(time.Now().Add(limit))
			if err != nil && !errors.Is(err, http.ErrNotSupported) {
				return err
			}
		}
		if entered {
			return handle(c)
		}
		// Closing a connection on a client that is sending loses the answer.
		if _, err := io.CopyN(io.Discard, r.Body, most); err != nil && !errors.Is(err, io.EOF) {
			return bodyError(err, most)
		}
		return fanfold.Errorf(fanfold.Busy, "more writes are under way than this node takes at once: try again a little later")
	}
}

// enter waits for room.
func (s *Server) enter(ctx context.Context, weight int64) bool {
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
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// paced gives a request's body a moment to arrive, on routes that read none too: net/http reads it
// to its end before it answers.
func (s *Server) paced(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().ContentLength != 0 {
			err := http.NewResponseController(c.Response()).SetReadDeadline(time.Now().Add(s.opt.BodyGrace))
			if err != nil && !errors.Is(err, http.ErrNotSupported) {
				return err
			}
		}
		return next(c)
	}
}

// few lets n requests in at a time; others wait a little, and are then told to come again.
func (s *Server) few(n int, handle echo.HandlerFunc) echo.HandlerFunc {
	long := make(chan struct{}, n)
	return func(c echo.Context) error {
		select {
		case long <- struct{}{}:
		case <-c.Request().Context().Done():
			return c.Request().Context().Err()
		case <-time.After(s.opt.Admission):
			return fanfold.Errorf(fanfold.Busy, "%d of these run already, as many as this node takes at once: try again later", cap(long))
		}
		defer func() { <-long }()
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

// unhurried lets the answer of a route that works for long take its time.
func unhurried(handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := http.NewResponseController(c.Response()).SetWriteDeadline(time.Time{})
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		return handle(c)
	}
}
