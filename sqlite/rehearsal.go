package sqlite

import (
	"bytes"
	"errors"

	"github.com/fanfold/fanfold"
)

// Rehearsal bounds what a transaction of Snapshot.Rehearse may do. The zero value bounds nothing.
type Rehearsal struct {
	MaxDocuments int // documents that it changes, or lists to change them; 0 for any number
	MaxBytes     int // memory for the documents that it reads and writes; 0 for any number
}

// ErrRehearsalEnds is the error of a rehearsal that would pass one of its bounds.
var ErrRehearsalEnds = errors.New("the rehearsal takes more than it may")

// tooMany reports whether n documents are more than the rehearsal may change.
func (b Rehearsal) tooMany(n int) bool { return b.MaxDocuments > 0 && n > b.MaxDocuments }

// tooLarge reports whether documents have more bytes than the rehearsal may hold.
func (b Rehearsal) tooLarge(size int) bool { return b.MaxBytes > 0 && size > b.MaxBytes }

// Rehearse returns a transaction on the snapshot whose writes stay in memory, over the rows of the file. It reads its own
// writes, nobody waits for it, and nothing of it is kept. It takes what events about documents do: what only a model does
// fails. It is valid as long as the snapshot. If it would pass a bound, its methods return ErrRehearsalEnds.
func (s *Snapshot) Rehearse(bounds Rehearsal) *Tx {
	p := newPending(s.c)
	p.inMemory, p.bounds = true, bounds
	tx := newTx(s.c, &p)
	tx.checkpoint, tx.loaded = s.Checkpoint, true
	tx.Documents.rehearsal = &rehearsal{begin: s.Checkpoint, changed: map[int64]bool{}, previousRows: map[int64]*Row{}}
	return tx
}

// Resume makes a transaction of Rehearse, after TakeBack, go on with this snapshot, with the rows that it has read. It returns false, and does
// nothing, if the snapshot shows something else than the transaction's own.
func (s *Snapshot) Resume(tx *Tx) bool {
	if tx.Documents.rehearsal.begin != s.Checkpoint {
		return false
	}
	tx.c, tx.pending.c = s.c, s.c
	return true
}

// rehearsal is what a rehearsal knows besides the rows that it writes, which are in the row cache and in pending.
type rehearsal struct {
	begin        Checkpoint
	changed      map[int64]bool // documents that derived changes hit
	replaced     int            // documents that ReplaceMembers would change
	deleted      []fanfold.Key  // documents that it deleted
	previousRows map[int64]*Row // the documents that it wrote, as they were in the cache; nil for one that was not there
}

// TakeBack takes back what a rehearsal has written, so that the next event is folded on the file's rows. The rows it has
// read are kept, within the rehearsal's bounds.
func (tx *Tx) TakeBack() {
	d, r := &tx.Documents, tx.Documents.rehearsal
	tx.checkpoint = r.begin
	for number, row := range r.previousRows {
		d.cache.drop(number)
		if row != nil {
			d.cache.put(row)
		}
	}
	if tx.pending.bounds.tooLarge(2 * d.cache.bytes) {
		d.cache.clear()
	}
	clear(d.cache.dirty)
	for _, key := range r.deleted {
		delete(d.missing, key)
	}
	if r.deleted = r.deleted[:0]; len(d.missing) >= maxMissing {
		clear(d.missing)
	}
	clear(r.previousRows)
	clear(r.changed)
	r.replaced = 0
	tx.pending.takeBack()
}

// noteWritten notes how a document is before it is written for the first time.
func (d *Documents) noteWritten(number int64) {
	if _, noted := d.rehearsal.previousRows[number]; !noted {
		d.rehearsal.previousRows[number] = copied(d.cache.rows[number])
	}
}

// rehearseRow writes both views of a document.
func (d *Documents) rehearseRow(r *Row) error {
	d.noteWritten(r.Number)
	row := copied(r)
	row.Body = bytes.Clone(r.Body)
	return d.keep(row)
}

// rehearseDelete removes a document.
func (d *Documents) rehearseDelete(r *Row) {
	d.noteWritten(r.Number)
	d.cache.forget(r.Number)
	d.missing[r.Key] = struct{}{}
	d.rehearsal.deleted = append(d.rehearsal.deleted, r.Key)
}

// rehearseChange notes that a derived change is about to hit a document. The error is ErrRehearsalEnds where too many have changed.
func (d *Documents) rehearseChange(number int64) error {
	d.noteWritten(number)
	d.rehearsal.changed[number] = true
	return d.rehearsal.countChanged(0, d.p.bounds)
}

// countChanged counts documents that a statement would change. Nothing may read them afterwards. The error is ErrRehearsalEnds.
func (r *rehearsal) countChanged(n int, bounds Rehearsal) error {
	if r.replaced += n; bounds.tooMany(len(r.changed) + r.replaced) {
		return ErrRehearsalEnds
	}
	return nil
}
