package sqlite

import (
	"maps"
	"slices"

	"github.com/fanfold/fanfold/sqlite/driver"
)

// Bounds of the views that Save keeps in memory. Beyond them they go to a temporary table.
const (
	maxBeforeRows  = 65_536
	maxBeforeBytes = 32 << 20
)

// BeforeImages holds views from before the event that is being folded.
type BeforeImages struct {
	p      *pending
	rows   map[int64][]byte
	order  []int64 // the numbers of rows in order; nil where they are yet to be ordered
	bytes  int
	onDisk bool // all of them are in the temporary table
}

// Save keeps a document's embedded view until Clear, for the change row that is written
// when the event is folded to the end. A view that is kept already stays as it is.
func (b *BeforeImages) Save(r *Row) error {
	if b.onDisk {
		return b.saveToDisk(r.Number, r.Body)
	}
	if _, kept := b.rows[r.Number]; kept {
		return nil
	}
	if b.rows == nil {
		b.rows = map[int64][]byte{}
	}
	b.rows[r.Number], b.order = r.Body, nil
	b.bytes += len(r.Body)
	if b.p.inMemory || len(b.rows) <= maxBeforeRows && b.bytes <= maxBeforeBytes {
		return nil
	}
	for number, body := range b.rows {
		if err := b.saveToDisk(number, body); err != nil {
			return err
		}
	}
	*b = BeforeImages{p: b.p, onDisk: true}
	return nil
}

// saveToDisk keeps a view in the temporary table.
func (b *BeforeImages) saveToDisk(number int64, body []byte) error {
	return b.p.c.Exec("INSERT OR IGNORE INTO temp.before (number, body) VALUES (?, ?)", number, driver.Text(body))
}

// Each calls fn with the numbers after the number after and the embedded views that Save kept, in order
// of number. It stops at limit, and earlier if they are large.
func (b *BeforeImages) Each(after int64, limit int, fn func(number int64, body []byte) error) error {
	if !b.onDisk {
		return b.each(after, limit, fn)
	}
	size := 0
	err := b.p.c.Query("SELECT number, body FROM temp.before WHERE number > ? ORDER BY number LIMIT ? + 0", func(r driver.Row) error {
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

// each does what Each does, with the views in memory.
func (b *BeforeImages) each(after int64, limit int, fn func(number int64, body []byte) error) error {
	if len(b.rows) == 0 {
		return nil
	}
	if b.order == nil {
		b.order = slices.Sorted(maps.Keys(b.rows))
	}
	first, _ := slices.BinarySearch(b.order, after+1)
	for _, number := range b.order[first:min(first+limit, len(b.order))] {
		if err := fn(number, b.rows[number]); err != nil {
			return err
		}
	}
	return nil
}

// Any reports whether Save keeps any view.
func (b *BeforeImages) Any() bool { return b.onDisk || len(b.rows) > 0 }

// Clear removes everything that Save kept.
func (b *BeforeImages) Clear() error {
	onDisk := b.onDisk
	clear(b.rows)
	*b = BeforeImages{p: b.p, rows: b.rows}
	if !onDisk {
		return nil
	}
	return b.p.c.Exec("DELETE FROM temp.before")
}
