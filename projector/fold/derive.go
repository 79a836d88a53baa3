package fold

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// applyDerived writes a derived change of one document and marks who copies from it. If the event can change the
// document again, it remembers only the view before, and flushChanged writes one change at the end.
func (f *Fold) applyDerived(c *Collection, row *sqlite.Row, view sqlite.View, d *Difference) error {
	f.values.contributions.drop(row.Number)
	view.Position = row.Position
	if err := f.countOmissions(row.Omitted, view.Omitted); err != nil {
		return err
	}
	if len(d.ops) == 0 {
		if bytes.Equal(row.Omitted, view.Omitted) && row.Referenced.Equal(view.Referenced) {
			return nil
		}
		view.Body = row.Body
		return errors.Join(f.correctOmitted(row, view), f.tx.Documents.SetView(row.Number, view))
	}
	switch {
	case row.Number == f.direct: // its own change is already there
		if err := f.correctOmitted(row, view); err != nil {
			return err
		}
	case c.manyLevels() && !f.together.final || f.event.Kind == fanfold.KindModel:
		if err := f.tx.Before.Save(row); err != nil {
			return err
		}
		if f.event.Kind != fanfold.KindModel {
			f.differences.note(row.Number, d)
		}
	default:
		var err error
		if view.Position, err = f.derive(row, transition{row.Body, view.Body}, view.Omitted, d); err != nil {
			return err
		}
		if err := f.indexer.change(c, row, row.Body, view.Body, d.members); err != nil {
			return err
		}
	}
	f.tellChanged(row.Key, row.Body)
	if err := f.tx.Documents.SetView(row.Number, view); err != nil {
		return err
	}
	if row.Number == f.direct {
		f.noteDirect(view.Body)
	}
	for _, r := range c.Readers {
		if err := f.marks.copies(r, row.Key, row.Body, d.members); err != nil {
			return err
		}
	}
	f.marks.shown(c, row, row.Body, d.members)
	f.marks.own(c, row.Number, d.members)
	f.marks.links(c, row.Key, row.Number, row, d.members)
	f.entries.noteDerived(c, row, d.members)
	return nil
}

// Bounds of the differences that are kept until the end of an event.
const (
	maxDifferences     = 65_536
	maxDifferenceBytes = 16 << 20 // of their patches
)

// differences are how one level alone changed documents, for the change rows that are written when an event is folded to the end. They are
// by the document's number; nil of those that several levels changed.
type differences struct {
	notes map[int64]*Difference
	bytes int // of their patches
	views views
}

// note notes how a level changed a document.
func (ds *differences) note(number int64, d *Difference) {
	_, twice := ds.notes[number]
	switch {
	case !twice && len(ds.notes) >= maxDifferences: // nor are later ones of the document noted
	case twice || !d.ordered || ds.bytes+len(d.ops) > maxDifferenceBytes:
		ds.notes[number] = nil
	default:
		ds.notes[number] = d.clone()
		ds.bytes += len(d.ops)
	}
}

// forget forgets how the event before changed documents.
func (ds *differences) forget() {
	if ds.bytes = 0; ds.notes == nil || len(ds.notes) > 64 { // to clear a map takes as long as it is large
		ds.notes = map[int64]*Difference{}
	}
	clear(ds.notes)
}

// of returns how an event changed a document whose view was another before.
func (ds *differences) of(row *sqlite.Row, shape *model.Shape, before []byte) *Difference {
	if d := ds.notes[row.Number]; d != nil {
		return d
	}
	return ds.views.diffChanged(row.Key.Collection, shape, before, row.Body)
}

// noteDirect notes the view that a derived change gives the document that the event writes to.
func (f *Fold) noteDirect(body []byte) {
	if f.values.newest.body == nil && f.indexer.written.row == nil {
		return
	}
	body = bytes.Clone(body)
	if f.values.newest.body != nil {
		f.values.newest.set(body)
	}
	f.indexer.written.body = body
}

// correctOmitted corrects the list of values that the written document has no room for. Derived values that the same
// event changes may have altered it. While a model is prepared the document is noted as touched.
func (f *Fold) correctOmitted(row *sqlite.Row, view sqlite.View) error {
	switch {
	case bytes.Equal(row.Omitted, view.Omitted):
		return nil
	case f.preparing != nil:
		return f.tx.Coming.Touch(row.Number)
	case row.Number != f.direct:
		return nil
	}
	return f.tx.SetChangeOmitted(row.Position, view.Omitted)
}

// countOmissions brings the totals up to a document whose view leaves out other values than before.
func (f *Fold) countOmissions(before, after []byte) error {
	if bytes.Equal(before, after) {
		return nil
	}
	changes := map[string]sqlite.Omission{}
	for sign, text := range map[int64][]byte{-1: before, 1: after} {
		if text == nil {
			continue
		}
		var byRule map[string]int64
		if err := json.Unmarshal(text, &byRule); err != nil {
			return err
		}
		for rule, n := range byRule {
			o := changes[rule]
			changes[rule] = sqlite.Omission{Rule: rule, Documents: o.Documents + sign, Values: o.Values + sign*n}
		}
	}
	for _, o := range changes {
		if err := f.tx.CountOmission(o); err != nil {
			return err
		}
	}
	return nil
}

// manyLevels returns whether one event can change a document's derived values at several levels.
func (c *Collection) manyLevels() bool {
	return len(c.Rules) > 1 && c.Rules[0].Level != c.Rules[len(c.Rules)-1].Level
}

// transition is a document's embedded view before and after a derived change.
type transition struct{ before, after []byte }

// addImage stores the views before a derived change with it if they are needed. They are at a key frame, or if the patch
// does not lead back to the view before it byte for byte. The latter happens only under a new model, or if a member
// went: the patch does not have its place among the others. source returns the referenced view.
func (t transition) addImage(ch *fanfold.Change, d *Difference, anew bool, source func() []byte) {
	if !sqlite.IsKeyFrame(ch.Number, ch.Prior, len(t.before)) {
		if !d.removes && !anew {
			return
		}
		if undone, ok := jsondoc.Undo(t.after, ch.Delta, source); ok && bytes.Equal(undone, t.before) {
			return
		}
	}
	ch.Previous, ch.PreviousSource = t.before, source()
}

// PendingChange returns the change that a prepared model makes to a document. row is the document after it, and before is
// the embedded view before it.
func PendingChange(row *sqlite.Row, before []byte, d *Difference) *fanfold.Change {
	ch := &fanfold.Change{Prior: row.Position, Key: row.Key, Number: row.Number, Op: fanfold.OpDerive, Revision: row.Revision, Rules: d.Rules, Delta: d.Patch(), Omitted: row.Omitted}
	transition{before, row.Body}.addImage(ch, d, true, row.ReferencedText)
	return ch
}

// derive writes the change row of a derived change and returns its position. row is the document before it or after it.
func (f *Fold) derive(row *sqlite.Row, t transition, omitted []byte, d *Difference) (fanfold.Position, error) {
	at, err := f.nextPosition()
	if err != nil {
		return 0, err
	}
	f.countDerived(row.Key.Collection, d.Rules, 1)
	f.opt.Examples.add(row.Key, d)
	ch := &fanfold.Change{Position: at, Prior: row.Position, Key: row.Key, Number: row.Number, Op: fanfold.OpDerive,
		Revision: row.Revision, Time: f.now, Tx: f.event.Tx.ID, Call: f.transaction.call, Actor: f.event.Actor, Rules: d.Rules, Delta: d.Patch(), Omitted: omitted}
	anew := f.event.Kind == fanfold.KindModel
	t.addImage(ch, d, anew, row.ReferencedText)
	if !anew && f.preparing == nil && f.plan.Collection(row.Key.Collection).gathers(d.Rules) {
		return at, f.tx.AddGathered(ch)
	}
	return at, f.addChange(row.Number, ch)
}

// gathers returns whether one of the rules, given by name, makes its values from many documents, or copies them by an array. Set-oriented SQL
// writes changes of other copies alone, and gives the same rows as one document after the other.
func (c *Collection) gathers(rules []string) bool {
	return slices.ContainsFunc(c.Rules, func(r *Rule) bool {
		return (r.Kind != model.Copy || r.Relation.Path.Arrays()) && slices.Contains(rules, r.FullName)
	})
}

// countDerived counts n derived changes of a collection.
func (f *folding) countDerived(collection string, rules []string, n int64) {
	f.derived += n
	out := f.opt.Fanout
	if out == nil {
		return
	}
	out.Derived += n
	out.Collections[collection] += n
	for _, rule := range rules {
		out.Rules[rule] += n
	}
}

// pageRows is how many rows are read at a time.
const pageRows = 512

// flushChanged writes one change for each document that several levels, or a new model, changed.
func (f *Fold) flushChanged() error {
	type before struct {
		number int64
		body   []byte
	}
	for after := int64(0); ; {
		var page []before
		if err := f.tx.Before.Each(after, pageRows, func(number int64, body []byte) error {
			page = append(page, before{number, body})
			return nil
		}); err != nil {
			return err
		}
		if len(page) == 0 {
			return f.tx.Before.Clear()
		}
		for _, b := range page {
			if err := errors.Join(f.flush(b.number, b.body), f.callOnDocument()); err != nil {
				return err
			}
			after = b.number
		}
	}
}

// flush writes the change of one document from its view before the event, if it has changed. A change by an announced
// model becomes a pending change.
func (f *Fold) flush(number int64, before []byte) error {
	row, err := f.tx.Documents.ByNumber(number)
	if err != nil || row == nil || bytes.Equal(row.Body, before) {
		return err
	}
	shape := f.plan.Collection(row.Key.Collection).Shape
	if f.modelChange != nil {
		shape = f.modelChange.ShapeOf(row.Key.Collection)
	}
	d := f.differences.of(row, shape, before)
	if err := f.indexer.change(f.plan.Collection(row.Key.Collection), row, before, row.Body, d.members); err != nil {
		return err
	}
	if f.modelChange != nil && f.preparing != nil {
		return f.tx.Coming.SetChange(PendingChange(row, before, d))
	}
	at, err := f.derive(row, transition{before, row.Body}, row.Omitted, d)
	if err != nil {
		return err
	}
	return f.tx.Documents.SetView(number, sqlite.View{Position: at, Body: row.Body, Referenced: row.Referenced, Omitted: row.Omitted})
}
