package projector

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
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
	feed *follower
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
func (r *rebuilding) begin(ctx context.Context, log Log) error {
	base, err := log.Base(ctx)
	if err == nil {
		err = r.load(ctx, base)
	}
	if err != nil {
		return err
	}
	r.feed, err = follow(ctx, log, r.at+1, r.erasure)
	return err
}

// run does rebuild's work. The file is the store's, even on an error, where swapping is true.
func (r *rebuilding) run(ctx context.Context) (swapping bool, err error) {
	if err := r.begin(ctx, r.p.log); err != nil {
		return false, err
	}
	defer r.feed.stop()
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
		events, err := r.feed.next(ctx, r.p.opt, last)
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
	feed, err := follow(ctx, r.p.log, r.at+1, r.erasure)
	if err == nil {
		r.feed.stop()
		r.feed = feed
	}
	return err
}

// waitSynced blocks until what was replayed is durable. The error is Unavailable, or ctx's.
func (r *rebuilding) waitSynced(ctx context.Context) (err error) {
	for err = r.feed.reader.WaitSynced(ctx, r.at); err != nil; err = r.feed.reader.WaitSynced(ctx, r.at) {
		if err := r.goOn(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

// apply folds events; more follow up to event last.
func (r *rebuilding) apply(events []*fanfold.Event, last uint64) error {
	for len(events) > 0 {
		n, err := apply(r.db, r.fold, events, nil)
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
