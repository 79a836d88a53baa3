package sqlite

import (
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// Coming prepares a model that is yet to come, in a transaction of a generation that Copy made. It is brought up to
// that model and follows the log under it. The model's changes wait in temporary tables, because their positions are
// not known until the model's event comes.
type Coming struct{ tx *Tx }

// Snapshot returns a snapshot of what the transaction has written to the file. It is valid within
// the transaction.
func (tx *Tx) Snapshot() *Snapshot {
	return &Snapshot{sequenceReader: sequenceReader{tx.c}, c: tx.c, Checkpoint: tx.checkpoint}
}

// SetChange keeps the change that the coming model makes to a document, in place of one that
// was kept before. It has no position yet.
func (co *Coming) SetChange(ch *fanfold.Change) error {
	patch, delta := splitPatch(ch.Delta)
	var source driver.Value
	if ch.Previous != nil {
		source = storedPrevious(ch)
	}
	return co.tx.c.Exec("INSERT OR REPLACE INTO temp.prepared (number, prior, revision, rules, patch, delta, omitted, previous, previous_source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		ch.Number, int64(ch.Prior), int64(ch.Revision), strings.Join(ch.Rules, ","), patch, delta, driver.Text(ch.Omitted), driver.Text(ch.Previous), source)
}

// RemoveChange removes the pending change of a document.
func (co *Coming) RemoveChange(number int64) error {
	return co.tx.c.Exec("DELETE FROM temp.prepared WHERE number = ?", number)
}

// CountChanges returns the number of pending changes.
func (co *Coming) CountChanges() (n int64, err error) {
	_, err = co.tx.c.QueryRow("SELECT count(*) FROM temp.prepared", func(r driver.Row) { n = r.Int(0) })
	return n, err
}

// Touch records that a document may differ from what was prepared of it.
func (co *Coming) Touch(number int64) error {
	return co.tx.c.Exec("INSERT OR IGNORE INTO temp.touched (number) VALUES (?)", number)
}

// Touched returns the touched documents' numbers greater than after, in order, limit of them at most.
func (co *Coming) Touched(after int64, limit int) (numbers []int64, err error) {
	err = co.tx.c.Query("SELECT number FROM temp.touched WHERE number > ? ORDER BY number LIMIT ? + 0", func(r driver.Row) error {
		numbers = append(numbers, r.Int(0))
		return nil
	}, after, int64(limit))
	return numbers, err
}

// ClearTouched removes every record of Touch.
func (co *Coming) ClearTouched() error { return co.tx.c.Exec("DELETE FROM temp.touched") }

// SetPosition gives a document the position of its last change.
func (co *Coming) SetPosition(number int64, position fanfold.Position) error {
	r, err := co.tx.Documents.cachedByNumber(number)
	if err != nil || r == nil {
		return err
	}
	if err := co.tx.Documents.flushFresh(); err != nil {
		return err
	}
	r.Position = position
	return co.tx.pending.writeDocument("UPDATE document SET position = ? WHERE number = ?", int64(position), number)
}

// storedChangeColumns are all columns of a change, in the order in which CopyChanges copies them.
const storedChangeColumns = "position, ordinal, prior, number, collection, id, op, revision, time, tx, actor, form, delta, previous, previous_source, omitted"

// CopyChanges copies the changes after a position from another generation, limit of them at most, and touches their
// documents. It returns the position of the last one, or after where there is none, and how many it copied.
func (co *Coming) CopyChanges(from *Snapshot, after fanfold.Position, limit int) (last fanfold.Position, n int, err error) {
	last = after
	if err := co.copyForms(from); err != nil {
		return after, 0, err
	}
	err = from.c.Query("SELECT "+storedChangeColumns+" FROM change WHERE position > ? ORDER BY position LIMIT ? + 0", func(r driver.Row) error {
		if err := co.tx.c.Exec("INSERT INTO change ("+storedChangeColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", r...); err != nil {
			return err
		}
		last, n = fanfold.Position(r.Int(0)), n+1
		number := r[3]
		if number == nil { // of a create
			number = int64(last.Seq())
		}
		return co.tx.c.Exec("INSERT OR IGNORE INTO temp.touched (number) SELECT number FROM document WHERE number = ?", number)
	}, int64(after), int64(limit))
	return last, n, err
}

// copyForms copies the forms of derived changes that another generation has more.
func (co *Coming) copyForms(from *Snapshot) error {
	known := int64(0)
	if _, err := co.tx.c.QueryRow("SELECT max(id) FROM form", func(r driver.Row) { known = r.Int(0) }); err != nil {
		return err
	}
	return from.c.Query("SELECT id, rules, patch FROM form WHERE id > ? ORDER BY id", func(r driver.Row) error {
		return co.tx.c.Exec("INSERT INTO form (id, rules, patch) VALUES (?, ?, ?)", r...)
	}, known)
}

// SetChanges takes the number of changes and the last one's position from the checkpoint of another
// generation.
func (co *Coming) SetChanges(cp Checkpoint) {
	co.tx.checkpoint.Changes, co.tx.checkpoint.Position = cp.Changes, cp.Position
}

// Activate writes the pending changes as changes of the event at seq, at positions in order of the
// documents' numbers. now is the event's time in nanoseconds, and actor its actor.
func (co *Coming) Activate(seq uint64, now int64, actor string) error {
	n, err := co.CountChanges()
	if err != nil || n == 0 {
		return err
	}
	first := int64(fanfold.At(seq, 0))
	if err := co.tx.c.Exec("INSERT OR FAIL INTO temp.new_position (number, position) SELECT number, ? + row_number() OVER (ORDER BY number) FROM temp.prepared", first-1); err != nil {
		return err
	}
	co.tx.changes.forms = nil
	if err := co.tx.c.Exec("INSERT OR IGNORE INTO form (rules, patch) SELECT rules, patch FROM temp.prepared GROUP BY rules, patch ORDER BY min(number)"); err != nil {
		return err
	}
	if err := co.tx.c.Exec(`INSERT OR FAIL INTO change (position, ordinal, prior, number, revision, time, actor, form, delta, omitted, previous, previous_source)
		SELECT l.position, CASE l.position WHEN ?2 THEN ?1 + l.position END, p.prior, p.number, nullif(p.revision, p.number), CASE l.position WHEN ?2 THEN ?3 END, CASE l.position WHEN ?2 THEN ?4 END, f.id, p.delta, p.omitted, p.previous, p.previous_source
		FROM temp.new_position l CROSS JOIN temp.prepared p ON p.number = l.number CROSS JOIN form f ON f.rules = p.rules AND f.patch = p.patch`,
		co.tx.checkpoint.Changes+1-first, first, now, nullableText(actor)); err != nil {
		return err
	}
	if err := co.tx.c.Exec("UPDATE OR FAIL document SET " + setNewPositionSQL); err != nil {
		return err
	}
	if err := co.tx.c.Exec("DELETE FROM temp.new_position"); err != nil {
		return err
	}
	co.tx.checkpoint.Changes += n
	co.tx.checkpoint.Position = fanfold.At(seq, int(n-1))
	return nil
}
