package fold

import (
	"bytes"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// A level may give many documents new copies, and none of them depends on another: a level reads what earlier levels have written. So workers
// compute the views of all of them first. Then the fold writes the changes, in the order of the documents, as without workers.

// Workers compute parts of a work beside each other. The fold starts no goroutine itself.
type Workers interface {
	// Count returns how many parts run at a time.
	Count() int
	// Run calls fn for each part, from 0 on, with the number of the worker that runs it, below Count. It returns once all have run, or the
	// first error after which none runs any more. It panics as fn does.
	Run(parts int, fn func(worker, part int) error) error
	// Lock waits until no other worker is between Lock and Unlock. A worker reads rows there only.
	Lock()
	Unlock()
}

// Bounds of the documents whose views are computed before any is written. A larger level is worked off in several parts.
const (
	maxTogether      = 4096
	maxTogetherBytes = 16 << 20 // of their views before, and of the new ones with what they change
)

// DefaultWorkersFrom is how many documents a level changes from which on workers compute the views.
const DefaultWorkersFrom = 32

// computedView is a document with what a level makes of it.
type computedView struct {
	row  *sqlite.Row
	view sqlite.View
	d    *Difference // nil where the view is to be written from the referenced one
}

// workerMemory is used by one worker.
type workerMemory struct {
	splicer splicer
	tree    jsondoc.Tree
}

// together computes the views of many documents.
type together struct {
	*Fold

	memory   []workerMemory // of each worker
	computed []computedView // of the level that is being worked off
	size     int            // of what was computed, in bytes
	final    bool           // their documents do not change again in this event
}

// copiesAlone returns whether all that is left to do on the level is to give documents the values of changed targets.
func (l *level) copiesAlone() bool { return len(l.own) == 0 && l.nothingBut(l.targets) }

// nothingBut returns whether the level has no work but these targets, and what follows documents' own views.
func (l *level) nothingBut(targets map[*Rule]map[string]oldValue) bool {
	if len(l.freeze)+len(l.recompute)+len(l.refit)+len(l.entering)+len(l.relinking)+len(l.relinkAll) > 0 {
		return false
	}
	for _, ids := range l.counted {
		if len(ids) > 0 {
			return false
		}
	}
	for r, ids := range l.targets {
		if len(ids) > len(targets[r]) {
			return false
		}
	}
	return true
}

// update does for a level what Fold.update does for each of its documents. done is false where it did nothing, because the level has too
// few documents, or other work.
func (f *together) update(l *level, numbers []int64) (done bool, err error) {
	if f.opt.Workers == nil || len(numbers) < f.opt.WorkersFrom || f.event.Kind == fanfold.KindModel || f.preparing != nil || f.amending != nil || !l.copiesAlone() {
		return false, nil
	}
	defer func() { clear(f.computed) }()
	f.computed = f.computed[:0]
	all, size := len(numbers) <= maxTogether, 0
	if err := f.tx.Documents.Each(numbers, func(row *sqlite.Row) error {
		own := *row
		f.computed = append(f.computed, computedView{row: &own})
		if size += len(row.Body); size <= maxTogetherBytes && len(f.computed) < maxTogether {
			return f.ended()
		}
		all, size = false, 0
		return f.updateSome(l, all)
	}); err != nil {
		return false, err
	}
	return true, f.updateSome(l, all)
}

// updateSome does what update does for the documents that wait. all says that the level has no others.
func (f *together) updateSome(l *level, all bool) error {
	f.size = 0
	if err := f.opt.Workers.Run(len(f.computed), func(worker, i int) error { return f.compute(&f.memory[worker], l, &f.computed[i]) }); err != nil {
		return err
	}
	f.final = all && f.isFinal(l)
	defer func() { f.final = false }()
	for i := range f.computed {
		if err := f.apply(l, &f.computed[i]); err != nil {
			return err
		}
		if f.final && len(f.computed) >= manyFinal && i%finalAtOnce == finalAtOnce-1 {
			if err := f.tx.Documents.Write(); err != nil {
				return err
			}
		}
	}
	clear(f.computed)
	f.computed = f.computed[:0]
	return nil
}

// Documents with final views are written finalAtOnce at a time where they are manyFinal. An event with that many ends the transaction, so
// none changes them again in it.
const (
	manyFinal   = 1000
	finalAtOnce = 256
)

// apply writes what a level makes of one document.
func (f *together) apply(l *level, v *computedView) error {
	if err := f.ended(); err != nil {
		return err
	}
	if v.d == nil {
		return f.Fold.update(v.row, l)
	}
	return f.applyDerived(f.plan.Collection(v.row.Key.Collection), v.row, v.view, v.d)
}

// compute computes the view of one document, where its values can be changed where they stand. It is for several goroutines.
func (f *together) compute(w *workerMemory, l *level, v *computedView) error {
	row := v.row
	if row.Omitted != nil {
		return nil
	}
	c := f.plan.Collection(row.Key.Collection)
	w.tree.Reset(row.Body)
	view, d, fits, err := w.splicer.view(f.plan, c, &changedValues{f: f.Fold, row: row, level: l, workers: f.opt.Workers}, &w.tree)
	if err != nil || !fits {
		return unlessTooLong(err)
	}
	f.opt.Workers.Lock()
	f.size += len(view.Body) + len(d.ops)
	room := f.size <= maxTogetherBytes
	f.opt.Workers.Unlock()
	if room { // otherwise it is computed again when it is written
		view.Body, view.Own = bytes.Clone(view.Body), true
		v.view, v.d = view, d.clone()
	}
	return nil
}

// endsInWritten returns whether the level changes no document but the one that the event writes, and that by rules which no other looks at. It has
// its change row already.
func (f *together) endsInWritten(l *level) bool {
	for number := range l.own {
		if number != f.direct {
			return false
		}
	}
	for _, r := range f.plan.Collection(f.event.Key.Collection).Rules {
		if r.Level == l.number && r.leadsOn {
			return false
		}
	}
	return l.nothingBut(nil)
}

// isFinal returns whether the event changes none of the level's documents again, and no others for their sake. Their change rows can then be
// written at once, in the order in which they would come at the event's end.
func (f *together) isFinal(l *level) bool {
	if f.tx.Before.Any() {
		return false
	}
	for _, later := range f.levels[l.number+1:] {
		if !later.empty() && !f.endsInWritten(later) {
			return false
		}
	}
	collection := ""
	for r, ids := range l.targets {
		if len(ids) == 0 {
			continue
		}
		if collection == "" {
			collection = r.Collection
		}
		if r.Collection != collection || r.leadsOn || f.plan.Collection(collection).follows(r.TopMembers()) {
			return false
		}
	}
	for i := range f.computed {
		if v := &f.computed[i]; v.d == nil || !v.d.ordered || v.row.Number == f.direct {
			return false
		}
	}
	return true
}
