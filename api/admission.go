package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
)

// admitted returns a handler that bounds the bodies in memory. A request waits, in order of arrival, until there is room for
// the body it has sent. If that takes too long, it is refused with Busy.
func admitted(budget *admission.Budget, to admission.Lane, handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		body, _ := r.Body.(*admission.Body)
		l := budget.Lease(to, body, r.ContentLength, contextOf(c).untimed)
		defer l.Release()
		contextOf(c).lease = l
		if r.ContentLength == 0 || r.Method == http.MethodDelete { // no body is to arrive, or to be read
			if err := cmp.Or(l.Begin(r.Context()), judgeAgain(c)); err != nil {
				return err
			}
		}
		return handle(c)
	}
}

// limitTime returns a handler that holds clients to sending the body, also on routes that read none: net/http reads a
// body to its end before it answers.
func (s *Server) limitTime(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if r := c.Request(); r.ContentLength != 0 {
			body, err := s.opt.Budget.Body(r.Body, http.NewResponseController(c.Response()))
			if err != nil {
				return err
			}
			r.Body = body
		}
		return next(c)
	}
}

// refusalTime is how long a connection stays open after an answer to a request whose body was withheld.
const refusalTime = time.Second

// limitSilence returns a handler that bounds for how long net/http waits for the body of a request that is refused before limitTime. A request that
// waits to be asked for its body (Expect: 100-continue), and is not, is answered at once, and its connection ends.
func (s *Server) limitSilence(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.ContentLength == 0 {
			return next(c)
		}
		control := http.NewResponseController(c.Response())
		if err := admission.Supported(control.SetReadDeadline(time.Now().Add(s.opt.BodyGrace))); err != nil {
			return err
		}
		if withheld := r.Body; r.ProtoMajor == 1 && r.Header.Get("Expect") != "" {
			c.Response().Before(func() {
				if p, ok := r.Body.(*admission.Body); ok && p.Begun() {
					return
				}
				r.Body = withheld // by its type net/http knows that it was not asked for
				_ = control.SetReadDeadline(time.Now().Add(refusalTime))
			})
		}
		return next(c)
	}
}

// bodyError translates an error of reading a body of at most maxBody bytes. It returns TooLarge, TooSlow or Invalid.
func bodyError(err error, maxBody int64) error {
	var tooLarge *http.MaxBytesError
	var known *fanfold.Error
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.As(err, &tooLarge):
		return fanfold.Errorf(fanfold.TooLarge, "the body has more than %d bytes", maxBody)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(*net.OpError)):
		return fanfold.Wrap(err, fanfold.Invalid, "the body ended early")
	default: // net/http cannot read the chunks
		return fanfold.Wrap(err, fanfold.Invalid, "the body is not in chunks as Transfer-Encoding says: %v", err)
	}
}

// withoutAnswerTime returns a handler whose answer may take any time, for a route that works for long.
func withoutAnswerTime(handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := admission.Supported(http.NewResponseController(c.Response()).SetWriteDeadline(time.Time{})); err != nil {
			return err
		}
		contextOf(c).untimed = true
		return handle(c)
	}
}

// enter waits for a place of a kind, and judges the sender again after the wait. Errors are Budget.Enter's and judgeAgain's.
func enter(c echo.Context, budget *admission.Budget, of admission.Kind, a admission.Applicant) (leave func(), err error) {
	a.Who = rightsOf(c).String()
	if leave, err = budget.Enter(c.Request().Context(), of, a); err != nil {
		return nil, err
	}
	if err := judgeAgain(c); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// exporting returns a handler that lets in as many exports at a time as there are places. Others wait a little, and are then refused with
// Busy. An answer of a principal with more than its share is cut for others.
func exporting(budget *admission.Budget, handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, cancel := context.WithCancelCause(c.Request().Context())
		defer cancel(nil)
		control := http.NewResponseController(c.Response())
		leave, err := enter(c, budget, admission.Exports, admission.Applicant{Cut: func() {
			cancel(admission.ErrShare)
			_ = control.SetWriteDeadline(time.Now())
		}})
		if err != nil {
			return err
		}
		defer leave()
		defer c.SetRequest(c.Request()) // whose context has not ended
		c.SetRequest(c.Request().WithContext(ctx))
		return handle(c)
	}
}

// itemBytes is what an item of an answer has besides its document at most, in bytes.
const itemBytes = 256

// sendAnswer writes an answer as JSON.
func sendAnswer(c echo.Context, a *admission.Answer) error {
	h := c.Response().Header()
	h["Content-Type"], h["Content-Length"] = typeJSON, []string{strconv.Itoa(a.Len())}
	c.Response().WriteHeader(http.StatusOK)
	return a.Send(c.Response(), http.NewResponseController(c.Response()))
}

// sendJSON answers with v as JSON, within the budget for what is being sent. It is for answers to reads, which may be
// refused with Busy.
func sendJSON(c echo.Context, budget *admission.Budget, v any) error {
	var text bytes.Buffer
	if err := encode(&text, v); err != nil {
		return err
	}
	a, err := budget.Answer(c.Request().Context()).Assemble(func(a *admission.Answer) error { return addWhole(a, text.Bytes()) })
	if err != nil {
		return err
	}
	return sendAnswer(c, a)
}

// addWhole adds a text to an answer, once there is room for it.
func addWhole(a *admission.Answer, text []byte) error {
	if err := a.Grow(len(text)); err != nil {
		return err
	}
	a.Add(text)
	return nil
}

// writePaced writes a body; the client must read each piece in time.
func writePaced(c echo.Context, body []byte) error {
	if len(body) <= admission.LargePiece {
		_, err := c.Response().Write(body)
		return err
	}
	return admission.SendText(body, c.Response(), http.NewResponseController(c.Response()))
}

// sendSpooled answers with a spool. The client has its time for each piece, before which its sender is judged again. Errors are Spool.SendTo's, and
// judgeAgain's.
func sendSpooled(ctx context.Context, c echo.Context, out *admission.Spool) error {
	control := http.NewResponseController(c.Response())
	return out.SendTo(ctx, c.Response(), func() error { return cmp.Or(judgeAgain(c), admission.NextPiece(control)) })
}
