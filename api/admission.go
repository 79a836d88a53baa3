package api

import (
	"cmp"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// answerTime is the time in which a client must have read its answer.
const answerTime = 2 * time.Minute

// admitted returns a handler that bounds the bodies in memory. A request waits, in order of arrival, until there is room for
// the body it has sent. If that takes too long, it is refused with Busy.
func (b *bodies) admitted(handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		l := b.newLease(c)
		defer l.release()
		if r := c.Request(); r.ContentLength == 0 || r.Method == http.MethodDelete { // no body is to arrive, or to be read
			l.body = nil
			if !l.grow(r.Context(), minWeight) {
				return errBusyBodies
			}
			if err := judgeAgain(c); err != nil {
				return err
			}
		}
		return handle(c)
	}
}

// errBusyBodies refuses a request for whose body there is no room. It is a Busy.
var errBusyBodies = fanfold.Errorf(fanfold.Busy, "more bodies are under way than this node takes at once: try again a little later")

// refuseBody returns the error for which a body is refused before all of it was read. First it reads what the client still
// sends: closing the connection while the client is sending would lose the answer.
func refuseBody(c echo.Context, maxBody int64, refusal error) error {
	contextOf(c).lease.release()
	if _, err := io.CopyN(io.Discard, c.Request().Body, maxBody); err != nil && !errors.Is(err, io.EOF) {
		return bodyError(err, maxBody)
	}
	return cmp.Or(judgeAgain(c), refusal)
}

// bodyReader reads a body, and takes room for it as it arrives: a client that only announces a body takes none.
type bodyReader struct {
	from          io.Reader
	contentLength int64              // negative where it is not known
	maxBody       int64              // the most bytes that are taken where it is not
	watch         func([]byte) error // is given each piece, and refuses the body with its error; nil for none
}

// receive reads the body of a request. It returns the errors of bodyError and watch, and Busy.
func (b *bodyReader) receive(c echo.Context) ([]byte, error) {
	l := contextOf(c).lease
	body := make([]byte, 0, b.bounded(freeBytes))
	for int64(len(body)) != b.contentLength {
		if len(body) == cap(body) { // as much again as has arrived
			next := b.bounded(max(2*cap(body), leastBytes))
			if !l.grow(c.Request().Context(), int64(next)) {
				return nil, refuseBody(c, b.maxBody, errBusyBodies)
			}
			body = append(make([]byte, 0, next), body...)
		}
		n, err := b.from.Read(body[len(body):cap(body)])
		if b.watch != nil {
			if refusal := b.watch(body[len(body) : len(body)+n]); refusal != nil {
				return nil, refuseBody(c, b.maxBody, refusal)
			}
		}
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, bodyError(err, b.maxBody)
		}
	}
	return body, arrived(c, l)
}

// bounded returns a size of the buffer: the longest body's if the two differ little, or if no body is as long.
func (b *bodyReader) bounded(size int) int {
	most := b.maxBody + 1 // never more than is taken
	if b.contentLength >= 0 {
		most = b.contentLength
	}
	if int64(size+size/8) >= most { // little more would be another buffer, and a copy, for the last bytes
		return int(most)
	}
	return size
}

// arrived ends the time of a body that has arrived, gives the client its time to read the answer, and takes the least room
// that a write takes. Then it judges the sender again. Errors are Busy, and judgeAgain's.
func arrived(c echo.Context, l *lease) error {
	began := time.Time{}
	if l.body != nil {
		began = l.body.began
		if err := l.body.complete(); err != nil {
			return err
		}
	}
	l.arrived()
	if !contextOf(c).untimed && time.Since(began) > time.Second && !began.IsZero() { // its arrival has used up a part of that time
		if err := supported(http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(answerTime))); err != nil {
			return err
		}
	}
	if !l.grow(c.Request().Context(), max(l.held, minWeight)) {
		return errBusyBodies
	}
	return judgeAgain(c)
}

// supported returns err unless it says that the connection has no deadlines.
func supported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// limitTime returns a handler that holds clients to sending the body, also on routes that read none: net/http reads a
// body to its end before it answers.
func (b *bodies) limitTime(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if r := c.Request(); r.ContentLength != 0 {
			body, err := newPacedBody(c, b.opt.BodyGrace)
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
func (b *bodies) limitSilence(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.ContentLength == 0 {
			return next(c)
		}
		control := http.NewResponseController(c.Response())
		if err := supported(control.SetReadDeadline(time.Now().Add(b.opt.BodyGrace))); err != nil {
			return err
		}
		if withheld := r.Body; r.ProtoMajor == 1 && r.Header.Get("Expect") != "" {
			c.Response().Before(func() {
				if p, ok := r.Body.(*pacedBody); ok && p.begun() {
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
	case errors.As(err, &known):
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
		if err := supported(http.NewResponseController(c.Response()).SetWriteDeadline(time.Time{})); err != nil {
			return err
		}
		contextOf(c).untimed = true
		return handle(c)
	}
}
