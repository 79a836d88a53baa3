package sqlite

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// Row is a document as the fold sees it: both views, and what the fold decides by.
type Row struct {
	Number     int64
	Key        fanfold.Key
	Revision   fanfold.Revision
	Position   fanfold.Position
	Created    time.Time
	Updated    time.Time
	CreatedBy  string         // the actor of the event that created it; "" for nobody in particular
	UpdatedBy  string         // and of its last write
	Body       []byte         // the embedded view
	Referenced ReferencedView // what the row holds of the referenced view
	Omitted    []byte         // how many derived values Body has no room for, by rule, as JSON; nil for none

	used bool // it was asked for by its key again, while the row cache had it
}

// ReferencedText returns the referenced view.
func (r *Row) ReferencedText() []byte { return r.Referenced.Text(r.Body) }

// size returns how many bytes the row's views take in memory.
func (r *Row) size() int { return len(r.Body) + r.Referenced.storedBytes() }

// rowColumns are the columns of a row, and rowWidth is how many they are.
const (
	rowColumns = "d.number, d.collection, d.id, d.revision, d.position, d.created, d.updated, d.body, d.source, d.omitted, d.created_by, d.updated_by"
	rowWidth   = 12
)

// rowSQL is the start of a query for rows, up to its condition.
const rowSQL = "SELECT " + rowColumns + " FROM document d WHERE "

// scanRow returns the document in a row of rowColumns.
func scanRow(r driver.Row) *Row {
	return &Row{Number: r.Int(0), Key: fanfold.Key{Collection: r.Text(1), ID: r.Text(2)},
		Revision: fanfold.Revision(r.Int(3)), Position: fanfold.Position(r.Int(4)),
		Created: timeOf(r.Int(5)), Updated: timeOf(r.Int(6)), Body: r.Bytes(7), Referenced: ReferencedView{r[8]}, Omitted: r.Bytes(9), CreatedBy: r.Text(10), UpdatedBy: r.Text(11)}
}

// The queries for one row.
const (
	rowByKeySQL    = rowSQL + "d.collection = ? AND d.id = ?"
	rowByNumberSQL = rowSQL + "d.number = ?"
)

// copied returns a copy of a row, nil of nil.
func copied(r *Row) *Row {
	if r == nil {
		return nil
	}
	out := *r
	return &out
}

// Documents are the documents of a transaction. Some wait in a cache until they are written.
type Documents struct {
	p                 *pending
	cache             rowCache
	missing           missingKeys
	counts            collectionCounts // yet to be written
	mayHaveTombstones bool
	argBuffer         []driver.Value // used again and again
	rehearsal         *rehearsal     // of a transaction that writes nothing to the file; nil otherwise
}

// newDocuments returns the documents of a file from which nothing was read yet.
func newDocuments(p *pending) Documents {
	d := Documents{p: p, missing: missingKeys{}, counts: collectionCounts{}}
	d.cache.clear()
	return d
}

// Get returns the document with a key, or nil where there is none.
func (d *Documents) Get(key fanfold.Key) (*Row, error) {
	r, err := d.cachedByKey(key)
	return copied(r), err
}

// ByNumber returns the document with a number, or nil where there is none.
func (d *Documents) ByNumber(number int64) (*Row, error) {
	r, err := d.cachedByNumber(number)
	return copied(r), err
}

// Each calls fn with the documents of these numbers in the order given, and passes over numbers without a document. No
// number comes twice. fn may write the document that it is called with, and must not call Each.
func (d *Documents) Each(numbers []int64, fn func(r *Row) error) error {
	if len(numbers) <= maxCachedRead || d.p.inMemory {
		return d.eachCached(numbers, fn)
	}
	if err := errors.Join(d.flushFresh(), d.p.c.SettleWrites(documentTable)); err != nil {
		return err
	}
	rows := make([]Row, 0, maxReadAhead)
	for len(numbers) > 0 {
		var err error
		if rows, numbers, err = d.readAhead(rows[:0], numbers); err != nil {
			return err
		}
		for i := range rows {
			row := &rows[i]
			if cached, known := d.cache.rows[row.Number]; known {
				if cached == nil {
					continue
				}
				*row = *cached
			}
			if err := fn(row); err != nil {
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
func (d *Documents) readAhead(rows []Row, numbers []int64) (read []Row, rest []int64, err error) {
	some := numbers[:min(len(numbers), maxReadAhead)]
	rest = numbers[len(some):]
	list := make([]byte, 0, 16*len(some))
	for i, n := range some {
		list = strconv.AppendInt(append(list, "[,"[min(i, 1)]), n, 10)
	}
	size := 0
	err = d.p.c.QueryAhead(`SELECT `+rowColumns+`, j.key
		FROM json_each(?) j CROSS JOIN document d ON d.number = j.value`, func(r driver.Row) error {
		rows = append(rows, *scanRow(r))
		if size += rows[len(rows)-1].size(); size > maxReadAheadBytes {
			rest = numbers[r.Int(rowWidth)+1:]
			return driver.ErrStop
		}
		return nil
	}, driver.Text(append(list, ']')))
	return rows, rest, err
}

// Body returns the embedded view of a document, or nil where there is no document.
func (d *Documents) Body(key fanfold.Key) (body []byte, err error) {
	r, err := d.cachedByKey(key)
	if r == nil {
		return nil, err
	}
	return r.Body, err
}

// BodyOf returns the embedded view of the document with a number, nil where there is none.
func (d *Documents) BodyOf(number int64) (body []byte, err error) {
	r, err := d.cachedByNumber(number)
	if r == nil {
		return nil, err
	}
	return r.Body, err
}

// IDOf returns the id of the document with a number, "" where there is none.
func (d *Documents) IDOf(number int64) (id string, err error) {
	r, err := d.cachedByNumber(number)
	if r == nil {
		return "", err
	}
	return r.Key.ID, err
}

// NumberOf returns the number of a document, 0 where there is no document.
func (d *Documents) NumberOf(key fanfold.Key) (number int64, err error) {
	r, err := d.cachedByKey(key)
	if r == nil {
		return 0, err
	}
	return r.Number, err
}

// Numbers returns the numbers greater than after of a collection's documents, in order, limit of them at most. It
// reads the collection's part of an index, whatever others hold.
func (d *Documents) Numbers(collection string, after int64, limit int) (numbers []int64, err error) {
	err = d.p.c.Query(numbersSQL, func(r driver.Row) error {
		numbers = append(numbers, r.Int(0))
		return nil
	}, after, collection, int64(limit))
	return numbers, err
}

// numbersSQL is the query of Numbers. The index has the numbers, too.
const numbersSQL = "SELECT number FROM document INDEXED BY document_key WHERE number > ? AND collection = ? ORDER BY number LIMIT ? + 0"

// Insert adds a document that was not there and removes its tombstone.
func (d *Documents) Insert(r *Row) error {
	delete(d.missing, r.Key)
	if d.p.inMemory {
		return d.rehearseRow(r)
	}
	d.counts[r.Key.Collection]++
	if d.mayHaveTombstones {
		if err := d.p.c.Exec("DELETE FROM tombstone WHERE collection = ? AND id = ?", r.Key.Collection, r.Key.ID); err != nil {
			return err
		}
	}
	if err := d.makeRoom(); err != nil {
		return err
	}
	row := copied(r)
	row.Body = bytes.Clone(r.Body)
	d.cache.put(row)
	d.cache.dirty[r.Number] = true
	d.cache.fresh, d.cache.wait = append(d.cache.fresh, r.Number), d.cache.wait+row.size()
	if len(d.cache.fresh) < maxFreshRows && d.cache.wait < maxFreshBytes {
		return nil
	}
	return d.flushFresh()
}

// Replace writes both views of a document after a write to it.
func (d *Documents) Replace(r *Row) error {
	if d.p.inMemory {
		return d.rehearseRow(r)
	}
	if err := errors.Join(d.flushFresh(), d.makeRoom()); err != nil {
		return err
	}
	row := copied(r)
	row.Body = bytes.Clone(r.Body)
	d.cache.put(row)
	return d.p.writeDocument("UPDATE document SET revision = ?, position = ?, updated = ?, body = ?, source = ?, omitted = ?, updated_by = ? WHERE number = ?",
		int64(r.Revision), int64(r.Position), r.Updated.UnixNano(), driver.Text(r.Body), r.Referenced.column, driver.Text(r.Omitted), nullableText(r.UpdatedBy), r.Number)
}

// View is an embedded view with what a derived change gives it.
type View struct {
	Position   fanfold.Position // of the change
	Body       []byte
	Referenced ReferencedView // as in Row
	Omitted    []byte         // as in Row
	Own        bool           // nothing else uses the memory of Body
}

// SetView writes the embedded view of a document after a derived change. A view in the row cache is
// written at the transaction's end.
func (d *Documents) SetView(number int64, v View) error {
	if cached := d.cache.rows[number]; cached != nil {
		return d.update(cached, v)
	}
	d.cache.unsettled = true
	return d.writeView(number, v)
}

// Delete removes a document, and leaves a tombstone and what its history is found by.
func (d *Documents) Delete(r *Row, revision fanfold.Revision, position fanfold.Position) error {
	if d.p.inMemory {
		d.rehearseDelete(r)
		return nil
	}
	if err := errors.Join(d.flushFresh(), d.makeRoom()); err != nil {
		return err
	}
	d.cache.forget(r.Number)
	d.noteAbsent(r.Key)
	d.counts[r.Key.Collection]--
	if err := d.p.writeDocument("DELETE FROM document WHERE number = ?", r.Number); err != nil {
		return err
	}
	if err := d.p.c.Exec("INSERT INTO past_document (collection, id, number, deleted) VALUES (?, ?, ?, ?)", r.Key.Collection, r.Key.ID, r.Number, int64(position)); err != nil {
		return err
	}
	return d.Tombstone(r.Key, revision, position)
}

// Tombstone records the last delete of a document that is not there.
func (d *Documents) Tombstone(key fanfold.Key, revision fanfold.Revision, position fanfold.Position) error {
	d.mayHaveTombstones = true
	return d.p.writeUnread("INSERT INTO tombstone (collection, id, revision, position) VALUES (?, ?, ?, ?) ON CONFLICT (collection, id) DO UPDATE SET revision = excluded.revision, position = max(position, excluded.position)",
		key.Collection, key.ID, int64(revision), int64(position))
}
