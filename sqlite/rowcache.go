package sqlite

import (
	"bytes"
	"maps"
	"slices"

	"github.com/fanfold/fanfold"
)

// rowCache holds documents that derived changes hit again and again, such as
// the counts on a parent, so that each is written once, at the transaction's end. They stay for
// the next transaction: nobody else writes to the file. Of a rehearsal it has all that were read or written.
type rowCache struct {
	rows  map[int64]*Row // nil for one that a rehearsal has deleted; the cache alone changes them
	dirty map[int64]*Row // those of which the file has an older view
	keys  map[fanfold.Key]int64
	bytes int // of views
}

// view returns what a derived change of the row writes.
func (r *Row) view() View {
	return View{Position: r.Position, Body: r.Body, Referenced: r.Referenced, Omitted: r.Omitted}
}

// Bounds of the cache.
const (
	maxCachedRead  = 16 // a read of more documents is a fan-out, and they are seldom read again
	maxCachedRows  = 16384
	maxCachedBytes = 16 << 20
)

// clear removes every document. The caller writes the dirty ones first.
func (c *rowCache) clear() {
	c.rows, c.dirty, c.keys, c.bytes = map[int64]*Row{}, map[int64]*Row{}, map[fanfold.Key]int64{}, 0
}

// put adds a document, in place of the one with its number.
func (c *rowCache) put(r *Row) {
	c.drop(r.Number)
	c.rows[r.Number], c.keys[r.Key] = r, r.Number
	c.bytes += r.size()
}

// drop removes a document whose row is about to be written by other means.
func (c *rowCache) drop(number int64) {
	r := c.rows[number]
	delete(c.rows, number)
	if r == nil {
		return
	}
	c.bytes -= r.size()
	delete(c.dirty, number)
	delete(c.keys, r.Key)
}

// flushCache writes every dirty document, in order of number.
func (tx *Tx) flushCache() error {
	if tx.rehearsal != nil {
		return nil
	}
	for _, number := range slices.Sorted(maps.Keys(tx.cache.dirty)) {
		if err := tx.flushCached(number); err != nil {
			return err
		}
	}
	return nil
}

// flushCached writes one document where it is dirty. It is called before a statement reads or changes the document's row.
func (tx *Tx) flushCached(number int64) error {
	r := tx.cache.dirty[number]
	if r == nil {
		return nil
	}
	delete(tx.cache.dirty, number)
	return tx.writeView(number, r.view())
}

// updateCached records a derived change of a document in the cache.
func (tx *Tx) updateCached(r *Row, v View) error {
	if tx.rehearsal != nil {
		if err := tx.rehearseChange(r.Number); err != nil {
			return err
		}
	}
	tx.cache.bytes -= r.size()
	r.Position, r.Body, r.Referenced, r.Omitted = v.Position, bytes.Clone(v.Body), v.Referenced, v.Omitted
	tx.cache.bytes += r.size()
	tx.cache.dirty[r.Number] = r
	if tx.bounds.tooLarge(tx.cache.bytes) {
		return ErrRehearsalEnds
	}
	return tx.makeRoom()
}

// makeRoom empties a cache that is full. That of a rehearsal has bounds of its own.
func (tx *Tx) makeRoom() error {
	if tx.rehearsal != nil || len(tx.cache.rows) <= maxCachedRows && tx.cache.bytes <= maxCachedBytes {
		return nil
	}
	err := tx.flushCache()
	tx.cache.clear()
	return err
}

// eachCached does what Each does for maxCachedRead documents at most, and keeps them in the cache.
func (tx *Tx) eachCached(numbers []int64, fn func(r *Row) error) error {
	for _, number := range numbers {
		r, known := tx.cache.rows[number]
		if !known {
			var err error
			if r, err = tx.loadCached(number); err != nil {
				return err
			}
		}
		if r == nil {
			continue
		}
		row := *r
		if err := fn(&row); err != nil {
			return err
		}
	}
	return nil
}

// loadCached reads a document into the cache and returns it, or nil where there is none.
func (tx *Tx) loadCached(number int64) (*Row, error) {
	if err := tx.makeRoom(); err != nil {
		return nil, err
	}
	r, err := tx.row(rowByNumberSQL, number)
	if err != nil || r == nil {
		return nil, err
	}
	return r, tx.keepRow(r)
}
