package changefeed

import (
	"context"
	"errors"

	"github.com/fanfold/fanfold"
)

// maxPageRows bounds the change rows held in memory for one consumer.
const maxPageRows = 256

// scan is one consumer's way through the changes.
type scan struct {
	store   Store
	req     *request
	at      fanfold.Position // everything up to here was looked at
	pending int64            // how many changes are behind at
	sent    int              // rows
	lastSeq uint64           // event of the last row sent
	lastTx  string           // and its transaction
}

// errLimitReached says that as many rows as asked for were sent.
var errLimitReached = errors.New("limit reached")

// sendToHead calls send for each change behind at, up to the newest one, and returns nil there. It
// returns errLimitReached behind the event or transaction that reaches the limit, so that neither
// is cut. Other errors are send's, the store's and ctx's.
func (s *scan) sendToHead(ctx context.Context, send func(fanfold.ChangeRow) error) error {
	for ctx.Err() == nil {
		page, err := s.store.Changes(fanfold.ChangeQuery{After: s.at, Limit: maxPageRows, Collections: s.req.collections, Latest: !s.req.allChanges, Docs: s.req.includeDocs})
		if err != nil {
			return err
		}
		for _, row := range page.Rows {
			if s.req.limit > 0 && s.sent >= s.req.limit && row.Position.Seq() != s.lastSeq && (row.Tx == "" || row.Tx != s.lastTx) {
				s.pending = page.Changes - row.Ordinal + 1
				return errLimitReached
			}
			if err := send(row); err != nil {
				return err
			}
			s.sent++
			s.at, s.lastSeq, s.lastTx = row.Position, row.Position.Seq(), row.Tx
		}
		s.at, s.pending = page.Last, page.Pending
		if page.Pending == 0 {
			return nil
		}
	}
	return ctx.Err()
}
