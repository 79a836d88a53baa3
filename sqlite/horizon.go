package sqlite

import (
	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// storedHorizon is the row of table horizon; the zero value where there is none.
type storedHorizon struct {
	fanfold.Horizon

	base uint64 // the horizon on whose base the file was built; 0 where it was built from the first event
	read bool
}

// Horizon returns where the store begins, as the last compact event that was folded says. base is the horizon on whose base the file was
// built: less until it was built anew.
func (s *Snapshot) Horizon() (h fanfold.Horizon, base uint64, err error) {
	if !s.horizon.read {
		if s.horizon, err = readHorizon(s.c); err != nil {
			return h, 0, err
		}
	}
	return s.horizon.Horizon, s.horizon.base, nil
}

// readHorizon reads the row of table horizon.
func readHorizon(c *driver.Conn) (h storedHorizon, err error) {
	_, err = c.QueryRow("SELECT seq, event, digest, position, changes, time, base FROM horizon WHERE id = 1", func(r driver.Row) {
		h.Horizon = fanfold.Horizon{Seq: uint64(r.Int(0)), Event: digestOf(r.Blob(1)), Digest: digestOf(r.Blob(2)), Position: fanfold.Position(r.Int(3)),
			Changes: r.Int(4), Time: timeOf(r.Int(5))}
		h.base = uint64(r.Int(6))
	})
	h.read = err == nil
	return h, err
}

// SetHorizon records that the store begins at a horizon, unless it begins there or later already. A file that was built on a base folds the
// compact events of earlier horizons, too.
func (tx *Tx) SetHorizon(h fanfold.Horizon) error {
	return writeHorizon(tx.c, h, 0)
}

// writeHorizon writes the row of table horizon. A file keeps the base on which it was built.
func writeHorizon(c *driver.Conn, h fanfold.Horizon, base uint64) error {
	return c.Exec(`INSERT INTO horizon (id, seq, event, digest, position, changes, time, base) VALUES (1, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, event = excluded.event, digest = excluded.digest, position = excluded.position,
		changes = excluded.changes, time = excluded.time WHERE excluded.seq > seq`,
		int64(h.Seq), h.Event[:], h.Digest[:], int64(h.Position), h.Changes, h.Time.UnixNano(), int64(base))
}

// Oldest returns the oldest position that can be read: 0 unless the store begins at a horizon.
func (s *Snapshot) Oldest() (at fanfold.Position, err error) {
	h, _, err := s.Horizon()
	return h.At(), err
}

// requireKept returns an error where changes after a position are no longer kept. It is PositionGone.
func (s *Snapshot) requireKept(after fanfold.Position) error {
	oldest, err := s.Oldest()
	if err != nil || after >= oldest {
		return err
	}
	gone := fanfold.Errorf(fanfold.PositionGone, "changes after %s are no longer kept: the oldest position is %s", after, oldest)
	gone.Oldest = &fanfold.Bookmark{Position: oldest}
	return gone
}

// versionAtHorizon returns a document as it was at the horizon, as a change that led to it, without values. It is nil where the document was
// not there, or the position is later.
func (cs changes) versionAtHorizon(key fanfold.Key, number int64, at fanfold.Position) (ch *fanfold.Change, err error) {
	_, err = cs.c.QueryRow("SELECT position, revision, updated FROM horizon_version WHERE number = ? AND position >= ?", func(r driver.Row) {
		ch = &fanfold.Change{Position: fanfold.Position(r.Int(0)), Key: key, Number: number, Op: fanfold.OpDerive, Revision: fanfold.Revision(r.Int(1)), Time: timeOf(r.Int(2))}
	}, number, int64(at))
	return ch, err
}
