// Package rebuild builds read models beside the one that is served. Each begins with a log's base, or with its first event, and folds
// the events after it. The rows of uses.go say what for.
package rebuild

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// Rebuild says of what a read model is built, how far, and what becomes of it. Begin and Rebuild take one.
type Rebuild struct {
	shown  State // as which progress is shown at first; its use says where
	asOf   func(b *Builder) fanfold.AsOf
	copies bool                                      // begin copies the one that is served; otherwise there is an empty generation
	begin  func(ctx context.Context, m *build) error // nil: with the log's base, or its first event
	until  func(m *build) uint64                     // the last event, which may move on
	then   func(ctx context.Context, m *build) error // puts the read model in place, or else it is removed
}

// Served is the read model that is served, and folded into.
type Served struct {
	sync.Mutex                           // held while it is folded into, waits for a model to be prepared, and is replaced
	Fold       *fold.Fold                // under the mutex; nil: to be loaded from the read model
	Plan       atomic.Pointer[fold.Plan] // of the model that applies
	AsOf       atomic.Uint64             // the list of erasures that it has; changes under the mutex
	Asked      atomic.Uint64             // the erasure that the last erased event that came needs
	LogEnd     atomic.Uint64             // last event that the log is known to have
	Report     *Report                   // hears of rules that fail
	Replaced   func() error              // is called when a rebuilt one takes its place
	Resume     chan struct{}             // has an element where a sound one was put in place
}

// swap makes a generation the one that is served. It is the store's from then on, also where there is an error. Served is locked.
func (b *Builder) swap(db *sqlite.DB, f *fold.Fold) error {
	b.served.Fold = nil // loaded again, should the swap end halfway
	if err := b.store.Swap(db); err != nil {
		return err
	}
	f.SetReporter(b.served.Report)
	b.served.Fold = f
	b.served.Plan.Store(f.Plan())
	return nil
}

// replace does what swap does with a read model that was built as of an erasure up to an event. A copy of the one before would bring back what was wrong
// in it.
func (b *Builder) replace(db *sqlite.DB, f *fold.Fold, asOf fanfold.AsOf, upTo uint64) error {
	if err := b.swap(db, f); err != nil {
		return err
	}
	b.served.AsOf.Store(uint64(asOf))
	b.proposals.restart()
	if err := errors.Join(b.NoteModels(b.store.Read, ""), b.served.Replaced()); err != nil {
		return err
	}
	b.store.Applied.Set(upTo)
	select {
	case b.served.Resume <- struct{}{}:
	default: // whoever folds has been told already
	}
	return nil
}

// SwapError marks an error of putting a read model in place, rather than of building it.
type SwapError struct{ error }

// Unwrap returns the read model's error.
func (e *SwapError) Unwrap() error { return e.error }

// Builder builds read models for a store. Its methods may be called from many goroutines.
type Builder struct {
	log    batch.Log
	store  *sqlite.Store
	served *Served
	fold   fold.Options // of all of them
	logger *slog.Logger

	states    *states
	proposals proposals

	mu       sync.Mutex // of what follows
	prepared *prepared  // the read model for an erasure; nil for none
	missed   *missedViews
}

// New returns a builder for the store of a served read model.
func New(log batch.Log, store *sqlite.Store, served *Served, opt fold.Options, logger *slog.Logger) *Builder {
	opt.Ended = store.Ending
	shown := &states{}
	return &Builder{log: log, store: store, served: served, fold: opt, logger: logger, states: shown, proposals: newProposals(shown)}
}

// Begin begins a rebuild, which its State shows from now on. The caller must call run, which does the work and blocks. Reads never stop, and
// folding does for the last moment only. The error is a Conflict where another rebuild runs.
func (b *Builder) Begin(r Rebuild) (run func(ctx context.Context) error, err error) {
	r.shown.Target = max(r.shown.Target, b.store.Applied.Seq())
	if !b.states.begin(r.shown) {
		return nil, errBuilding
	}
	return func(ctx context.Context) error {
		err := b.build(ctx, r)
		b.states.end(r.shown, err)
		return err
	}, nil
}

// Rebuild does what Begin and run do.
func (b *Builder) Rebuild(ctx context.Context, r Rebuild) error {
	run, err := b.Begin(r)
	if err != nil {
		return err
	}
	return run(ctx)
}

// build is a read model that is being built.
type build struct {
	Rebuild
	b     *Builder
	db    *sqlite.DB // nil once it is the store's
	fold  *fold.Fold
	feed  *batch.Follower // nil before an event is read
	at    uint64          // last event replayed
	lists fanfold.AsOf    // that it knows
	base  fanfold.Horizon // with which it began; zero for the log's first event

	interrupted int // in a row, without an event in between
}

// build does a rebuild's work.
func (b *Builder) build(ctx context.Context, r Rebuild) (err error) {
	m := &build{Rebuild: r, b: b, lists: r.asOf(b)}
	if !r.copies {
		if m.db, err = b.store.Build(); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, m.close()) }()
	if m.begin == nil {
		m.begin = beginWithLog
	}
	if err := m.begin(ctx, m); err != nil {
		return err
	}
	return m.then(ctx, m)
}

// close ends the reading, and removes a read model that has not taken over.
func (m *build) close() error {
	if m.feed != nil {
		m.feed.Stop()
	}
	if m.db == nil {
		return nil
	}
	return m.b.store.Discard(m.db)
}

// maxBases is how many bases a rebuild tries, one after the other.
const maxBases = 3

// beginWithLog begins with the log's base, or its first event. An erasure may take a base away while it is read, after it has put another in its place: then it
// begins anew with that one.
func beginWithLog(ctx context.Context, m *build) error {
	base, err := m.b.log.Base(ctx)
	if err != nil {
		return err
	}
	for tries := 1; ; tries++ {
		if err = m.load(ctx, base); err == nil || base == nil || tries == maxBases {
			return err
		}
		next, failed := m.b.log.Base(ctx)
		if failed != nil || next != nil && next.Horizon.Seq == base.Horizon.Seq && next.AsOf == base.AsOf {
			return err
		}
		base = next
		if err := m.b.store.Discard(m.db); err != nil {
			return err
		}
		m.db = nil
		if m.db, err = m.b.store.Build(); err != nil {
			return err
		}
	}
}

// load fills the read model with a base, and makes the fold that goes on from there. The base is nil for a log that begins with its first
// event. A base from before the read model's erasure is amended.
func (m *build) load(ctx context.Context, base *batch.Base) error {
	if base == nil {
		plan, err := fold.NewPlan(model.Empty(), 0, nil)
		m.fold = m.b.NewFold(plan, nil)
		return errors.Join(err, m.setAsOf())
	}
	file, err := base.Open(ctx)
	if err != nil {
		return err
	}
	m.base, err = m.db.LoadBase(ctx, file, base.Horizon)
	if err == nil {
		_, err = io.Copy(io.Discard, file) // what is wrong with it is known at its end
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return unreadableBase(base, err)
	}
	if m.lists = max(m.lists, base.AsOf); base.AsOf < m.lists {
		if err := m.amend(ctx, base.AsOf); err != nil {
			return err
		}
	}
	plan, err := fold.LoadPlan(m.db.ReadUnshared)
	if err != nil {
		return err
	}
	m.fold, m.at = m.b.NewFold(plan, nil), m.base.Seq
	return m.setAsOf()
}

// unreadableBase says that a base cannot be read.
func unreadableBase(base *batch.Base, err error) error {
	return fanfold.Wrap(err, fanfold.CodeOf(err), "the base up to event %d cannot be read: %s", base.Horizon.Seq, Reason(err))
}

// setAsOf records the erasure that the read model has.
func (m *build) setAsOf() error {
	if m.lists == 0 {
		return nil
	}
	return m.db.SetAsOf(m.lists)
}

// NewFold returns a fold with the builder's options.
func (b *Builder) NewFold(plan *fold.Plan, reporter fold.Reporter) *fold.Fold {
	opt := b.fold
	opt.Reporter = reporter
	return fold.New(plan, opt)
}

// catchUp replays up to the last event that is asked for.
func (m *build) catchUp(ctx context.Context) error {
	for last := m.until(m); m.at < last; last = m.until(m) {
		if err := m.replay(ctx, last); err != nil {
			return err
		}
	}
	return nil
}

// advanceTo replays up to an event, and further where the log stored it with others.
func (m *build) advanceTo(ctx context.Context, seq uint64) error {
	for m.at < seq {
		if err := m.replay(ctx, seq); err != nil {
			return err
		}
	}
	return nil
}

// catchUpTo replays up to an event, at which the result must be then.
func (m *build) catchUpTo(ctx context.Context, seq uint64) error {
	if err := m.advanceTo(ctx, seq); err != nil {
		return err
	}
	if m.at != seq {
		return fanfold.Errorf(fanfold.Internal, "the replay cannot stop at event %d, where the read model was copied, and is at %d", seq, m.at)
	}
	return nil
}

// replay replays a batch up to event last.
func (m *build) replay(ctx context.Context, last uint64) (err error) {
	if m.feed == nil {
		if m.feed, err = batch.Follow(ctx, m.b.log, m.at+1, m.lists); err != nil {
			return err
		}
	}
	events, err := m.feed.Next(ctx, last)
	if err != nil {
		return m.goOn(ctx, err)
	}
	m.interrupted = 0
	return m.apply(events, last)
}

// maxInterrupted bounds how often in a row a replay goes on that was interrupted.
const maxInterrupted = 10

// goOn follows the log anew where reading it was interrupted, as by a planned start of its server. The error is why it was, or another one.
func (m *build) goOn(ctx context.Context, why error) error {
	if m.interrupted++; m.interrupted > maxInterrupted || fanfold.CodeOf(why) != fanfold.Unavailable {
		return why
	}
	feed, err := batch.Follow(ctx, m.b.log, m.at+1, m.lists)
	if err == nil {
		m.feed.Stop()
		m.feed = feed
	}
	return err
}

// waitSynced blocks until what was replayed is durable. The error is Unavailable, or ctx's.
func (m *build) waitSynced(ctx context.Context) (err error) {
	if m.feed == nil {
		return nil
	}
	for err = m.feed.Reader.WaitSynced(ctx, m.at); err != nil; err = m.feed.Reader.WaitSynced(ctx, m.at) {
		if err := m.goOn(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

// apply folds events; more follow up to event last.
func (m *build) apply(events []*fanfold.Event, last uint64) error {
	for len(events) > 0 {
		n, err := batch.Apply(m.db, m.fold, events, nil)
		if err != nil {
			return err
		}
		m.at = events[n-1].Seq
		m.tell(Replaying, int64(m.at), int64(last))
		events = events[n:]
	}
	return nil
}

// swapIn replays up to the last event that is asked for, and makes the read model the one that is served.
func swapIn(ctx context.Context, m *build) error {
	if err := m.catchUp(ctx); err != nil {
		return err
	}
	m.b.served.Lock()
	defer m.b.served.Unlock()
	if err := m.catchUp(ctx); err != nil {
		return err
	}
	if err := m.waitSynced(ctx); err != nil { // a batch may go past the last event
		return err
	}
	if m.lists < m.b.AsOf() {
		return errErasedMeanwhile
	}
	return m.takeOver()
}

// takeOver makes the read model the one that is served. It is called with Served locked.
func (m *build) takeOver() error {
	db := m.db
	m.db = nil
	if err := m.b.replace(db, m.fold, m.lists, max(m.until(m), m.base.Seq)); err != nil {
		return &SwapError{err}
	}
	return nil
}

// check compares the read model with the one that is served. It compares a copy, because a snapshot of that one would keep SQLite from
// reusing its WAL for as long.
func check(ctx context.Context, m *build) error {
	if err := m.catchUp(ctx); err != nil {
		return err
	}
	m.tell(Copying, 0, 0)
	frozen, err := m.b.store.Freeze(ctx)
	if err != nil {
		return err
	}
	differences, err := m.compare(ctx, frozen)
	if err == nil {
		m.found(frozen.Checkpoint.At(), differences)
	}
	return errors.Join(err, frozen.Remove())
}

// compare replays up to where the served read model was copied, which must not be passed yet, and compares the two there.
func (m *build) compare(ctx context.Context, frozen *sqlite.Frozen) (*sqlite.Differences, error) {
	if frozen.Checkpoint.AsOf != m.lists {
		return nil, errErasedMeanwhile
	}
	if err := m.catchUpTo(ctx, frozen.Checkpoint.Seq); err != nil {
		return nil, err
	}
	_, built, err := m.b.Horizon()
	if err != nil {
		return nil, err
	}
	progress := func(_ string, done, total int64) { m.tell(Comparing, done, total) }
	var after *fanfold.Horizon // nil where both begin at the same event, so that all rows are compared
	if built != m.base.Seq {
		after = &m.base
	}
	return frozen.Compare(ctx, m.db, after, progress)
}

// different says that a base does not give the read model.
func different(d *sqlite.Differences) error {
	rows := int64(0)
	for _, t := range d.Tables {
		rows += t.Rows
	}
	return fanfold.Errorf(fanfold.Internal, "%d rows are not as the base and the events after it give them, the first one in table %s with key %s (%s); nothing was taken away: run fanfold replay --check",
		rows, d.First.Table, d.First.Key, d.First.Kind)
}

// Horizon returns the horizon at which the store begins, as the last folded compact event says. built is the last event of the base on which
// the read model is built, less than the horizon until a replay has built it anew. The error is the read model's.
func (b *Builder) Horizon() (h fanfold.Horizon, built uint64, err error) {
	err = b.store.Read(func(s *sqlite.Snapshot) error {
		h, built, err = s.Horizon()
		return err
	})
	return h, built, err
}

// The most that is read and written in some seconds.
const (
	quickEvents  = 100_000 // a document that a base may have counts as one
	quickChanges = 200_000
)

// work is what there is to do to build a read model anew.
type work struct {
	last      uint64          // the log's last event
	base      uint64          // the event after which the log begins; 0 where it has all events
	horizon   fanfold.Horizon // where the read model begins
	changes   int64           // that there ever were
	documents int64           // that there are
}

// IsLong tells whether a replay up to the log's last event takes more than some seconds. The log begins after event base. The base has no more documents than
// there are now, and events after it. It returns the error of reading.
func (b *Builder) IsLong(last, base uint64) (bool, error) {
	w := work{last: last, base: base}
	err := b.store.Read(func(s *sqlite.Snapshot) (err error) {
		w.changes = s.Checkpoint.Changes
		if base == 0 {
			return nil
		}
		if w.horizon, _, err = s.Horizon(); err != nil {
			return err
		}
		for after, more := "", true; more && !w.isLong(); {
			list, rest, err := s.CollectionsBehind(after, 1000)
			if err != nil {
				return err
			}
			for _, c := range list {
				after, w.documents = c.Name, w.documents+c.Documents
			}
			more = rest
		}
		return nil
	})
	return w.isLong(), err
}

// isLong tells whether that takes more than some seconds.
func (w work) isLong() bool {
	return w.last-min(w.base, w.last)+uint64(w.documents) > quickEvents || w.changes-w.horizon.Changes > quickChanges
}

// Reason returns what an error says, without a cause that is for the server's log only.
func Reason(err error) string {
	var e *fanfold.Error
	if errors.As(err, &e) && e.Err != nil && !strings.Contains(e.Message, e.Err.Error()) {
		return strings.TrimSuffix(err.Error(), ": "+e.Err.Error())
	}
	return err.Error()
}
