package fold

import (
	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
)

// lose folds an event of what the log may lose. The error is Internal for a read model that has what it erases.
func (f *Fold) lose(ev *fanfold.Event) error {
	l := ev.Loss
	switch known := f.tx.Checkpoint().AsOf; {
	case l.Lists():
		return f.tx.AddErasure(ev.Seq, f.now, ev.Actor, l.List)
	case !l.Erases():
		return f.tx.SetHorizon(l.Base.Horizon)
	case known < l.UpTo:
		return fanfold.Errorf(fanfold.Internal, "erasures up to event %d come into force, and the read model was made with those up to %d", l.UpTo, known)
	}
	told := map[fanfold.Key]bool{}
	pending, err := f.tx.PendingErasures(l.UpTo)
	if err != nil {
		return err
	}
	for _, seq := range pending {
		documents, err := f.tx.ErasedDocuments(seq)
		if err != nil {
			return err
		}
		for _, d := range documents {
			if err := f.eraseOnce(d.Key, seq, told); err != nil {
				return err
			}
		}
		if err := f.tx.SetErasurePosition(seq, fanfold.At(ev.Seq, 0)); err != nil {
			return err
		}
	}
	for _, d := range l.List.Documents {
		if err := f.eraseOnce(d.Key, 0, told); err != nil {
			return err
		}
	}
	if l.Base == nil {
		return nil
	}
	return f.tx.ReplaceHorizon(l.Base.Horizon)
}

// eraseOnce writes the change of a document by an erasure, which is 0 where the document only shows what is erased. Each document has one.
func (f *Fold) eraseOnce(key fanfold.Key, erasure uint64, told map[fanfold.Key]bool) error {
	if told[key] {
		return nil
	}
	told[key] = true
	if err := f.ended(); err != nil {
		return err
	}
	row, err := f.tx.Documents.Get(key)
	switch {
	case err != nil:
		return err
	case row != nil:
		return f.eraseView(row)
	case erasure == 0:
		return nil
	}
	at, err := f.nextPosition()
	if err != nil {
		return err
	}
	ev := f.event
	ch := &fanfold.Change{Position: at, Key: key, Op: fanfold.OpErase, Time: f.now, Tx: ev.Tx.ID, Call: f.transaction.call, Actor: ev.Actor}
	erased, err := f.tx.Erase(erasure, ch, func(ch *fanfold.Change) error { return f.addChange(0, ch) })
	if !erased {
		f.changes--
	}
	return err
}

// eraseView writes the change of a document whose view is another one by an erasure. Its patch is empty, because the rows before it are as if
// the erased values had never been.
func (f *Fold) eraseView(row *sqlite.Row) error {
	at, err := f.derive(row, transition{row.Body, row.Body}, row.Omitted, &Difference{Rules: []string{fanfold.RuleErase}, ops: []byte{'['}})
	if err != nil {
		return err
	}
	return f.tx.Documents.SetView(row.Number, sqlite.View{Position: at, Body: row.Body, Referenced: row.Referenced, Omitted: row.Omitted})
}
