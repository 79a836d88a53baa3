package sqlite

import (
	"errors"

	"github.com/fanfold/fanfold"
)

// Ordinal returns the number of changes up to a position.
func (s *Snapshot) Ordinal(at fanfold.Position) (n int64, err error) {
	_, err = s.c.queryRow("SELECT ordinal FROM change WHERE position <= ? ORDER BY position DESC LIMIT 1",
		func(r []sqlValue) { n = intOf(r[0]) }, int64(at))
	return n, err
}

// EachChange calls fn with each change that q asks for, without its values, until fn returns false. It goes by q.After, the
// collections, kinds of changes and partition, and Latest.
func (s *Snapshot) EachChange(q fanfold.ChangeQuery, fn func(ch *fanfold.Change) bool) error {
	err := s.c.query("SELECT "+latestColumns+fromChange+"WHERE c.position > ? ORDER BY c.position", func(r []sqlValue) error {
		ch, err := s.scanChange(r)
		if err != nil {
			return err
		}
		if !selects(q, ch) {
			return nil
		}
		if q.Latest {
			if newest, err := s.isNewestOf(ch, q); err != nil || !newest {
				return err
			}
		}
		if !fn(ch) {
			return errStopRows
		}
		return nil
	}, int64(q.After))
	if errors.Is(err, errStopRows) {
		return nil
	}
	return err
}
