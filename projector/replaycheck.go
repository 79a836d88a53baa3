package projector

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/reports"
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
		c.First = new(reports.RowDifference(*d.First))
	}
}

// BeginCheck begins a replay whose read model is compared with the one that is served, row by row at one position, and is then
// removed. Status shows how far it is, and what came of it. The caller must call run, which does the work and blocks. Neither
// reads nor folding stop. The error is a Conflict where another replay runs.
func (p *Projector) BeginCheck() (run func(ctx context.Context) error, err error) {
	if !p.replay.begin(p.store.Applied.Seq(), &reports.Check{}) {
		return nil, errReplaying
	}
	return func(ctx context.Context) error {
		err := p.check(ctx)
		p.replay.end(err)
		return err
	}, nil
}

// Check does what BeginCheck and run do, and returns what came of it.
func (p *Projector) Check(ctx context.Context) (*reports.Check, error) {
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
	at, differences, err := r.compare(ctx, p.replay.copies, p.replay.compared)
	if err == nil {
		p.replay.found(at, differences)
	}
	return err
}

// compare replays up to where the read model stands, and compares the two there. It calls copying when it has caught up, and tells progress which rows are
// compared.
func (r *rebuilding) compare(ctx context.Context, copying func(), progress fanfold.Progress) (at fanfold.Position, d *sqlite.Differences, err error) {
	if err := r.catchUp(ctx); err != nil {
		return 0, nil, err
	}
	copying()
	frozen, err := r.p.store.Freeze(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, frozen.Remove()) }()
	if at = frozen.Checkpoint.At(); frozen.Checkpoint.Erasure != r.erasure {
		return at, nil, errErasedMeanwhile
	}
	target := r.target
	defer func() { r.target = target }()
	seq := frozen.Checkpoint.Seq
	r.target = func() uint64 { return seq }
	if err := r.catchUp(ctx); err != nil {
		return at, nil, err
	}
	if r.at != seq {
		return at, nil, fanfold.Errorf(fanfold.Internal, "the replay cannot stop at event %d, where the read model was copied, and is at %d", seq, r.at)
	}
	_, built, err := r.p.Horizon()
	if err != nil {
		return at, nil, err
	}
	if built == r.base.Seq {
		d, err = frozen.Compare(ctx, r.db, progress)
		return at, d, err
	}
	d, err = frozen.CompareAfter(ctx, r.db, r.base, progress)
	return at, d, err
}
