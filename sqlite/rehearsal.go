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

// Rehearse returns a transaction on the snapshot whose writes stay in memory, over the rows of the file. It reads its own
// writes, nobody waits for it, and nothing of it is kept. It takes what events about documents do: what only a model does
// fails. It is valid as long as the snapshot. Where it would pass a bound its methods return ErrRehearsalEnds.
func (s *Snapshot) Rehearse(bounds Rehearsal) *Tx {
	o := &overlay{s: s, bounds: bounds, rows: map[int64]*Row{}, keys: map[fanfold.Key]int64{}, changed: map[int64]bool{}, were: map[int64]*Row{}, held: map[Link]bool{},
		links: map[Link]*linkOverlay{}, entries: map[ruleTarget]*entryOverlay{}, totals: map[ruleTarget]total{}, kept: map[ruleTarget]*keptOverlay{}}
	return &Tx{c: s.c, checkpoint: s.Checkpoint, loaded: true, over: o}
}

// overlay holds what a rehearsal writes, and the documents that it has read to write them.
type overlay struct {
	s        *Snapshot
	bounds   Rehearsal
	rows     map[int64]*Row // nil for a document that was deleted; never written to once they are here
	keys     map[fanfold.Key]int64
	size     int // of the bodies in rows
	changed  map[int64]bool
	were     map[int64]*Row // the documents that it wrote, as they were; nil for one that was not there
	held     map[Link]bool  // whether the file has a link to a target, where that was asked
	replaced int            // documents that replaceMembers changed
	links    map[Link]*linkOverlay
	entries  map[ruleTarget]*entryOverlay
	totals   map[ruleTarget]total
	kept     map[ruleTarget]*keptOverlay
}

// ruleTarget names what a rule keeps on a target.
type ruleTarget struct{ rule, target string }

// total holds a sum of a rule on a target.
type total struct {
	count int64
	sum   string
}

// put sets the row of a document. The error is ErrRehearsalEnds.
func (o *overlay) put(r *Row) error {
	if old := o.rows[r.Number]; old != nil {
		o.size -= old.size()
	}
	o.size += r.size()
	o.rows[r.Number], o.keys[r.Key] = r, r.Number
	if o.bounds.MaxBytes > 0 && o.size > o.bounds.MaxBytes {
		return ErrRehearsalEnds
	}
	return nil
}

// get returns a copy of the row of a document, nil where there is none.
func (o *overlay) get(key fanfold.Key) (*Row, error) {
	if number, known := o.keys[key]; known {
		return o.byNumber(number)
	}
	r, err := o.s.Row(key)
	return o.loaded(r, err)
}

// byNumber returns a copy of the row of a document, nil where there is none.
func (o *overlay) byNumber(number int64) (*Row, error) {
	if r, known := o.rows[number]; known || number == 0 {
		return copied(r), nil
	}
	r, err := o.s.RowByNumber(number)
	return o.loaded(r, err)
}

// loaded keeps a row that was read from the file, and returns a copy.
func (o *overlay) loaded(r *Row, err error) (*Row, error) {
	if err != nil || r == nil {
		return nil, err
	}
	return copied(r), o.put(r)
}

// copied returns a copy of a row, nil of nil.
func copied(r *Row) *Row {
	if r == nil {
		return nil
	}
	out := *r
	return &out
}

// body returns the embedded view of a document, nil where there is none.
func (o *overlay) body(key fanfold.Key) (body []byte, err error) {
	if number, known := o.keys[key]; known {
		if r := o.rows[number]; r != nil {
			return r.Body, nil
		}
		return nil, nil
	}
	return o.s.body(key)
}

// numberOf returns the number of a document, 0 where there is none.
func (o *overlay) numberOf(key fanfold.Key) (int64, error) {
	if number, known := o.keys[key]; known {
		return number, nil
	}
	return o.s.NumberOf(key)
}

// each calls fn with the documents of these numbers.
func (o *overlay) each(numbers []int64, fn func(r *Row) error) error {
	for _, number := range numbers {
		r, err := o.byNumber(number)
		if err == nil && r != nil {
			err = fn(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TakeBack takes back what a rehearsal has written, so that the next event is folded on the file's rows. What was read of
// them is kept, within the rehearsal's bounds.
func (tx *Tx) TakeBack() {
	o := tx.over
	tx.checkpoint = o.s.Checkpoint
	for number, row := range o.were {
		if r := o.rows[number]; r != nil {
			o.size -= r.size()
			delete(o.keys, r.Key)
		}
		if delete(o.rows, number); row != nil {
			o.rows[number], o.keys[row.Key] = row, number
			o.size += row.size()
		}
	}
	if o.bounds.MaxBytes > 0 && o.size > o.bounds.MaxBytes/2 {
		clear(o.rows)
		clear(o.keys)
		o.size = 0
	}
	clear(o.were)
	clear(o.changed)
	clear(o.links)
	clear(o.entries)
	clear(o.totals)
	clear(o.kept)
	o.replaced = 0
}

// noteWritten notes how a document is before it is written for the first time.
func (o *overlay) noteWritten(number int64) {
	if _, noted := o.were[number]; !noted {
		o.were[number] = o.rows[number]
	}
}

// heldInFile reports whether the file has a link to a target.
func (o *overlay) heldInFile(relation, target string) (held bool, err error) {
	l := Link{relation, target}
	held, known := o.held[l]
	if !known {
		held, err = o.s.c.queryRow(hasHoldersSQL, func([]sqlValue) {}, relation, target)
		o.held[l] = held && err == nil
	}
	return held, err
}

// write sets both views of a document.
func (o *overlay) write(r *Row) error {
	o.noteWritten(r.Number)
	row := copied(r)
	row.Body = bytes.Clone(r.Body)
	return o.put(row)
}

// setView sets the embedded view of a document. The error is ErrRehearsalEnds where too many have changed.
func (o *overlay) setView(number int64, v View) error {
	row, err := o.byNumber(number)
	if err != nil || row == nil {
		return err
	}
	row.Position, row.Body, row.Stored, row.Omitted = v.Position, bytes.Clone(v.Body), v.Stored, v.Omitted
	o.noteWritten(number)
	o.changed[number] = true
	if o.tooMany(len(o.changed) + o.replaced) {
		return ErrRehearsalEnds
	}
	return o.put(row)
}

// tooMany reports whether n documents are more than the rehearsal may change.
func (o *overlay) tooMany(n int) bool { return o.bounds.MaxDocuments > 0 && n > o.bounds.MaxDocuments }

// remove removes a document.
func (o *overlay) remove(r *Row) {
	o.noteWritten(r.Number)
	if old := o.rows[r.Number]; old != nil {
		o.size -= old.size()
	}
	o.rows[r.Number], o.keys[r.Key] = nil, 0
}

// replaceMembers counts the documents that a statement would change. Nothing may read them afterwards.
func (o *overlay) replaceMembers(n int) error {
	if o.replaced += n; o.tooMany(len(o.changed) + o.replaced) {
		return ErrRehearsalEnds
	}
	return nil
}
