package sqlite

import (
	"maps"
	"slices"

	"github.com/fanfold/fanfold/sqlite/driver"
)

// Bounds of the views that SaveBefore keeps in memory. Beyond them they go to a temporary table.
const (
	maxBeforeRows  = 1024
	maxBeforeBytes = 4 << 20
)

// beforeImages holds views from before the event that is being folded.
type beforeImages struct {
	rows   map[int64][]byte
	bytes  int
	onDisk bool // all of them are in the temporary table
}

// SaveBefore keeps a document's embedded view until ClearBefore, for the change row that is written
// when the event is folded to the end. A view that is kept already stays as it is.
func (tx *Tx) SaveBefore(r *Row) error {
	b := &tx.before
	if b.onDisk {
		return tx.saveBefore(r.Number, r.Body)
	}
	if _, kept := b.rows[r.Number]; kept {
		return nil
	}
	if b.rows == nil {
		b.rows = map[int64][]byte{}
	}
	b.rows[r.Number] = r.Body
	b.bytes += len(r.Body)
	if tx.rehearsal != nil || len(b.rows) <= maxBeforeRows && b.bytes <= maxBeforeBytes {
		return nil
	}
	for number, body := range b.rows {
		if err := tx.saveBefore(number, body); err != nil {
			return err
		}
	}
	*b = beforeImages{onDisk: true}
	return nil
}

// saveBefore keeps a view in the temporary table.
func (tx *Tx) saveBefore(number int64, body []byte) error {
	return tx.c.Exec("INSERT OR IGNORE INTO temp.before (number, body) VALUES (?, ?)", number, driver.Text(body))
}

// EachBefore calls fn with the numbers after the number after and the embedded views that SaveBefore kept, in order
// of number. It stops at limit, and earlier if they are large.
func (tx *Tx) EachBefore(after int64, limit int, fn func(number int64, body []byte) error) error {
	if !tx.before.onDisk {
		return tx.before.each(after, limit, fn)
	}
	size := 0
	err := tx.c.Query("SELECT number, body FROM temp.before WHERE number > ? ORDER BY number LIMIT ? + 0", func(r driver.Row) error {
		body := r.Bytes(1)
		if err := fn(r.Int(0), body); err != nil {
			return err
		}
		if size += len(body); size > maxReadAheadBytes {
			return driver.ErrStop
		}
		return nil
	}, after, int64(limit))
	return err
}

// each does what EachBefore does, with the views in memory.
func (b *beforeImages) each(after int64, limit int, fn func(number int64, body []byte) error) error {
	if len(b.rows) == 0 {
		return nil
	}
	for _, number := range slices.Sorted(maps.Keys(b.rows)) {
		if number <= after {
			continue
		}
		if limit == 0 {
			return nil
		}
		if err := fn(number, b.rows[number]); err != nil {
			return err
		}
		limit--
	}
	return nil
}

// HasBefore reports whether SaveBefore keeps any view.
func (tx *Tx) HasBefore() bool { return tx.before.onDisk || len(tx.before.rows) > 0 }

// ClearBefore removes everything that SaveBefore kept.
func (tx *Tx) ClearBefore() error {
	onDisk := tx.before.onDisk
	clear(tx.before.rows)
	tx.before = beforeImages{rows: tx.before.rows}
	if !onDisk {
		return nil
	}
	return tx.c.Exec("DELETE FROM temp.before")
}
