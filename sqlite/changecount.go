package sqlite

import (
	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// Ordinal returns the number of changes up to a position.
func (s *Snapshot) Ordinal(at fanfold.Position) (n int64, err error) {
	found, err := s.c.QueryRow("SELECT "+changeOrdinal+fromChange+"WHERE c.position <= ? ORDER BY c.position DESC LIMIT 1",
		func(r driver.Row) { n = r.Int(0) }, int64(at))
	if found || err != nil {
		return n, err
	}
	h, _, err := s.Horizon()
	if at >= h.At() {
		n = h.Changes
	}
	return n, err
}

// EachChange calls fn with each change that q asks for, without its values, until fn returns false. It goes by q.After, the
// collections, kinds of changes and partition, and Latest. The error is PositionGone where changes after q.After are no longer kept.
func (s *Snapshot) EachChange(q fanfold.ChangeQuery, fn func(ch *fanfold.Change) bool) error {
	if err := s.requireKept(q.After); err != nil {
		return err
	}
	err := s.c.Query("SELECT "+latestColumns+fromChange+"WHERE c.position > ? ORDER BY c.position", func(r driver.Row) error {
		ch, err := s.changes().scan(r)
		if err != nil {
			return err
		}
		if !selects(q, ch) {
			return nil
		}
		if q.Latest {
			if newest, err := s.changes().isNewestOf(ch, q); err != nil || !newest {
				return err
			}
		}
		if !fn(ch) {
			return driver.ErrStop
		}
		return nil
	}, int64(q.After))
	return err
}
