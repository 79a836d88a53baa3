package admission

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
)

// How fast a body must come.
const (
	minRate     = 1 << 10          // bytes a second, always: less than the slowest lines carry
	busyRate    = 16 << 10         // bytes a second while others wait for what the body holds
	busyPart    = 128              // and this part of what it holds each second, so that nobody holds much by sending little
	bodyTime    = 10 * time.Minute // for all of a body, or for a line of an import, while the server waits for it
	lineTime    = 3                // times Options.Grace, in which an import must bring a whole line
	busyTime    = 0.3              // times Options.Grace, which a body may be late while others wait
	cutInterval = 250 * time.Millisecond
)

// Deadlines sets the deadlines of a client's connection.
type Deadlines interface {
	SetReadDeadline(at time.Time) error
	SetWriteDeadline(at time.Time) error
}

// Body is the body of a request, whose client must send it at a certain pace. Its time runs while a Read waits for the
// client, not while the server works. It is for one goroutine, but for Cut.
type Body struct {
	io.ReadCloser
	control Deadlines
	grace   time.Duration // the longest silence, also before the first byte
	busy    time.Duration // the most that spare can be
	lines   bool          // only lines count, as an import's reader tells of them
	began   time.Time

	mu    sync.Mutex
	since time.Time     // when the Read that waits began; zero for none
	until time.Time     // the deadline that the connection has
	left  time.Duration // how long the client may be silent
	rest  time.Duration // of bodyTime
	asked bool          // by a Read
	spare time.Duration // how long until the body is late, for those that wait
	holds int64         // what others may wait for, in bytes
	ended error         // why nothing more is read
}

// Body returns a request's body, for which the connection has a deadline after Options.Grace. A Body stays as it is.
func (b *Budget) Body(from io.ReadCloser, control Deadlines) (*Body, error) {
	if p, is := from.(*Body); is {
		return p, nil
	}
	now, grace := time.Now(), b.opt.Grace
	p := &Body{ReadCloser: from, control: control, began: now, until: now.Add(grace), grace: grace, left: grace, rest: bodyTime}
	p.busy = time.Duration(busyTime * float64(grace))
	p.spare = p.busy
	return p, Supported(p.control.SetReadDeadline(p.until))
}

// ByLines makes lines the unit that counts; an import must bring one in lineTime.
func (p *Body) ByLines() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = true
	p.grace *= lineTime
	p.left = p.grace
}

// Read reads what has come, and waits for as long as the client may take. Errors are the body's, and TooSlow.
func (p *Body) Read(b []byte) (int, error) {
	if err := p.begin(); err != nil {
		return 0, err
	}
	n, err := p.ReadCloser.Read(b)
	return n, p.end(n, err)
}

// begin begins to wait for the client.
func (p *Body) begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended != nil {
		return p.ended
	}
	p.since, p.asked = time.Now(), true
	until := p.since.Add(min(p.left, p.rest))
	if off := until.Sub(p.until).Abs(); off <= p.grace/16 { // setting one costs more than reading what is there
		return nil
	}
	p.until = until
	return Supported(p.control.SetReadDeadline(until))
}

// end takes what has come into account, and returns the error of a Read that ended with err.
func (p *Body) end(n int, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := time.Since(p.since)
	p.since = time.Time{}
	p.left -= took
	p.rest -= took
	p.spare -= took
	switch {
	case err == nil && !p.lines:
		p.spare = min(p.spare+timeFor(n, p.busyRate()), p.busy)
		p.left = min(p.left+timeFor(n, minRate), p.grace)
	case err == nil:
	case p.ended == nil && errors.Is(err, os.ErrDeadlineExceeded):
		p.ended = p.tooSlow()
	}
	if p.ended == nil {
		return err
	}
	_ = p.control.SetWriteDeadline(time.Now().Add(p.grace)) // the body may have used up the time for the answer
	return p.ended
}

// timeFor returns the time for n bytes at a rate.
func timeFor(n int, rate int64) time.Duration {
	return time.Duration(float64(n) / float64(rate) * float64(time.Second))
}

// busyRate returns how fast the body must come while others wait.
func (p *Body) busyRate() int64 { return max(busyRate, p.holds/busyPart) }

// tooSlow says what was due. It is a TooSlow.
func (p *Body) tooSlow() error {
	if p.rest <= p.left {
		return fanfold.Errorf(fanfold.TooSlow, "the body did not arrive in time: all of it, or a line of an import, is due within %v; send less at once, or over a faster line", bodyTime)
	}
	if p.lines {
		return fanfold.Errorf(fanfold.TooSlow, "no whole line arrived within %v; blanks do not count: send lines as they are there, and end the import where there are none", p.grace)
	}
	return fanfold.Errorf(fanfold.TooSlow, "the body did not arrive in time: its first byte is due within %v, then %d bytes a second, with no pause of %v", p.grace, minRate, p.grace)
}

// Part takes note that a part of a line has arrived: a long one may take as long as a body of its length.
func (p *Body) Part(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = min(p.left+timeFor(n, minRate), p.grace)
}

// Line takes note that a line with n bytes has arrived, which is not blank.
func (p *Body) Line(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.rest = p.grace, bodyTime
	p.spare = min(p.spare+timeFor(n, p.busyRate()), p.busy)
}

// hold says how much the body holds, for which others may wait.
func (p *Body) hold(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds = n
}

// late returns for how long the body has been late at a time, for those that wait, and what it holds.
func (p *Body) late(now time.Time) (late time.Duration, holds int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since.IsZero() || p.ended != nil {
		return 0, 0
	}
	return now.Sub(p.since) - p.spare, p.holds
}

// Cut ends the body with err. A Read that waits returns.
func (p *Body) Cut(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		p.ended = err
		_ = p.control.SetReadDeadline(time.Now())
	}
}

// Context returns a context that ends when ctx, the request's, does. It goes on for AnswerTime if ctx ends because the body
// is too slow, so that the received part can be dealt with. Call cancel when done.
func (p *Body) Context(ctx context.Context) (out context.Context, cancel context.CancelFunc) {
	out, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if p.isTooSlow() {
			timeout := time.AfterFunc(AnswerTime, func() { end(context.Cause(ctx)) })
			context.AfterFunc(out, func() { timeout.Stop() })
			return
		}
		end(context.Cause(ctx))
	})
	return out, func() {
		stop()
		end(nil)
	}
}

// isTooSlow tells whether the body has come to its deadline, or was cut.
func (p *Body) isTooSlow() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended != nil || !p.until.IsZero() && !time.Now().Before(p.until)
}

// Begun tells whether anything of the body was asked for.
func (p *Body) Begun() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// Ask takes note that the client is asked for the body before the first Read.
func (p *Body) Ask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = true
}

// Complete removes the deadline: net/http would take it for the end of the client's connection when it passes.
func (p *Body) Complete() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = time.Time{}
	return Supported(p.control.SetReadDeadline(p.until))
}

// errCutForOthers ends a body that is late while others wait.
var errCutForOthers = fanfold.Errorf(fanfold.TooSlow,
	"others wait for the room that this body holds, and it comes too slowly: send at least %d bytes a second, or again later", busyRate)

// senders are the bodies that hold something for which others wait. The zero value holds none.
type senders struct {
	mu      sync.Mutex
	bodies  map[*Body]struct{}
	wanted  int64 // by those that wait
	waiting int
	done    chan struct{} // closed once nobody waits any more
}

// add adds a body, or takes note that it holds more.
func (s *senders) add(p *Body, holds int64) {
	p.hold(holds)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bodies == nil {
		s.bodies = map[*Body]struct{}{}
	}
	s.bodies[p] = struct{}{}
}

// remove removes a body, which holds nothing any more, or has come to its end.
func (s *senders) remove(p *Body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.bodies, p)
}

// press has late bodies cut until stop is called, the latest first, as many as hold what is wanted.
func (s *senders) press(wanted int64) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted += wanted
	if s.waiting++; s.waiting == 1 {
		s.done = make(chan struct{})
		go s.cutWhileOthersWait(s.done)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wanted -= wanted
		if s.waiting--; s.waiting == 0 {
			close(s.done)
		}
	}
}

// cutWhileOthersWait cuts late bodies now and then, until done is closed.
func (s *senders) cutWhileOthersWait(done <-chan struct{}) {
	tick := time.NewTicker(cutInterval)
	defer tick.Stop()
	for {
		s.cutLate()
		select {
		case <-tick.C:
		case <-done:
			return
		}
	}
}

// cutLate cuts as many late bodies as hold what is wanted.
func (s *senders) cutLate() {
	type lateBody struct {
		body  *Body
		late  time.Duration
		holds int64
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []lateBody
	now := time.Now()
	for p := range s.bodies {
		if late, holds := p.late(now); late > 0 {
			list = append(list, lateBody{p, late, holds})
		}
	}
	slices.SortFunc(list, func(a, b lateBody) int { return cmp.Compare(b.late, a.late) })
	free := int64(0)
	for _, l := range list {
		if free >= s.wanted {
			return
		}
		l.body.Cut(errCutForOthers)
		delete(s.bodies, l.body)
		free += l.holds
	}
}
