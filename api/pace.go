package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// How fast a body must come.
const (
	minRate     = 1 << 10          // bytes a second, always: less than the slowest lines carry
	busyRate    = 16 << 10         // bytes a second while others wait for what the body holds
	busyPart    = 128              // and this part of what it holds each second, so that nobody holds much by sending little
	bodyTime    = 10 * time.Minute // for all of a body, or for a line of an import, while the server waits for it
	lineTime    = 3                // times Options.BodyGrace, in which an import must bring a whole line
	busyTime    = 0.3              // times Options.BodyGrace, which a body may be late while others wait
	cutInterval = 250 * time.Millisecond
)

// pacedBody is the body of a request, whose client must send it at a certain pace. Its time runs while a Read waits for the
// client, not while the server works. It is for one goroutine, but for cut.
type pacedBody struct {
	io.ReadCloser
	control *http.ResponseController
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

// newPacedBody returns a request's body, for which the connection has a deadline after grace.
func newPacedBody(c echo.Context, grace time.Duration) (*pacedBody, error) {
	now := time.Now()
	p := &pacedBody{ReadCloser: c.Request().Body, control: http.NewResponseController(c.Response()), began: now, until: now.Add(grace), grace: grace, left: grace, rest: bodyTime}
	p.busy = time.Duration(busyTime * float64(grace))
	p.spare = p.busy
	return p, supported(p.control.SetReadDeadline(p.until))
}

// paced returns the body of a request, which limitTime has replaced unless it is empty.
func (b *bodies) paced(c echo.Context) (*pacedBody, error) {
	if p, ok := c.Request().Body.(*pacedBody); ok {
		return p, nil
	}
	return newPacedBody(c, b.opt.BodyGrace)
}

// byLines makes lines the unit that counts; an import must bring one in lineTime.
func (p *pacedBody) byLines() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = true
	p.grace *= lineTime
	p.left = p.grace
}

// Read reads what has come, and waits for as long as the client may take. Errors are the body's, and TooSlow.
func (p *pacedBody) Read(b []byte) (int, error) {
	if err := p.begin(); err != nil {
		return 0, err
	}
	n, err := p.ReadCloser.Read(b)
	return n, p.end(n, err)
}

// begin begins to wait for the client.
func (p *pacedBody) begin() error {
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
	return supported(p.control.SetReadDeadline(until))
}

// end takes what has come into account, and returns the error of a Read that ended with err.
func (p *pacedBody) end(n int, err error) error {
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
func (p *pacedBody) busyRate() int64 { return max(busyRate, p.holds/busyPart) }

// tooSlow says what was due. It is a TooSlow.
func (p *pacedBody) tooSlow() error {
	if p.rest <= p.left {
		return fanfold.Errorf(fanfold.TooSlow, "the body did not arrive in time: all of it, or a line of an import, is due within %v; send less at once, or over a faster line", bodyTime)
	}
	if p.lines {
		return fanfold.Errorf(fanfold.TooSlow, "no whole line arrived within %v; blanks do not count: send lines as they are there, and end the import where there are none", p.grace)
	}
	return fanfold.Errorf(fanfold.TooSlow, "the body did not arrive in time: its first byte is due within %v, then %d bytes a second, with no pause of %v", p.grace, minRate, p.grace)
}

// part takes note that a part of a line has arrived: a long one may take as long as a body of its length.
func (p *pacedBody) part(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = min(p.left+timeFor(n, minRate), p.grace)
}

// line takes note that a line with n bytes has arrived, which is not blank.
func (p *pacedBody) line(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.rest = p.grace, bodyTime
	p.spare = min(p.spare+timeFor(n, p.busyRate()), p.busy)
}

// hold says how much the body holds, for which others may wait.
func (p *pacedBody) hold(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds = n
}

// late returns for how long the body has been late at a time, for those that wait, and what it holds.
func (p *pacedBody) late(now time.Time) (late time.Duration, holds int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since.IsZero() || p.ended != nil {
		return 0, 0
	}
	return now.Sub(p.since) - p.spare, p.holds
}

// cut ends the body with err. A Read that waits returns.
func (p *pacedBody) cut(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		p.ended = err
		_ = p.control.SetReadDeadline(time.Now())
	}
}

// context returns a context that ends when ctx, the request's, does. It goes on for answerTime if ctx ends because the body
// is too slow, so that the received part can be dealt with. Call cancel when done.
func (p *pacedBody) context(ctx context.Context) (out context.Context, cancel context.CancelFunc) {
	out, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if p.isTooSlow() {
			timeout := time.AfterFunc(answerTime, func() { end(context.Cause(ctx)) })
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
func (p *pacedBody) isTooSlow() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended != nil || !p.until.IsZero() && !time.Now().Before(p.until)
}

// begun tells whether anything of the body was asked for.
func (p *pacedBody) begun() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// ask takes note that the client is asked for the body before the first Read.
func (p *pacedBody) ask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = true
}

// complete removes the deadline: net/http would take it for the end of the client's connection when it passes.
func (p *pacedBody) complete() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = time.Time{}
	return supported(p.control.SetReadDeadline(p.until))
}

// errCutForOthers ends a body that is late while others wait.
var errCutForOthers = fanfold.Errorf(fanfold.TooSlow,
	"others wait for the room that this body holds, and it comes too slowly: send at least %d bytes a second, or again later", busyRate)

// senders are the bodies that hold something for which others wait. The zero value holds none.
type senders struct {
	mu      sync.Mutex
	bodies  map[*pacedBody]struct{}
	wanted  int64 // by those that wait
	waiting int
	done    chan struct{} // closed once nobody waits any more
}

// add adds a body, or takes note that it holds more.
func (s *senders) add(p *pacedBody, holds int64) {
	p.hold(holds)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bodies == nil {
		s.bodies = map[*pacedBody]struct{}{}
	}
	s.bodies[p] = struct{}{}
}

// remove removes a body, which holds nothing any more, or has come to its end.
func (s *senders) remove(p *pacedBody) {
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
		body  *pacedBody
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
		l.body.cut(errCutForOthers)
		delete(s.bodies, l.body)
		free += l.holds
	}
}
