package sqlite

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
)

// changeColumns are the columns of a change that scanChange reads, in its order.
const changeColumns = "c.position, c.ordinal, c.collection, c.id, c.op, c.revision, c.time, c.tx, c.rules, c.delta, c.previous, c.previous_source, c.prior, c.omitted"

// scanChange returns the change in a row of changeColumns.
func scanChange(r []sqlValue) *fanfold.Change {
	ch := &fanfold.Change{Position: fanfold.Position(intOf(r[0])), Ordinal: intOf(r[1]),
		Key: fanfold.Key{Collection: textOf(r[2]), ID: textOf(r[3])}, Op: fanfold.Op(textOf(r[4])),
		Revision: fanfold.Revision(intOf(r[5])), Time: timeOf(r[6]), Tx: textOf(r[7]), Delta: bytesOf(r[9]), Previous: bytesOf(r[10]), PreviousSource: bytesOf(r[11]), Prior: fanfold.Position(intOf(r[12])), Omitted: bytesOf(r[13])}
	if rules := textOf(r[8]); rules != "" {
		ch.Rules = strings.Split(rules, ",")
	}
	return ch
}

// Changes returns the page of the change feed that q asks for. The page ends early where its changes
// have more than 8 MiB.
func (s *Snapshot) Changes(q fanfold.ChangeQuery) (page fanfold.ChangePage, err error) {
	changes, full, err := s.changesAfter(q.After, q.Limit)
	if err != nil {
		return page, err
	}
	page.Last, page.Changes = max(q.After, s.Checkpoint.At()), s.Checkpoint.Changes
	if full {
		last := changes[len(changes)-1]
		page.Last, page.Pending = last.Position, s.Checkpoint.Changes-last.Ordinal
	}
	var cause *fanfold.Change
	for _, ch := range changes {
		if asked, err := s.isAskedFor(ch, q); err != nil {
			return page, err
		} else if !asked {
			continue
		}
		row := fanfold.ChangeRow{Change: ch}
		if ch.Op == fanfold.OpDerive {
			if cause, err = s.firstOfEvent(ch.Position.Seq(), cause); err != nil {
				return page, err
			}
			if cause != nil && cause.Op != fanfold.OpDerive {
				row.Cause = &cause.Key
			}
		}
		if q.Docs && ch.Op != fanfold.OpDelete {
			if row.Doc, err = s.Get(ch.Key, fanfold.Embedded); err != nil {
				return page, err
			}
		}
		page.Rows = append(page.Rows, row)
	}
	return page, nil
}

// isAskedFor reports whether a query that looks at a change wants to see it.
func (s *Snapshot) isAskedFor(ch *fanfold.Change, q fanfold.ChangeQuery) (bool, error) {
	if len(q.Collections) > 0 && !slices.Contains(q.Collections, ch.Key.Collection) {
		return false, nil
	}
	if !q.Latest {
		return true, nil
	}
	return s.isNewest(ch)
}

// changesAfter returns up to limit changes behind a position, fewer where they are large. full is
// false where the changes end with the snapshot.
func (s *Snapshot) changesAfter(after fanfold.Position, limit int) (changes []*fanfold.Change, full bool, err error) {
	size := 0
	err = s.c.query("SELECT "+changeColumns+" FROM change c WHERE c.position > ? ORDER BY c.position LIMIT ?", func(r []sqlValue) error {
		ch := scanChange(r)
		changes = append(changes, ch)
		size += len(ch.Delta) + len(ch.Previous) + len(ch.PreviousSource)
		if size > pageBytes {
			return errStopRows
		}
		return nil
	}, int64(after), int64(limit))
	if err != nil && !errors.Is(err, errStopRows) {
		return nil, false, err
	}
	return changes, len(changes) == limit || size > pageBytes, nil
}

// firstOfEvent returns the first change of an event, which is the direct one where the event wrote a
// document. It returns known without reading where that is a change of the event.
func (s *Snapshot) firstOfEvent(seq uint64, known *fanfold.Change) (*fanfold.Change, error) {
	if known != nil && known.Position.Seq() == seq {
		return known, nil
	}
	return s.Change(fanfold.At(seq, 0))
}

// Change returns the change at a position, or nil where there is none.
func (s *Snapshot) Change(at fanfold.Position) (ch *fanfold.Change, err error) {
	_, err = s.c.queryRow("SELECT "+changeColumns+" FROM change c WHERE c.position = ?", func(r []sqlValue) { ch = scanChange(r) }, int64(at))
	return ch, err
}

// Derived returns how many derived changes count events from first on caused, and those of the same transaction behind
// them.
func (s *Snapshot) Derived(first uint64, count int) (n int64, err error) {
	end, tx := first+uint64(count), "" // tx is the events' transaction, "" while none of them has changed anything
	err = s.c.query("SELECT position, op, tx FROM change WHERE position >= ? ORDER BY position", func(r []sqlValue) error {
		own := fanfold.Position(intOf(r[0])).Seq() < end
		if own {
			tx = textOf(r[2])
		}
		if !own && (tx == "" || textOf(r[2]) != tx) {
			return errStopRows
		}
		if textOf(r[1]) == string(fanfold.OpDerive) {
			n++
		}
		return nil
	}, int64(fanfold.At(first, 0)))
	if errors.Is(err, errStopRows) {
		err = nil
	}
	return n, err
}

// isNewest reports whether a change is the newest of its document.
func (s *Snapshot) isNewest(ch *fanfold.Change) (bool, error) {
	table := "document"
	if ch.Op == fanfold.OpDelete {
		table = "tombstone"
	}
	return s.c.queryRow("SELECT 1 FROM "+table+" WHERE collection = ? AND id = ? AND position = ?", func([]sqlValue) {},
		ch.Key.Collection, ch.Key.ID, int64(ch.Position))
}

// Before returns a position that has every change from before t at or before it, and every later
// change behind it. It can search by halves because times never decrease from position to position.
func (s *Snapshot) Before(t time.Time) (fanfold.Position, error) {
	low, high := fanfold.Position(0), s.Checkpoint.Position // the answer is in [low, high]
	for low < high {
		mid := low + (high-low)/2
		var at fanfold.Position
		var when int64
		if _, err := s.c.queryRow("SELECT position, time FROM change WHERE position > ? ORDER BY position LIMIT 1",
			func(r []sqlValue) { at, when = fanfold.Position(intOf(r[0])), intOf(r[1]) }, int64(mid)); err != nil {
			return 0, err
		}
		if when < t.UnixNano() {
			low = at
		} else {
			high = mid
		}
	}
	return low, nil
}
