package admission

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/fanfold/fanfold"
)

// Bounds of what bodies take from the room for them, in bytes.
const (
	freeBytes  = 1 << 10  // up to here a body takes no room: it costs no more than its connection does
	leastBytes = 4 << 10  // the least that is taken after that, while a body arrives: most end there
	minWeight  = 2 << 10  // the least that a write takes, once its body has arrived
	smallBytes = 64 << 10 // up to here a body is small
	smallPart  = 4        // of the room, one part is for small bodies alone
)

// share is a part of the room for bodies.
type share struct {
	size    int64
	free    *semaphore.Weighted
	waiting atomic.Int64 // how many writes wait for room in it
	senders senders      // bodies with a part that has arrived
}

// room bounds the bodies of writes that are in memory. Small ones have a share of their own, so that large ones cannot keep
// them out.
type room struct{ small, large share }

// newRoom returns room for so many bytes.
func newRoom(size int64) *room {
	r := &room{}
	r.small.size = max(1, size/smallPart)
	r.large.size = max(1, size-r.small.size)
	for _, s := range []*share{&r.small, &r.large} {
		s.free = semaphore.NewWeighted(s.size)
	}
	return r
}

// Lane tells the rooms for bodies apart.
type Lane int

// The lanes.
const (
	Writes Lane = iota
	Reads       // for queries, apart from writes
)

// errBusyBodies refuses a request for whose body there is no room. It is a Busy.
var errBusyBodies = fanfold.Errorf(fanfold.Busy, "more bodies are under way than this node takes at once: try again a little later")

// Lease is what one request has taken of a room. It is for one goroutine.
type Lease struct {
	opt     *Options
	room    *room
	in      *share
	held    int64 // in bytes
	body    *Body // nil where there is none, or no more of it comes
	untimed bool  // the answer may take any time
}

// Lease returns the lease of a request with a body, which has taken nothing yet. length is negative where it is not known. untimed says
// that the answer may take any time. The caller calls Release.
func (b *Budget) Lease(of Lane, body *Body, length int64, untimed bool) *Lease {
	l := &Lease{opt: &b.opt, room: b.rooms[of], body: body, untimed: untimed}
	l.in = &l.room.small
	if length > smallBytes {
		l.in = &l.room.large
	}
	return l
}

// Begin takes the room of a write without a body, or whose body is not read. The error is Busy.
func (l *Lease) Begin(ctx context.Context) error {
	l.body = nil
	return l.grow(ctx, minWeight)
}

// Incoming is a body that comes.
type Incoming struct {
	From   io.Reader
	Length int64              // negative where it is not known
	Max    int64              // the most bytes that are taken where it is not
	Watch  func([]byte) error // is given each piece, and refuses the body with its error; nil for none
}

// Receive reads a body, and takes room for it as it arrives: a client that only announces a body takes none. Then the client has its time to
// read the answer. It returns the errors of reading, Watch's, and Busy. A body that is refused is read to its end: closing the connection
// while the client is sending would lose the answer.
func (l *Lease) Receive(ctx context.Context, in Incoming) ([]byte, error) {
	body := make([]byte, 0, in.bounded(freeBytes))
	for int64(len(body)) != in.Length {
		if len(body) == cap(body) { // as much again as has arrived
			next := in.bounded(max(2*cap(body), leastBytes))
			if err := l.grow(ctx, int64(next)); err != nil {
				return nil, l.refuse(in.Max, err)
			}
			body = append(make([]byte, 0, next), body...)
		}
		n, err := in.From.Read(body[len(body):cap(body)])
		if in.Watch != nil {
			if refusal := in.Watch(body[len(body) : len(body)+n]); refusal != nil {
				return nil, l.refuse(in.Max, refusal)
			}
		}
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return body, l.arrived(ctx)
}

// bounded returns a size of the buffer: the longest body's if the two differ little, or if no body is as long.
func (in *Incoming) bounded(size int) int {
	most := in.Max + 1 // never more than is taken
	if in.Length >= 0 {
		most = in.Length
	}
	if int64(size+size/8) >= most { // little more would be another buffer, and a copy, for the last bytes
		return int(most)
	}
	return size
}

// refuse returns the error for which a body is refused, after it has read what the client still sends, or the error of that.
func (l *Lease) refuse(most int64, refusal error) error {
	from := l.body
	l.Release()
	if from == nil {
		return refusal
	}
	if _, err := io.CopyN(io.Discard, from, most); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return refusal
}

// arrived ends the time of a body that has arrived, gives the client its time to read the answer, and takes the least room
// that a write takes.
func (l *Lease) arrived(ctx context.Context) error {
	if p := l.body; p != nil {
		if err := p.Complete(); err != nil {
			return err
		}
		if l.held > 0 {
			l.in.senders.remove(p)
		}
		l.body = nil
		if !l.untimed && time.Since(p.began) > time.Second { // its arrival has used up a part of that time
			if err := Supported(p.control.SetWriteDeadline(time.Now().Add(AnswerTime))); err != nil {
				return err
			}
		}
	}
	return l.grow(ctx, max(l.held, minWeight))
}

// grow takes room so that the lease holds so many bytes, or all that its share has. It waits where there is none. The error is Busy
// where none came free within Options.Patience, and where too many wait already.
func (l *Lease) grow(ctx context.Context, to int64) error {
	if in := &l.room.large; to > smallBytes && l.in != in {
		if !in.take(ctx, min(to, in.size), l.opt) {
			return errBusyBodies
		}
		l.Release()
		l.in, l.held = in, min(to, in.size)
	} else if more := min(to, l.in.size) - l.held; more > 0 {
		if !l.in.take(ctx, more, l.opt) {
			return errBusyBodies
		}
		l.held += more
	}
	if l.body != nil {
		l.in.senders.add(l.body, l.held)
	}
	return nil
}

// Release gives the room back.
func (l *Lease) Release() {
	if l.held == 0 {
		return
	}
	if l.body != nil {
		l.in.senders.remove(l.body)
	}
	l.in.free.Release(l.held)
	l.held = 0
}

// take takes room in a share. It is false where none came free in time, and where too many wait already. Bodies that come
// too slowly make room meanwhile.
func (s *share) take(ctx context.Context, weight int64, opt *Options) bool {
	if s.free.TryAcquire(weight) {
		return true
	}
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > opt.MaxWaiting {
		return false
	}
	defer s.senders.press(weight)()
	ctx, cancel := context.WithTimeout(ctx, opt.Patience)
	defer cancel()
	return s.free.Acquire(ctx, weight) == nil
}
