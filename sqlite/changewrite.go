package sqlite

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// changeWriter writes the rows of changes. Derived ones are by far the most frequent, so it inserts several at once, and stores what many
// have in common once.
type changeWriter struct {
	c        *driver.Conn
	begin    fanfold.Position // the last change when the transaction began: none up to it is yet to be written
	derived  []driver.Value   // derived changes yet to be written
	bytes    int              // of their deltas
	forms    map[string]int64 // numbers of forms that are in the file
	formKey  []byte           // used again and again
	splitter splitter

	chains      map[fanfold.Position]chainEnd // of documents whose next derived change may be stored after the last one
	olderChains map[fanfold.Position]chainEnd // the same of those noted earlier

	paths     map[int64][]string // that have values after a form's change
	pathForms map[[2]int64]int64 // see formOfPaths
}

// AddChange appends a change row and sets the ordinal of ch. Derived changes are written several at
// a time, at the transaction's end at the latest.
func (tx *Tx) AddChange(ch *fanfold.Change) error {
	if !tx.count(ch) {
		return nil
	}
	return tx.changes.add(ch)
}

// AddGathered is AddChange for a derived change of values that are made from many documents. Such a value is a list of the newest, for
// example, and mostly a small part of it changes. If it can, it stores only the difference from the values before (deltachain.go).
func (tx *Tx) AddGathered(ch *fanfold.Change) error {
	if !tx.count(ch) {
		return nil
	}
	return tx.changes.addGathered(ch)
}

// add appends a change row.
func (w *changeWriter) add(ch *fanfold.Change) error {
	if ch.Op == fanfold.OpDerive {
		w.splitter.split(ch.Delta)
		id, err := w.formOf(ch.Rules, w.splitter.form)
		if err != nil {
			return err
		}
		delta := w.splitter.stored(ch.Delta)
		w.noteChain(ch.Position, readChainEnd(id, delta, int64(len(delta))))
		return w.addDerived(ch, id, delta)
	}
	when, in, actor := ofEvent(ch)
	if ch.Op == fanfold.OpErase {
		return w.c.Exec("INSERT INTO change (position, ordinal, prior, collection, id, op, revision, time, tx, actor) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			int64(ch.Position), ch.Ordinal, int64(ch.Prior), ch.Key.Collection, ch.Key.ID, storedOp(ch.Op), int64(ch.Revision), when, in, actor)
	}
	if ch.Previous == nil {
		return w.c.Exec("INSERT INTO change (position, ordinal, collection, id, op, time, tx, actor, omitted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			int64(ch.Position), ch.Ordinal, ch.Key.Collection, ch.Key.ID, storedOp(ch.Op), when, in, actor, driver.Text(ch.Omitted))
	}
	form, err := w.formOfDelete(ch.ByDelete)
	if err != nil {
		return err
	}
	return w.c.Exec("INSERT INTO change (position, ordinal, prior, number, op, time, tx, actor, form, previous, previous_source, omitted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		int64(ch.Position), ch.Ordinal, int64(ch.Prior), ch.Number, storedOp(ch.Op), when, in, actor, form,
		driver.Text(ch.Previous), storedPrevious(ch), driver.Text(ch.Omitted))
}

// storedOps are the operations of direct changes, by what their rows have.
var storedOps = []fanfold.Op{1: fanfold.OpCreate, 2: fanfold.OpReplace, 3: fanfold.OpPatch, 4: fanfold.OpDelete, 5: fanfold.OpErase}

// storedOp returns what the row of a direct change has of its operation.
func storedOp(op fanfold.Op) int64 { return int64(slices.Index(storedOps, op)) }

// addGathered does what AddGathered does.
func (w *changeWriter) addGathered(ch *fanfold.Change) error {
	w.splitter.split(ch.Delta)
	id, err := w.formOf(ch.Rules, w.splitter.form)
	if err != nil {
		return err
	}
	delta, err := w.storedAfter(ch, id)
	if err != nil {
		return err
	}
	return w.addDerived(ch, id, delta)
}

// count gives a change its ordinal, and returns whether it gets a row: no event reads a rehearsal's changes.
func (tx *Tx) count(ch *fanfold.Change) bool {
	tx.checkpoint.Changes++
	ch.Ordinal = tx.checkpoint.Changes
	tx.checkpoint.Position = max(tx.checkpoint.Position, ch.Position)
	return !tx.pending.inMemory
}

// addDerived writes the row of a derived change, or puts it off: they are by far the most frequent, so several are inserted
// at once.
func (w *changeWriter) addDerived(ch *fanfold.Change, form int64, delta []byte) error {
	when, in, actor := ofEvent(ch)
	ordinal, revision := storedOrdinal(ch), storedRevision(ch)
	if ch.Previous != nil || actor != nil {
		if err := w.flush(); err != nil {
			return err
		}
		var previous driver.Value
		if ch.Previous != nil {
			previous = storedPrevious(ch)
		}
		return w.c.Exec("INSERT INTO change (position, ordinal, prior, number, revision, time, tx, actor, form, delta, previous, previous_source, omitted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			int64(ch.Position), ordinal, int64(ch.Prior), ch.Number, revision, when, in, actor, form, delta,
			driver.Text(ch.Previous), previous, driver.Text(ch.Omitted))
	}
	w.derived = append(w.derived, int64(ch.Position), ordinal, int64(ch.Prior), ch.Number,
		revision, when, in, form, bytes.Clone(delta), driver.Text(ch.Omitted))
	w.bytes += len(delta)
	if len(w.derived) < len(insertDerivedSQL)*derivedColumns && w.bytes < maxUnflushedBytes {
		return nil
	}
	return w.flush()
}

// storedOrdinal returns what the row of a derived change has of its ordinal: nothing, where that follows from the one of the event's first change.
func storedOrdinal(ch *fanfold.Change) driver.Value {
	if ch.Position.N() > 0 {
		return nil
	}
	return ch.Ordinal
}

// storedRevision returns what the row of a derived change has of the document's revision: nothing, where no event has written the document since
// that which created it.
func storedRevision(ch *fanfold.Change) driver.Value {
	if int64(ch.Revision) == ch.Number {
		return nil
	}
	return int64(ch.Revision)
}

// storedPrevious returns what the row of a change holds of the referenced view before it.
func storedPrevious(ch *fanfold.Change) driver.Value {
	source := ch.Previous
	if ch.PreviousSource != nil {
		source = ch.PreviousSource
	}
	return NewReferencedView(ch.Previous, source, false).column
}

// ofEvent returns what the row of a change has of its event: the time, the transaction and the actor where it is the event's first.
func ofEvent(ch *fanfold.Change) (time, tx, actor driver.Value) {
	if ch.Position.N() > 0 {
		return nil, nil, nil
	}
	return ch.Time.UnixNano(), nullableText(storedTx(ch)), nullableText(ch.Actor)
}

// storedTx returns what the row of a change has of its transaction: the id, which has no line feed, and after one the function that was called.
// So the rows of all other changes have nothing for it.
func storedTx(ch *fanfold.Change) string {
	if ch.Call == "" {
		return ch.Tx
	}
	return ch.Tx + "\n" + ch.Call
}

// readTx returns the transaction, and the function that was called in it, of what storedTx has returned.
func readTx(stored string) (tx, call string) {
	tx, call, _ = strings.Cut(stored, "\n")
	return tx, call
}

// SetChangeOmitted replaces what the change at a position, a direct one, says about values left out.
func (tx *Tx) SetChangeOmitted(at fanfold.Position, omitted []byte) error {
	return tx.pending.writeUnread("UPDATE change SET omitted = ? WHERE position = ?", driver.Text(omitted), int64(at))
}

// maxUnflushedBytes is from how many bytes of deltas on derived changes are written.
const maxUnflushedBytes = 1 << 20

// flush writes the derived changes that AddChange has gathered.
func (w *changeWriter) flush() error {
	if len(w.derived) == 0 {
		return nil
	}
	args := w.derived
	w.derived, w.bytes = w.derived[:0], 0
	return w.c.Exec(insertDerivedSQL[len(args)/derivedColumns-1], args...)
}

// ReplaceMembers gives the same new values to members of the embedded view of every document that refers to target.
// It writes a derived change for each document, in order of creation. There are n such documents. ch has the position
// of the first change and what all of them have in common.
//
// SQLite's JSON functions keep every other token as it is: the text of numbers and strings, and the
// order of members. TestSetOrientedFold compares the bytes.
func (tx *Tx) ReplaceMembers(relation, target string, members []Member, n int, ch fanfold.Change) error {
	if tx.pending.inMemory {
		return tx.Documents.rehearsal.countChanged(n, tx.pending.bounds)
	}
	if err := errors.Join(tx.changes.flush(), tx.Documents.Write()); err != nil {
		return err
	}
	holders, err := tx.Links.Holders(nil, relation, target, -1)
	if err != nil {
		return err
	}
	for _, number := range holders {
		tx.Documents.cache.drop(number)
	}
	tx.Documents.cache.unsettled = true
	if err := tx.c.Exec("INSERT OR FAIL INTO temp.new_position (number, position) SELECT holder, ? + row_number() OVER (ORDER BY holder) FROM link WHERE relation = (SELECT id FROM name WHERE text = ?) AND target = ?",
		int64(ch.Position)-1, relation, target); err != nil {
		return err
	}
	patch, delta := splitPatch(ch.Delta)
	id, err := tx.changes.formOf(ch.Rules, []byte(patch))
	if err != nil {
		return err
	}
	if err := tx.c.Exec(`INSERT OR FAIL INTO change (position, prior, number, revision, form, delta, previous, previous_source)
		SELECT p.position, d.position, d.number, nullif(d.revision, d.number), ?, ?,
			CASE WHEN `+isKeyFrameSQL+` THEN d.body END, CASE WHEN `+isKeyFrameSQL+` THEN d.source END
		FROM temp.new_position p CROSS JOIN document d ON d.number = p.number ORDER BY p.number`,
		id, delta); err != nil {
		return err
	}
	tx.Documents.argBuffer = tx.Documents.argBuffer[:0]
	for _, m := range members {
		tx.Documents.argBuffer = append(tx.Documents.argBuffer, m.Path, driver.Text(m.Value))
	}
	if err := tx.pending.writeDocument("UPDATE OR FAIL document SET body = json_replace(body"+strings.Repeat(", ?, json(?)", len(members))+"), "+setNewPositionSQL, tx.Documents.argBuffer...); err != nil {
		return err
	}
	if err := tx.c.Exec("DELETE FROM temp.new_position"); err != nil {
		return err
	}
	tx.c.Written += n // what a statement for each document would count
	tx.checkpoint.Changes += int64(n)
	tx.checkpoint.Position = max(tx.checkpoint.Position, fanfold.At(ch.Position.Seq(), ch.Position.N()+n-1))
	return nil
}

// nullableText returns s as a value to bind, NULL for "".
func nullableText(s string) driver.Value {
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
	const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	for i := range list {
		list[i] = "INSERT OR FAIL INTO change (position, ordinal, prior, number, revision, time, tx, form, delta, omitted) VALUES " + row + strings.Repeat(", "+row, i)
	}
	return list
}()

// The values that insertDerivedSQL binds for each change.
const (
	derivedColumns = 10 // values of a row
	derivedForm    = 7  // where its form is
	derivedDelta   = 8
)

// setNewPositionSQL is the end of an UPDATE that gives documents the positions in
// temp.new_position. A subquery is used because UPDATE ... FROM would put every new row aside
// before it writes the first (SQLite documentation, UPDATE).
const setNewPositionSQL = "position = (SELECT position FROM temp.new_position p WHERE p.number = document.number) WHERE number IN (SELECT number FROM temp.new_position)"

// The writes that a delete brings with it by its policies have a form, as derived changes have. In place of rules it names
// relations, and in place of a patch the deleted document. So a delete with a thousand writes is named once for each relation.

// formOfDelete returns the form of the changes that a delete brings with it by the same relations, as a value to bind; NULL
// where there is none.
func (w *changeWriter) formOfDelete(by *fanfold.ByDelete) (driver.Value, error) {
	if by == nil {
		return nil, nil
	}
	named := append([]byte(`{"collection":"`), by.Key.Collection+`","id":`...)
	named = jsondoc.AppendQuote(named, by.Key.ID)
	named = strconv.AppendUint(append(named, `,"seq":`...), by.Seq, 10)
	return w.formOf(by.Relations, append(named, '}'))
}

// readByDelete returns the delete that a form names.
func readByDelete(relations, named string) *fanfold.ByDelete {
	t := jsondoc.MustParse([]byte(named))
	seq, _ := strconv.ParseUint(t.Text(t.Member(jsondoc.Root, "seq")), 10, 64) // as formOfDelete has written it
	return &fanfold.ByDelete{Seq: seq, Relations: strings.Split(relations, ","),
		Key: fanfold.Key{Collection: t.Text(t.Member(jsondoc.Root, "collection")), ID: t.Text(t.Member(jsondoc.Root, "id"))}}
}
