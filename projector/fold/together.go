package fold

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// A fan-out gives many documents new copies, and none of them depends on another: a level reads what earlier levels have written. So several
// goroutines compute the views of all of them first. Then one goroutine writes the changes, in the order of the documents, as without it.

// Bounds of a fan-out whose views are computed before any is written. A larger one is worked off document by document.
const (
	maxTogether      = 4096
	maxTogetherBytes = 16 << 20 // of their views before
	togetherBlock    = 8        // documents that a goroutine takes at a time
)

// DefaultWorkersFrom is how many documents a fan-out has from which several goroutines compute the views.
const DefaultWorkersFrom = 32

// computedView is a document with what a level makes of it.
type computedView struct {
	row  *sqlite.Row
	view sqlite.View
	d    *Difference // nil where the view is to be written from the referenced one
}

// worker is the memory of one goroutine that computes views.
type worker struct {
	splicer splicer
	tree    jsondoc.Tree
	panic   any
	err     error
}

// workers compute views in several goroutines.
type workers struct {
	all    []*worker
	views  []computedView
	lookup sync.Mutex // held while a goroutine asks for the value of a target
	next   atomic.Int64
}

// copiesAlone returns whether all that is left to do on the level is to give documents the values of changed targets.
func (l *level) copiesAlone() bool {
	if len(l.freeze)+len(l.recompute)+len(l.refit)+len(l.own)+len(l.entering)+len(l.relinking)+len(l.relinkAll) > 0 {
		return false
	}
	for _, ids := range l.counted {
		if len(ids) > 0 {
			return false
		}
	}
	return true
}

// updateTogether does for a level what update does for each of its documents. done is false where it did nothing, because the level has too
// few documents or too many, or other work.
func (f *Fold) updateTogether(l *level, numbers []int64) (done bool, err error) {
	w := &f.workers
	if len(w.all) == 0 || len(numbers) < f.opt.WorkersFrom || len(numbers) > maxTogether || f.event.Kind == fanfold.KindModel || f.preparing != nil || f.amending != nil || !l.copiesAlone() {
		return false, nil
	}
	defer func() { clear(w.views) }()
	w.views = w.views[:0]
	size := 0
	if err := f.tx.Documents.Each(numbers, func(row *sqlite.Row) error {
		w.views = append(w.views, computedView{row: row})
		size += len(row.Body)
		return f.ended()
	}); err != nil || size > maxTogetherBytes {
		return false, err
	}
	if err := f.compute(l); err != nil {
		return false, err
	}
	f.final = f.isFinal(l)
	defer func() { f.final = false }()
	for i := range w.views {
		if err := f.applyComputed(l, &w.views[i]); err != nil {
			return false, err
		}
		if f.final && len(w.views) >= finalAtOnce && i%finalAtOnce == finalAtOnce-1 {
			if err := f.tx.Documents.Write(); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// finalAtOnce is how many documents with final views are written at once. Only an event with many ends the transaction, so that no later one
// changes them again.
const finalAtOnce = 1024

// applyComputed writes what a level makes of one document.
func (f *Fold) applyComputed(l *level, v *computedView) error {
	if err := f.ended(); err != nil {
		return err
	}
	if v.d == nil {
		return f.update(v.row, l)
	}
	return f.applyDerived(f.plan.Collection(v.row.Key.Collection), v.row, v.view, v.d)
}

// compute computes the views of all documents of the level. An error is one of the store's, or the end of the fold.
func (f *Fold) compute(l *level) error {
	w := &f.workers
	w.next.Store(0)
	var others sync.WaitGroup
	for _, other := range w.all[1:] {
		others.Go(func() { f.work(other, l) })
	}
	f.work(w.all[0], l)
	others.Wait()
	for _, one := range w.all {
		if one.panic != nil { // whoever called the fold handles it
			panic(one.panic)
		}
		if one.err != nil {
			return one.err
		}
	}
	return nil
}

// work computes views until there are none left.
func (f *Fold) work(w *worker, l *level) {
	defer func() { w.panic = recover() }()
	views := f.workers.views
	for w.err = nil; w.err == nil; {
		end := int(f.workers.next.Add(togetherBlock))
		if end-togetherBlock >= len(views) {
			return
		}
		for i := end - togetherBlock; i < min(end, len(views)) && w.err == nil; i++ {
			w.err = f.computeOne(w, l, &views[i])
		}
	}
}

// computeOne computes the view of one document, where its values can be changed where they stand.
func (f *Fold) computeOne(w *worker, l *level, v *computedView) error {
	row := v.row
	if row.Omitted != nil {
		return nil
	}
	c := f.plan.Collection(row.Key.Collection)
	w.tree.Reset(row.Body)
	view, d, fits, err := w.splicer.view(f.plan, c, &changedValues{f: f, row: row, level: l, lookup: &f.workers.lookup}, &w.tree)
	if err != nil || !fits {
		return exceptPastLimit(err)
	}
	view.Body, view.Own = bytes.Clone(view.Body), true
	v.view, v.d = view, d.clone()
	return nil
}

// isFinal returns whether the event changes none of the level's documents again, and no others for their sake. Their change rows can then be
// written at once, in the order in which they would come at the event's end.
func (f *Fold) isFinal(l *level) bool {
	if f.tx.Before.Any() {
		return false
	}
	for _, later := range f.levels[l.number+1:] {
		if !later.empty() {
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
	for i := range f.workers.views {
		if d := f.workers.views[i].d; d == nil || !d.ordered {
			return false
		}
	}
	return true
}
