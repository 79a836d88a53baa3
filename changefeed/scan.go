package changefeed

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/sending"
)

// Bounds of what is held in memory for one consumer: change rows, and the bytes of a page where the budget has room for
// that now. Where it has not, a page has sending.Small bytes, or one row.
const (
	maxPageRows  = 256
	maxPageBytes = 1 << 20
)

// scan is one consumer's way through the changes.
type scan struct {
	store   Store
	lease   *sending.Lease // for the page that is being sent
	req     *request
	at      fanfold.Position // everything up to here was looked at
	pending int64            // how many changes are behind at
	sent    int              // rows
	lastSeq uint64           // event of the last row sent
	lastTx  string           // and its transaction
}

// newScan returns a scan from the position on that a request names.
func (f *Feed) newScan(req *request) *scan {
	return &scan{store: f.store, lease: f.opt.Budget.Lease(), req: req, at: req.since}
}

// errLimitReached says that as many rows as asked for were sent.
var errLimitReached = errors.New("limit reached")

// output sends rows to one consumer.
type output interface {
	// row adds a row. It may send what was added before.
	row(row fanfold.ChangeRow) error
	// flush sends what was added. It blocks until the client has room for it, or the write deadline.
	flush() error
	// alive is called while the feed waits for room, so that the consumer sees that it is there.
	alive() error
}

// sendToHead sends each change behind at, up to the newest one, and returns nil there. It returns errLimitReached behind
// the event or transaction that reaches the limit, so that neither is cut. What it has sent is with the client then, and
// none of it is held. Other errors are the output's, the store's and ctx's.
func (s *scan) sendToHead(ctx context.Context, out output) error {
	for ctx.Err() == nil {
		pending, err := s.sendPage(ctx, out)
		s.lease.Release()
		if err != nil || pending == 0 {
			return err
		}
	}
	return ctx.Err()
}

// sendPage sends the next page of changes, and returns how many changes are behind it.
func (s *scan) sendPage(ctx context.Context, out output) (pending int64, err error) {
	page, err := s.nextPage(ctx, out)
	if err != nil {
		return 0, err
	}
	for _, row := range page.Rows {
		if s.req.limit > 0 && s.sent >= s.req.limit && row.Position.Seq() != s.lastSeq && (row.Tx == "" || row.Tx != s.lastTx) {
			s.pending = page.Changes - row.Ordinal + 1
			return s.pending, cmp.Or(out.flush(), errLimitReached)
		}
		if err := out.row(row); err != nil {
			return 0, err
		}
		s.sent++
		s.at, s.lastSeq, s.lastTx = row.Position, row.Position.Seq(), row.Tx
	}
	s.at, s.pending = page.Last, page.Pending
	if len(page.Rows) > 0 {
		err = out.flush()
	}
	return page.Pending, err
}

// nextPage reads the next page into what the lease holds then. It blocks until there is room for at least one row.
func (s *scan) nextPage(ctx context.Context, out output) (page fanfold.ChangePage, err error) {
	if !s.lease.TryHold(maxPageBytes) && !s.lease.TryHold(sending.Small) {
		if err := s.await(ctx, out, sending.Small); err != nil {
			return page, err
		}
	}
	for {
		page, err = s.store.Changes(fanfold.ChangeQuery{After: s.at, Limit: maxPageRows, MaxBytes: s.lease.Held(), Collections: s.req.collections, Latest: !s.req.allChanges, Docs: s.req.includeDocs})
		if err != nil || page.Need == 0 {
			return page, err
		}
		if !s.lease.TryHold(page.Need) {
			if err := s.await(ctx, out, page.Need); err != nil {
				return page, err
			}
		}
	}
}

// await waits until the lease holds n bytes. Errors are ctx's and the output's.
func (s *scan) await(ctx context.Context, out output, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	held := make(chan error, 1)
	go func() { held <- s.lease.WaitToHold(ctx, n) }()
	beats := time.NewTicker(s.req.heartbeat)
	defer beats.Stop()
	var failed error
	for {
		select {
		case err := <-held:
			cancel()
			return errors.Join(failed, err)
		case <-beats.C:
			if failed == nil {
				if failed = out.alive(); failed != nil {
					cancel()
				}
			}
		}
	}
}
