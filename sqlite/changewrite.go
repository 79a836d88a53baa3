package sqlite

import (
	"strings"

	"github.com/fanfold/fanfold"
)

// AddChange appends a change row and sets the ordinal of ch. Derived changes are written several at
// a time, at the transaction's end at the latest.
func (tx *Tx) AddChange(ch *fanfold.Change) error {
	if tx.count(ch); tx.over != nil {
		return nil
	}
	if ch.Op == fanfold.OpDerive {
		tx.splitter.split(ch.Delta)
		id, err := tx.formOf(ch.Rules, tx.splitter.form)
		if err != nil {
			return err
		}
		return tx.addDerived(ch, id, string(tx.splitter.values))
	}
	when, in := ofEvent(ch)
	if ch.Previous == nil {
		return tx.c.exec("INSERT INTO change (position, ordinal, collection, id, op, time, tx, omitted) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			int64(ch.Position), ch.Ordinal, ch.Key.Collection, ch.Key.ID, string(ch.Op), when, in, textValue(ch.Omitted))
	}
	form, err := tx.formOfDelete(ch.ByDelete)
	if err != nil {
		return err
	}
	return tx.c.exec("INSERT INTO change (position, ordinal, prior, collection, id, op, time, tx, form, previous, previous_source, omitted, number) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		int64(ch.Position), ch.Ordinal, int64(ch.Prior), ch.Key.Collection, ch.Key.ID, string(ch.Op), when, in, form,
		textValue(ch.Previous), storedPrevious(ch), textValue(ch.Omitted), ch.Number)
}

// AddGathered is AddChange for a derived change of values that are made from many documents, such as lists of the newest,
// of which mostly a small part changes. Where it can, it stores what they have besides those before (deltachain.go).
func (tx *Tx) AddGathered(ch *fanfold.Change) error {
	if tx.count(ch); tx.over != nil {
		return nil
	}
	tx.splitter.split(ch.Delta)
	id, err := tx.formOf(ch.Rules, tx.splitter.form)
	if err != nil {
		return err
	}
	if !tx.splitter.replaces || len(tx.splitter.values)-len(tx.splitter.behind) < chainSaves {
		return tx.addDerived(ch, id, string(tx.splitter.values))
	}
	depth, err := tx.depthBehind(ch.Prior, id)
	if err != nil {
		return err
	}
	tx.noteChain(ch.Position, chainEnd{form: id, depth: depth})
	return tx.addDerived(ch, id, tx.splitter.stored(depth))
}

// count gives a change its ordinal.
func (tx *Tx) count(ch *fanfold.Change) {
	tx.checkpoint.Changes++
	ch.Ordinal = tx.checkpoint.Changes
	tx.checkpoint.Position = max(tx.checkpoint.Position, ch.Position)
}

// addDerived writes the row of a derived change, or puts it off: they are by far the most frequent, so several are inserted
// at once.
func (tx *Tx) addDerived(ch *fanfold.Change, form int64, delta string) error {
	when, in := ofEvent(ch)
	if ch.Previous != nil {
		if err := tx.flushDerived(); err != nil {
			return err
		}
		return tx.c.exec("INSERT INTO change (position, ordinal, prior, collection, id, revision, time, tx, form, delta, previous, previous_source, omitted, number) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			int64(ch.Position), ch.Ordinal, int64(ch.Prior), ch.Key.Collection, ch.Key.ID, int64(ch.Revision), when, in, form, delta,
			textValue(ch.Previous), storedPrevious(ch), textValue(ch.Omitted), ch.Number)
	}
	tx.unwrittenDerived = append(tx.unwrittenDerived, int64(ch.Position), ch.Ordinal, int64(ch.Prior), ch.Key.Collection, ch.Key.ID,
		int64(ch.Revision), when, in, form, delta, textValue(ch.Omitted))
	tx.unwrittenBytes += len(delta)
	if len(tx.unwrittenDerived) < len(insertDerivedSQL)*derivedColumns && tx.unwrittenBytes < maxUnwrittenBytes {
		return nil
	}
	return tx.flushDerived()
}

// storedPrevious returns what the row of a change holds of the referenced view before it.
func storedPrevious(ch *fanfold.Change) sqlValue {
	source := ch.Previous
	if ch.PreviousSource != nil {
		source = ch.PreviousSource
	}
	return StoreSource(ch.Previous, source, false).column
}

// ofEvent returns what the row of a change has of its event: the time and the transaction where it is the event's first.
func ofEvent(ch *fanfold.Change) (time, tx sqlValue) {
	if ch.Position.N() > 0 {
		return nil, nil
	}
	return ch.Time.UnixNano(), nullableText(ch.Tx)
}

// SetChangeOmitted replaces what the change at a position, a direct one, says about values left out.
func (tx *Tx) SetChangeOmitted(at fanfold.Position, omitted []byte) error {
	if tx.over != nil {
		return nil
	}
	return tx.c.exec("UPDATE change SET omitted = ? WHERE position = ?", textValue(omitted), int64(at))
}

// maxUnwrittenBytes is from how many bytes of deltas on derived changes are put off no longer.
const maxUnwrittenBytes = 1 << 20

// flushDerived writes the derived changes that AddChange has put off.
func (tx *Tx) flushDerived() error {
	if len(tx.unwrittenDerived) == 0 {
		return nil
	}
	args := tx.unwrittenDerived
	tx.unwrittenDerived, tx.unwrittenBytes = tx.unwrittenDerived[:0], 0
	return tx.c.exec(insertDerivedSQL[len(args)/derivedColumns-1], args...)
}

// ReplaceMembers gives the same new values to members of the embedded view of every document that
// refers to target, and writes a derived change for each of them, in order of creation. There are n
// such documents. ch has the position of the first change and what all of them have in common.
//
// SQLite's JSON functions keep every other token as it is: the text of numbers and strings, and the
// order of members. TestSetOrientedFold compares the bytes.
func (tx *Tx) ReplaceMembers(relation, target string, members []Member, n int, ch fanfold.Change) error {
	if tx.over != nil {
		return tx.over.replaceMembers(n)
	}
	if err := tx.flushCache(); err != nil {
		return err
	}
	tx.cache.clear()
	if err := tx.flushDerived(); err != nil {
		return err
	}
	if err := tx.c.exec("INSERT OR FAIL INTO temp.new_position (number, position) SELECT holder, ? + row_number() OVER (ORDER BY holder) FROM link WHERE relation = ? AND target = ?",
		int64(ch.Position)-1, relation, target); err != nil {
		return err
	}
	patch, values := splitPatch(ch.Delta)
	id, err := tx.formOf(ch.Rules, []byte(patch))
	if err != nil {
		return err
	}
	if err := tx.c.exec(`INSERT OR FAIL INTO change (position, ordinal, prior, collection, id, revision, form, delta, previous, previous_source, number)
		SELECT p.position, ? + p.position, d.position, d.collection, d.id, d.revision, ?, ?,
			CASE WHEN `+isKeyFrameSQL+` THEN d.body END, CASE WHEN `+isKeyFrameSQL+` THEN d.source END, CASE WHEN `+isKeyFrameSQL+` THEN d.number END
		FROM temp.new_position p CROSS JOIN document d ON d.number = p.number ORDER BY p.number`,
		tx.checkpoint.Changes+1-int64(ch.Position), id, string(values)); err != nil {
		return err
	}
	tx.argBuffer = tx.argBuffer[:0]
	for _, m := range members {
		tx.argBuffer = append(tx.argBuffer, m.Path, textValue(m.Value))
	}
	if err := tx.c.exec("UPDATE OR FAIL document SET body = json_replace(body"+strings.Repeat(", ?, json(?)", len(members))+"), "+setNewPositionSQL, tx.argBuffer...); err != nil {
		return err
	}
	if err := tx.c.exec("DELETE FROM temp.new_position"); err != nil {
		return err
	}
	tx.c.writes += n // what a statement for each document would count
	tx.checkpoint.Changes += int64(n)
	tx.checkpoint.Position = max(tx.checkpoint.Position, fanfold.At(ch.Position.Seq(), ch.Position.N()+n-1))
	return nil
}

// nullableText returns s as a value to bind, NULL for "".
func nullableText(s string) sqlValue {
	if s == "" {
		return nil
	}
	return s
}

// Member is a top-level member of a document with its new value.
type Member struct {
	Path  string // as SQLite's JSON functions write it
	Value []byte
}

// insertDerivedSQL holds the statements that insert 1, 2, 3, ... derived changes.
var insertDerivedSQL = func() (list [8]string) {
	const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	for i := range list {
		list[i] = "INSERT OR FAIL INTO change (position, ordinal, prior, collection, id, revision, time, tx, form, delta, omitted) VALUES " + row + strings.Repeat(", "+row, i)
	}
	return list
}()

// What insertDerivedSQL binds for each change.
const (
	derivedColumns = 11 // values of a row
	derivedForm    = 8  // where its form is
	derivedDelta   = 9
)

// setNewPositionSQL is the end of an UPDATE that gives documents the positions in
// temp.new_position. A subquery is used because UPDATE ... FROM would put every new row aside
// before it writes the first (SQLite documentation, UPDATE).
const setNewPositionSQL = "position = (SELECT position FROM temp.new_position p WHERE p.number = document.number) WHERE number IN (SELECT number FROM temp.new_position)"
