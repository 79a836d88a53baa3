package sqlite

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
)

const changeColumns = "c.position, c.ordinal, c.collection, c.id, c.op, c.revision, c.time, c.tx, c.rules, c.delta, c.previous, c.previous_source, c.prior"

func changeOf(r []sqlValue) *fanfold.Change {
	ch := &fanfold.Change{Position: fanfold.Position(intOf(r[0])), Ordinal: intOf(r[1]),
		Key: fanfold.Key{Collection: textOf(r[2]), ID: textOf(r[3])}, Op: fanfold.Op(textOf(r[4])),
		Revision: fanfold.Revision(intOf(r[5])), Time: timeOf(r[6]), Tx: textOf(r[7]), Delta: bytesOf(r[9]), Previous: bytesOf(r[10]), PreviousSource: bytesOf(r[11]), Prior: fanfold.Position(intOf(r[12]))}
	if rules := textOf(r[8]); rules != "" {
		ch.Rules = strings.Split(rules, ",")
	}
	return ch
}

// Changes returns a page of the change feed.
func (s *Snapshot) Changes(q fanfold.ChangeQuery) (page fanfold.ChangePage, err error) {
	var all []*fanfold.Change
	size := 0
	err = s.c.query("SELECT "+changeColumns+" FROM change c WHERE c.position > ? ORDER BY c.position LIMIT ?", func(r []sqlValue) error {
		ch := changeOf(r)
		all = append(all, ch)
		size += len(ch.Delta) + len(ch.Previous) + len(ch.PreviousSource)
		if size > pageBytes {
			return errStop
		}
		return nil
	}, int64(q.After), int64(q.Limit))
	if err != nil && !errors.Is(err, errStop) {
		return page, err
	}
	page.Last, page.Changes = max(q.After, s.Checkpoint.At()), s.Checkpoint.Changes
	if len(all) == q.Limit || size > pageBytes {
		last := all[len(all)-1]
		page.Last, page.Pending = last.Position, s.Checkpoint.Changes-last.Ordinal
	}
	var cause *fanfold.Change
	for _, ch := range all {
		if len(q.Collections) > 0 && !slices.Contains(q.Collections, ch.Key.Collection) {
			continue
		}
		row := fanfold.ChangeRow{Change: ch}
		if q.Latest {
			if newest, err := s.isLatest(ch); err != nil || !newest {
				if err != nil {
					return page, err
				}
				continue
			}
		}
		if ch.Op == fanfold.OpDerive {
			if cause == nil || cause.Position.Seq() != ch.Position.Seq() {
				if cause, err = s.Change(fanfold.At(ch.Position.Seq(), 0)); err != nil {
					return page, err
				}
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

// Change returns the change at a position, or nil.
func (s *Snapshot) Change(at fanfold.Position) (ch *fanfold.Change, err error) {
	_, err = s.c.first("SELECT "+changeColumns+" FROM change c WHERE c.position = ?", func(r []sqlValue) { ch = changeOf(r) }, int64(at))
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
			return errStop
		}
		if textOf(r[1]) == string(fanfold.OpDerive) {
			n++
		}
		return nil
	}, int64(fanfold.At(first, 0)))
	if errors.Is(err, errStop) {
		err = nil
	}
	return n, err
}

// isLatest tells whether the change is its document's newest.
func (s *Snapshot) isLatest(ch *fanfold.Change) (bool, error) {
	table := "document"
	if ch.Op == fanfold.OpDelete {
		table = "tombstone"
	}
	return s.c.first("SELECT 1 FROM "+table+" WHERE collection = ? AND id = ? AND position = ?", func([]sqlValue) {},
		ch.Key.Collection, ch.Key.ID, int64(ch.Position))
}

// Before returns a position with every change that happened before t at or before it, and every
// later change behind it. Times never decrease from position to position, so it can halve the range.
func (s *Snapshot) Before(t time.Time) (fanfold.Position, error) {
	low, high := fanfold.Position(0), s.Checkpoint.Position // the answer is in [low, high]
	for low < high {
		mid := low + (high-low)/2
		var at fanfold.Position
		var when int64
		if _, err := s.c.first("SELECT position, time FROM change WHERE position > ? ORDER BY position LIMIT 1",
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
