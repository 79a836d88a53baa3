package changefeed

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
)

// transport sends an endless feed to one consumer.
type transport interface {
	output // alive sends a heartbeat
	// share sends the rows of a piece that are after a position. It may keep them until flush.
	share(p *piece, after fanfold.Position) error
	// finish sends the last words of a feed that ends because of err, and ends it. Nothing else is called then.
	finish(err error)
}

// errQuiet says that no change came for the request's timeout.
var errQuiet = errors.New("no change came in time")

// stream is an endless feed for one consumer.
type stream struct {
	feed  *Feed
	scan  *scan
	out   transport
	beats *time.Ticker
	quiet *time.Timer // ends it; nil for never
	sent  int         // rows, when the timers were set last

	at  atomic.Uint64                // the scan's position, for the consumer's lag
	sub atomic.Pointer[subscription] // while it follows a shared feed
}

// stream sends changes until the consumer leaves, the limit or the timeout is reached or the feed is closed: each row, and
// after each quiet heartbeat interval the position alone. A consumer that has caught up shares the reading with all that
// ask the same, until it lags again.
func (f *Feed) stream(ctx context.Context, s *scan, out transport) {
	st := &stream{feed: f, scan: s, out: out, beats: time.NewTicker(s.req.Heartbeat)}
	defer st.beats.Stop()
	defer f.answers.follow(st)()
	if s.req.quiet {
		st.quiet = time.NewTimer(s.req.timeout)
		defer st.quiet.Stop()
	}
	out.finish(st.run(ctx))
}

// run catches up and follows, until one of them fails.
func (st *stream) run(ctx context.Context) error {
	if err := st.out.flush(); err != nil {
		return err
	}
	for {
		if err := st.catchUp(ctx); err != nil {
			return err
		}
		alone, err := st.alone()
		switch {
		case err != nil:
		case alone:
			err = st.await(ctx)
		default:
			err = st.follow(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// alone reports whether the consumer reads by itself also at the head. It does if it ends somewhere within the rows, or has
// come from a node that is ahead and the others have yet to get there.
func (st *stream) alone() (bool, error) {
	if st.scan.req.Limit > 0 {
		return true, nil
	}
	_, head, err := st.feed.store.Bounds()
	return head.Seq() < st.scan.at.Seq(), err
}

// catchUp sends each change up to the newest one. It sends heartbeats where rows that are asked for are far between.
func (st *stream) catchUp(ctx context.Context) error {
	for ctx.Err() == nil {
		pending, err := st.scan.sendPage(ctx, st.out)
		st.scan.lease.Release()
		if err != nil {
			return err
		}
		st.at.Store(uint64(st.scan.at))
		st.restart()
		if pending == 0 {
			return nil
		}
		select {
		case <-st.beats.C:
			if err := st.out.alive(); err != nil {
				return err
			}
		default:
		}
	}
	return ctx.Err()
}

// restart sets the timers back where rows were sent since.
func (st *stream) restart() {
	if st.sent == st.scan.sent {
		return
	}
	st.sent = st.scan.sent
	st.beats.Reset(st.scan.req.Heartbeat)
	if st.quiet != nil {
		st.quiet.Reset(st.scan.req.timeout)
	}
}

// await blocks until more is folded.
func (st *stream) await(ctx context.Context) error {
	store, seq := st.feed.store, st.scan.head.Seq()
	for {
		if err := st.wait(ctx, store.Changed(seq)); err != nil {
			return err
		}
		if store.Wait(ctx, seq+1) == nil {
			return nil
		}
		if err := st.wait(ctx, closeAfter(stoppedPause)); err != nil { // nothing more is folded for now
			return err
		}
	}
}

// stoppedPause is how long a feed waits before it looks again whether folding goes on.
const stoppedPause = time.Second

// closeAfter returns a channel that is closed after some time.
func closeAfter(d time.Duration) <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

// follow sends what the shared feed reads. It returns nil where the consumer was too slow for it.
func (st *stream) follow(ctx context.Context) error {
	sub := st.feed.join(st.scan.req, st.scan.at)
	if sub == nil {
		return nil
	}
	defer sub.leave()
	st.sub.Store(sub)
	defer st.sub.Store(nil)
	for ctx.Err() == nil {
		if err := st.scan.noticeRights(); err != nil {
			return err
		}
		p, err := sub.next()
		switch {
		case errors.Is(err, errTooSlow):
			return st.out.flush()
		case err != nil:
			return err
		case p != nil:
			if err := st.share(ctx, sub, p); err != nil {
				return err
			}
		case st.sent != st.scan.sent:
			st.restart()
			if err := st.out.flush(); err != nil {
				return err
			}
		default:
			if err := st.waitAtHead(ctx, sub); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// share sends a piece of the shared feed, and lets go of it.
func (st *stream) share(ctx context.Context, sub *subscription, p *piece) error {
	defer sub.release(p)
	if p.last <= st.scan.at { // the consumer has read that far by itself
		return nil
	}
	st.scan.sent += len(p.rows)
	err := st.out.share(p, st.scan.at)
	if st.scan.onSent != nil {
		last := uint64(0)
		for _, row := range p.rowsAfter(st.scan.at) {
			if seq := row.at.Seq(); seq != last {
				st.scan.onSent(ctx, seq)
				last = seq
			}
		}
	}
	st.scan.moveTo(p.last)
	st.at.Store(uint64(st.scan.at))
	return err
}

// wait blocks until a channel is closed, and sends heartbeats meanwhile. Errors are errQuiet, errRightsChanged, the transport's
// and ctx's.
func (st *stream) wait(ctx context.Context, more <-chan struct{}) error {
	for {
		due, err := st.waitForBeat(ctx, more)
		if err != nil || !due {
			return err
		}
		if err := st.out.alive(); err != nil {
			return err
		}
	}
}

// waitAtHead is wait for more of the shared feed, whose position the heartbeats carry.
func (st *stream) waitAtHead(ctx context.Context, sub *subscription) error {
	due, err := st.waitForBeat(ctx, sub.more())
	if err != nil || !due {
		return err
	}
	if at := sub.checkedUpTo(); at > st.scan.at {
		st.scan.moveTo(at)
		st.at.Store(uint64(at))
	}
	return st.out.alive()
}

// waitForBeat blocks until a channel is closed or a heartbeat is due.
func (st *stream) waitForBeat(ctx context.Context, more <-chan struct{}) (due bool, err error) {
	var quiet <-chan time.Time
	if st.quiet != nil {
		quiet = st.quiet.C
	}
	for {
		select {
		case <-more:
			return false, nil
		case <-st.beats.C:
			return true, st.scan.checkRights() // a node that cannot read the keys is told of no change
		case <-st.scan.rightsChanged:
			if err := st.scan.checkRights(); err != nil {
				return false, err
			}
		case <-quiet:
			return false, errQuiet
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// onOneLine returns a row whose JSON has no line breaks, which are white space there: a document may have been written
// with some.
func onOneLine(row fanfold.ChangeRow) fanfold.ChangeRow {
	if row.Doc != nil {
		doc := *row.Doc
		doc.Body = withoutBreaks(doc.Body)
		row.Doc = &doc
	}
	if len(row.Previous) > 0 {
		change := *row.Change
		change.Previous = withoutBreaks(change.Previous)
		row.Change = &change
	}
	return row
}

// withoutBreaks returns JSON with spaces for its line breaks.
func withoutBreaks(text []byte) []byte {
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') < 0 { // much faster than one look at each byte
		return text
	}
	text = bytes.Clone(text)
	for i, c := range text {
		if c == '\r' || c == '\n' {
			text[i] = ' '
		}
	}
	return text
}
