package forget

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/datadir"
	"github.com/fanfold/fanfold/internal/wire"
)

// acceptedFile is the name of the file in the data directory that has the compaction that was accepted last, until it has ended. A process that is
// killed in one goes on with it at its next start.
const acceptedFile = "compacting"

// acceptedCompaction is what that file has.
type acceptedCompaction struct {
	Store  fanfold.StoreID  `json:"store"`
	Before fanfold.Position `json:"before"`
	By     string           `json:"by,omitempty"`
	Force  bool             `json:"force,omitempty"`
}

// cutCompaction is one that a former process was cut off in.
type cutCompaction struct {
	acceptedCompaction
	failed string // why it cannot go on; "" while it is to do so
}

// report says how far it is: where it began.
func (c *cutCompaction) report(issuer fanfold.Issuer) *wire.Compaction {
	return &wire.Compaction{Running: c.failed == "", Phase: wire.PhaseReplaying, Before: issuer.Mark(c.Before).String(), By: c.By, Error: c.failed}
}

// keepAccepted writes that file durably, before anybody is told that the compaction was accepted. The error is Unavailable.
func (g *Compactor) keepAccepted(c acceptedCompaction) error {
	g.compactions.accepted.Lock()
	defer g.compactions.accepted.Unlock()
	text, err := json.Marshal(c)
	if err == nil {
		err = datadir.WriteFile(filepath.Join(g.opt.Data, acceptedFile), text, 0o600, nil)
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the compaction cannot be written down, and does not begin: %v", err)
	}
	g.compactions.cut.Store(nil)
	return nil
}

// endAccepted takes the file away once its compaction has ended with an error or nil, unless the node's own end has ended it.
func (g *Compactor) endAccepted(ctx context.Context, c acceptedCompaction, err error) {
	g.compactions.accepted.Lock()
	defer g.compactions.accepted.Unlock()
	if now := g.accepted(); err != nil && ctx.Err() != nil || now != nil && *now != c {
		return
	}
	if err := g.forgetAccepted(); err != nil {
		g.opt.Logger.Warn("the next start asks again for a compaction that has ended", "err", err)
	}
}

// forgetAccepted takes the file away.
func (g *Compactor) forgetAccepted() error {
	if err := os.Remove(filepath.Join(g.opt.Data, acceptedFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fanfold.Wrap(err, fanfold.Unavailable, "the node's files cannot be changed: %v", err)
	}
	return nil
}

// readAccepted takes note of a compaction that a former process was cut off in. A file that cannot be read, or is of another store, says nothing. The
// error is Unavailable.
func (g *Compactor) readAccepted() error {
	c := g.accepted()
	if c == nil {
		return g.forgetAccepted()
	}
	g.compactions.cut.Store(&cutCompaction{acceptedCompaction: *c})
	g.opt.Logger.Info("a compaction was cut off as the process ended, and goes on", "before", c.Before, "by", c.By)
	return nil
}

// accepted reads the file, nil for nothing.
func (g *Compactor) accepted() *acceptedCompaction {
	text, err := os.ReadFile(filepath.Join(g.opt.Data, acceptedFile))
	var c acceptedCompaction
	if err != nil || json.Unmarshal(text, &c) != nil || c.Store != g.log.Store() {
		return nil
	}
	return &c
}

// isCut returns 1 where a compaction was cut off that is to go on.
func (g *Compactor) isCut() uint64 {
	if cut := g.compactions.cut.Load(); cut != nil && cut.failed == "" {
		return 1
	}
	return 0
}

// goOn asks again for the compaction that was cut off. While other work is under way, it is asked for again later. If it cannot go on,
// Compaction says why.
func (g *Compactor) goOn(ctx context.Context) error {
	cut, c := g.compactions.cut.Load(), g.accepted()
	if cut == nil || c == nil { // another compaction has taken its place, and may have ended
		g.compactions.cut.CompareAndSwap(cut, nil)
		return nil
	}
	plan, err := g.Compact(ctx, fanfold.Moment{Position: c.Before}, c.Force, c.By)
	switch code := fanfold.CodeOf(err); {
	case ctx.Err() != nil:
	case err == nil && plan.Done:
		g.compactions.cut.CompareAndSwap(cut, nil)
		g.endAccepted(ctx, *c, nil)
	case err == nil: // it runs, and cut is nil
	case code == fanfold.Conflict && !errors.Is(err, errGroupsBehind), code == fanfold.Unavailable, code == fanfold.CatchingUp, code == fanfold.Lagging, code == fanfold.Busy, code == fanfold.Timeout:
	default:
		ended := *cut
		ended.failed = "the process ended meanwhile, and it cannot go on: " + fanfold.MessageOf(err)
		if g.compactions.cut.CompareAndSwap(cut, &ended) {
			g.endAccepted(ctx, *c, nil)
		}
		g.opt.Logger.Error("a compaction that was cut off cannot go on", "before", c.Before, "err", err)
	}
	return nil //nolint:nilerr // which Compaction tells
}
