package sqlite

import (
	"bytes"
	"slices"

	"github.com/fanfold/fanfold"
)

// hot are documents whose embedded views derived values change again and again, such as the counts
// on a parent: they are kept here, and written once at the transaction's end. What is not dirty stays
// for the next one. Nobody else writes to the file.
type hot struct {
	rows  map[int64]*hotRow
	keys  map[fanfold.Key]int64
	bytes int // of bodies
	dirty int
}

type hotRow struct {
	row   Row // without times and the referenced view's own row
	dirty bool
}

// Bounds of what is kept.
const (
	hotFew   = 16 // more documents at a time are a fan-out, which comes by once
	hotRows  = 4096
	hotBytes = 8 << 20
)

func (h *hot) clear() {
	h.rows, h.keys, h.bytes, h.dirty = map[int64]*hotRow{}, map[fanfold.Key]int64{}, 0, 0
}

// drop forgets a document that is about to be written otherwise.
func (h *hot) drop(number int64) {
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

// writeHot writes every dirty document.
func (tx *Tx) writeHot() error {
	if tx.hot.dirty == 0 {
		return nil
	}
	numbers := make([]int64, 0, tx.hot.dirty)
	for number, r := range tx.hot.rows {
		if r.dirty {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		r := tx.hot.rows[number]
		if err := tx.setBody(number, r.row.Position, r.row.Body); err != nil {
			return err
		}
		r.dirty = false
		tx.hot.dirty--
	}
	return nil
}

// cool writes a document, where it is dirty, before its row is read.
func (tx *Tx) cool(number int64) error {
	r := tx.hot.rows[number]
	if r == nil || !r.dirty {
		return nil
	}
	r.dirty = false
	tx.hot.dirty--
	return tx.setBody(number, r.row.Position, r.row.Body)
}

// heat takes a derived change of a document that is kept.
func (tx *Tx) heat(r *hotRow, position fanfold.Position, body []byte) error {
	tx.hot.bytes += len(body) - len(r.row.Body)
	r.row.Position, r.row.Body = position, bytes.Clone(body)
	if !r.dirty {
		r.dirty = true
		tx.hot.dirty++
	}
	if tx.hot.bytes <= hotBytes {
		return nil
	}
	err := tx.writeHot()
	tx.hot.clear()
	return err
}

// eachHot is Each of a few documents.
func (tx *Tx) eachHot(numbers []int64, fn func(r *Row) error) error {
	rows := make([]Row, 0, hotFew)
	for _, number := range numbers {
		r := tx.hot.rows[number]
		if r == nil {
			var err error
			if r, err = tx.load(number); err != nil {
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

// load reads a document to be kept; nil where there is none.
func (tx *Tx) load(number int64) (r *hotRow, err error) {
	if len(tx.hot.rows) >= hotRows || tx.hot.bytes > hotBytes {
		if err := tx.writeHot(); err != nil {
			return nil, err
		}
		tx.hot.clear()
	}
	_, err = tx.c.first("SELECT number, collection, id, revision, position, body FROM document WHERE number = ?", func(v []sqlValue) {
		r = &hotRow{row: Row{Number: intOf(v[0]), Key: fanfold.Key{Collection: textOf(v[1]), ID: textOf(v[2])},
			Revision: fanfold.Revision(intOf(v[3])), Position: fanfold.Position(intOf(v[4])), Body: bytesOf(v[5])}}
	}, number)
	if r != nil {
		tx.hot.rows[number] = r
		tx.hot.keys[r.row.Key] = number
		tx.hot.bytes += len(r.row.Body)
	}
	return r, err
}
