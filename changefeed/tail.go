package changefeed

import (
	"context"
	"errors"
	"sort"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/sending"
)

// Bounds of what a tail keeps for its subscribers, in bytes and in pieces, and of how long it waits for those that have yet
// to take the oldest piece before it goes on without them.
const (
	maxWindowBytes = 1 << 20
	maxWindow      = 256
	patience       = 100 * time.Millisecond
)

// What a tail takes of a core at most for waking its subscribers and writing to their connections: where there are many,
// it lets changes collect, so that each write has several.
const (
	writeCost   = 75 * time.Microsecond // some two times what one costs
	maxCollect  = 100 * time.Millisecond
	collectFrom = time.Millisecond // waiting for less is not worth a timer
)

// errLeftBehind says that a subscriber has not kept up with its tail.
var errLeftBehind = errors.New("left behind")

// tail reads the changes at the head once for all subscribers that ask the same. It runs while it has any.
type tail struct {
	feed *Feed
	key  string
	scan *scan // run's
	end  context.CancelFunc
	done chan struct{} // is closed when run has ended

	mu     sync.Mutex
	at     fanfold.Position // everything up to here was looked at
	from   fanfold.Position // everything behind it that is asked for is in the window
	before *piece           // the one before the window's oldest
	newest *piece
	count  int            // of the window
	size   int            // of the window, in bytes
	small  int            // of it, what the pieces without a lease of their own have
	lease  *sending.Lease // for small
	subs   map[*subscription]struct{}
	moved  chan struct{} // receives when nobody stands before the window any more
	err    error         // why it has ended
}

// piece is some rows, written once for all subscribers. A tail's lock guards what changes in it.
type piece struct {
	rows []span
	text []byte           // of the rows, as server-sent events
	last fanfold.Position // everything up to here was looked at

	next     *piece
	more     chan struct{}  // is closed when there is a next one
	users    int            // subscribers that are sending it, and the window
	standing int            // subscribers that have taken it last
	lease    *sending.Lease // of a large one; nil for none
	dropped  bool           // it is not in the window any more
}

// span says where in the text of a piece a row is: its event from event on, its JSON from json to end.
type span struct {
	at               fanfold.Position
	event, json, end int
}

// behind returns the rows behind a position.
func (p *piece) behind(after fanfold.Position) []span {
	return p.rows[sort.Search(len(p.rows), func(i int) bool { return p.rows[i].at > after }):]
}

// subscription is a consumer's place in a tail.
type subscription struct {
	tail *tail
	last *piece // taken last, or the one behind which it began
	left bool   // it was left behind
}

// join returns a place in the tail of all that ask the same, from a position on. It is nil where the tail is already
// further, so that the consumer has to read more by itself. The caller leaves it.
func (f *Feed) join(req *request, at fanfold.Position) *subscription {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tails[req.shape]
	if t == nil {
		t = f.newTail(req, at)
		f.tails[req.shape] = t
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if at < t.from {
		return nil
	}
	sub := &subscription{tail: t, last: t.before}
	for sub.last.next != nil && sub.last.next.last <= at {
		sub.last = sub.last.next
	}
	sub.last.standing++
	t.subs[sub] = struct{}{}
	return sub
}

// newTail starts a tail from a position on.
func (f *Feed) newTail(req *request, at fanfold.Position) *tail {
	own := *req
	own.since, own.Limit, own.fresh = at, 0, 0
	start := &piece{more: make(chan struct{}), last: at, dropped: true}
	t := &tail{feed: f, key: req.shape, scan: f.newScan(&own), done: make(chan struct{}), at: at, from: at, before: start, newest: start,
		lease: f.opt.Budget.Lease(), subs: map[*subscription]struct{}{}, moved: make(chan struct{}, 1)}
	t.scan.yield, t.scan.onSent = t.clear, nil // the subscribers say what they have sent
	var ctx context.Context
	ctx, t.end = context.WithCancel(f.closed)
	go func() {
		defer close(t.done)
		t.fail(t.run(ctx))
	}()
	return t
}

// leave gives the place up. The last subscriber ends the tail, and waits for its end.
func (s *subscription) leave() {
	t := s.tail
	t.feed.mu.Lock()
	t.mu.Lock()
	if !s.left {
		s.last.standing--
	}
	delete(t.subs, s)
	t.trim()
	idle := len(t.subs) == 0
	t.mu.Unlock()
	if idle && t.feed.tails[t.key] == t {
		delete(t.feed.tails, t.key)
	}
	t.feed.mu.Unlock()
	if idle {
		t.end()
		<-t.done
	}
}

// next returns the next piece, which the caller releases, or nil where there is none yet. Errors are errLeftBehind and why
// the tail has ended.
func (s *subscription) next() (*piece, error) {
	t := s.tail
	t.mu.Lock()
	defer t.mu.Unlock()
	p := s.last.next
	switch {
	case s.left:
		return nil, errLeftBehind
	case p == nil:
		return nil, t.err
	}
	s.last.standing--
	p.standing++
	p.users++
	s.last = p
	t.trim()
	return p, nil
}

// more returns a channel that is closed when next has something new to say.
func (s *subscription) more() <-chan struct{} { return s.last.more }

// looked returns a position up to which everything was looked at, and what is asked for was returned by next.
func (s *subscription) looked() fanfold.Position {
	s.tail.mu.Lock()
	defer s.tail.mu.Unlock()
	if s.last.next != nil || s.left {
		return s.last.last
	}
	return s.tail.at
}

// release lets go of a piece.
func (s *subscription) release(p *piece) {
	s.tail.mu.Lock()
	defer s.tail.mu.Unlock()
	p.release()
}

// release lets go of a piece under the tail's lock. What nobody uses gives back its room.
func (p *piece) release() {
	if p.users--; p.users > 0 {
		return
	}
	p.text = nil
	if p.lease != nil {
		p.lease.Release()
	}
}

// trim drops what everybody has taken, but for a little, for those who are about to join. It tells run where nobody stands
// before the window any more.
func (t *tail) trim() {
	for t.before.standing == 0 && t.before != t.newest && (t.before.next.lease != nil || t.small > sending.Free) {
		t.drop()
	}
	if t.before.standing == 0 {
		select {
		case t.moved <- struct{}{}:
		default:
		}
	}
}

// run reads what comes until ctx ends or the store fails.
func (t *tail) run(ctx context.Context) error {
	store := t.feed.store
	var sent time.Time
	out := &pieceWriter{tail: t, ctx: ctx}
	for {
		select {
		case <-store.Changed(t.scan.head.Seq()):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause := time.Until(sent.Add(t.collect()))
		if store.Wait(ctx, t.scan.head.Seq()+1) != nil {
			pause = stoppedPause // nothing more is folded for now
		}
		if pause >= collectFrom {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := t.scan.sendToHead(ctx, out); err != nil {
			return err
		}
		t.mu.Lock()
		t.at = t.scan.at
		t.mu.Unlock()
		sent = time.Now()
	}
}

// collect returns for how long changes may collect.
func (t *tail) collect() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return min(time.Duration(len(t.subs))*writeCost, maxCollect)
}

// fail ends the tail for its subscribers.
func (t *tail) fail(err error) {
	t.feed.mu.Lock()
	defer t.feed.mu.Unlock()
	if t.feed.tails[t.key] == t {
		delete(t.feed.tails, t.key) // whoever comes next begins a new one
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
	close(t.newest.more)
	for t.before != t.newest {
		t.drop()
	}
}

// add puts a piece at the window's end, and makes room there. It blocks for patience at most.
func (t *tail) add(ctx context.Context, p *piece) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shrink(ctx, func() bool { return t.count < maxWindow && t.size+len(p.text) <= maxWindowBytes && t.holds(p) })
	t.newest.next, p.users = p, 1
	close(t.newest.more)
	t.newest = p
	t.count++
	t.size += len(p.text)
	t.at = p.last
}

// holds reports whether the window's lease has room for one more piece, and takes it.
func (t *tail) holds(p *piece) bool {
	if p.lease != nil {
		return true
	}
	if !t.lease.TryHold(t.small + len(p.text)) {
		return false
	}
	t.small += len(p.text)
	return true
}

// clear empties the window, before the tail waits for room that others may need to get on.
func (t *tail) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shrink(context.Background(), func() bool { return false })
}

// shrink drops the oldest pieces until there is enough room or no piece is left. It waits for subscribers that have yet to
// take one, for patience at most in all, and goes on without them then. It is called with the lock, and gives it up while
// it waits.
func (t *tail) shrink(ctx context.Context, enough func() bool) {
	late := time.NewTimer(patience)
	defer late.Stop()
	patient := true
	for !enough() && t.before != t.newest {
		if t.before.standing == 0 || !patient {
			t.drop()
			continue
		}
		t.mu.Unlock()
		select {
		case <-t.moved:
		case <-late.C:
			patient = false
		case <-ctx.Done():
			patient = false
		}
		t.mu.Lock()
	}
}

// drop takes the oldest piece out of the window. Who has yet to take it is left behind.
func (t *tail) drop() {
	if t.before.standing > 0 {
		for sub := range t.subs {
			if sub.last == t.before && !sub.left {
				sub.left = true
				sub.last.standing--
			}
		}
	}
	p := t.before.next
	t.before, t.from, p.dropped = p, p.last, true
	t.count--
	t.size -= len(p.text)
	if p.lease == nil {
		t.small -= len(p.text)
		t.lease.TryHold(t.small) // which is less
	}
	p.release()
}

// pieceWriter makes pieces of the rows that a tail reads.
type pieceWriter struct {
	tail *tail
	ctx  context.Context
	rows []span
	text sending.Buffer
}

// row adds one change.
func (o *pieceWriter) row(row fanfold.ChangeRow) error {
	s := span{at: row.Position, event: o.text.Len()}
	o.text.AddString(beforeID + o.tail.feed.opt.Issuer.Mark(row.Position).String() + beforeRow)
	s.json = o.text.Len()
	addRow(&o.text, onOneLine(row), o.tail.feed.opt.Issuer, o.tail.scan.req.AllChanges)
	s.end = o.text.Len()
	o.text.AddString(behindRow)
	o.rows = append(o.rows, s)
	return nil
}

// flush hands what was added to the subscribers. A large piece takes the lease of the page over.
func (o *pieceWriter) flush() error {
	t := o.tail
	p := &piece{rows: o.rows, text: o.text.Bytes(), last: t.scan.at, more: make(chan struct{})}
	o.rows = nil
	if len(p.text) > sending.Free {
		p.lease, t.scan.lease = t.scan.lease, t.feed.opt.Budget.Lease()
		p.lease.Shrink(len(p.text))
	}
	t.add(o.ctx, p)
	return o.ctx.Err()
}

// alive does nothing: the subscribers send their own heartbeats.
func (o *pieceWriter) alive() error { return nil }
