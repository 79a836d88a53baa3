package sqlite

import (
	"bytes"
	"slices"

	"github.com/fanfold/fanfold"
)

// rowCache holds documents whose embedded views derived values change again and again, such as the counts
// on a parent: they are kept here, and written once at the transaction's end. What is not dirty stays
// for the next one. Nobody else writes to the file.
type rowCache struct {
	rows  map[int64]*cachedRow
	keys  map[fanfold.Key]int64
	bytes int // of bodies
	dirty int
}

type cachedRow struct {
	row   Row // without times and the referenced view's own row
	dirty bool
}

// Bounds of what is kept.
const (
	cachedAtOnce   = 16 // more documents at a time are a fan-out, which comes by once
	maxCachedRows  = 4096
	maxCachedBytes = 8 << 20
)

func (h *rowCache) clear() {
	h.rows, h.keys, h.bytes, h.dirty = map[int64]*cachedRow{}, map[fanfold.Key]int64{}, 0, 0
}

// drop forgets a document that is about to be written otherwise.
func (h *rowCache) drop(number int64) {
	r := h.rows[number]
	if r == nil {
		return
	}
	if r.dirty {
		h.dirty--
	}
	h.bytes -= len(r.row.Body)
	delete(h.rows, number)
	delete(h.keys, r.row.Key)
}

// flushCache writes every dirty document.
func (tx *Tx) flushCache() error {
	if tx.cache.dirty == 0 {
		return nil
	}
	numbers := make([]int64, 0, tx.cache.dirty)
	for number, r := range tx.cache.rows {
		if r.dirty {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		r := tx.cache.rows[number]
		if err := tx.setBody(number, r.row.Position, r.row.Body); err != nil {
			return err
		}
		r.dirty = false
		tx.cache.dirty--
	}
	return nil
}

// flushCached writes a document, where it is dirty, before its row is read.
func (tx *Tx) flushCached(number int64) error {
	r := tx.cache.rows[number]
	if r == nil || !r.dirty {
		return nil
	}
	r.dirty = false
	tx.cache.dirty--
	return tx.setBody(number, r.row.Position, r.row.Body)
}

// updateCached takes a derived change of a document that is kept.
func (tx *Tx) updateCached(r *cachedRow, position fanfold.Position, body []byte) error {
	tx.cache.bytes += len(body) - len(r.row.Body)
	r.row.Position, r.row.Body = position, bytes.Clone(body)
	if !r.dirty {
		r.dirty = true
		tx.cache.dirty++
	}
	if tx.cache.bytes <= maxCachedBytes {
		return nil
	}
	err := tx.flushCache()
	tx.cache.clear()
	return err
}

// eachCached is Each of a few documents.
func (tx *Tx) eachCached(numbers []int64, fn func(r *Row) error) error {
	rows := make([]Row, 0, cachedAtOnce)
	for _, number := range numbers {
		r := tx.cache.rows[number]
		if r == nil {
			var err error
			if r, err = tx.loadCached(number); err != nil {
				return err
			}
		}
		if r != nil {
			rows = append(rows, r.row)
		}
	}
	for i := range rows {
		if err := fn(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// loadCached reads a document to be kept; nil where there is none.
func (tx *Tx) loadCached(number int64) (r *cachedRow, err error) {
	if len(tx.cache.rows) >= maxCachedRows || tx.cache.bytes > maxCachedBytes {
		if err := tx.flushCache(); err != nil {
			return nil, err
		}
		tx.cache.clear()
	}
	_, err = tx.c.first("SELECT number, collection, id, revision, position, body FROM document WHERE number = ?", func(v []sqlValue) {
		r = &cachedRow{row: Row{Number: intOf(v[0]), Key: fanfold.Key{Collection: textOf(v[1]), ID: textOf(v[2])},
			Revision: fanfold.Revision(intOf(v[3])), Position: fanfold.Position(intOf(v[4])), Body: bytesOf(v[5])}}
	}, number)
	if r != nil {
		tx.cache.rows[number] = r
		tx.cache.keys[r.row.Key] = number
		tx.cache.bytes += len(r.row.Body)
	}
	return r, err
}
