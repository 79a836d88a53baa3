package fold

import (
	"errors"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// emptyTree is the referenced view of a document that is not there.
var emptyTree = jsondoc.MustParse([]byte("{}"))

// write folds a put or patch.
func (f *Fold) write(ev *fanfold.Event) error {
	old, err := f.tx.Documents.Get(ev.Key)
	if err != nil {
		return err
	}
	source, op, err := newSource(ev, old)
	if err != nil {
		return err
	}
	row, err := f.newRow(ev, old)
	if err != nil {
		return err
	}
	before, t := emptyTree, &f.source
	change := documentChange{key: row.Key, number: row.Number, after: t, revision: row.Revision}
	if old != nil {
		before, change.revisionBefore = jsondoc.MustParse(old.ReferencedText()), old.Revision
	}
	change.before = before
	t.Reset(source)
	c := f.plan.Collection(ev.Key.Collection)
	if err := f.relink(c, change); err != nil {
		return err
	}
	if f.opt.Estimate {
		if read, err := f.isRead(c, row.Key.ID); err != nil || !read {
			if err == nil {
				f.marks.unmovedUnread(c, before, t)
			}
			return errors.Join(err, f.propagate())
		}
	}
	if err := f.keeper.restore(c, row, t, ev.Kept); err != nil {
		return err
	}
	if err := f.embed(c, row, old); err != nil {
		return err
	}
	if err := errors.Join(f.store(row, old, op), counters{&f.folding}.tell(c, t)); err != nil {
		return err
	}
	f.indexer.note(c, row, old)
	f.marks.unmovedShown(old, row.Body)
	f.marks.own(c, row.Number, nil)
	if err := f.marks.readers(c, row.Key, old, row.Body); err != nil {
		return err
	}
	f.marks.links(c, row.Key, row.Number, old, nil)
	f.entries.noteWritten(c, documentChange{key: row.Key, number: row.Number, before: before}, old)
	if err := f.keeper.markFrozen(c, row, t, ev); err != nil {
		return err
	}
	if err := f.propagate(); err != nil {
		return err
	}
	return f.indexer.write(c)
}

// newSource returns the document's new referenced view, and what the event does to the document. The error is Internal
// where a patch is not on the document's last revision.
func newSource(ev *fanfold.Event, old *sqlite.Row) (source []byte, op fanfold.Op, err error) {
	switch {
	case ev.Kind == fanfold.KindPatch && (old == nil || old.Revision != ev.Base):
		return nil, "", fanfold.Errorf(fanfold.Internal, "a patch on revision %d, which is not the document's last", ev.Base)
	case ev.Kind == fanfold.KindPatch:
		source, err = jsondoc.Patched(old.ReferencedText(), ev.Body, ev.Merges())
		return source, fanfold.OpPatch, err
	case old != nil:
		return ev.Body, fanfold.OpReplace, nil
	default:
		return ev.Body, fanfold.OpCreate, nil
	}
}

// newRow returns the document's row without its views, at the position of its direct change.
func (f *Fold) newRow(ev *fanfold.Event, old *sqlite.Row) (*sqlite.Row, error) {
	row := &sqlite.Row{Number: int64(ev.Seq), Key: ev.Key, Created: f.now, Revision: fanfold.Revision(ev.Seq), Updated: f.now, CreatedBy: ev.Actor, UpdatedBy: ev.Actor}
	if old != nil {
		row.Number, row.Created, row.CreatedBy = old.Number, old.Created, old.CreatedBy
	}
	if f.amending != nil { // entries and indexes have them
		row.Revision, row.Updated, row.UpdatedBy = old.Revision, old.Updated, old.UpdatedBy
	}
	f.direct, f.creates = row.Number, old == nil
	f.values.noneBefore = f.creates && ev.Kept == nil
	var err error
	row.Position, err = f.nextPosition()
	return row, err
}

// embed gives the row its views; f.source has read the referenced one.
func (f *Fold) embed(c *Collection, row, old *sqlite.Row) (err error) {
	values := &currentValues{f: f, id: row.Key.ID, holder: row.Number, write: true}
	if old != nil {
		values.old = jsondoc.MustParse(old.Body)
	}
	if row.Body, row.Omitted, err = f.plan.View(c, values, &f.source, values.old); err != nil {
		return err
	}
	row.Referenced = c.StoreSource(row.Body, &f.source)
	if old == nil {
		f.values.newest.set(row.Body)
	}
	return nil
}

// store writes the document's row and its direct change.
func (f *Fold) store(row, old *sqlite.Row, op fanfold.Op) error {
	f.addOutcome(op)
	ch := &fanfold.Change{Position: row.Position, Key: row.Key, Op: op, Revision: row.Revision, Time: f.now, Tx: f.event.Tx.ID, Call: f.transaction.call, Actor: f.event.Actor, ByDelete: byDelete(f.event), Omitted: row.Omitted}
	if old == nil {
		f.tellChanged(row.Key, nil)
		if err := errors.Join(f.countOmissions(nil, row.Omitted), f.tx.Documents.Insert(row)); err != nil {
			return err
		}
		return f.addChange(row.Number, ch)
	}
	f.tellChanged(row.Key, old.Body)
	ch.Prior, ch.Previous, ch.PreviousSource = old.Position, old.Body, old.ReferencedText()
	if err := errors.Join(f.countOmissions(old.Omitted, row.Omitted), f.tx.Documents.Replace(row)); err != nil {
		return err
	}
	return f.addChange(row.Number, ch)
}

// byDelete returns the delete that an event follows from, with its sequence; nil for none.
func byDelete(ev *fanfold.Event) *fanfold.ByDelete {
	if ev.ByDelete == nil {
		return nil
	}
	by := &fanfold.ByDelete{Key: ev.ByDelete.Key, Relations: ev.ByDelete.Relations}
	if back := uint64(ev.ByDelete.Back); 0 < back && back < ev.Seq {
		by.Seq = ev.Seq - back
	}
	return by
}

// addOutcome notes what the event does to its document.
func (f *Fold) addOutcome(op fanfold.Op) {
	f.outcomes = append(f.outcomes, sqlite.Outcome{Seq: f.event.Seq, Op: op, Tx: f.event.Tx.ID != ""})
}

// addChange writes a change of the document that has this number. While a model is prepared the read model writes the
// changes, and the document is only noted as touched.
func (f *Fold) addChange(number int64, ch *fanfold.Change) error {
	if f.preparing != nil {
		return f.tx.Coming.Touch(number)
	}
	ch.Number = number
	return f.tx.AddChange(ch)
}

// delete folds a delete.
func (f *Fold) delete(ev *fanfold.Event) error {
	old, err := f.tx.Documents.Get(ev.Key)
	if err != nil {
		return err
	}
	if old == nil { // a delete of nothing changes nothing but the revision to expect
		return f.tx.Documents.Tombstone(ev.Key, fanfold.Revision(ev.Seq), 0)
	}
	at, err := f.nextPosition()
	if err != nil {
		return err
	}
	c := f.plan.Collection(ev.Key.Collection)
	gone := documentChange{key: old.Key, number: old.Number, before: jsondoc.MustParse(old.ReferencedText()), after: emptyTree, revisionBefore: old.Revision}
	if err := f.relink(c, gone); err != nil {
		return err
	}
	f.addOutcome(fanfold.OpDelete)
	f.tellChanged(old.Key, old.Body)
	if err := errors.Join(f.countOmissions(old.Omitted, nil), f.tx.Documents.Delete(old, fanfold.Revision(ev.Seq), at)); err != nil {
		return err
	}
	if err := f.addChange(old.Number, &fanfold.Change{Position: at, Key: ev.Key, Op: fanfold.OpDelete, Revision: fanfold.Revision(ev.Seq),
		Time: f.now, Tx: ev.Tx.ID, Call: f.transaction.call, Actor: ev.Actor, ByDelete: byDelete(ev), Prior: old.Position, Previous: old.Body, PreviousSource: old.ReferencedText()}); err != nil {
		return err
	}
	if err := errors.Join(f.indexer.remove(c, old), f.marks.readers(c, ev.Key, old, nil)); err != nil {
		return err
	}
	f.marks.links(c, old.Key, old.Number, old, nil)
	f.entries.noteWritten(c, gone, old)
	return f.propagate()
}
