package sqlite

import (
	"strings"

	"github.com/fanfold/fanfold"
)

// AddChange appends a change row; it sets the change's ordinal.
func (tx *Tx) AddChange(ch *fanfold.Change) error {
	tx.checkpoint.Changes++
	ch.Ordinal = tx.checkpoint.Changes
	tx.checkpoint.Position = max(tx.checkpoint.Position, ch.Position)
	if ch.Op == fanfold.OpDerive { // by far the most, so several go at once
		tx.derived = append(tx.derived, int64(ch.Position), ch.Ordinal, int64(ch.Prior), ch.Key.Collection, ch.Key.ID,
			int64(ch.Revision), ch.Time.UnixNano(), textOrNull(ch.Tx), strings.Join(ch.Rules, ","), string(ch.Delta))
		if len(tx.derived) < len(derivedRows)*derivedArgs {
			return nil
		}
		return tx.writeDerived()
	}
	if ch.Previous == nil {
		return tx.c.exec("INSERT INTO change (position, ordinal, collection, id, op, revision, time, tx) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			int64(ch.Position), ch.Ordinal, ch.Key.Collection, ch.Key.ID, string(ch.Op), int64(ch.Revision), ch.Time.UnixNano(), textOrNull(ch.Tx))
	}
	return tx.c.exec("INSERT INTO change (position, ordinal, prior, collection, id, op, revision, time, tx, previous, previous_source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		int64(ch.Position), ch.Ordinal, int64(ch.Prior), ch.Key.Collection, ch.Key.ID, string(ch.Op), int64(ch.Revision), ch.Time.UnixNano(), textOrNull(ch.Tx),
		text(ch.Previous), text(ch.PreviousSource))
}

// writeDerived writes the derived changes that wait for more.
func (tx *Tx) writeDerived() error {
	if len(tx.derived) == 0 {
		return nil
	}
	args := tx.derived
	tx.derived = tx.derived[:0]
	return tx.c.exec(derivedRows[len(args)/derivedArgs-1], args...)
}

// ReplaceMembers gives members of the embedded view of every document that refers to target other values,
// which all of them have the same of, and writes one derived change for each, in order of arrival: of ch
// the position of the first, and what they have in common. There are n such documents.
//
// SQLite's JSON functions keep every other token as it is, the text of numbers and strings and the order
// of members: TestSetOrientedFold compares the bytes.
func (tx *Tx) ReplaceMembers(relation, target string, members []Member, n int, ch fanfold.Change) error {
	if err := tx.flushCache(); err != nil {
		return err
	}
	tx.cache.clear()
	if err := tx.writeDerived(); err != nil {
		return err
	}
	if err := tx.c.exec("INSERT INTO temp.placed (number, position) SELECT holder, ? + row_number() OVER (ORDER BY holder) FROM link WHERE relation = ? AND target = ?",
		int64(ch.Position)-1, relation, target); err != nil {
		return err
	}
	if err := tx.c.exec(`INSERT INTO change (position, ordinal, prior, collection, id, op, revision, time, tx, rules, delta)
		SELECT p.position, ? + p.position, d.position, d.collection, d.id, 'derive', d.revision, ?, ?, ?, ?
		FROM temp.placed p CROSS JOIN document d ON d.number = p.number ORDER BY p.number`,
		tx.checkpoint.Changes+1-int64(ch.Position), ch.Time.UnixNano(), textOrNull(ch.Tx), strings.Join(ch.Rules, ","), string(ch.Delta)); err != nil {
		return err
	}
	tx.args = tx.args[:0]
	for _, m := range members {
		tx.args = append(tx.args, m.Path, text(m.Value))
	}
	if err := tx.c.exec("UPDATE document SET body = json_replace(body"+strings.Repeat(", ?, json(?)", len(members))+"), "+placedSQL, tx.args...); err != nil {
		return err
	}
	if err := tx.c.exec("DELETE FROM temp.placed"); err != nil {
		return err
	}
	tx.c.wrote += n // as many statements would
	tx.checkpoint.Changes += int64(n)
	tx.checkpoint.Position = max(tx.checkpoint.Position, fanfold.At(ch.Position.Seq(), ch.Position.N()+n-1))
	return nil
}

func textOrNull(s string) sqlValue {
	if s == "" {
		return nil
	}
	return s
}

// Member is a top-level member of a document and its new value.
type Member struct {
	Path  string // as SQLite's JSON functions write it
	Value []byte
}
