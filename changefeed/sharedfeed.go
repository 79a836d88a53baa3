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

// Bounds of the pieces that a shared feed holds for its subscribers, in bytes and in number. The last one bounds the wait
// for subscribers that have not taken the oldest piece yet.
const (
	maxWindowBytes    = 1 << 20
	maxWindow         = 256
	maxSubscriberWait = 100 * time.Millisecond
)

// Bounds of the CPU time that a shared feed takes to wake its subscribers and write to their connections. If they are many, it
// lets changes collect, so that each write has several.
const (
	writeCost   = 75 * time.Microsecond // some two times what one costs
	maxCollect  = 100 * time.Millisecond
	collectFrom = time.Millisecond // waiting for less is not worth a timer
)

// errTooSlow says that a subscriber has not kept up with its shared feed.
var errTooSlow = errors.New("left behind")

// sharedFeed reads the changes at the head once for all subscribers that ask the same. It runs while it has any.
type sharedFeed struct {
	feed *Feed
	key  string
	scan *scan // run's
	end  context.CancelFunc
	done chan struct{} // is closed when run has ended

	mu           sync.Mutex
	at           fanfold.Position // everything up to here was read
	from         fanfold.Position // every later change that is asked for is in the window
	beforeWindow *piece           // the one before the window's oldest
	latest       *piece
	count        int            // of the window
	size         int            // of the window, in bytes
	small        int            // of it, what the pieces without a lease of their own have
	lease        *sending.Lease // for small
	subs         map[*subscription]struct{}
	moved        chan struct{} // receives when nobody stands before the window any more
	err          error         // why it has ended
}

// piece is some rows, written once for all subscribers. A shared feed's lock guards what changes in it.
type piece struct {
	rows []span
	text []byte           // of the rows, as server-sent events
	last fanfold.Position // everything up to here was read

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

// rowsAfter returns the rows later than a position.
func (p *piece) rowsAfter(after fanfold.Position) []span {
	return p.rows[sort.Search(len(p.rows), func(i int) bool { return p.rows[i].at > after }):]
}

// subscription is a consumer's place in a shared feed.
type subscription struct {
	shared  *sharedFeed
	last    *piece // taken last, or the one after which it began
	tooSlow bool   // it was dropped, and reads by itself
}

// join returns a place in the shared feed of all that ask the same, from a position on. It is nil where the shared feed is already
// further, so that the consumer has to read more by itself. The caller leaves it.
func (f *Feed) join(req *request, at fanfold.Position) *subscription {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.sharedFeeds[req.shape]
	if t == nil {
		t = f.newSharedFeed(req, at)
		f.sharedFeeds[req.shape] = t
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if at < t.from {
		return nil
	}
	sub := &subscription{shared: t, last: t.beforeWindow}
	for sub.last.next != nil && sub.last.next.last <= at {
		sub.last = sub.last.next
	}
	sub.last.standing++
	t.subs[sub] = struct{}{}
	return sub
}

// newSharedFeed starts a shared feed from a position on.
func (f *Feed) newSharedFeed(req *request, at fanfold.Position) *sharedFeed {
	own := *req
	own.since, own.Limit, own.fresh = at, 0, 0
	start := &piece{more: make(chan struct{}), last: at, dropped: true}
	t := &sharedFeed{feed: f, key: req.shape, scan: f.newScan(&own), done: make(chan struct{}), at: at, from: at, beforeWindow: start, latest: start,
		lease: f.opt.Budget.Lease(), subs: map[*subscription]struct{}{}, moved: make(chan struct{}, 1)}
	t.scan.beforeWait, t.scan.onSent = t.clear, nil // the subscribers say what they have sent
	t.scan.rights, t.scan.rightsChanged = nil, nil  // and end with rights of their own, which include the same as all others'
	var ctx context.Context
	ctx, t.end = context.WithCancel(f.closed)
	go func() {
		defer close(t.done)
		t.fail(t.run(ctx))
	}()
	return t
}

// leave gives the place up. The last subscriber ends the shared feed, and waits for its end.
func (s *subscription) leave() {
	t := s.shared
	t.feed.mu.Lock()
	t.mu.Lock()
	if !s.tooSlow {
		s.last.standing--
	}
	delete(t.subs, s)
	t.trim()
	idle := len(t.subs) == 0
	t.mu.Unlock()
	if idle && t.feed.sharedFeeds[t.key] == t {
		delete(t.feed.sharedFeeds, t.key)
	}
	t.feed.mu.Unlock()
	if idle {
		t.end()
		<-t.done
	}
}

// next returns the next piece, which the caller releases, or nil where there is none yet. Errors are errTooSlow and why
// the shared feed has ended.
func (s *subscription) next() (*piece, error) {
	t := s.shared
	t.mu.Lock()
	defer t.mu.Unlock()
	p := s.last.next
	switch {
	case s.tooSlow:
		return nil, errTooSlow
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

// checkedUpTo returns a position up to which everything was read, and next returned what is asked for.
func (s *subscription) checkedUpTo() fanfold.Position {
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	if s.last.next != nil || s.tooSlow {
		return s.last.last
	}
	return s.shared.at
}

// release lets go of a piece.
func (s *subscription) release(p *piece) {
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	p.release()
}

// release lets go of a piece under the shared feed's lock. A piece that nobody uses gives back its room.
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
func (t *sharedFeed) trim() {
	for t.beforeWindow.standing == 0 && t.beforeWindow != t.latest && (t.beforeWindow.next.lease != nil || t.small > sending.Free) {
		t.drop()
	}
	if t.beforeWindow.standing == 0 {
		select {
		case t.moved <- struct{}{}:
		default:
		}
	}
}

// run reads what comes until ctx ends or the store fails.
func (t *sharedFeed) run(ctx context.Context) error {
	store := t.feed.store
	var sent time.Time
	out := &pieceWriter{shared: t, ctx: ctx}
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
func (t *sharedFeed) collect() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return min(time.Duration(len(t.subs))*writeCost, maxCollect)
}

// fail ends the shared feed for its subscribers.
func (t *sharedFeed) fail(err error) {
	t.feed.mu.Lock()
	defer t.feed.mu.Unlock()
	if t.feed.sharedFeeds[t.key] == t {
		delete(t.feed.sharedFeeds, t.key) // whoever comes next begins a new one
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
	close(t.latest.more)
	for t.beforeWindow != t.latest {
		t.drop()
	}
}

// add puts a piece at the window's end, and makes room there. It blocks for patience at most.
func (t *sharedFeed) add(ctx context.Context, p *piece) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shrink(ctx, func() bool { return t.count < maxWindow && t.size+len(p.text) <= maxWindowBytes && t.holds(p) })
	t.latest.next, p.users = p, 1
	close(t.latest.more)
	t.latest = p
	t.count++
	t.size += len(p.text)
	t.at = p.last
}

// holds reports whether the window's lease has room for one more piece, and takes it.
func (t *sharedFeed) holds(p *piece) bool {
	if p.lease != nil {
		return true
	}
	if !t.lease.TryHold(t.small + len(p.text)) {
		return false
	}
	t.small += len(p.text)
	return true
}

// clear empties the window, before the shared feed waits for room that others may need to get on.
func (t *sharedFeed) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shrink(context.Background(), func() bool { return false })
}

// shrink drops the oldest pieces until there is enough room or no piece is left. It waits for subscribers that have yet to
// take one, for patience at most in all, and goes on without them then. It is called with the lock, and gives it up while
// it waits.
func (t *sharedFeed) shrink(ctx context.Context, enough func() bool) {
	late := time.NewTimer(maxSubscriberWait)
	defer late.Stop()
	patient := true
	for !enough() && t.beforeWindow != t.latest {
		if t.beforeWindow.standing == 0 || !patient {
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

// drop takes the oldest piece out of the window. A subscriber that has not taken it yet is dropped, too.
func (t *sharedFeed) drop() {
	if t.beforeWindow.standing > 0 {
		for sub := range t.subs {
			if sub.last == t.beforeWindow && !sub.tooSlow {
				sub.tooSlow = true
				sub.last.standing--
			}
		}
	}
	p := t.beforeWindow.next
	t.beforeWindow, t.from, p.dropped = p, p.last, true
	t.count--
	t.size -= len(p.text)
	if p.lease == nil {
		t.small -= len(p.text)
		t.lease.TryHold(t.small) // which is less
	}
	p.release()
}

// pieceWriter makes pieces of the rows that a shared feed reads.
type pieceWriter struct {
	shared *sharedFeed
	ctx    context.Context
	rows   []span
	text   sending.Buffer
}

// row adds one change.
func (o *pieceWriter) row(row fanfold.ChangeRow) error {
	s := span{at: row.Position, event: o.text.Len()}
	o.text.AddString(beforeID + o.shared.scan.req.issuer.Mark(row.Position).String() + beforeRow)
	s.json = o.text.Len()
	addRow(&o.text, onOneLine(row), o.shared.scan.req.issuer, o.shared.scan.req)
	s.end = o.text.Len()
	o.text.AddString(afterRow)
	o.rows = append(o.rows, s)
	return nil
}

// flush hands what was added to the subscribers. A large piece takes the lease of the page over.
func (o *pieceWriter) flush() error {
	t := o.shared
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
