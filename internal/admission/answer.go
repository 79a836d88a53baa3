package admission

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/sending"
)

// Bounds of answers.
const (
	MaxAnswer  = 64 << 20         // of an answer that is put together in memory, in bytes
	AnswerTime = 2 * time.Minute  // in which a client must have read its answer
	sendPause  = 30 * time.Second // in which a client must read a piece of a large answer
	PageBytes  = 16 << 20         // from which on a page of a list ends, in bytes
	LargePiece = 64 << 10         // the size of an answer from which on it has a deadline for each piece, in bytes
)

var (
	// errNoRoom says that an answer needs more room than is free now.
	errNoRoom = errors.New("no room for the answer")
	// ErrLargeAnswer says that an answer would have more than MaxAnswer bytes. It is an Unprocessable.
	ErrLargeAnswer = fanfold.Errorf(fanfold.Unprocessable, "the answer would have more than %d MiB: ask for less at once, by a smaller limit, fewer ids or fewer relations in expand", MaxAnswer>>20)
)

// Answer holds the text of one answer, and the room that it takes of the budget for what is being sent. It is for one goroutine.
type Answer struct {
	sending.Buffer
	Beside   int // bytes that are held besides the text while it is put together
	ctx      context.Context
	lease    *sending.Lease
	patience time.Duration // for which it waits for room
	need     int           // how much room it asked for last, in bytes
}

// Answer returns an empty answer. It takes no room after ctx, its request's, has ended.
func (b *Budget) Answer(ctx context.Context) *Answer {
	return &Answer{ctx: ctx, lease: b.Sending.Lease(), patience: b.opt.Patience}
}

// Grow takes room for n more bytes. It returns ErrLargeAnswer, errNoRoom and the error of the request's context.
func (a *Answer) Grow(n int) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	want := a.Len() + a.Beside + n
	switch {
	case a.Len()+n > MaxAnswer:
		return ErrLargeAnswer
	case want <= a.lease.Held():
		return nil
	}
	if a.need = max(want, min(2*want, MaxAnswer)); a.lease.TryHold(a.need) {
		return nil
	}
	if a.lease.TryHold(want) {
		return nil
	}
	a.need = max(a.need, min(8*want, PageBytes)) // it is put together anew then, which should not happen often
	return errNoRoom
}

// Free returns for how many more bytes the answer has room.
func (a *Answer) Free() int { return a.lease.Held() - a.Len() - a.Beside }

// Assemble calls build with the empty answer, and returns it. If there is no room for what build asks for, it drops what is there,
// waits for room, and calls build again. So nobody holds a part of an answer while waiting. The caller calls
// Release. Errors are build's, and Busy where no room came free in time.
func (a *Answer) Assemble(build func(a *Answer) error) (*Answer, error) {
	for {
		err := build(a)
		if err == nil {
			return a, nil
		}
		a.Release()
		if !errors.Is(err, errNoRoom) {
			return nil, err
		}
		if err := a.wait(a.need); err != nil {
			return nil, err
		}
	}
}

// Hold makes the answer have room for n bytes in all. waited says that it had to wait for them; it was empty meanwhile. The error is Busy
// where no room came free in time, or the error of the request's context.
func (a *Answer) Hold(n int) (waited bool, err error) {
	if n <= a.lease.Held() || a.lease.TryHold(n) {
		return false, nil
	}
	return true, a.wait(n)
}

// TryHold is Hold for what does not wait. It is false where there is no room.
func (a *Answer) TryHold(n int) bool { return a.lease.TryHold(n) }

// wait gives back what the answer holds, and waits until it holds n bytes. The error is Busy after Options.Patience, or the context's.
func (a *Answer) wait(n int) error {
	limited, cancel := context.WithTimeout(a.ctx, a.patience)
	defer cancel()
	err := a.lease.WaitToHold(limited, n)
	if err != nil && a.ctx.Err() == nil {
		return fanfold.Errorf(fanfold.Busy, "more answers are being read than this node holds at once: try again a little later")
	}
	return err
}

// Release empties the answer and gives its room back.
func (a *Answer) Release() {
	a.Reset()
	a.Beside = 0
	a.lease.Release()
}

// Send writes the answer to a client, and gives its room back as the client reads it. The client has its time for each piece.
func (a *Answer) Send(to io.Writer, control Deadlines) error {
	defer a.Release()
	a.lease.Shrink(a.Len())
	return sendPieces(&a.Buffer, to, control, a.lease.Shrink)
}

// SendText does what Answer.Send does for a large text that is held already.
func SendText(text []byte, to io.Writer, control Deadlines) error {
	var b sending.Buffer
	b.Add(text)
	return sendPieces(&b, to, control, func(int) {})
}

// sendPieces writes a text. Within AnswerTime a client has sendPause for each piece of a large one. left is told how much is left before each.
func sendPieces(text *sending.Buffer, to io.Writer, control Deadlines, left func(n int)) error {
	if text.Len() <= LargePiece {
		return text.WriteTo(to, nil)
	}
	end := time.Now().Add(AnswerTime)
	return text.WriteTo(to, func(n int) error {
		left(n)
		at := time.Now().Add(sendPause)
		if end.Before(at) {
			at = end
		}
		return Supported(control.SetWriteDeadline(at))
	})
}

// NextPiece gives a client its time for one piece of what has no end.
func NextPiece(control Deadlines) error {
	return Supported(control.SetWriteDeadline(time.Now().Add(sendPause)))
}
