// Package projector runs the fold: it reads the log, folds what is waiting into SQLite, one transaction at a time, and
// wakes who waits for a position. DESIGN.md says why it is as it is.
package projector

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/sqlite"
)

// Options says how a Projector works. The zero value works.
type Options struct {
	Logger *slog.Logger // default slog.Default()
	// SetOrientedFrom is how many holders a fan-out has that is folded by set-oriented SQL, where the rule allows
	// it; default DefaultSetOrientedFrom, negative: none is. The rows are the same.
	SetOrientedFrom int
	// WorkersFrom is how many documents a level changes whose views several goroutines compute; default DefaultWorkersFrom.
	WorkersFrom int
	// OnFolded is told of every event that was folded, and how many derived changes it caused. It must not block; nil for
	// nobody.
	OnFolded func(derived int64)
	// OnBatch is told of every batch that was folded, and when its folding began. It must not block; nil for nobody.
	OnBatch func(began time.Time, events []*fanfold.Event)
	// Report collects the errors of rules; default one of its own.
	Report *rebuild.Report
}

// Projector folds the log into the store's current read model. Run does the work; the other methods may be called
// from many goroutines.
type Projector struct {
	log   batch.Log
	store *sqlite.Store
	opt   Options

	reader     batch.Reader // of the events that are folded into the current read model; of run's goroutine
	restarting restart      // the same

	served           rebuild.Served
	*rebuild.Builder // of other read models, which take the served one's place

	stopped  atomic.Pointer[Stopped]
	begun    atomic.Bool   // see Begun
	folded   atomic.Uint64 // events folded by this process
	versions versions
}

// New returns a projector of a store, with the model that applies in its read model. The error is the read model's.
// It starts nothing: Run does.
func New(source batch.Log, store *sqlite.Store, opt Options) (*Projector, error) {
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	p := &Projector{log: source, store: store, opt: opt}
	p.served.Report, p.served.Resume = cmp.Or(opt.Report, new(rebuild.Report)), make(chan struct{}, 1)
	p.served.Replaced = func() error { return p.versions.load(store.Read) }
	p.Builder = rebuild.New(source, store, &p.served, fold.Options{SetOrientedFrom: opt.SetOrientedFrom, Workers: batch.NewWorkers(), WorkersFrom: opt.WorkersFrom}, opt.Logger)
	pl, err := fold.LoadPlan(store.Read)
	if err != nil {
		return nil, err
	}
	p.served.Plan.Store(pl)
	cp, err := store.Checkpoint()
	p.served.AsOf.Store(uint64(cp.AsOf))
	return p, errors.Join(err, p.NoteModels(store.Read, ""), p.versions.load(store.Read))
}

// Model returns the model that applies now, the event that applied it (0 for none) and the paths still reserved.
func (p *Projector) Model() (m *model.Model, seq uint64, reserved model.Reserved) {
	pl := p.served.Plan.Load()
	return pl.Model, pl.Seq, pl.Reserved
}

// Begun tells whether the base was found at which the log begins, or there is none: before that, folding may stop at once.
func (p *Projector) Begun() bool { return p.begun.Load() }

// Run folds until ctx ends, and then returns nil. It blocks until then. An event that cannot be folded stops it: it
// stays blocked, reads go on, waits fail, and Status says why. A failure by the environment (a full disk, a log out
// of reach) is tried again, and after a replay everything is.
func (p *Projector) Run(ctx context.Context) error {
	var preparing sync.WaitGroup
	preparing.Go(func() { p.PrepareModels(ctx) })
	preparing.Go(func() { p.PrepareErasures(ctx) })
	preparing.Go(func() { p.tidyWhenIdle(ctx) })
	defer preparing.Wait()
	const firstWait, maxWait = 50 * time.Millisecond, 5 * time.Second
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		before := p.store.Applied.Seq()
		err := p.run(ctx)
		if ctx.Err() != nil {
			p.store.Applied.Stop(fanfold.Errorf(fanfold.Unavailable, "the server is shutting down"))
			return nil //nolint:nilerr // the end that was asked for
		}
		if p.store.Applied.Seq() > before {
			wait = firstWait
		}
		if p.restarting.goesOn(err) { // nobody need hear of it
			wait = firstWait
			batch.Pause(ctx, firstWait)
			continue
		}
		p.stop(err)
		var retry <-chan time.Time
		switch fanfold.CodeOf(err) {
		case fanfold.Unavailable, fanfold.LogDamaged, fanfold.PositionGone: // a log may be restored, and begins with the base where it was purged
			retry = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-retry:
		case <-p.served.Resume:
		}
	}
}

// patience is how long the log's server may take to be started again before folding counts as stopped.
const patience = 30 * time.Second

// restart says since when the log's server is being started again; the zero value stands for a server that runs.
type restart struct{ since time.Time }

// goesOn tells whether folding failed because the log's server is started again, and has not for long.
func (r *restart) goesOn(err error) bool {
	if !errors.Is(err, fanfold.ErrRestarting) {
		r.since = time.Time{}
		return false
	}
	if r.since.IsZero() {
		r.since = time.Now()
	}
	return time.Since(r.since) < patience
}

// stop notes that folding has stopped, and makes waits fail with the reason. The same reason is logged once.
func (p *Projector) stop(err error) {
	var read *readError
	stop := &Stopped{Seq: p.store.Applied.Seq() + 1, Reason: rebuild.Reason(err), Reading: errors.As(err, &read)}
	if code := fanfold.CodeOf(err); !stop.Reading || code == fanfold.Invalid || code == fanfold.LogDamaged {
		p.served.LogEnd.Store(max(p.served.LogEnd.Load(), stop.Seq))
	} else {
		stop.Away = code == fanfold.Unavailable
	}
	if old := p.stopped.Load(); old == nil || *old != *stop {
		p.opt.Logger.Error("the projector has stopped", "seq", stop.Seq, "err", err)
	}
	p.stopped.Store(stop)
	p.store.Applied.Stop(fanfold.Wrap(err, fanfold.Unavailable, "the projector has stopped at event %d, and reads show the state before it: %s", stop.Seq, stop.Reason))
}

// readError marks an error of the log rather than of the fold.
type readError struct{ error }

// Unwrap returns the log's error.
func (e *readError) Unwrap() error { return e.error }

// unsyncedError marks an error of a log that cannot be made durable, rather than of the fold.
type unsyncedError struct{ error }

// Unwrap returns the log's error.
func (e *unsyncedError) Unwrap() error { return e.error }

// run folds until something fails, and returns the error: a readError where the log failed, or ctx ended.
func (p *Projector) run(ctx context.Context) error {
	if err := p.served.Plan.Load().Known(); err != nil { // a newer program has folded so far
		return err
	}
	for {
		var swap *rebuild.SwapError
		if err := p.ChangeOver(ctx); errors.As(err, &swap) {
			return err
		} else if err != nil {
			return &readError{err}
		}
		if err := p.runAsOf(ctx, p.AsOf()); ctx.Err() != nil || !errors.Is(err, errOtherErasure) && !p.MustChangeOver() {
			return err
		}
	}
}

// runAsOf folds as of an erasure, until something fails or the read model is to be as of another one. That is errOtherErasure.
func (p *Projector) runAsOf(ctx context.Context, asOf fanfold.AsOf) error {
	if err := p.BeginWithBase(ctx); err != nil {
		return &readError{err}
	}
	p.begun.Store(true)
	from := p.store.Applied.Seq() + 1
	feed, err := batch.Follow(ctx, p.log, from, asOf)
	if err != nil {
		return &readError{err}
	}
	defer feed.Stop()
	p.reader, p.restarting = feed.Reader, restart{}
	if s := p.stopped.Load(); s != nil && s.Reading { // the log is there again, and may have nothing to fold
		p.stopped.Store(nil)
		p.store.Applied.Resume()
	}
	for {
		events, err := feed.Next(ctx, ^uint64(0))
		if err != nil {
			return &readError{err}
		}
		p.served.LogEnd.Store(events[len(events)-1].Seq + feed.Pending)
		if err := p.foldLive(ctx, events, asOf); err != nil {
			return err
		}
	}
}

// foldLive folds a batch, which was read as of an erasure, into the current read model. Each model event is a batch of its own, for it may be there
// already, prepared. It ends with errOtherErasure before an event that asks for a read model as of a later erasure.
func (p *Projector) foldLive(ctx context.Context, events []*fanfold.Event, asOf fanfold.AsOf) (err error) {
	p.served.Lock()
	defer p.served.Unlock()
	if p.AsOf() != asOf { // a replay has put another one in place
		return errOtherErasure
	}
	events, upTo := beforeErased(events, asOf)
	defer func() {
		if err == nil && upTo > 0 {
			p.served.Asked.Store(uint64(upTo))
			err = errOtherErasure
		}
	}()
	applied := p.store.Applied.Seq()
	events = events[sort.Search(len(events), func(i int) bool { return events[i].Seq > applied }):] // a base may have gone further meanwhile
	if len(events) == 0 {
		return nil
	}
	p.versions.add(events)
	for len(events) > 0 {
		n := slices.IndexFunc(events, func(ev *fanfold.Event) bool { return ev.Kind == fanfold.KindModel })
		switch n {
		case -1:
			n = len(events)
		case 0:
			n = 1
			if err := p.reader.WaitSynced(ctx, events[0].Seq); err != nil {
				return err
			}
			done, err := p.Activate(ctx, events[0])
			if err != nil {
				return err
			}
			if done {
				p.announceFolded(p.store.Read, events[:1])
				events = events[1:]
				continue
			}
		}
		if err := p.foldPart(ctx, events[:n]); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

// foldPart folds events in as few transactions as large fan-outs among them allow; where that fails, in as many as there
// can be, to come as far as possible.
func (p *Projector) foldPart(ctx context.Context, events []*fanfold.Event) error {
	return p.store.Use(func(db *sqlite.DB) error {
		for pieces := false; len(events) > 0; {
			part := events
			if pieces {
				part = events[:batch.Prefix(events)]
			}
			n, err := p.foldBatch(ctx, db, part)
			var unsynced *unsyncedError
			if err != nil && (pieces || len(events) == 1 || errors.As(err, &unsynced)) {
				return err
			}
			events, pieces = events[n:], pieces || err != nil
		}
		return nil
	})
}

// foldBatch folds events in one transaction and announces them: all of them, or those up to a large fan-out, and returns
// how many. It folds while they are made durable, and commits once they are. It is called under p.served.
func (p *Projector) foldBatch(ctx context.Context, db *sqlite.DB, events []*fanfold.Event) (n int, err error) {
	began := time.Now()
	if p.served.Fold == nil {
		pl, err := fold.LoadPlan(db.Read)
		if err != nil {
			return 0, err
		}
		p.served.Fold = p.NewFold(pl, p.served.Report)
	}
	synced := func() error {
		if err := p.reader.WaitSynced(ctx, events[len(events)-1].Seq); err != nil {
			return &unsyncedError{err}
		}
		return nil
	}
	if n, err = batch.Apply(db, p.served.Fold, events, synced); err != nil {
		p.served.Fold = nil // its caches and model may be ahead of what was rolled back
		return 0, err
	}
	events = events[:n]
	p.served.Plan.Store(p.served.Fold.Plan())
	if p.opt.OnBatch != nil {
		p.opt.OnBatch(began, events)
	}
	p.announceFolded(db.Read, events, p.served.Fold.Outcomes()...)
	if err := db.CheckpointWAL(); err != nil { // the events are folded all the same; the next batch tries again, or fails where a sync failed
		p.opt.Logger.Warn("SQLite's log could not be brought into the file", "err", err)
	}
	return n, nil
}

// announceFolded takes note of what folded events say of announced models, and wakes who waits for a position.
func (p *Projector) announceFolded(read func(func(*sqlite.Snapshot) error) error, events []*fanfold.Event, outcomes ...sqlite.Outcome) {
	p.folded.Add(uint64(len(events)))
	if p.opt.OnFolded != nil {
		for _, o := range outcomes {
			p.opt.OnFolded(o.Derived)
		}
	}
	if p.stopped.Swap(nil) != nil {
		p.opt.Logger.Info("the projector goes on", "seq", events[0].Seq)
	}
	for _, ev := range events {
		withdrawal := ""
		switch ev.Kind {
		case fanfold.KindCancel:
			t := jsondoc.MustParse(ev.Body)
			withdrawal = t.Text(t.Member(jsondoc.Root, "reason"))
		case fanfold.KindPrepare, fanfold.KindModel:
		default:
			continue
		}
		if err := p.NoteModels(read, withdrawal); err != nil {
			p.opt.Logger.Error("the models to come cannot be read", "err", err)
		}
	}
	p.store.Applied.Set(events[len(events)-1].Seq, outcomes...)
}

// errOtherErasure ends the folding into a read model that is to be replaced by one as of another erasure.
var errOtherErasure = errors.New("the read model is as of another erasure")

// beforeErased returns the events before the first that asks for a read model as of a later erasure, so that nothing is cut that was stored at once.
// upTo is that erasure, 0 where there is no such event.
func beforeErased(events []*fanfold.Event, asOf fanfold.AsOf) (before []*fanfold.Event, upTo fanfold.AsOf) {
	n := slices.IndexFunc(events, func(ev *fanfold.Event) bool { return ev.Loss.Erases() && ev.Loss.UpTo > asOf })
	if n < 0 {
		return events, 0
	}
	whole, end := 0, batch.End{}
	for i, ev := range events[:n] {
		if end.Add(ev); end.Reached() {
			whole = i + 1
		}
	}
	return events[:whole], events[n].Loss.UpTo
}

// Plan returns the plan of the model that applies now.
func (p *Projector) Plan() *fold.Plan { return p.served.Plan.Load() }
