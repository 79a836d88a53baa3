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

// EachChange calls fn with each change behind a position, without its values, until fn returns false. With latest it leaves
// out those that are not the newest of their documents.
func (s *Snapshot) EachChange(after fanfold.Position, latest bool, fn func(ch *fanfold.Change) bool) error {
	err := s.c.query("SELECT "+latestColumns+fromChange+"WHERE c.position > ? ORDER BY c.position", func(r []sqlValue) error {
		ch, err := s.scanChange(r)
		if err != nil {
			return err
		}
		if latest {
			if newest, err := s.isNewest(ch); err != nil || !newest {
				return err
			}
		}
		if !fn(ch) {
			return errStopRows
		}
		return nil
	}, int64(after))
	if errors.Is(err, errStopRows) {
		return nil
	}
	return err
}
