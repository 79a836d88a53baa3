package projector

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/sqlite"
)

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
	defer r.feed.stop()
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
