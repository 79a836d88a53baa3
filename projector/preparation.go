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
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// preparation is a copy of the read model that was brought up to a model to come, and that follows
// the log under it while folding goes on under the one that applies.
type preparation struct {
	p       *Projector
	pending *fanfold.Proposal
	cmp     *fold.ModelChange // from the model that applies
	ctx     context.Context

	mu     sync.Mutex // held while it is worked on
	db     *sqlite.DB // nil once it was swapped in, or discarded
	fold   *fold.Fold
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
func (w *preparation) discard() {
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
	w.p.proposals.mu.Lock()
	defer w.p.proposals.mu.Unlock()
	if w.p.proposals.current == w {
		w.p.proposals.current = nil
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
	applies, err := fold.LoadPlan(w.db.ReadUnshared)
	if err != nil {
		return err
	}
	parsed := w.pending.Model
	reserved := applies.Reserved.Next(applies.Model, parsed)
	next, err := fold.NewPlan(parsed, w.pending.Seq, reserved)
	if err != nil {
		return err
	}
	w.cmp = fold.CompareModels(applies, next)
	if rules := w.cmp.Entangled(); len(rules) > 0 {
		return fanfold.Errorf(fanfold.Unprocessable, "the model cannot be prepared, because values that stay on their holders by %v come from documents that it changes: withdraw it, and apply it at once", rules)
	}
	w.fold = fold.New(applies, fold.Options{Reporter: w.report})
	err = w.db.Update(func(tx *sqlite.Tx) error {
		cp := tx.Checkpoint()
		total, err := w.cmp.Work(tx.Snapshot())
		if err != nil {
			return err
		}
		w.at, w.copied = cp.Seq, cp.Position
		done := int64(0)
		w.fold.OnDocument(func() error {
			done++
			tell("computing", done, max(total, done))
			return w.ctx.Err()
		})
		return w.fold.Prepare(tx, w.cmp)
	})
	w.fold.OnDocument(w.ctx.Err)
	return err
}

// round follows the log up to where the read model is, and compares what changed since with it.
// It returns where it is then, and how many events it was behind.
func (w *preparation) catchUp() (at, lag uint64, err error) {
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
	if err := w.followTo(applied); err != nil {
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
func (w *preparation) syncFile() error {
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
func (w *preparation) followTo(last uint64) (err error) {
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
	if err := w.followTo(sc.Checkpoint.Seq); err != nil {
		return err
	}
	if w.at != sc.Checkpoint.Seq {
		return fanfold.Errorf(fanfold.Internal, "a prepared read model is at event %d, and the one that applies at %d", w.at, sc.Checkpoint.Seq)
	}
	return w.db.Update(func(tx *sqlite.Tx) error {
		for {
			last, n, err := tx.CopyChanges(sc.Snapshot, w.copied, pageRows)
			if err != nil {
				return err
			}
			w.copied = last
			if n < pageRows {
				break
			}
			if err := w.ctx.Err(); err != nil {
				return err
			}
		}
		tx.SetChanges(sc.Checkpoint)
		for after := int64(0); ; {
			numbers, err := tx.Touched(after, pageRows)
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
func (w *preparation) compareDocument(sc *sqlite.Scanner, tx *sqlite.Tx, number int64) error {
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
	w.noteObjections(have)
	if err := tx.SetPosition(number, have.Position); err != nil {
		return err
	}
	if bytes.Equal(have.Body, comes.Body) {
		return tx.RemovePendingChange(number)
	}
	d := fold.DiffChanged(have.Key.Collection, w.cmp.ShapeOf(have.Key.Collection), have.Body, comes.Body)
	return tx.SetPendingChange(comes, have.Position, d.Rules, d.Patch())
}

// object notes what a preview would have said of a document that was written since.
func (w *preparation) noteObjections(row *sqlite.Row) {
	key := row.Key.String()
	delete(w.hidden, key)
	t := jsondoc.MustParse(row.Source())
	var problems []fanfold.Problem
	for _, r := range w.cmp.HidingRules(row) {
		if !r.TakeOver {
			problems = append(problems, fold.HidesMembers(r, key))
		}
	}
	for _, path := range w.cmp.Unique[row.Key.Collection] {
		if _, err := fanfold.UniqueValue(t, path); err != nil {
			problems = append(problems, fanfold.Problem{Path: fold.UniquePath(row.Key.Collection), Detail: key + ": " + err.Error()})
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
		if problems = append(problems, w.hidden[key]...); len(problems) >= fold.MaxNamed {
			break
		}
	}
	return problems
}

// complete makes the copy what the read model is to be after the model event.
func (w *preparation) complete(ev *fanfold.Event) (next *fold.Plan, documents int64, err error) {
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
		next, err = fold.FinishPreparation(tx, ev, w.cmp, w.report)
		return err
	})
	return next, documents, err
}

// Preparation is how far this node is with a model that is to come.
type Preparation struct {
	Model   uint64    `json:"model"` // the event that announces it
	Phase   string    `json:"phase"` // waiting, copying, computing, following, ready or failed
	Done    int64     `json:"done"`  // of the phase: pages, documents, or the last event followed
	Total   int64     `json:"total"`
	Changes int64     `json:"changes"` // documents that the model changes, as far as known
	Started time.Time `json:"started"`
	Error   string    `json:"error,omitempty"`
}

// Activation is how the last model that was prepared came to apply.
type Activation struct {
	Model     uint64  `json:"model"` // the event that applied it
	Documents int64   `json:"documents"`
	Seconds   float64 `json:"seconds"` // for which nothing was folded
}

// progress changes what is told of a preparation.
func (p *Projector) progress(seq uint64, change func(s *Preparation)) {
	p.proposals.mu.Lock()
	defer p.proposals.mu.Unlock()
	if s := p.proposals.progress; s != nil && s.Model == seq {
		change(s)
	}
}

// prepare prepares one model, and follows the log until it applies or ctx ends.
func (p *Projector) prepare(ctx context.Context, pending *fanfold.Proposal) error {
	for p.store.Applied.Seq()+maxLagToPrepare < p.heard.Load() { // the log may have the model itself by now
		select {
		case <-p.store.Applied.Changed(p.store.Applied.Seq()):
		case <-ctx.Done():
			return ctx.Err()
		}
		if p.store.Applied.Err() != nil {
			return p.store.Applied.Err()
		}
	}
	w := &preparation{p: p, pending: pending, ctx: ctx, report: &report{}, fault: make(chan struct{}, 1)}
	defer w.discard()
	p.proposals.mu.Lock()
	if ctx.Err() != nil {
		p.proposals.mu.Unlock()
		return ctx.Err()
	}
	w.mu.Lock()
	p.proposals.current = w
	p.proposals.mu.Unlock()
	w.failed = w.build()
	err := w.failed
	w.mu.Unlock()
	if err != nil {
		return err
	}
	p.opt.Logger.Info("a model is prepared", "model", pending.Seq)
	for {
		at, lag, err := w.catchUp()
		if err == nil && lag < readyLag && !w.ready.Load() {
			err = w.syncFile()
		}
		if errors.Is(err, errGone) {
			return nil
		}
		if err != nil {
			return err
		}
		if lag < readyLag && !w.ready.Load() {
			w.ready.Store(true)
			p.progress(pending.Seq, func(s *Preparation) { s.Phase = "ready" })
			select {
			case p.proposals.ready <- struct{}{}:
			default:
			}
		}
		select {
		case <-p.store.Applied.Changed(at):
		case <-w.fault:
		case <-ctx.Done():
			return ctx.Err()
		}
		if p.store.Applied.Err() != nil { // nothing is folded: look again later
			pause(ctx, pauseStopped)
		}
		if w.ready.Load() {
			pause(ctx, pauseReady)
		}
	}
}

const (
	maxLagToPrepare = 10_000 // events not folded yet with which a node prepares nothing
	readyLag        = 1000   // events behind the read model with which a preparation is ready
	pauseReady      = 100 * time.Millisecond
	pauseStopped    = time.Second
	pauseFailed     = 5 * time.Second
	mostPause       = 5 * time.Minute
)

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// activate makes the prepared read model the current one, as of the model event; where it is being
// built yet, it waits for that. It is called under Projector.folding, with everything before the event
// folded. done is false where the preparation is of another model, or ended: the event is to be folded
// like others.
func (p *Projector) activate(ctx context.Context, ev *fanfold.Event) (done bool, err error) {
	p.proposals.mu.Lock()
	w := p.proposals.current
	p.proposals.mu.Unlock()
	if w == nil || !bytes.Equal(ev.Body, w.pending.Source) {
		return false, nil
	}
	began := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if w.usable() != nil || w.cmp.Prev.Seq != p.plan.Load().Seq {
		return false, nil
	}
	next, documents, err := w.complete(ev)
	db := w.db
	w.db = nil
	if err != nil {
		if derr := p.store.Discard(db); derr != nil {
			p.opt.Logger.Warn("a prepared read model could not be removed", "err", derr)
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		p.opt.Logger.Warn("a prepared read model cannot be used, and the model is folded at once", "model", ev.Seq, "err", err)
		return false, nil
	}
	p.fold = nil // loaded again, should the swap end halfway
	if err := p.store.Swap(db); err != nil {
		return false, err
	}
	p.report.adopt(w.report, w.cmp.NewRules)
	p.fold = p.newFold(next, &p.report)
	p.plan.Store(next)
	p.proposals.mu.Lock()
	p.proposals.latest = &Activation{Model: ev.Seq, Documents: documents, Seconds: time.Since(began).Seconds()}
	p.proposals.mu.Unlock()
	return true, nil
}

// Broken lists what documents break of the new strict relations and unique members of the model that
// event seq announces, which of those that were written since it was announced it would hide members of,
// and whether it would change more documents than one event can. It brings the preparation to where the
// read model is. Gone where this node is not ready for that model.
func (p *Projector) Objections(seq uint64) (problems []fanfold.Problem, err error) {
	p.proposals.mu.Lock()
	w := p.proposals.current
	p.proposals.mu.Unlock()
	if w == nil || w.pending.Seq != seq || !w.ready.Load() {
		return nil, errGone
	}
	if _, _, err := w.catchUp(); err != nil {
		return nil, errGone // prepare finds the same
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.usable() != nil {
		return nil, errGone
	}
	defer func() { w.fail(err) }()
	problems = w.objections()
	err = w.db.Update(func(tx *sqlite.Tx) error {
		n, err := tx.CountPendingChanges()
		if err != nil {
			return err
		}
		if n > fanfold.MaxChanges {
			problems = append(problems, fold.TooManyChanges(n))
		}
		broken, err := w.cmp.BrokenGuards(tx.Dangling, tx.SharedUniqueCandidates, tx.Snapshot().KeyOf)
		problems = append(problems, broken...)
		return err
	})
	return problems, err
}

// pageRows is how many rows are read at a time.
const pageRows = 512
