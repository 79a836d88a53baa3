package sqlite

import (
	"bytes"
	"maps"
	"slices"

	"github.com/fanfold/fanfold"
)

// rowCache holds the embedded views of documents that derived changes hit again and again, such as
// the counts on a parent, so that each is written once, at the transaction's end. Views stay for
// the next transaction: nobody else writes to the file.
type rowCache struct {
	rows  map[int64]*cachedRow
	dirty map[int64]*cachedRow // those of which the file has an older view
	keys  map[fanfold.Key]int64
	bytes int // of views
}

// view returns what a derived change of the row writes.
func (r *Row) view() View {
	return View{Position: r.Position, Body: r.Body, Stored: r.Stored, Omitted: r.Omitted}
}

// cachedRow is a document in the cache.
type cachedRow struct {
	row Row // without times
}

// Bounds of the cache.
const (
	maxCachedRead  = 16 // a read of more documents is a fan-out, and they are seldom read again
	maxCachedRows  = 16384
	maxCachedBytes = 16 << 20
)

// clear removes every document. The caller writes the dirty ones first.
func (c *rowCache) clear() {
	c.rows, c.dirty, c.keys, c.bytes = map[int64]*cachedRow{}, map[int64]*cachedRow{}, map[fanfold.Key]int64{}, 0
}

// drop removes a document whose row is about to be written by other means.
func (c *rowCache) drop(number int64) {
	r := c.rows[number]
	if r == nil {
		return
	}
	c.bytes -= r.row.size()
	delete(c.rows, number)
	delete(c.dirty, number)
	delete(c.keys, r.row.Key)
}

// flushCache writes every dirty document, in order of number.
func (tx *Tx) flushCache() error {
	for _, number := range slices.Sorted(maps.Keys(tx.cache.dirty)) {
		if err := tx.flushCached(number); err != nil {
			return err
		}
	}
	return nil
}

// flushCached writes one document where it is dirty. It is called before the document's row is
// read.
func (tx *Tx) flushCached(number int64) error {
	r := tx.cache.dirty[number]
	if r == nil {
		return nil
	}
	delete(tx.cache.dirty, number)
	return tx.writeView(number, r.row.view())
}

// updateCached records a derived change of a document in the cache.
func (tx *Tx) updateCached(r *cachedRow, v View) error {
	tx.cache.bytes -= r.row.size()
	r.row.Position, r.row.Body, r.row.Stored, r.row.Omitted = v.Position, bytes.Clone(v.Body), v.Stored, v.Omitted
	tx.cache.bytes += r.row.size()
	tx.cache.dirty[r.row.Number] = r
	if tx.cache.bytes <= maxCachedBytes {
		return nil
	}
	err := tx.flushCache()
	tx.cache.clear()
	return err
}

// eachCached does what Each does for maxCachedRead documents at most, and keeps them in the cache.
func (tx *Tx) eachCached(numbers []int64, fn func(r *Row) error) error {
	for _, number := range numbers {
		r := tx.cache.rows[number]
		if r == nil {
			var err error
			if r, err = tx.loadCached(number); err != nil {
				return err
			}
		}
		if r == nil {
			continue
		}
		row := r.row
		if err := fn(&row); err != nil {
			return err
		}
	}
	return nil
}

// loadCached reads a document into the cache and returns it, or nil where there is none. It empties
// a cache that is full.
func (tx *Tx) loadCached(number int64) (r *cachedRow, err error) {
	if len(tx.cache.rows) >= maxCachedRows || tx.cache.bytes > maxCachedBytes {
		if err := tx.flushCache(); err != nil {
			return nil, err
		}
		tx.cache.clear()
	}
	_, err = tx.c.queryRow(viewSQL, func(v []sqlValue) {
		r = &cachedRow{row: scanView(v)}
	}, number)
	if r != nil {
		tx.cache.rows[number] = r
		tx.cache.keys[r.row.Key] = number
		tx.cache.bytes += r.row.size()
	}
	return r, err
}
