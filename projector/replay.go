package projector

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// Progress of a replay.
type Progress struct {
	Running bool      `json:"running"`
	Seq     uint64    `json:"seq"`    // last event replayed
	Target  uint64    `json:"target"` // last event to replay
	Rate    float64   `json:"rate"`   // events a second so far
	Left    float64   `json:"secondsLeft"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"` // it has taken
	Error   string    `json:"error,omitempty"`
}

type replayState struct {
	mu      sync.Mutex
	current *Progress
}

func (r *replayState) progress() *Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		return nil
	}
	out := *r.current
	return &out
}

func (r *replayState) begin(target uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != nil && r.current.Running {
		return false
	}
	r.current = &Progress{Running: true, Target: target, Started: time.Now().UTC()}
	return true
}

func (r *replayState) at(seq, target uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.current
	c.Seq, c.Target = seq, target
	c.Seconds = time.Since(c.Started).Seconds()
	c.Rate = float64(seq) / max(c.Seconds, 1e-9)
	c.Left = float64(target-min(seq, target)) / max(c.Rate, 1e-9)
}

func (r *replayState) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current.Running, r.current.Left = false, 0
	r.current.Seconds = time.Since(r.current.Started).Seconds()
	if err != nil {
		r.current.Error = err.Error()
	}
}

// Replay builds a new read model from the log's first event on, beside the one that is served,
// and puts it in its place once it has caught up. It blocks until then; reads never stop, and
// folding does for the last moment only. One runs at a time: another is a Conflict.
func (p *Projector) Replay(ctx context.Context) error {
	run, err := p.BeginReplay()
	if err != nil {
		return err
	}
	return run(ctx)
}

// BeginReplay is Replay in two steps: Status shows the replay from now on, and run, which must
// be called, does it.
func (p *Projector) BeginReplay() (run func(ctx context.Context) error, err error) {
	if !p.replay.begin(p.store.Applied.Seq()) {
		return nil, fanfold.Errorf(fanfold.Conflict, "a replay is running already: see /v1/_status")
	}
	return func(ctx context.Context) error {
		err := p.rebuild(ctx, p.store.Applied.Seq)
		p.replay.end(err)
		return err
	}, nil
}

// ReplayTo is Replay up to a given event, for a store that no projector runs on: the read model
// that is there may be behind, or damaged.
func (p *Projector) ReplayTo(ctx context.Context, last uint64) error {
	if !p.replay.begin(last) {
		return fanfold.Errorf(fanfold.Conflict, "a replay is running already")
	}
	err := p.rebuild(ctx, func() uint64 { return last })
	p.replay.end(err)
	return err
}

// rebuild replays up to target, which may move on meanwhile.
func (p *Projector) rebuild(ctx context.Context, target func() uint64) error {
	db, err := p.store.Build()
	if err != nil {
		return err
	}
	empty, err := fold.NewPlan(fanfold.EmptyModel(), 0, nil)
	if err != nil {
		return errors.Join(err, p.store.Discard(db))
	}
	f := p.newFold(empty, nil)
	feed, err := p.follow(ctx, 1)
	if err != nil {
		return errors.Join(err, p.store.Discard(db))
	}
	defer feed.stop()
	if err := p.catchUp(ctx, db, f, feed, 0, target); err != nil {
		return errors.Join(err, p.store.Discard(db))
	}
	p.folding.Lock()
	defer p.folding.Unlock()
	if err := p.catchUp(ctx, db, f, feed, p.replay.progress().Seq, target); err != nil {
		return errors.Join(err, p.store.Discard(db))
	}
	p.fold = nil // loaded again, should the swap end halfway
	if err := p.store.Swap(db); err != nil {
		return err
	}
	p.proposals.restart() // a copy of the old generation would bring back what was wrong in it
	f.SetReporter(&p.report)
	p.fold = f
	p.plan.Store(f.Plan())
	if err := p.refreshProposal(p.store.Read, ""); err != nil {
		return err
	}
	p.store.Applied.Set(target())
	select {
	case p.resume <- struct{}{}:
	default: // told already
	}
	return nil
}

// catchUp replays from at up to target.
func (p *Projector) catchUp(ctx context.Context, db *sqlite.DB, f *fold.Fold, feed *follower, at uint64, target func() uint64) error {
	for last := target(); at < last; last = target() {
		batch, err := feed.next(ctx, p.opt, last)
		if err != nil {
			return err
		}
		if err := apply(db, f, batch); err != nil {
			return err
		}
		at = batch[len(batch)-1].Seq
		p.replay.at(at, last)
	}
	return nil
}
