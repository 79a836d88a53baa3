package changefeed

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/sending"
)

// Bounds of what is held in memory for one consumer: change rows, and the bytes of a page where the budget has room for
// that now. If it has none, a page has sending.Small bytes, or one row.
const (
	maxPageRows  = 256
	maxPageBytes = 1 << 20
)

// nearHead is how many events a consumer may have to go without a wait for consumers that have more.
const nearHead = 256

// scan is one consumer's way through the changes.
type scan struct {
	store      Store
	lease      *sending.Lease // for the page that is being sent
	req        *request
	filtering  chan struct{}                         // see Feed
	leftOut    func(rows int)                        // see Feed
	at         fanfold.Position                      // everything up to here was looked at
	head       fanfold.Position                      // where the store stood; before at where the consumer has been at a node that is ahead
	pending    int64                                 // how many changes are after at
	uncounted  bool                                  // that is not known
	sent       int                                   // rows
	noValue    int                                   // rows that were left out because the filter has no value for them
	lastSeq    uint64                                // event of the last row sent
	lastTx     string                                // and its transaction
	sentAt     time.Time                             // when something was sent, or the scan began
	onSent     func(ctx context.Context, seq uint64) // see Options; nil for nobody
	work       scanWork
	beforeWait func() // is called before waiting for room, to give back what is held besides; nil for none

	rights        *access.Rights  // with which it ends; nil for a shared feed's own scan
	rightsChanged <-chan struct{} // is closed once they may not hold any more
	rightsLost    bool            // they do not
}

// newScan returns a scan from the position on that a request names.
func (f *Feed) newScan(req *request) *scan {
	return &scan{store: f.store, lease: f.opt.Budget.Lease(), filtering: f.filtering, work: scanWork{now: f.opt.Now, endless: req.Transport != Normal && req.Transport != LongPoll}, leftOut: f.leftOut, onSent: f.opt.OnSent, req: req, at: req.since, head: req.head, sentAt: time.Now(),
		rights: req.Rights, rightsChanged: req.Rights.Changed()}
}

// bookmark returns the position up to which everything was looked at, as it is given out.
func (s *scan) bookmark() fanfold.Bookmark { return s.req.issuer.Mark(s.at) }

// moveTo goes on to a position that somebody else has looked at everything up to.
func (s *scan) moveTo(at fanfold.Position) { s.at, s.head = at, max(s.head, at) }

// ahead reports whether the consumer has been at a node that is ahead of this one.
func (s *scan) ahead() bool { return s.at.Seq() > s.head.Seq() }

// lastSeqMembers returns the members last_seq and, where the consumer is ahead, head of what says where the scan stands.
func (s *scan) lastSeqMembers() string {
	members := `"last_seq":"` + s.bookmark().String() + `"`
	if s.ahead() {
		members += `,"head":"` + s.req.issuer.Mark(s.head).String() + `"`
	}
	return members
}

// heartbeat returns what a quiet feed says: up to where everything was looked at, and where this node stands if that is
// before it.
func (s *scan) heartbeat() string {
	if s.ahead() {
		if _, head, err := s.store.Bounds(); err == nil {
			s.head = max(s.head, head)
		}
	}
	return "{" + s.lastSeqMembers() + "}"
}

// pendingMember returns the member pending: how many of the changes that the consumer asks for are still to be looked
// at. It is empty where they cannot be counted without looking at them, and for whoever does not read all collections.
func (s *scan) pendingMember() string {
	if s.req.reads != nil || s.ahead() || s.uncounted || s.pending > 0 && s.req.filters() {
		return ""
	}
	return `,"pending":` + strconv.FormatInt(s.pending, 10)
}

// errLimitReached says that as many rows as asked for were sent.
var errLimitReached = errors.New("limit reached")

// output takes rows, and sends them to one consumer or to many.
type output interface {
	// row adds a row. It may send what was added before.
	row(row fanfold.ChangeRow) error
	// flush sends what was added. It blocks until the client has room for it, or the write deadline.
	flush() error
	// alive is called while the feed waits for room, so that the consumer sees that it is there.
	alive() error
}

// Bounds of what one answer looks at without a row for it.
const (
	maxPassed  = 256 // pages of maxPageRows
	maxLooking = 5 * time.Second
)

// errWorkBound says that the answer has looked at as much as one may.
var errWorkBound = errors.New("much was looked at")

// scanWork is what a scan has done since its last row, and since its turn.
type scanWork struct {
	now       func() time.Time
	endless   bool                     // the answer ends by nothing that it looks at
	begin     time.Time                // when it began to look for the next row
	passed    int                      // pages that it has looked at since
	evaluated int                      // how often the filter and rules were, since it is this feed's turn
	grants    map[string]*access.Grant // by collection, where a rule decides
}

// look begins to look for the next row.
func (w *scanWork) look() { w.begin, w.passed = w.now(), 0 }

// pass counts a page without rows. It returns errWorkBound where the answer is to end for that.
func (w *scanWork) pass() error {
	w.passed++
	if w.endless || w.passed < maxPassed && w.now().Sub(w.begin) < maxLooking {
		return nil
	}
	return errWorkBound
}

// sendToHead sends each change after at, up to the newest one, and returns nil there. It returns errLimitReached after the event or
// transaction that reaches the limit, so that neither is cut, errWorkBound, and errRightsChanged. The client has the sent rows then, and
// none is held. Other errors are the output's, the store's and ctx's.
func (s *scan) sendToHead(ctx context.Context, out output) error {
	s.work.look()
	for ctx.Err() == nil {
		sent := s.sent
		pending, err := s.sendPage(ctx, out)
		s.lease.Release()
		if err != nil || pending == 0 {
			return err
		}
		if s.sent > sent {
			s.work.look()
		} else if err := s.work.pass(); err != nil {
			s.uncounted = true
			return err
		}
		if time.Since(s.sentAt) > s.req.Heartbeat { // of much that was looked at, nothing was asked for
			if err := out.alive(); err != nil {
				return err
			}
			s.sentAt = time.Now()
		}
	}
	return ctx.Err()
}

// sendPage sends the next page of changes, and returns how many changes come after it. The error is errRightsChanged where the
// consumer has lost its rights: what it has added to the output is sent with the last words.
func (s *scan) sendPage(ctx context.Context, out output) (pending int64, err error) {
	if err := s.checkRights(); err != nil {
		return 0, err
	}
	page, err := s.nextPage(ctx, out)
	if err == nil {
		err = s.applyAll(ctx, &page, out)
	}
	if err != nil {
		return 0, err
	}
	for i, row := range page.Rows {
		if err := s.noticeRights(); err != nil { // a client may take long to read what goes before
			s.reportSent(ctx, page.Rows[:i])
			return 0, err
		}
		if s.req.Limit > 0 && s.sent >= s.req.Limit && row.Position.Seq() != s.lastSeq && (row.Tx == "" || row.Tx != s.lastTx) {
			s.pending = page.Changes - row.Ordinal + 1
			return s.pending, cmp.Or(out.flush(), errLimitReached)
		}
		if err := out.row(row); err != nil {
			return 0, err
		}
		s.sent++
		s.at, s.lastSeq, s.lastTx = row.Position, row.Position.Seq(), row.Tx
	}
	s.reportSent(ctx, page.Rows)
	s.at, s.pending, s.uncounted, s.head = page.Last, page.Pending, page.Uncounted, page.Head
	if len(page.Rows) > 0 {
		err = out.flush()
		s.sentAt = time.Now()
	}
	if err == nil && s.limitReached(page) {
		err = errLimitReached
	}
	return page.Pending, err
}

// applyAll takes out of a page what the consumer may not see, and then what its filter leaves out. Errors are applyFilter's.
func (s *scan) applyAll(ctx context.Context, page *fanfold.ChangePage, out output) error {
	s.applyRights(page)
	if err := s.applyRules(ctx, page, out); err != nil {
		return err
	}
	return s.applyFilter(ctx, page, out)
}

// reportSent calls Options.OnSent with the events of rows.
func (s *scan) reportSent(ctx context.Context, rows []fanfold.ChangeRow) {
	if s.onSent == nil {
		return
	}
	last := uint64(0)
	for _, row := range rows {
		if seq := row.Position.Seq(); seq != last {
			s.onSent(ctx, seq)
			last = seq
		}
	}
}

// limitReached reports whether the limit is reached and the event or transaction that reached it is over. It is over if a
// later one was looked at, or if nothing follows yet, for the read model has events and transactions whole.
func (s *scan) limitReached(page fanfold.ChangePage) bool {
	if s.req.Limit == 0 || s.sent < s.req.Limit {
		return false
	}
	return page.Pending == 0 || page.Last.Seq() > s.lastSeq && s.lastTx == ""
}

// nextPage reads the next page into what the lease holds then. It blocks until there is room for at least one row.
func (s *scan) nextPage(ctx context.Context, out output) (page fanfold.ChangePage, err error) {
	if !s.lease.TryHold(maxPageBytes) && !s.lease.TryHold(sending.Small) {
		if err := s.await(ctx, out, sending.Small); err != nil {
			return page, err
		}
	}
	for {
		q := s.req.query(s.at, s.lease.Held())
		q.AtHead = s.head.Seq() <= s.at.Seq()+nearHead
		page, err = s.store.Changes(q)
		if err != nil || page.Need == 0 {
			return page, s.explain(err)
		}
		if !s.lease.TryHold(page.Need) {
			if err := s.await(ctx, out, page.Need); err != nil {
				return page, err
			}
		}
	}
}

// await waits until the lease holds n bytes. Errors are ctx's, the output's and errRightsChanged.
func (s *scan) await(ctx context.Context, out output, n int) error {
	if s.beforeWait != nil {
		s.beforeWait()
	}
	ctx, cancel := context.WithCancel(ctx)
	held := make(chan error, 1)
	go func() { held <- s.lease.WaitToHold(ctx, n) }()
	beats := time.NewTicker(s.req.Heartbeat)
	defer beats.Stop()
	for {
		var err error
		select {
		case err := <-held:
			cancel()
			return err
		case <-s.rightsChanged:
			err = s.checkRights()
		case <-beats.C:
			err = out.alive()
		}
		if err != nil {
			cancel()
			return errors.Join(err, <-held)
		}
	}
}
