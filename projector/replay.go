package projector

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// replayState holds the progress of the replay and of the compaction that run, or ran last. One of the two runs at a time.
type replayState struct {
	mu         sync.Mutex
	current    *Progress
	compaction *wire.Compaction
	erasing    bool      // a read model as of a later erasure is built
	comparing  time.Time // when rows were first compared
}

// errReplaying is the error of a replay while another one runs.
var errReplaying = fanfold.Errorf(fanfold.Conflict, "a replay, a compaction or an erasure is running already: see /v1/_status")

// busy tells whether a replay or a compaction runs, or one for an erasure. It is called with r.mu held.
func (r *replayState) busy() bool {
	return r.current != nil && r.current.Running || r.compaction != nil && r.compaction.Running || r.erasing
}

// progress returns a copy of the progress, nil where there has been no replay.
func (r *replayState) progress() *Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		return nil
	}
	out := *r.current
	if out.Check != nil {
		out.Check = new(*out.Check)
	}
	return &out
}

// The phases of a replay.
const (
	Replaying = "replaying"
	Copying   = "copying"
	Comparing = "comparing"
	Done      = "done"
)

// begin starts a replay up to event target, whose read model check is for, nil to put it in place. It returns false where
// one runs already.
func (r *replayState) begin(target uint64, check *wire.Check) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy() {
		return false
	}
	r.current = &Progress{Running: true, Phase: Replaying, Target: target, Started: time.Now().UTC(), Check: check}
	return true
}

// reached notes that event seq is replayed, and that target is now the last to replay.
func (r *replayState) reached(seq, target uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.current
	c.Seq, c.Target = seq, target
	c.Seconds = time.Since(c.Started).Seconds()
	c.Phase, c.Rate = Replaying, float64(seq)/max(c.Seconds, 1e-9)
	c.Left = float64(target-min(seq, target)) / max(c.Rate, 1e-9)
}

// end notes how the replay ended.
func (r *replayState) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current.Running, r.current.Phase, r.current.Left = false, Done, 0
	r.current.Seconds = time.Since(r.current.Started).Seconds()
	if err != nil {
		r.current.Error = err.Error()
	}
}

// Replay builds a new read model from the log's base or first event on, beside the one that is served. It puts it in that one's
// place once it has caught up, and blocks until then. Reads never stop, and folding does for the last moment only. The
// error is a Conflict where another replay runs.
func (p *Projector) Replay(ctx context.Context) error {
	run, err := p.BeginReplay()
	if err != nil {
		return err
	}
	return run(ctx)
}

// BeginReplay begins what Replay does: Status shows the replay from now on, and the caller must call run, which does
// the work and blocks. The error is a Conflict where another replay runs.
func (p *Projector) BeginReplay() (run func(ctx context.Context) error, err error) {
	return p.beginRebuild(p.store.Applied.Seq)
}

// beginRebuild begins a replay up to target.
func (p *Projector) beginRebuild(target func() uint64) (run func(ctx context.Context) error, err error) {
	if !p.replay.begin(target(), nil) {
		return nil, errReplaying
	}
	return func(ctx context.Context) error {
		err := p.rebuild(ctx, target)
		p.replay.end(err)
		return err
	}, nil
}

// ReplayTo does what Replay does up to event last, for a store without a projector. The read model that is there may
// be old, or damaged. The error is a Conflict where another replay runs.
func (p *Projector) ReplayTo(ctx context.Context, last uint64) error {
	run, err := p.BeginReplayTo(last)
	if err != nil {
		return err
	}
	return run(ctx)
}

// BeginReplayTo begins what ReplayTo does, as BeginReplay does.
func (p *Projector) BeginReplayTo(last uint64) (run func(ctx context.Context) error, err error) {
	return p.beginRebuild(func() uint64 { return last })
}

// rebuilding is a new read model that is built from the log.
type rebuilding struct {
	p    *Projector
	db   *sqlite.DB
	fold *fold.Fold
	feed *batch.Follower
	at   uint64 // last event replayed
	// the last erase event that it has; 0 for none
	erasure uint64
	base    fanfold.Horizon // with which it began; zero for the log's first event
	target  func() uint64   // last event to replay, which may move on
	told    func(seq, target uint64)

	interrupted int // in a row, without an event in between
}

// rebuild replays up to target and makes the result the current read model.
func (p *Projector) rebuild(ctx context.Context, target func() uint64) error {
	db, err := p.store.Build()
	if err != nil {
		return err
	}
	r := p.newRebuilding(db, p.asOf(), target)
	swapping, err := r.run(ctx)
	if err != nil && !swapping {
		return errors.Join(err, p.store.Discard(r.db))
	}
	return err
}

// newRebuilding returns a read model to be built in an empty generation for an erasure. Its progress is a replay's.
func (p *Projector) newRebuilding(db *sqlite.DB, erasure uint64, target func() uint64) *rebuilding {
	return &rebuilding{p: p, db: db, erasure: erasure, target: target, told: p.replay.reached}
}

// begin reads a log from its base on, or from its first event where it has none. The caller stops r.feed.
func (r *rebuilding) begin(ctx context.Context, log batch.Log) error {
	base, err := log.Base(ctx)
	if err == nil {
		err = r.load(ctx, base)
	}
	if err != nil {
		return err
	}
	r.feed, err = batch.Follow(ctx, log, r.at+1, r.erasure)
	return err
}

// run does rebuild's work. The file is the store's, even on an error, where swapping is true.
func (r *rebuilding) run(ctx context.Context) (swapping bool, err error) {
	if err := r.begin(ctx, r.p.log); err != nil {
		return false, err
	}
	defer r.feed.Stop()
	return r.swapIn(ctx)
}

// swapIn replays up to the target, and makes the read model the current one. The file is the store's, even on an error, where swapping is true.
func (r *rebuilding) swapIn(ctx context.Context) (swapping bool, err error) {
	if err := r.catchUp(ctx); err != nil {
		return false, err
	}
	r.p.folding.Lock()
	defer r.p.folding.Unlock()
	if err := r.catchUp(ctx); err != nil {
		return false, err
	}
	if err := r.waitSynced(ctx); err != nil { // a batch may go past the target
		return false, err
	}
	if p := r.p; r.erasure < p.erasure.Load() {
		return false, errErasedMeanwhile
	}
	return true, r.takeOver()
}

// catchUp replays up to the target.
func (r *rebuilding) catchUp(ctx context.Context) error {
	for last := r.target(); r.at < last; last = r.target() {
		events, err := r.feed.Next(ctx, last)
		if err != nil {
			err = r.goOn(ctx, err)
		} else {
			r.interrupted, err = 0, r.apply(events, last)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxInterrupted bounds how often in a row a replay goes on that was interrupted.
const maxInterrupted = 10

// goOn follows the log anew where reading it was interrupted, as by a planned start of its server. The error is why it was, or another one.
func (r *rebuilding) goOn(ctx context.Context, why error) error {
	if r.interrupted++; r.interrupted > maxInterrupted || fanfold.CodeOf(why) != fanfold.Unavailable {
		return why
	}
	feed, err := batch.Follow(ctx, r.p.log, r.at+1, r.erasure)
	if err == nil {
		r.feed.Stop()
		r.feed = feed
	}
	return err
}

// waitSynced blocks until what was replayed is durable. The error is Unavailable, or ctx's.
func (r *rebuilding) waitSynced(ctx context.Context) (err error) {
	for err = r.feed.Reader.WaitSynced(ctx, r.at); err != nil; err = r.feed.Reader.WaitSynced(ctx, r.at) {
		if err := r.goOn(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

// apply folds events; more follow up to event last.
func (r *rebuilding) apply(events []*fanfold.Event, last uint64) error {
	for len(events) > 0 {
		n, err := batch.Apply(r.db, r.fold, events, nil)
		if err != nil {
			return err
		}
		r.at = events[n-1].Seq
		r.told(r.at, last)
		events = events[n:]
	}
	return nil
}

// takeOver makes the new read model the current one. It is called under Projector.folding.
func (r *rebuilding) takeOver() error {
	p := r.p
	p.fold = nil // loaded again, should the swap end halfway
	if err := p.store.Swap(r.db); err != nil {
		return err
	}
	p.erasure.Store(r.erasure)
	p.proposals.restart() // a copy of the old generation would bring back what was wrong in it
	r.fold.SetReporter(&p.report)
	p.fold = r.fold
	p.plan.Store(r.fold.Plan())
	if err := p.refreshProposal(p.store.Read, ""); err != nil {
		return err
	}
	if err := p.versions.load(p.store.Read); err != nil {
		return err
	}
	p.store.Applied.Set(max(r.target(), r.base.Seq))
	select {
	case p.resume <- struct{}{}:
	default: // Run has been told already
	}
	return nil
}

// compared notes how many rows are compared.
func (r *replayState) compared(_ string, rows, total int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.current
	now := time.Now().UTC()
	if c.Phase != Comparing {
		c.Phase, r.comparing = Comparing, now
	}
	c.Check.Compared, c.Check.Rows = rows, total
	c.Seconds = now.Sub(c.Started).Seconds()
	c.Rate = float64(rows) / max(now.Sub(r.comparing).Seconds(), 1e-9)
	c.Left = float64(total-rows) / max(c.Rate, 1e-9)
}

// copies notes that the read model is being copied.
func (r *replayState) copies() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current.Phase, r.current.Left = Copying, 0
}

// found notes what came of a comparison.
func (r *replayState) found(at fanfold.Position, d *sqlite.Differences) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.current.Check
	c.Position.Position, c.Compared, c.Rows = at, d.Rows, d.Rows
	for _, t := range d.Tables {
		if c.Tables == nil {
			c.Tables = map[string]int64{}
		}
		c.Tables[t.Table] = t.Rows
		c.Different += t.Rows
	}
	if d.First != nil {
		c.First = new(wire.RowDifference(*d.First))
	}
}

// BeginCheck begins a replay whose read model is compared with the one that is served, row by row at one position, and is then
// removed. Status shows how far it is, and what came of it. The caller must call run, which does the work and blocks. Neither
// reads nor folding stop. The error is a Conflict where another replay runs.
func (p *Projector) BeginCheck() (run func(ctx context.Context) error, err error) {
	if !p.replay.begin(p.store.Applied.Seq(), &wire.Check{}) {
		return nil, errReplaying
	}
	return func(ctx context.Context) error {
		err := p.check(ctx)
		p.replay.end(err)
		return err
	}, nil
}

// Check does what BeginCheck and run do, and returns what came of it.
func (p *Projector) Check(ctx context.Context) (*wire.Check, error) {
	run, err := p.BeginCheck()
	if err != nil {
		return nil, err
	}
	err = run(ctx)
	return p.replay.progress().Check, err
}

// check replays the log beside the read model and compares the two. It compares a copy, because a snapshot of the read model
// would keep SQLite from reusing its WAL for as long.
func (p *Projector) check(ctx context.Context) (err error) {
	db, err := p.store.Build()
	if err != nil {
		return err
	}
	r := p.newRebuilding(db, p.erasure.Load(), p.store.Applied.Seq)
	defer func() { err = errors.Join(err, p.store.Discard(r.db)) }()
	if err := r.begin(ctx, p.log); err != nil {
		return err
	}
	defer r.feed.Stop()
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	p.replay.copies()
	frozen, err := p.store.Freeze(ctx)
	if err != nil {
		return err
	}
	differences, err := r.compare(ctx, frozen, p.replay.compared)
	if err == nil {
		p.replay.found(frozen.Checkpoint.At(), differences)
	}
	return errors.Join(err, frozen.Remove())
}

// compare replays up to where the read model was copied, which must not be passed yet, and compares the two there. It tells progress which rows are
// compared.
func (r *rebuilding) compare(ctx context.Context, frozen *sqlite.Frozen, progress fanfold.Progress) (*sqlite.Differences, error) {
	if frozen.Checkpoint.Erasure != r.erasure {
		return nil, errErasedMeanwhile
	}
	target := r.target
	defer func() { r.target = target }()
	seq := frozen.Checkpoint.Seq
	r.target = func() uint64 { return seq }
	if err := r.catchUp(ctx); err != nil {
		return nil, err
	}
	if r.at != seq {
		return nil, fanfold.Errorf(fanfold.Internal, "the replay cannot stop at event %d, where the read model was copied, and is at %d", seq, r.at)
	}
	_, built, err := r.p.Horizon()
	if err != nil {
		return nil, err
	}
	if built == r.base.Seq {
		return frozen.Compare(ctx, r.db, progress)
	}
	return frozen.CompareAfter(ctx, r.db, r.base, progress)
}

// load fills the read model with a base, and makes the fold that goes on from there. The base is nil for a log that begins with its first
// event. A base from before the rebuilding's erasure is amended.
func (r *rebuilding) load(ctx context.Context, base *batch.Base) error {
	if base == nil {
		plan, err := fold.NewPlan(model.Empty(), 0, nil)
		r.fold = r.p.newFold(plan, nil)
		return errors.Join(err, r.setErasure())
	}
	file, err := base.Open(ctx)
	if err != nil {
		return err
	}
	r.base, err = r.db.LoadBase(ctx, file, base.Horizon)
	if err == nil {
		_, err = io.Copy(io.Discard, file) // what is wrong with it is known at its end
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fanfold.Wrap(err, fanfold.CodeOf(err), "the base up to event %d cannot be read: %s", base.Horizon.Seq, reason(err))
	}
	plan, err := fold.LoadPlan(r.db.ReadUnshared)
	if r.erasure = max(r.erasure, base.Erasure); err == nil && base.Erasure < r.erasure {
		if err = r.amend(ctx, plan, base.Erasure); err == nil {
			plan, err = fold.LoadPlan(r.db.ReadUnshared)
		}
	}
	if err != nil {
		return err
	}
	r.fold, r.at = r.p.newFold(plan, nil), r.base.Seq
	return r.setErasure()
}

// beginWithBase makes the base the current read model, where that lacks events that the log may not have any more. It returns the errors of the
// log and the base.
func (p *Projector) beginWithBase(ctx context.Context) error {
	base, err := p.log.Base(ctx)
	if err != nil || base == nil || p.store.Applied.Seq() >= base.Horizon.Seq {
		return err
	}
	p.opt.Logger.Info("the read model begins with the base, for the log begins after it", "event", base.Horizon.Seq, "applied", p.store.Applied.Seq())
	db, err := p.store.Build()
	if err != nil {
		return err
	}
	r := p.newRebuilding(db, p.asOf(), func() uint64 { return base.Horizon.Seq })
	if err := r.load(ctx, base); err != nil {
		return errors.Join(err, p.store.Discard(r.db))
	}
	p.folding.Lock()
	defer p.folding.Unlock()
	if p.store.Applied.Seq() >= base.Horizon.Seq { // a replay was faster
		return p.store.Discard(r.db)
	}
	return r.takeOver()
}

// Horizon returns the horizon at which the store begins, as the last folded compact event says. built is the last event of the base on which
// the read model is built, less than the horizon until a replay has built it anew. The error is the read model's.
func (p *Projector) Horizon() (h fanfold.Horizon, built uint64, err error) {
	err = p.store.Read(func(s *sqlite.Snapshot) error {
		h, built, err = s.Horizon()
		return err
	})
	return h, built, err
}
