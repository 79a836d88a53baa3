package sqlite

import (
	"strings"
	"time"

	"github.com/fanfold/fanfold"
)

const changeColumns = "c.position, c.ordinal, c.collection, c.id, c.op, c.revision, c.time, c.rules, c.delta, c.previous, c.previous_source"

func changeOf(r []sqlValue) *fanfold.Change {
	ch := &fanfold.Change{Position: fanfold.Position(intOf(r[0])), Ordinal: intOf(r[1]),
		Key: fanfold.Key{Collection: textOf(r[2]), ID: textOf(r[3])}, Op: fanfold.Op(textOf(r[4])),
		Revision: fanfold.Revision(intOf(r[5])), Time: timeOf(r[6]), Delta: bytesOf(r[8]), Previous: bytesOf(r[9]), PreviousSource: bytesOf(r[10])}
	if rules := textOf(r[7]); rules != "" {
		ch.Rules = strings.Split(rules, ",")
	}
	return ch
}

// Changes returns up to limit changes after a position, in order.
func (s *Snapshot) Changes(after fanfold.Position, limit int) (changes []*fanfold.Change, err error) {
	err = s.c.query("SELECT "+changeColumns+" FROM change c WHERE c.position > ? ORDER BY c.position LIMIT ?", func(r []sqlValue) error {
		changes = append(changes, changeOf(r))
		return nil
	}, int64(after), int64(limit))
	return changes, err
}

// Change returns the change at a position, or nil.
func (s *Snapshot) Change(at fanfold.Position) (ch *fanfold.Change, err error) {
	_, err = s.c.first("SELECT "+changeColumns+" FROM change c WHERE c.position = ?", func(r []sqlValue) { ch = changeOf(r) }, int64(at))
	return ch, err
}

// IsLatest tells whether the change is its document's newest.
func (s *Snapshot) IsLatest(ch *fanfold.Change) (bool, error) {
	table := "document"
	if ch.Op == fanfold.OpDelete {
		table = "tombstone"
	}
	return s.c.first("SELECT 1 FROM "+table+" WHERE collection = ? AND id = ? AND position = ?", func([]sqlValue) {},
		ch.Key.Collection, ch.Key.ID, int64(ch.Position))
}

// OrdinalAt is how many changes there are up to and including a position.
func (s *Snapshot) OrdinalAt(p fanfold.Position) (n int64, err error) {
	_, err = s.c.first("SELECT ordinal FROM change WHERE position <= ? ORDER BY position DESC LIMIT 1",
		func(r []sqlValue) { n = intOf(r[0]) }, int64(p))
	return n, err
}

// Before returns the position of the last change that happened before t, 0 where there is none.
// Times never decrease from position to position, so it can halve the range.
func (s *Snapshot) Before(t time.Time) (fanfold.Position, error) {
	low, high := fanfold.Position(0), s.Checkpoint.Position // the answer is at low or behind it
	for low < high {
		mid := low + (high-low+1)/2
		var at fanfold.Position
		var when int64
		found, err := s.c.first("SELECT position, time FROM change WHERE position <= ? AND position > ? ORDER BY position DESC LIMIT 1",
			func(r []sqlValue) { at, when = fanfold.Position(intOf(r[0])), intOf(r[1]) }, int64(mid), int64(low))
		if err != nil {
			return 0, err
		}
		switch {
		case found && when < t.UnixNano():
			low = mid
		case found:
			high = at - 1
		default:
			// nothing between low and mid: look behind mid only
			next := fanfold.Position(0)
			behind, err := s.c.first("SELECT position FROM change WHERE position > ? AND position <= ? AND time < ? ORDER BY position LIMIT 1",
				func(r []sqlValue) { next = fanfold.Position(intOf(r[0])) }, int64(mid), int64(high), t.UnixNano())
			if err != nil {
				return 0, err
			}
			if !behind {
				return low, nil
			}
			low = next
		}
	}
	return low, nil
}
