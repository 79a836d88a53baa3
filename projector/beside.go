package projector

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// preparation is a copy of the read model that was brought up to a model to come, and that follows
// the log under it while folding goes on under the one that applies.
type preparation struct {
	p       *Projector
	pending *fanfold.Proposal
	cmp     *remodel // from the model that applies
	ctx     context.Context

	mu     sync.Mutex // held while it is worked on
	db     *sqlite.DB // nil once it was swapped in, or discarded
	fold   *fold
	feed   *follower
	at     uint64                       // last event followed
	copied fanfold.Position             // changes of the read model are taken over up to here
	failed error                        // it is of no use any more
	hidden map[string][]fanfold.Problem // what the model would hide or cannot compare, by document
	fault  chan struct{}                // has an element once it failed
	report *report
	ready  atomic.Bool
}

// errGone is the error of a preparation that has ended, or is not ready any more.
var errGone = fanfold.Errorf(fanfold.Gone, "the model is not prepared")

// end discards what was not swapped in.
func (w *preparation) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.feed != nil {
		w.feed.stop()
		w.feed = nil
	}
	if w.db != nil {
		if err := w.p.store.Discard(w.db); err != nil {
			w.p.opt.Logger.Warn("a prepared read model could not be removed", "err", err)
		}
		w.db = nil
	}
	w.p.coming.mu.Lock()
	defer w.p.coming.mu.Unlock()
	if w.p.coming.current == w {
		w.p.coming.current = nil
	}
}

// build copies the read model and brings the copy up to the model.
func (w *preparation) build() (err error) {
	defer recovered(&err)
	told := time.Time{}
	tell := func(phase string, done, total int64) {
		if now := time.Now(); now.Sub(told) > 100*time.Millisecond || done == total {
			told = now
			w.p.progress(w.pending.Seq, func(s *Preparation) { s.Phase, s.Done, s.Total, s.Error = phase, done, total, "" })
		}
	}
	if w.db, err = w.p.store.Copy(w.ctx, func(done, total int64) { tell("copying", done, total) }); err != nil {
		return err
	}
	applies, err := loadPlan(w.db.ReadUnshared)
	if err != nil {
		return err
	}
	parsed := w.pending.Model
	reserved := applies.reserved.Next(applies.model, parsed)
	next, err := newPlan(parsed, w.pending.Seq, reserved)
	if err != nil {
		return err
	}
	w.cmp = compare(applies, next)
	if rules := w.cmp.entangled(); len(rules) > 0 {
		return fanfold.Errorf(fanfold.Unprocessable, "the model cannot be prepared, because values that stay on their holders by %v come from documents that it changes: withdraw it, and apply it at once", rules)
	}
	following, err := makePlan(parsed, w.pending.Seq, reserved, w.cmp.fresh)
	if err != nil {
		return err
	}
	following.unpaged = w.cmp.relations
	w.fold = newFold(applies, w.report)
	w.fold.beside = w.cmp
	done, total := int64(0), int64(0)
	w.fold.step = func() error {
		done++
		tell("computing", done, max(total, done))
		return w.ctx.Err()
	}
	err = w.db.Update(func(tx *sqlite.Tx) error {
		cp := tx.Checkpoint()
		if total, err = w.cmp.passes(tx.Snapshot()); err != nil {
			return err
		}
		w.at, w.copied = cp.Seq, cp.Position
		w.fold.begin(tx, &fanfold.Event{Kind: fanfold.KindModel, Seq: cp.Seq})
		w.fold.use(following)
		return w.fold.bringUp(w.cmp)
	})
	w.fold.step = w.ctx.Err
	return err
}

// round follows the log up to where the read model is, and compares what changed since with it.
// It returns where it is then, and how many events it was behind.
func (w *preparation) round() (at, lag uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return 0, 0, err
	}
	// Whatever goes wrong leaves a file without a journal, or a reader that has ended.
	defer func() { w.fail(err) }()
	applied := w.p.store.Applied.Seq()
	lag = applied - min(w.at, applied)
	w.p.progress(w.pending.Seq, func(s *Preparation) {
		if !w.ready.Load() {
			s.Phase = "following"
		}
		s.Done, s.Total = int64(w.at), int64(applied)
	})
	if err := w.follow(applied); err != nil {
		return 0, 0, err
	}
	err = w.reconcile()
	return w.at, lag, err
}

// fail says that the preparation is of no use any more, unless err is nil. It is called with w.mu held.
func (w *preparation) fail(err error) {
	if err == nil {
		return
	}
	w.failed = err
	select {
	case w.fault <- struct{}{}:
	default:
	}
}

// usable is why the preparation cannot be used, nil where it can. It is called with w.mu held.
func (w *preparation) usable() error {
	if w.db == nil || w.ctx.Err() != nil {
		return errGone
	}
	return w.failed
}

// harden brings the copy to the disk, of which its file's swap would have to wait for the most.
func (w *preparation) harden() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	err := w.db.SyncFile()
	w.fail(err)
	return err
}

// follow folds the log's events up to last under the model to come.
func (w *preparation) follow(last uint64) (err error) {
	if w.feed == nil {
		if w.feed, err = w.p.follow(w.ctx, w.at+1); err != nil {
			return err
		}
	}
	for w.at < last {
		batch, err := w.feed.next(w.ctx, w.p.opt, last)
		if err != nil {
			return err
		}
		if err := apply(w.db, w.fold, batch); err != nil {
			return err
		}
		w.at = batch[len(batch)-1].Seq
	}
	return nil
}

// reconcile brings changes, and documents that were touched, to what the read model says of them.
func (w *preparation) reconcile() (err error) {
	defer recovered(&err)
	sc, err := w.p.store.Scan()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sc.Close()) }()
	if err := w.follow(sc.Checkpoint.Seq); err != nil {
		return err
	}
	if w.at != sc.Checkpoint.Seq {
		return fanfold.Errorf(fanfold.Internal, "a prepared read model is at event %d, and the one that applies at %d", w.at, sc.Checkpoint.Seq)
	}
	return w.db.Update(func(tx *sqlite.Tx) error {
		for {
			last, n, err := tx.CopyChanges(sc.Snapshot, w.copied, page)
			if err != nil {
				return err
			}
			w.copied = last
			if n < page {
				break
			}
			if err := w.ctx.Err(); err != nil {
				return err
			}
		}
		tx.SetChanges(sc.Checkpoint)
		for after := int64(0); ; {
			numbers, err := tx.Touched(after, page)
			if err != nil {
				return err
			}
			for _, number := range numbers {
				after = number
				if err := w.document(sc, tx, number); err != nil {
					return err
				}
			}
			if len(numbers) < page {
				break
			}
			if err := w.ctx.Err(); err != nil {
				return err
			}
		}
		changes, err := tx.CountPendingChanges()
		w.p.progress(w.pending.Seq, func(s *Preparation) { s.Changes = changes })
		return errors.Join(err, tx.ClearTouched())
	})
}

// document compares one document under both models.
func (w *preparation) document(sc *sqlite.Scanner, tx *sqlite.Tx, number int64) error {
	have, err := sc.RowByNumber(number)
	if err != nil {
		return err
	}
	comes, err := tx.ByNumber(number)
	if err != nil {
		return err
	}
	if (have == nil) != (comes == nil) {
		return fanfold.Errorf(fanfold.Internal, "document number %d is in one of two read models only", number)
	}
	if have == nil {
		return tx.RemovePendingChange(number)
	}
	w.object(have)
	if err := tx.SetPosition(number, have.Position); err != nil {
		return err
	}
	if bytes.Equal(have.Body, comes.Body) {
		return tx.RemovePendingChange(number)
	}
	d := changed(have.Key.Collection, w.cmp.shape(have.Key.Collection), have.Body, comes.Body)
	return tx.SetPendingChange(comes, have.Position, d.rules, d.patch())
}

// object notes what a preview would have said of a document that was written since.
func (w *preparation) object(row *sqlite.Row) {
	key := row.Key.String()
	delete(w.hidden, key)
	t := jsondoc.MustParse(row.Source())
	var problems []fanfold.Problem
	for _, r := range w.cmp.hiding(row) {
		if !r.TakeOver {
			problems = append(problems, hides(r, key))
		}
	}
	for _, path := range w.cmp.unique[row.Key.Collection] {
		if _, err := fanfold.UniqueValue(t, path); err != nil {
			problems = append(problems, fanfold.Problem{Path: uniqueAt(row.Key.Collection), Detail: key + ": " + err.Error()})
		}
	}
	if len(problems) == 0 {
		return
	}
	if w.hidden == nil {
		w.hidden = map[string][]fanfold.Problem{}
	}
	w.hidden[key] = problems
}

// objections are the first of them.
func (w *preparation) objections() (problems []fanfold.Problem) {
	for _, key := range slices.Sorted(maps.Keys(w.hidden)) {
		if problems = append(problems, w.hidden[key]...); len(problems) >= maxHides {
			break
		}
	}
	return problems
}

// complete makes the copy what the read model is to be after the model event.
func (w *preparation) complete(ev *fanfold.Event) (next *plan, documents int64, err error) {
	defer recovered(&err)
	if err := w.reconcile(); err != nil {
		return nil, 0, err
	}
	err = w.db.Update(func(tx *sqlite.Tx) error {
		if documents, err = tx.CountPendingChanges(); err != nil {
			return err
		}
		if documents > fanfold.MaxChanges {
			return fanfold.Errorf(fanfold.Internal, "the model changes %d documents", documents)
		}
		next, err = w.finish(tx, ev)
		return err
	})
	return next, documents, err
}

// finish makes what could not be prepared, and gives every change its position.
func (w *preparation) finish(tx *sqlite.Tx, ev *fanfold.Event) (*plan, error) {
	f := newFold(w.cmp.prev, w.report)
	f.begin(tx, ev)
	next, err := f.adopt(ev)
	if err != nil {
		return nil, err
	}
	for _, r := range next.rules {
		if !w.cmp.fresh[r.name] || !r.Frozen {
			continue
		}
		if err := tx.Targets(r.relation, r.Relation.To, func(id string, body []byte) error {
			if raw := r.evaluate(body, id, nil); raw != nil {
				return tx.KeepOnHolders(r.name, r.relation, id, raw)
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	for _, r := range next.model.Relations() {
		if r.PageSize > 0 && w.cmp.relations[r.FullName()] {
			if err := tx.PageLinks(r.FullName()); err != nil {
				return nil, err
			}
		}
	}
	if err := f.freeClaims(w.cmp); err != nil {
		return nil, err
	}
	for name, paths := range w.cmp.unique {
		for _, path := range paths {
			if err := tx.ClaimUniqueCandidates(name, path.String()); err != nil {
				return nil, err
			}
		}
	}
	if err := tx.Activate(ev.Seq, f.now.UnixNano()); err != nil {
		return nil, err
	}
	tx.SetCheckpoint(ev.Seq, f.now, Fingerprint())
	return next, nil
}

// claims tells whether the model to come makes a member unique; m may be nil.
func (m *remodel) claims(collection string, path fanfold.Path) bool {
	return m != nil && fanfold.HasPath(m.unique[collection], path)
}

// have notes a document's values of a member that is to be unique.
func (f *fold) have(collection string, path fanfold.Path, was, is string, number int64) error {
	if was != "" {
		if err := f.tx.RemoveUniqueCandidate(collection, path.String(), was, number); err != nil {
			return err
		}
	}
	if is == "" {
		return nil
	}
	return f.tx.AddUniqueCandidate(collection, path.String(), is, number)
}

// entangled are rules that both models have and by which values stay on their holders that come from
// documents which the new model changes. What stays there depends on when the model came, so that it
// cannot be prepared.
func (m *remodel) entangled() (names []string) {
	altered := map[string]map[string]bool{} // top-level members, by collection
	alter := func(r *rulePlan) (grew bool) {
		if altered[r.Collection] == nil {
			altered[r.Collection] = map[string]bool{}
		}
		for name := range r.tops() {
			grew = grew || !altered[r.Collection][name]
			altered[r.Collection][name] = true
		}
		return grew
	}
	still := map[string]bool{}
	for _, r := range m.next.rules {
		still[r.name] = !m.fresh[r.name]
	}
	all := slices.Concat(m.prev.rules, m.next.rules)
	for _, r := range all {
		if !still[r.name] {
			alter(r)
		}
	}
	for grew := true; grew; {
		grew = false
		for _, r := range all {
			from := altered[r.Relation.To]
			if r.Kind == fanfold.Recent {
				from = altered[r.Relation.Collection]
			}
			if (r.Kind == fanfold.Copy || r.Kind == fanfold.Recent) && len(from) > 0 && r.reads(from) && alter(r) {
				grew = true
			}
		}
	}
	for _, r := range m.next.rules {
		if from := altered[r.Relation.To]; r.keeps() && still[r.name] && len(from) > 0 && r.reads(from) {
			names = append(names, r.name)
		}
	}
	return names
}
