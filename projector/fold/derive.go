package fold

import (
	"bytes"
	"errors"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
)

// applyDerived writes a derived change of one document and marks who copies from it. Where the event can change the
// document again, only the view before is remembered, and flushChanged writes one change at the end.
func (f *Fold) applyDerived(c *Collection, row *sqlite.Row, body []byte, d *Difference) error {
	if len(d.ops) == 0 {
		return nil
	}
	at := row.Position
	switch {
	case row.Number == f.direct: // its own change is already there
	case c.manyLevels() || f.event.Kind == fanfold.KindModel:
		if err := f.tx.SaveBefore(row); err != nil {
			return err
		}
	default:
		var err error
		if at, err = f.derive(row, d); err != nil {
			return err
		}
	}
	if err := f.tx.SetBody(row.Number, at, body); err != nil {
		return err
	}
	for _, r := range c.Readers {
		if err := f.mark(r, row.Key, row.Body, d.members); err != nil {
			return err
		}
	}
	f.markShown(c, body, d.members)
	return nil
}

// manyLevels returns whether one event can change a document's derived values at several levels.
func (c *Collection) manyLevels() bool {
	return len(c.Rules) > 1 && c.Rules[0].Level != c.Rules[len(c.Rules)-1].Level
}

// derive writes the change row of a derived change and returns its position.
func (f *Fold) derive(row *sqlite.Row, d *Difference) (fanfold.Position, error) {
	at, err := f.nextPosition()
	if err != nil {
		return 0, err
	}
	f.countDerived(row.Key.Collection, d.Rules, 1)
	return at, f.addChange(row.Number, &fanfold.Change{Position: at, Prior: row.Position, Key: row.Key, Op: fanfold.OpDerive,
		Revision: row.Revision, Time: f.now, Tx: f.event.Tx.ID, Rules: d.Rules, Delta: d.Patch()})
}

// countDerived counts n derived changes of a collection.
func (f *Fold) countDerived(collection string, rules []string, n int64) {
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
		if err := f.tx.EachBefore(after, pageRows, func(number int64, body []byte) error {
			page = append(page, before{number, body})
			return nil
		}); err != nil {
			return err
		}
		if len(page) == 0 {
			return f.tx.ClearBefore()
		}
		for _, b := range page {
			if err := errors.Join(f.flush(b.number, b.body), f.stepped()); err != nil {
				return err
			}
			after = b.number
		}
	}
}

// flush writes the change of one document from its view before the event, if it has changed. What an announced model
// changes becomes a pending change.
func (f *Fold) flush(number int64, before []byte) error {
	row, err := f.tx.ByNumber(number)
	if err != nil || row == nil || bytes.Equal(row.Body, before) {
		return err
	}
	shape := f.plan.Collection(row.Key.Collection).Shape
	if f.modelChange != nil {
		shape = f.modelChange.ShapeOf(row.Key.Collection)
	}
	d := DiffChanged(row.Key.Collection, shape, before, row.Body)
	if f.modelChange != nil && f.preparing != nil {
		return f.tx.SetPendingChange(row, row.Position, d.Rules, d.Patch())
	}
	at, err := f.derive(row, d)
	if err != nil {
		return err
	}
	return f.tx.SetBody(number, at, row.Body)
}
