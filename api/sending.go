package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/sending"
)

// Bounds of answers.
const (
	maxAnswer  = 64 << 20         // of an answer that is put together in memory, in bytes
	sendPause  = 30 * time.Second // in which a client must read a piece of a large answer
	itemBytes  = 256              // what an item of an answer has besides its document at most, in bytes
	pageBytes  = 16 << 20         // from which on a page of a list ends, in bytes
	largePiece = 64 << 10         // the size of an answer from which on it has a deadline for each piece, in bytes
)

var (
	// errNoRoom says that an answer needs more room than is free now.
	errNoRoom = errors.New("no room for the answer")
	// errLargeAnswer says that an answer would have more than maxAnswer bytes. It is an Unprocessable.
	errLargeAnswer = fanfold.Errorf(fanfold.Unprocessable, "the answer would have more than %d MiB: ask for less at once, by a smaller limit, fewer ids or fewer relations in expand", maxAnswer>>20)
)

// answer holds the text of one answer, and the room that it takes of the budget for what is being sent.
type answer struct {
	sending.Buffer
	ctx    context.Context
	lease  *sending.Lease
	beside int // bytes that are held besides the text while it is put together
	need   int // how much room it asked for last, in bytes
}

// reserve takes room for n more bytes. It returns errLargeAnswer, errNoRoom and the error of the request's context.
func (a *answer) reserve(n int) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	want := a.Len() + a.beside + n
	switch {
	case a.Len()+n > maxAnswer:
		return errLargeAnswer
	case want <= a.lease.Held():
		return nil
	}
	if a.need = max(want, min(2*want, maxAnswer)); a.lease.TryHold(a.need) {
		return nil
	}
	if a.lease.TryHold(want) {
		return nil
	}
	a.need = max(a.need, min(8*want, pageBytes)) // it is put together anew then, which should not happen often
	return errNoRoom
}

// answers are put together within the budget for what is being sent.
type answers struct {
	budget   *sending.Budget
	patience time.Duration // for which an answer waits for room
}

// assemble calls build with an empty answer, and returns it. If there is no room for what build asks for, it drops the
// answer, waits for room, and calls build again. So nobody holds a part of an answer while waiting. The caller calls
// release. Errors are build's, and Busy where no room came free in time.
func (as *answers) assemble(c echo.Context, build func(a *answer) error) (*answer, error) {
	a := &answer{ctx: c.Request().Context(), lease: as.budget.Lease()}
	for {
		err := build(a)
		if err == nil {
			return a, nil
		}
		need := a.need
		a.release()
		if !errors.Is(err, errNoRoom) {
			return nil, err
		}
		if err := as.wait(a.ctx, a.lease, need); err != nil {
			return nil, err
		}
	}
}

// wait waits until a lease holds n bytes. The error is Busy after Options.Admission, or ctx's.
func (as *answers) wait(ctx context.Context, lease *sending.Lease, n int) error {
	limited, cancel := context.WithTimeout(ctx, as.patience)
	defer cancel()
	err := lease.WaitToHold(limited, n)
	if err != nil && ctx.Err() == nil {
		return fanfold.Errorf(fanfold.Busy, "more answers are being read than this node holds at once: try again a little later")
	}
	return err
}

// release empties the answer and gives its room back.
func (a *answer) release() {
	a.Reset()
	a.beside = 0
	a.lease.Release()
}

// send writes the answer as JSON, and gives its room back as the client reads it.
func (a *answer) send(c echo.Context, status int) error {
	defer a.release()
	h := c.Response().Header()
	h["Content-Type"], h["Content-Length"] = typeJSON, []string{strconv.Itoa(a.Len())}
	c.Response().WriteHeader(status)
	a.lease.Shrink(a.Len())
	if a.Len() <= largePiece {
		return a.WriteTo(c.Response(), nil)
	}
	paced := newPace(c)
	return a.WriteTo(c.Response(), func(left int) error {
		a.lease.Shrink(left)
		return paced.next(left)
	})
}

// pace bounds the time in which a client must read an answer: sendPause for each piece, and answerTime for all of it.
type pace struct {
	control *http.ResponseController
	end     time.Time
}

func newPace(c echo.Context) *pace {
	return &pace{control: http.NewResponseController(c.Response()), end: time.Now().Add(answerTime)}
}

// next sets the deadline of the next piece, however many bytes are left.
func (p *pace) next(int) error {
	at := time.Now().Add(sendPause)
	if p.end.Before(at) {
		at = p.end
	}
	return supported(p.control.SetWriteDeadline(at))
}

// writePaced writes a body; the client must read each piece in time.
func writePaced(c echo.Context, body []byte) error {
	if len(body) <= largePiece {
		_, err := c.Response().Write(body)
		return err
	}
	var b sending.Buffer
	b.Add(body)
	return b.WriteTo(c.Response(), newPace(c).next)
}

// sendJSON answers with v as JSON, within the budget for what is being sent. It is for answers to reads, which may be
// refused with Busy.
func (as *answers) sendJSON(c echo.Context, status int, v any) error {
	var text bytes.Buffer
	if err := encode(&text, v); err != nil {
		return err
	}
	a, err := as.assemble(c, func(a *answer) error {
		if err := a.reserve(text.Len()); err != nil {
			return err
		}
		a.Add(text.Bytes())
		return nil
	})
	if err != nil {
		return err
	}
	return a.send(c, status)
}
