package sqlite

import (
	"errors"
	"strconv"
	"time"

	"github.com/fanfold/fanfold"
)

// Row is a document as the fold sees it: both views, and what the fold decides by.
type Row struct {
	Number   int64
	Key      fanfold.Key
	Revision fanfold.Revision
	Position fanfold.Position
	Created  time.Time
	Updated  time.Time
	Body     []byte // the embedded view
	Stored   Stored // what the row holds of the referenced view
	Omitted  []byte // how many derived values Body has no room for, by rule, as JSON; nil for none
}

// Source returns the referenced view.
func (r *Row) Source() []byte { return r.Stored.Source(r.Body) }

// size returns how many bytes the row's views take in memory.
func (r *Row) size() int { return len(r.Body) + r.Stored.len() }

// rowSQL is the start of a query for rows, up to its condition.
const rowSQL = "SELECT d.number, d.collection, d.id, d.revision, d.position, d.created, d.updated, d.body, d.source, d.omitted FROM document d WHERE "

// scanRow returns the document in a row of rowSQL.
func scanRow(r []sqlValue) *Row {
	return &Row{Number: intOf(r[0]), Key: fanfold.Key{Collection: textOf(r[1]), ID: textOf(r[2])},
		Revision: fanfold.Revision(intOf(r[3])), Position: fanfold.Position(intOf(r[4])),
		Created: timeOf(r[5]), Updated: timeOf(r[6]), Body: bytesOf(r[7]), Stored: Stored{r[8]}, Omitted: bytesOf(r[9])}
}

// row returns the document that a condition on rowSQL finds, or nil.
func (tx *Tx) row(where string, args ...sqlValue) (row *Row, err error) {
	_, err = tx.c.queryRow(rowSQL+where, func(r []sqlValue) { row = scanRow(r) }, args...)
	return row, err
}

// Get returns the document with a key, or nil where there is none.
func (tx *Tx) Get(key fanfold.Key) (*Row, error) {
	if tx.over != nil {
		return tx.over.get(key)
	}
	if _, absent := tx.absent[key]; absent {
		return nil, nil
	}
	if err := tx.flushCached(tx.cache.keys[key]); err != nil {
		return nil, err
	}
	return tx.row("d.collection = ? AND d.id = ?", key.Collection, key.ID)
}

// ByNumber returns the document with a number, or nil where there is none.
func (tx *Tx) ByNumber(number int64) (*Row, error) {
	if tx.over != nil {
		return tx.over.byNumber(number)
	}
	if err := tx.flushCached(number); err != nil {
		return nil, err
	}
	return tx.row("d.number = ?", number)
}

// ViewByNumber returns the document with a number, or nil where there is none, as Each gives it.
func (tx *Tx) ViewByNumber(number int64) (row *Row, err error) {
	if tx.over != nil {
		return tx.over.byNumber(number)
	}
	if cached := tx.cache.rows[number]; cached != nil {
		return copied(&cached.row), nil
	}
	_, err = tx.c.queryRow(viewSQL, func(r []sqlValue) {
		view := scanView(r)
		row = &view
	}, number)
	return row, err
}

// viewSQL reads a row for scanView.
const viewSQL = "SELECT number, collection, id, revision, position, body, source, omitted FROM document WHERE number = ?"

// Each calls fn with the documents of these numbers, in the order given, and passes over numbers
// without a document. The rows lack the times. fn may write, but must not call Each.
func (tx *Tx) Each(numbers []int64, fn func(r *Row) error) error {
	if tx.over != nil {
		return tx.over.each(numbers, fn)
	}
	if len(numbers) <= maxCachedRead {
		return tx.eachCached(numbers, fn)
	}
	if err := tx.flushCache(); err != nil {
		return err
	}
	tx.cache.clear()
	rows := make([]Row, 0, maxReadAhead)
	for len(numbers) > 0 {
		var err error
		if rows, numbers, err = tx.readAhead(rows[:0], numbers); err != nil {
			return err
		}
		for i := range rows {
			if err := fn(&rows[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Bounds of the rows that Each reads ahead of their updates.
const (
	maxReadAhead      = 256
	maxReadAheadBytes = 8 << 20 // of bodies; the row that passes it is the last
)

// readAhead appends the documents of the first numbers to rows, and returns the numbers that are left.
func (tx *Tx) readAhead(rows []Row, numbers []int64) (read []Row, rest []int64, err error) {
	some := numbers[:min(len(numbers), maxReadAhead)]
	rest = numbers[len(some):]
	list := make([]byte, 0, 16*len(some))
	for i, n := range some {
		list = strconv.AppendInt(append(list, "[,"[min(i, 1)]), n, 10)
	}
	size := 0
	err = tx.c.query(`SELECT d.number, d.collection, d.id, d.revision, d.position, d.body, d.source, d.omitted, j.key
		FROM json_each(?) j CROSS JOIN document d ON d.number = j.value`, func(r []sqlValue) error {
		rows = append(rows, scanView(r))
		if size += rows[len(rows)-1].size(); size > maxReadAheadBytes {
			rest = numbers[intOf(r[8])+1:]
			return errStopRows
		}
		return nil
	}, textValue(append(list, ']')))
	if errors.Is(err, errStopRows) {
		err = nil
	}
	return rows, rest, err
}

// scanView returns the document in a row of number, collection, id, revision, position, body, source and omitted.
func scanView(r []sqlValue) Row {
	return Row{Number: intOf(r[0]), Key: fanfold.Key{Collection: textOf(r[1]), ID: textOf(r[2])}, Revision: fanfold.Revision(intOf(r[3])),
		Position: fanfold.Position(intOf(r[4])), Body: bytesOf(r[5]), Stored: Stored{r[6]}, Omitted: bytesOf(r[7])}
}

// Body returns the embedded view of a document, or nil where there is no document.
func (tx *Tx) Body(key fanfold.Key) (body []byte, err error) {
	if tx.over != nil {
		return tx.over.body(key)
	}
	if cached := tx.cache.rows[tx.cache.keys[key]]; cached != nil {
		return cached.row.Body, nil
	}
	return (&Snapshot{c: tx.c}).body(key)
}

// NumberOf returns the number of a document, 0 where there is no document.
func (tx *Tx) NumberOf(key fanfold.Key) (number int64, err error) {
	if tx.over != nil {
		return tx.over.numberOf(key)
	}
	if number := tx.cache.keys[key]; number != 0 {
		return number, nil
	}
	return tx.Snapshot().NumberOf(key)
}

// Numbers returns the numbers behind after of a collection's documents, in order, limit of them at
// most. It reads the collection's part of an index, whatever others hold.
func (tx *Tx) Numbers(collection string, after int64, limit int) (numbers []int64, err error) {
	err = tx.c.query(numbersSQL, func(r []sqlValue) error {
		numbers = append(numbers, intOf(r[0]))
		return nil
	}, after, collection, int64(limit))
	return numbers, err
}

// numbersSQL is the query of Numbers. The index has the numbers, too.
const numbersSQL = "SELECT number FROM document INDEXED BY document_key WHERE number > ? AND collection = ? ORDER BY number LIMIT ?"

// Insert adds a document that was not there and removes its tombstone.
func (tx *Tx) Insert(r *Row) error {
	if tx.over != nil {
		return tx.over.write(r)
	}
	delete(tx.absent, r.Key)
	tx.counts[r.Key.Collection]++
	if tx.mayHaveTombstones {
		if err := tx.c.exec("DELETE FROM tombstone WHERE collection = ? AND id = ?", r.Key.Collection, r.Key.ID); err != nil {
			return err
		}
	}
	return tx.c.exec("INSERT INTO document (number, collection, id, revision, position, created, updated, body, source, omitted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		r.Number, r.Key.Collection, r.Key.ID, int64(r.Revision), int64(r.Position), r.Created.UnixNano(), r.Updated.UnixNano(), textValue(r.Body), r.Stored.column, textValue(r.Omitted))
}

// Replace writes both views of a document after a write to it.
func (tx *Tx) Replace(r *Row) error {
	if tx.over != nil {
		return tx.over.write(r)
	}
	tx.cache.drop(r.Number)
	return tx.c.exec("UPDATE document SET revision = ?, position = ?, updated = ?, body = ?, source = ?, omitted = ? WHERE number = ?",
		int64(r.Revision), int64(r.Position), r.Updated.UnixNano(), textValue(r.Body), r.Stored.column, textValue(r.Omitted), r.Number)
}

// View is an embedded view with what a derived change gives it.
type View struct {
	Position fanfold.Position // of the change
	Body     []byte
	Stored   Stored // as in Row
	Omitted  []byte // as in Row
}

// SetView writes the embedded view of a document after a derived change. A view in the row cache is
// written at the transaction's end.
func (tx *Tx) SetView(number int64, v View) error {
	if tx.over != nil {
		return tx.over.setView(number, v)
	}
	if cached := tx.cache.rows[number]; cached != nil {
		return tx.updateCached(cached, v)
	}
	return tx.writeView(number, v)
}

// writeView writes an embedded view to the file.
func (tx *Tx) writeView(number int64, v View) error {
	return tx.c.exec("UPDATE document SET position = ?, body = ?, source = ?, omitted = ? WHERE number = ?", int64(v.Position), textValue(v.Body), v.Stored.column, textValue(v.Omitted), number)
}

// Delete removes a document and leaves a tombstone.
func (tx *Tx) Delete(r *Row, revision fanfold.Revision, position fanfold.Position) error {
	if tx.over != nil {
		tx.over.remove(r)
		return nil
	}
	tx.cache.drop(r.Number)
	tx.counts[r.Key.Collection]--
	if err := tx.c.exec("DELETE FROM document WHERE number = ?", r.Number); err != nil {
		return err
	}
	return tx.Tombstone(r.Key, revision, position)
}

// Tombstone records the last delete of a document that is not there.
func (tx *Tx) Tombstone(key fanfold.Key, revision fanfold.Revision, position fanfold.Position) error {
	if tx.over != nil {
		return nil
	}
	tx.mayHaveTombstones = true
	return tx.c.exec("INSERT INTO tombstone (collection, id, revision, position) VALUES (?, ?, ?, ?) ON CONFLICT (collection, id) DO UPDATE SET revision = excluded.revision, position = max(position, excluded.position)",
		key.Collection, key.ID, int64(revision), int64(position))
}
