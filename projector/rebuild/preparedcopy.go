package rebuild

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// pageRows is how many rows are read at a time.
const pageRows = 512

// progressInterval is the shortest time between two updates of the progress.
const progressInterval = 100 * time.Millisecond

// progressFunc returns a function that updates the progress, at most once an interval except for the end of a phase.
func (w *coming) progressFunc() func(phase string, done, total int64) {
	updated := time.Time{}
	return func(phase string, done, total int64) {
		if now := time.Now(); now.Sub(updated) > progressInterval || done == total {
			updated = now
			w.b.states.tell(w.shown(), phase, done, total)
		}
	}
}

// build copies the read model and brings the copy up to the model. It returns Unprocessable if the model cannot be
// prepared, and the errors of the context, the file and the fold.
func (w *coming) build(m *build) (err error) {
	defer batch.Recover(&err)
	progress := w.progressFunc()
	if m.db, err = w.b.store.Copy(w.ctx, func(done, total int64) { progress(Copying, done, total) }); err != nil {
		return err
	}
	applies, err := fold.LoadPlan(m.db.ReadUnshared)
	if err != nil {
		return err
	}
	if w.change, err = applies.Follow(w.pending.Model, w.pending.Seq); err != nil {
		return err
	}
	if rules := w.change.Entangled(); len(rules) > 0 {
		return fanfold.Errorf(fanfold.Unprocessable, "the model cannot be prepared, because values that stay on their holders, or places in pages, by %v come from documents that it changes: withdraw it, and apply it at once", rules)
	}
	m.fold = fold.New(applies, fold.Options{Reporter: w.report, Ended: w.ctx.Err})
	err = m.db.Update(func(tx *sqlite.Tx) error { return w.compute(tx, m, progress) })
	m.fold.OnDocument(w.ctx.Err)
	return err
}

// compute brings the copy up to the model, in its transaction.
func (w *coming) compute(tx *sqlite.Tx, m *build, progress func(phase string, done, total int64)) error {
	cp := tx.Checkpoint()
	total, err := w.change.Work(tx.Snapshot())
	if err != nil {
		return err
	}
	w.begun, m.at, w.copied, m.lists = cp.Seq, cp.Seq, cp.Position, cp.AsOf
	done := int64(0)
	m.fold.OnDocument(func() error {
		done++
		progress(phaseComputing, done, max(total, done))
		return w.ctx.Err()
	})
	return m.fold.Prepare(tx, w.change)
}

// catchUp follows the log up to where the read model is, and compares what changed since with the read model. It
// returns the event at which the copy is then, and how many events it lacked. The error is errGone where the
// preparation has ended; any other makes it useless, for it leaves a file without a journal, or a reader that has
// ended.
func (w *coming) catchUp() (at, lag uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return 0, 0, err
	}
	defer func() { w.fail(err) }()
	applied := w.b.store.Applied.Seq()
	lag = applied - min(w.m.at, applied)
	phase := phaseFollowing
	if w.ready.Load() {
		phase = phaseReady
	}
	w.m.tell(phase, int64(w.m.at), int64(applied))
	if err := w.m.advanceTo(w.ctx, applied); err != nil { // it could follow writes for ever, with w.mu held
		return 0, 0, err
	}
	err = w.reconcile()
	return w.m.at, lag, err
}

// syncFile brings the copy to the disk, so that the swap has little left to wait for.
func (w *coming) syncFile() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	err := w.m.db.SyncFile()
	w.fail(err)
	return err
}

// reconcile takes the read model's changes over into the copy, and compares the documents that either of the two has
// touched, as of one snapshot of the read model.
func (w *coming) reconcile() (err error) {
	defer batch.Recover(&err)
	sc, err := w.b.store.Scan()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sc.Close()) }()
	if err := w.m.catchUpTo(w.ctx, sc.Checkpoint.Seq); err != nil {
		return err
	}
	return w.m.db.Update(func(tx *sqlite.Tx) error {
		if err := w.copyChanges(sc, tx); err != nil {
			return err
		}
		if err := w.compareTouched(sc, tx); err != nil {
			return err
		}
		changes, err := tx.Coming.CountChanges()
		w.b.states.update(w.shown(), func(s *State) { s.Changes = changes })
		return errors.Join(err, tx.Coming.ClearTouched())
	})
}

// copyChanges copies the change rows that the read model has and the copy lacks.
func (w *coming) copyChanges(sc *sqlite.Scanner, tx *sqlite.Tx) error {
	for {
		last, n, err := tx.Coming.CopyChanges(sc.Snapshot, w.copied, pageRows)
		if err != nil {
			return err
		}
		w.copied = last
		if n < pageRows {
			tx.Coming.SetChanges(sc.Checkpoint)
			return nil
		}
		if err := w.ctx.Err(); err != nil {
			return err
		}
	}
}

// compareTouched compares every document that was touched since the last time.
func (w *coming) compareTouched(sc *sqlite.Scanner, tx *sqlite.Tx) error {
	for after := int64(0); ; {
		numbers, err := tx.Coming.Touched(after, pageRows)
		if err != nil {
			return err
		}
		for _, number := range numbers {
			after = number
			if err := w.compareDocument(sc, tx, number); err != nil {
				return err
			}
		}
		if len(numbers) < pageRows {
			return nil
		}
		if err := w.ctx.Err(); err != nil {
			return err
		}
	}
}

// compareDocument compares one document under both models, and keeps the difference as a pending change.
func (w *coming) compareDocument(sc *sqlite.Scanner, tx *sqlite.Tx, number int64) error {
	now, err := sc.RowByNumber(number)
	if err != nil {
		return err
	}
	prepared, err := tx.Documents.ByNumber(number)
	if err != nil {
		return err
	}
	if (now == nil) != (prepared == nil) {
		return fanfold.Errorf(fanfold.Internal, "document number %d is in one of two read models only", number)
	}
	if now == nil {
		return tx.Coming.RemoveChange(number)
	}
	w.noteProblems(now)
	if err := tx.Coming.SetPosition(number, now.Position); err != nil {
		return err
	}
	if bytes.Equal(now.Body, prepared.Body) {
		return tx.Coming.RemoveChange(number)
	}
	d := fold.DiffChanged(now.Key.Collection, w.change.ShapeOf(now.Key.Collection), now.Body, prepared.Body)
	prepared.Position = now.Position
	return tx.Coming.SetChange(fold.PendingChange(prepared, now.Body, d))
}

// noteProblems notes what a preview would have said of a document that was written since.
func (w *coming) noteProblems(row *sqlite.Row) {
	key := row.Key.String()
	delete(w.problems, key)
	t := jsondoc.MustParse(row.ReferencedText())
	var problems []fanfold.Problem
	for _, r := range w.change.HidingRules(row) {
		if !r.TakeOver {
			problems = append(problems, fold.HidesMembers(r, key))
		}
	}
	for _, u := range w.change.Unique[row.Key.Collection] {
		if _, err := u.Value(t); err != nil {
			problems = append(problems, fanfold.Problem{Path: fold.UniquePath(row.Key.Collection), Detail: key + ": " + err.Error()})
		}
	}
	if len(problems) == 0 {
		return
	}
	if w.problems == nil {
		w.problems = map[string][]fanfold.Problem{}
	}
	w.problems[key] = problems
}

// objections lists what speaks against the model, as far as the copy has followed. The error is errGone where the
// preparation has ended, or the copy's.
func (w *coming) objections() (problems []fanfold.Problem, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.usable() != nil {
		return nil, errGone
	}
	defer func() { w.fail(err) }()
	for _, key := range slices.Sorted(maps.Keys(w.problems)) {
		if problems = append(problems, w.problems[key]...); len(problems) >= fold.MaxNamed {
			break
		}
	}
	if err := w.b.store.Read(func(s *sqlite.Snapshot) error {
		lost, err := w.change.LostUnreleased(s)
		problems = append(problems, lost...)
		return err
	}); err != nil {
		return nil, err
	}
	err = w.m.db.Update(func(tx *sqlite.Tx) error {
		n, err := tx.Coming.CountChanges()
		if err != nil {
			return err
		}
		if n > fanfold.MaxChanges {
			problems = append(problems, fold.TooManyChanges(n))
		}
		broken, err := w.change.BrokenGuards(tx.Links.Dangling, tx.Uniques.SharedCandidates, tx.Snapshot().KeyOf)
		problems = append(problems, broken...)
		return err
	})
	return problems, err
}

// complete brings the copy to what the read model is to be after the model event ev. It returns the model's plan and
// how many documents the model changed.
func (w *coming) complete(ev *fanfold.Event) (next *fold.Plan, documents int64, err error) {
	defer batch.Recover(&err)
	if err := w.reconcile(); err != nil {
		return nil, 0, err
	}
	err = w.m.db.Update(func(tx *sqlite.Tx) error {
		if documents, err = tx.Coming.CountChanges(); err != nil {
			return err
		}
		if documents > fanfold.MaxChanges {
			return fanfold.Errorf(fanfold.Internal, "the model changes %d documents", documents)
		}
		if err := errors.Join(w.copyKeptValues(tx), w.takeOverLinks(tx, ev.Seq)); err != nil {
			return err
		}
		if next, err = fold.FinishPreparation(tx, ev, w.change, w.report); err != nil {
			return err
		}
		return batch.AddDigests(tx, []*fanfold.Event{ev})
	})
	return next, documents, err
}

// copyKeptValues copies what stays on documents by rules that the model removes. The read model has gone on taking such values.
func (w *coming) copyKeptValues(tx *sqlite.Tx) error {
	return w.b.store.Read(func(s *sqlite.Snapshot) error {
		for _, rule := range w.change.Retiring() {
			if err := tx.KeptValues.CopyFrom(s, rule); err != nil {
				return err
			}
		}
		return nil
	})
}

// takeOverLinks takes the links of relations that the model makes anew, removes or may change over from the read model, as they were until the
// model's event at seq.
func (w *coming) takeOverLinks(tx *sqlite.Tx, seq uint64) error {
	return w.b.store.Read(func(s *sqlite.Snapshot) error {
		for _, relation := range w.change.Relinked() {
			if err := tx.Links.TakeOver(s, relation, w.begun, seq); err != nil {
				return err
			}
		}
		for _, relation := range w.change.MayRelink() {
			if err := tx.Links.Merge(s, relation, w.begun, seq); err != nil {
				return err
			}
		}
		return nil
	})
}
