package sqlite

import (
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// Bounds of what one call of ChangedKeys looks at.
const (
	maxDiffChanges = 20_000
	maxDiffTime    = 500 * time.Millisecond
)

// ChangesBetween returns how many changes there are after one position and up to another, of every kind.
func (s *Snapshot) ChangesBetween(from, to fanfold.Position) (n int64, err error) {
	before, err := s.Ordinal(from)
	if err != nil {
		return 0, err
	}
	until, err := s.Ordinal(to)
	return until - before, err
}

// ChangedKeys adds to keys the documents that changed after one position and up to another, if keep says so. It returns the position that
// it has come to. It looks at maxDiffChanges at most. With direct it passes over derived changes.
func (s *Snapshot) ChangedKeys(from, to fanfold.Position, direct bool, keep func(fanfold.Key)) (last fanfold.Position, err error) {
	seen, n, begun := map[int64]bool{}, 0, time.Now()
	err = s.c.Query("SELECT position, coalesce(number, position >> 20), op IS NULL FROM change WHERE position > ? AND position <= ? AND op IS NOT 5 ORDER BY position", func(r driver.Row) error {
		if n == maxDiffChanges || n > 0 && time.Since(begun) > maxDiffTime {
			to = last
			return driver.ErrStop
		}
		n, last = n+1, fanfold.Position(r.Int(0))
		number := r.Int(1)
		if seen[number] || direct && r.Int(2) == 1 {
			return nil
		}
		seen[number] = true
		key, err := s.keyOf(number)
		if err == nil {
			keep(key)
		}
		return err
	}, int64(from), int64(to))
	return to, err
}

// keyOfSQL reads the key of a document by its number. Its first change may have been before the horizon.
const keyOfSQL = "SELECT collection, id FROM change WHERE position = ?1 << 20 AND collection IS NOT NULL" +
	" UNION ALL SELECT collection, id FROM document WHERE number = ?1 UNION ALL SELECT collection, id FROM " + deletedByNumber + "?1 LIMIT 1"

// keyOf returns the key of the document with a number, whether or not it is still there.
func (s *Snapshot) keyOf(number int64) (key fanfold.Key, err error) {
	found, err := s.c.QueryRow(keyOfSQL, func(r driver.Row) {
		key = fanfold.Key{Collection: r.Text(0), ID: r.Text(1)}
	}, number)
	if err == nil && !found {
		err = damagedHistory(fanfold.At(uint64(number), 0))
	}
	return key, err
}
