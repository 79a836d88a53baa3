package sqlite

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"unsafe"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// rowCache holds documents that were read or written, because derived changes hit some of them again and again, such as
// the counts on a parent. Each is written once, at the transaction's end or when the cache is full. They stay for
// the next transaction: nobody else writes to the file. Of a rehearsal it has all that were read or written.
type rowCache struct {
	rows  map[int64]*Row // nil for one that is deleted; the cache alone changes them
	dirty map[int64]bool // documents for which the file has an older view, or where true none
	fresh []int64        // the part of dirty that the file does not have, in order
	wait  int            // bytes of the views of these
	keys  map[fanfold.Key]int64
	bytes int // of views
	// unsettled says that a document may have been written that the cache does not hold, by a statement that is deferred.
	unsettled bool
}

// view returns what a derived change of the row writes.
func (r *Row) view() View {
	return View{Position: r.Position, Body: r.Body, Referenced: r.Referenced, Omitted: r.Omitted}
}

// Bounds of the cache.
const (
	maxCachedRead  = 4096 // a read of more documents is a fan-out that would take the place of all others
	maxCachedRows  = 16384
	maxCachedBytes = 16 << 20
	maxFreshRows   = 64 // so that most are written while the fold goes on
	maxFreshBytes  = 1 << 20
)

// clear removes every document. The caller writes the dirty ones first.
func (c *rowCache) clear() {
	c.rows, c.dirty, c.keys, c.bytes = map[int64]*Row{}, map[int64]bool{}, map[fanfold.Key]int64{}, 0
	c.fresh, c.wait = c.fresh[:0], 0
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

// dropUnused removes the documents that were not used again since it last ran. None is dirty.
func (c *rowCache) dropUnused() {
	for number, r := range c.rows {
		if r == nil || !r.used {
			c.drop(number)
			continue
		}
		r.used = false
	}
}

// forget removes a document that is deleted.
func (c *rowCache) forget(number int64) {
	c.drop(number)
	c.rows[number] = nil
}

// byKey returns the document with a key, nil where the cache does not hold it.
func (c *rowCache) byKey(key fanfold.Key) *Row { return c.rows[c.keys[key]] }

// Write writes every document that has changed, in order of number. It is done at the transaction's end at the latest. Before that it is worth
// it where they do not change again: the file gets them while the fold goes on.
func (d *Documents) Write() error {
	if d.p.inMemory {
		return nil
	}
	if err := d.flushFresh(); err != nil {
		return err
	}
	for _, number := range slices.Sorted(maps.Keys(d.cache.dirty)) {
		delete(d.cache.dirty, number)
		if err := d.writeView(number, d.cache.rows[number].view()); err != nil {
			return err
		}
	}
	return nil
}

// flushFresh writes the documents that the file does not have.
func (d *Documents) flushFresh() error {
	c := &d.cache
	for _, number := range c.fresh {
		if err := d.insertRow(c.rows[number]); err != nil {
			return err
		}
		delete(c.dirty, number)
	}
	c.fresh, c.wait = c.fresh[:0], 0
	return nil
}

// insertRow writes a document that the file does not have.
func (d *Documents) insertRow(r *Row) error {
	return d.p.writeDocument("INSERT INTO document (number, collection, id, revision, position, created, updated, body, source, omitted, created_by, updated_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		r.Number, r.Key.Collection, r.Key.ID, int64(r.Revision), int64(r.Position), r.Created.UnixNano(), r.Updated.UnixNano(), driver.Text(r.Body), r.Referenced.column, driver.Text(r.Omitted), nullableText(r.CreatedBy), nullableText(r.UpdatedBy))
}

// writeView writes an embedded view to the file.
func (d *Documents) writeView(number int64, v View) error {
	return d.p.writeDocument("UPDATE document SET position = ?, body = ?, source = ?, omitted = ? WHERE number = ?", int64(v.Position), driver.Text(v.Body), v.Referenced.column, driver.Text(v.Omitted), number)
}

// update records a derived change of a document in the cache.
func (d *Documents) update(r *Row, v View) error {
	if d.p.inMemory {
		if err := d.rehearseChange(r.Number); err != nil {
			return err
		}
	}
	d.cache.bytes -= r.size()
	switch {
	case sameSlice(r.Body, v.Body):
	case v.Own:
		r.Body = v.Body
	default:
		r.Body = bytes.Clone(v.Body)
	}
	r.Position, r.Referenced, r.Omitted = v.Position, v.Referenced, v.Omitted
	d.cache.bytes += r.size()
	if !d.cache.dirty[r.Number] {
		d.cache.dirty[r.Number] = false
	}
	if d.p.bounds.tooLarge(d.cache.bytes) {
		return ErrRehearsalEnds
	}
	return d.makeRoom()
}

// sameSlice reports whether two texts are the same memory.
func sameSlice(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// makeRoom makes room in a cache that is full. Documents that were used again since it last did stay, where these are few. The cache of a
// rehearsal has bounds of its own.
func (d *Documents) makeRoom() error {
	if d.p.inMemory || len(d.cache.rows) <= maxCachedRows && d.cache.bytes <= maxCachedBytes {
		return nil
	}
	if err := d.Write(); err != nil {
		return err
	}
	d.cache.unsettled = true
	if d.cache.dropUnused(); len(d.cache.rows) > maxCachedRows/2 || d.cache.bytes > maxCachedBytes/2 {
		d.cache.clear()
	}
	return nil
}

// empty writes every dirty document and removes all from the cache.
func (d *Documents) empty() error {
	err := d.Write()
	d.cache.clear()
	d.cache.unsettled = true
	return err
}

// keep puts a document into the row cache. The error is ErrRehearsalEnds.
func (d *Documents) keep(r *Row) error {
	d.cache.put(r)
	if d.p.bounds.tooLarge(d.cache.bytes) {
		return ErrRehearsalEnds
	}
	return nil
}

// settle waits for what was deferred of documents that the cache does not hold.
func (d *Documents) settle() error {
	if !d.cache.unsettled {
		return nil
	}
	d.cache.unsettled = false
	return d.p.c.SettleWrites(documentTable)
}

// read reads a document that the cache does not know into it, and returns it, or nil where there is none.
func (d *Documents) read(query string, args ...driver.Value) (row *Row, err error) {
	if err := d.settle(); err != nil {
		return nil, err
	}
	if _, err := d.p.c.QueryRowAhead(query, func(r driver.Row) { row = scanRow(r) }, args...); err != nil || row == nil {
		return nil, err
	}
	if err := d.makeRoom(); err != nil {
		return nil, err
	}
	return row, d.keep(row)
}

// cachedByKey returns the document with a key, nil where there is none. The cache alone changes it.
func (d *Documents) cachedByKey(key fanfold.Key) (*Row, error) {
	if r := d.cache.byKey(key); r != nil {
		r.used = true
		return r, nil
	}
	if _, absent := d.missing[key]; absent {
		return nil, nil
	}
	r, err := d.read(rowByKeySQL, key.Collection, key.ID)
	if r == nil && err == nil {
		d.noteAbsent(key)
	}
	return r, err
}

// cachedByNumber returns the document with a number, nil where there is none. The cache alone changes it.
func (d *Documents) cachedByNumber(number int64) (*Row, error) {
	if r, known := d.cache.rows[number]; known {
		return r, nil
	}
	return d.read(rowByNumberSQL, number)
}

// eachCached does what Each does for maxCachedRead documents at most, and keeps them in the cache.
func (d *Documents) eachCached(numbers []int64, fn func(r *Row) error) error {
	for begin := 0; begin < len(numbers); begin += maxReadAhead {
		some := numbers[begin:min(begin+maxReadAhead, len(numbers))]
		if err := d.load(some); err != nil {
			return err
		}
		for _, number := range some {
			r, err := d.cachedByNumber(number)
			if err != nil {
				return err
			}
			if r == nil {
				continue
			}
			row := *r
			if err := fn(&row); err != nil {
				return err
			}
		}
	}
	return nil
}

// load reads some documents into the cache that it does not hold, if they are many.
func (d *Documents) load(numbers []int64) error {
	var unknown []int64
	for _, n := range numbers {
		if _, known := d.cache.rows[n]; !known {
			unknown = append(unknown, n)
		}
	}
	if len(unknown) < 4 {
		return nil
	}
	if err := errors.Join(d.makeRoom(), d.settle()); err != nil {
		return err
	}
	rows, _, err := d.readAhead(nil, unknown)
	for i := range rows {
		err = errors.Join(err, d.keep(&rows[i]))
	}
	return err
}
