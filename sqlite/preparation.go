package sqlite

import (
	"strings"

	"github.com/fanfold/fanfold"
)

// A generation that Copy made is brought up to a model that is yet to come, and follows the log under
// that model. What the model changes waits in tables of its connection, without positions, until they
// are known; Activate empties them.

// Snapshot reads what the transaction has written; it is valid within it.
func (tx *Tx) Snapshot() *Snapshot { return &Snapshot{c: tx.c, Checkpoint: tx.checkpoint} }

// SetPendingChange keeps a change that the model to come makes; it replaces what was kept of the document.
func (tx *Tx) SetPendingChange(r *Row, prior fanfold.Position, rules []string, delta []byte) error {
	return tx.c.exec("INSERT OR REPLACE INTO temp.prepared (number, prior, collection, id, revision, rules, delta) VALUES (?, ?, ?, ?, ?, ?, ?)",
		r.Number, int64(prior), r.Key.Collection, r.Key.ID, int64(r.Revision), strings.Join(rules, ","), string(delta))
}

// RemovePendingChange forgets it.
func (tx *Tx) RemovePendingChange(number int64) error {
	return tx.c.exec("DELETE FROM temp.prepared WHERE number = ?", number)
}

// CountPendingChanges is how many changes wait.
func (tx *Tx) CountPendingChanges() (n int64, err error) {
	_, err = tx.c.first("SELECT count(*) FROM temp.prepared", func(r []sqlValue) { n = intOf(r[0]) })
	return n, err
}

// Touch notes that a document may differ from what was prepared.
func (tx *Tx) Touch(number int64) error {
	return tx.c.exec("INSERT OR IGNORE INTO temp.touched (number) VALUES (?)", number)
}

// Touched returns up to limit numbers that were touched.
func (tx *Tx) Touched(after int64, limit int) (numbers []int64, err error) {
	err = tx.c.query("SELECT number FROM temp.touched WHERE number > ? ORDER BY number LIMIT ?", func(r []sqlValue) error {
		numbers = append(numbers, intOf(r[0]))
		return nil
	}, after, int64(limit))
	return numbers, err
}

// ClearTouched forgets every touch.
func (tx *Tx) ClearTouched() error { return tx.c.exec("DELETE FROM temp.touched") }

// SetPosition gives a document the position of its last change.
func (tx *Tx) SetPosition(number int64, position fanfold.Position) error {
	if err := tx.flushCached(number); err != nil {
		return err
	}
	tx.cache.drop(number)
	return tx.c.exec("UPDATE document SET position = ? WHERE number = ?", int64(position), number)
}

// changeRow are the columns of a change, as they are copied.
const changeRow = "position, ordinal, prior, collection, id, op, revision, time, tx, rules, delta, previous, previous_source"

// CopyChanges takes over up to limit changes of another generation behind a position, and touches
// their documents. It returns the last one's position, or after where there is none.
func (tx *Tx) CopyChanges(from *Snapshot, after fanfold.Position, limit int) (last fanfold.Position, n int, err error) {
	last = after
	err = from.c.query("SELECT "+changeRow+" FROM change WHERE position > ? ORDER BY position LIMIT ?", func(r []sqlValue) error {
		if err := tx.c.exec("INSERT INTO change ("+changeRow+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", r...); err != nil {
			return err
		}
		last, n = fanfold.Position(intOf(r[0])), n+1
		return tx.c.exec("INSERT OR IGNORE INTO temp.touched (number) SELECT number FROM document WHERE collection = ? AND id = ?", r[3], r[4])
	}, int64(after), int64(limit))
	return last, n, err
}

// SetChanges takes over how many changes another generation has, and the last one's position.
func (tx *Tx) SetChanges(cp Checkpoint) {
	tx.checkpoint.Changes, tx.checkpoint.Position = cp.Changes, cp.Position
}

// Activate gives the changes that wait their positions, as those of event seq.
func (tx *Tx) Activate(seq uint64, now int64) error {
	if err := tx.flushCache(); err != nil {
		return err
	}
	tx.cache.clear()
	n, err := tx.CountPendingChanges()
	if err != nil || n == 0 {
		return err
	}
	first := int64(fanfold.At(seq, 0))
	if err := tx.c.exec("INSERT INTO temp.placed (number, position) SELECT number, ? + row_number() OVER (ORDER BY number) FROM temp.prepared", first-1); err != nil {
		return err
	}
	if err := tx.c.exec(`INSERT INTO change (position, ordinal, prior, collection, id, op, revision, time, rules, delta)
		SELECT l.position, ? + l.position, p.prior, p.collection, p.id, 'derive', p.revision, ?, p.rules, p.delta
		FROM temp.placed l CROSS JOIN temp.prepared p ON p.number = l.number`, tx.checkpoint.Changes+1-first, now); err != nil {
		return err
	}
	if err := tx.c.exec("UPDATE document SET " + placedSQL); err != nil {
		return err
	}
	if err := tx.c.exec("DELETE FROM temp.placed"); err != nil {
		return err
	}
	tx.checkpoint.Changes += n
	tx.checkpoint.Position = fanfold.At(seq, int(n-1))
	return nil
}

// Targets calls fn with every document that others refer to by the relation. fn may read and write.
func (tx *Tx) Targets(relation, to string, fn func(id string, body []byte) error) error {
	for after := ""; ; {
		var id string
		var body []byte
		found, err := tx.c.first("SELECT target, (SELECT body FROM document WHERE collection = ? AND id = target) FROM link WHERE relation = ? AND target > ? ORDER BY target LIMIT 1",
			func(r []sqlValue) { id, body = textOf(r[0]), bytesOf(r[1]) }, to, relation, after)
		if err != nil || !found {
			return err
		}
		if body != nil {
			if err := fn(id, body); err != nil {
				return err
			}
		}
		after = id
	}
}

// PageLinks gives every link of a relation its place in its target's pages, in order of arrival.
func (tx *Tx) PageLinks(relation string) error {
	if err := tx.c.exec("DELETE FROM paged WHERE relation = ?", relation); err != nil {
		return err
	}
	if err := tx.c.exec("INSERT INTO paged (relation, target, count) SELECT relation, target, count(*) FROM link WHERE relation = ? GROUP BY target", relation); err != nil {
		return err
	}
	return tx.c.exec(`UPDATE link SET ordinal = p.ordinal
		FROM (SELECT target, holder, row_number() OVER (PARTITION BY target ORDER BY holder) - 1 AS ordinal FROM link WHERE relation = ?1) p
		WHERE link.relation = ?1 AND link.target = p.target AND link.holder = p.holder`, relation)
}
