package sqlite

import (
	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// mayLeave reports whether a change that is not its document's newest may be the one by which the document leaves what a
// filter or a rule lets through. It may also be the newest one that a reader sees who does not see all members.
func (f *feedPage) mayLeave(ch *fanfold.Change) bool {
	return (f.q.Versions && ch.Prior != 0 || f.judges(ch.Key.Collection)) && ch.Position > f.q.HeldFrom
}

// addVersions adds to a row what a filter decides by. If the page has no room for it, it is left out.
func (f *feedPage) addVersions(row *fanfold.ChangeRow) (err error) {
	if !f.q.Versions || f.size > f.q.MaxBytes || row.Sight != nil && row.Sight.Unasked {
		return nil
	}
	after := row.Doc
	if !row.Op.Gone() && (after == nil || f.q.Latest && after.Position != row.Position) {
		if after, err = f.versionAfter(&f.history, row.Change); err != nil || f.size > f.q.MaxBytes {
			return err
		}
	}
	row.After = bodyOf(after)
	if row.Within {
		var size int
		row.End, size, err = f.wholes.end(row.Change, f.q.MaxBytes-f.size)
		f.size += size
		return err
	}
	if row.Position <= f.q.HeldFrom || row.Prior == 0 || row.Op == fanfold.OpErase && !row.Superseded {
		return nil
	}
	if row.Op != fanfold.OpErase {
		row.Held, err = f.versionHeld(row.Change, after)
	}
	if err != nil || !row.Superseded || f.size > f.q.MaxBytes {
		return err
	}
	row.Newest, err = f.newestVersion(row.Key)
	return err
}

// bodyOf returns a document's body, nil where there is no document.
func bodyOf(doc *fanfold.Document) []byte {
	if doc == nil {
		return nil
	}
	return doc.Body
}

// versionAfter returns the document as it was after a change, and counts its bytes. It is nil where the page has no room.
func (f *feedPage) versionAfter(h *history, ch *fanfold.Change) (*fanfold.Document, error) {
	doc, size, err := f.wholes.after(h, ch, f.q.MaxBytes-f.size)
	f.size += size
	return doc, err
}

// skipsChanges reports whether the query leaves out changes after which a document is another one in its view.
func (f *feedPage) skipsChanges() bool {
	return f.q.NoCascades || f.q.Direct && f.q.View == fanfold.Embedded
}

// versionHeld returns the document as it was before a change. For a query that leaves changes out, it is the document after the last
// change before that a consumer was told of.
func (f *feedPage) versionHeld(ch *fanfold.Change, after *fanfold.Document) ([]byte, error) {
	if f.skipsChanges() {
		told, err := f.s.changes().lastSelected(ch.Key, ch.Number, ch.Prior, f.q)
		for err == nil && told != nil && ch.Op != fanfold.OpDerive && told.Tx != "" && told.Tx == ch.Tx {
			told, err = f.s.changes().lastSelected(ch.Key, ch.Number, told.Prior, f.q)
		}
		if err != nil || told == nil {
			return nil, err
		}
		if told.Position != ch.Prior {
			return f.distantVersion(told)
		}
	}
	body, err := f.history.before(ch, after)
	if ch.Op == fanfold.OpDerive && f.q.View == fanfold.Embedded {
		f.size += len(body)
	}
	return body, err
}

// lastSelected returns the change at a position, or the last one of its document before it whose kind a query asks for. It has no values;
// nil stands for none. A deletion ends the way back. At the horizon it ends with the document as it was there: what was before is no longer
// known.
func (cs changes) lastSelected(key fanfold.Key, number int64, at fanfold.Position, q fanfold.ChangeQuery) (*fanfold.Change, error) {
	for at != 0 {
		ch, err := cs.at(latestColumns, at)
		if err == nil && ch == nil {
			if ch, err = cs.versionAtHorizon(key, number, at); ch == nil && err == nil {
				err = damagedChange(at)
			}
			return ch, err
		}
		switch {
		case err != nil:
			return nil, err
		case q.Direct && ch.Op == fanfold.OpDerive:
			at = fanfold.At(uint64(ch.Revision), 0) // passes over all derived changes after the write
		case q.NoCascades && ch.ByDelete != nil:
			at = ch.Prior
		default:
			return ch, nil
		}
	}
	return nil, nil
}

// newestSelected returns the newest change of a document that is of a kind which a query asks for; nil where there is no
// document.
func (cs changes) newestSelected(key fanfold.Key, q fanfold.ChangeQuery) (*fanfold.Change, error) {
	at, number := fanfold.Position(0), int64(0)
	if _, err := cs.c.QueryRow("SELECT position, number FROM document WHERE collection = ? AND id = ?", func(r driver.Row) { at, number = fanfold.Position(r.Int(0)), r.Int(1) },
		key.Collection, key.ID); err != nil {
		return nil, err
	}
	return cs.lastSelected(key, number, at, q)
}

// distantVersion returns the body of a document after a change that may be far from the page, which needs no version of those
// between.
func (f *feedPage) distantVersion(ch *fanfold.Change) ([]byte, error) {
	doc, err := f.versionAfter(&history{s: f.s, view: f.q.View}, ch)
	return bodyOf(doc), err
}

// newestVersion returns the body of a document's newest version; of a query that leaves changes out, of that after the newest
// one which it asks for. The changes of a document share it, and its bytes count once.
func (f *feedPage) newestVersion(key fanfold.Key) (body []byte, err error) {
	body, known := f.newest[key]
	switch {
	case known:
		return body, nil
	case f.skipsChanges():
		last, err := f.s.changes().newestSelected(key, f.q)
		if err == nil && last != nil {
			body, err = f.distantVersion(last)
		}
		if err != nil {
			return nil, err
		}
	default:
		doc, size, err := f.s.GetWithin(key, f.q.View, f.q.MaxBytes-f.size)
		if err != nil {
			return nil, err
		}
		f.size += size
		body = bodyOf(doc)
	}
	if f.newest == nil {
		f.newest = map[fanfold.Key][]byte{}
	}
	f.newest[key] = body
	return body, nil
}

// sights reads the versions by which a rule decides who sees a change. They are of the embedded view, whatever the page shows.
type sights struct {
	history *history
	wholes  *wholes
	now     map[fanfold.Key][]byte // see presentVersion
}

// judges reports whether a rule decides which documents of a collection the page may show.
func (f *feedPage) judges(collection string) bool {
	return f.q.Judged != nil && f.q.Judged(collection)
}

// isLaterThanSelected reports whether a change of a kind that is not asked for comes after the newest one of its document that is. No later row tells
// of the document then.
func (f *feedPage) isLaterThanSelected(ch *fanfold.Change) (bool, error) {
	last, err := f.s.changes().newestSelected(ch.Key, f.q)
	return err == nil && last != nil && last.Number == ch.Number && last.Position < ch.Position, err
}

// addSight adds to a row what a rule decides by. written is the change as it is stored. The row is left out where the page has no room for that.
func (f *feedPage) addSight(row *fanfold.ChangeRow, written *fanfold.Change) (err error) {
	if row.Sight == nil || row.Op == fanfold.OpErase && !row.Superseded || f.size > f.q.MaxBytes {
		return nil
	}
	after := row.Doc
	if !row.Op.Gone() && (after == nil || f.q.View != fanfold.Embedded || f.q.Latest && after.Position != row.Position) {
		shown := *written
		var size int
		after, size, err = f.embedded.wholes.after(f.embedded.history, &shown, f.room())
		if f.size += size; err != nil || f.size > f.q.MaxBytes {
			return err
		}
	}
	row.Sight.After = bodyOf(after)
	if err := f.addBefore(row, written, after); err != nil || f.size > f.q.MaxBytes {
		return err
	}
	if row.Within {
		var size int
		row.Sight.End, size, err = f.embedded.wholes.end(written, f.room())
		if f.size += size; err != nil || f.size > f.q.MaxBytes {
			return err
		}
	}
	row.Sight.Now, err = f.presentVersion(row.Key)
	return err
}

// addBefore adds to a row's sight the document as it was before the change; before a direct one as of its transaction's beginning.
func (f *feedPage) addBefore(row *fanfold.ChangeRow, written *fanfold.Change, after *fanfold.Document) (err error) {
	switch {
	case row.Op == fanfold.OpErase:
	case row.ByErasure():
		row.Sight.Lost, err = f.lostMembers(row.Key)
	case row.Op == fanfold.OpDerive:
		row.Sight.Before, err = f.embedded.history.before(written, after)
		f.size += len(row.Sight.Before)
	case f.q.View == fanfold.Embedded:
		row.Sight.Before = row.Previous
	default:
		begun := *written
		var size int
		size, err = f.embedded.wholes.begin(&begun, f.room())
		row.Sight.Before = begun.Previous
		f.size += size + len(begun.Previous)
	}
	return err
}

// lostMembers returns what Sight.Lost has of a document.
func (f *feedPage) lostMembers(key fanfold.Key) ([]string, error) {
	m, err := f.s.Model()
	if err != nil {
		return nil, err
	}
	names, err := f.s.Erasures().members(key)
	return append(names, m.formerMembers(key.Collection)...), err
}

// room returns how many bytes the page has left.
func (f *feedPage) room() int { return f.q.MaxBytes - f.size }

// addCause adds to a row the document of its cause as it is now, where a rule decides whether that may be named.
func (f *feedPage) addCause(row *fanfold.ChangeRow) (err error) {
	cause := row.Cause
	if by := row.ByDelete; by != nil {
		cause = &by.Key
	}
	if cause != nil && f.size <= f.q.MaxBytes && f.judges(cause.Collection) {
		row.CauseNow, err = f.presentVersion(*cause)
	}
	return err
}

// presentVersion returns a document's embedded view as it is in the snapshot, or as it was before its delete. It is nil where that is not known. The
// rows of a document share it, and its bytes count once.
func (f *feedPage) presentVersion(key fanfold.Key) ([]byte, error) {
	if body, known := f.embedded.now[key]; known {
		return body, nil
	}
	doc, size, err := f.s.GetWithin(key, fanfold.Embedded, f.room())
	if f.size += size; err != nil || f.size > f.q.MaxBytes {
		return nil, err
	}
	body := bodyOf(doc)
	if doc == nil {
		if body, err = f.lastVersion(key); err != nil || f.size > f.q.MaxBytes {
			return nil, err
		}
	}
	if f.embedded.now == nil {
		f.embedded.now = map[fanfold.Key][]byte{}
	}
	f.embedded.now[key] = body
	return body, nil
}

// lastVersion returns the embedded view of a deleted document as it was before the delete and its transaction; nil where that is not known any more.
func (f *feedPage) lastVersion(key fanfold.Key) ([]byte, error) {
	body, size, err := lastView(f.s, key, f.room())
	f.size += size
	return body, err
}
