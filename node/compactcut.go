package node

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
	return &wire.Compaction{Running: c.failed == "", Phase: wire.PhaseReplaying, Before: issuer.Mark(c.Before), By: c.By, Error: c.failed}
}

// keepAccepted writes that file durably, before anybody is told that the compaction was accepted. The error is Unavailable.
func keepAccepted(n *Node, c acceptedCompaction) error {
	n.compactions.accepted.Lock()
	defer n.compactions.accepted.Unlock()
	text, err := json.Marshal(c)
	if err == nil {
		err = datadir.WriteFile(filepath.Join(n.cfg.Data, acceptedFile), text, 0o600, nil)
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the compaction cannot be written down, and does not begin: %v", err)
	}
	n.compactions.cut.Store(nil)
	return nil
}

// endAccepted takes the file away once its compaction has ended with an error or nil, unless the node's own end has ended it.
func endAccepted(n *Node, c acceptedCompaction, err error) {
	n.compactions.accepted.Lock()
	defer n.compactions.accepted.Unlock()
	if now := accepted(n); err != nil && n.running.Err() != nil || now != nil && *now != c {
		return
	}
	if err := forgetAccepted(n); err != nil {
		n.cfg.Logger.Warn("the next start asks again for a compaction that has ended", "err", err)
	}
}

// forgetAccepted takes the file away.
func forgetAccepted(n *Node) error {
	if err := os.Remove(filepath.Join(n.cfg.Data, acceptedFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fanfold.Wrap(err, fanfold.Unavailable, "the node's files cannot be changed: %v", err)
	}
	return nil
}

// readAccepted takes note of a compaction that a former process was cut off in. A file that cannot be read, or is of another store, says nothing. The
// error is Unavailable.
func readAccepted(n *Node) error {
	c := accepted(n)
	if c == nil {
		return forgetAccepted(n)
	}
	n.compactions.cut.Store(&cutCompaction{acceptedCompaction: *c})
	n.cfg.Logger.Info("a compaction was cut off as the process ended, and goes on", "before", c.Before, "by", c.By)
	return nil
}

// accepted reads the file, nil for nothing.
func accepted(n *Node) *acceptedCompaction {
	text, err := os.ReadFile(filepath.Join(n.cfg.Data, acceptedFile))
	var c acceptedCompaction
	if err != nil || json.Unmarshal(text, &c) != nil || c.Store != n.Log.Store() {
		return nil
	}
	return &c
}

// goOnCompacting asks again for the compaction that was cut off, if there is one. While other work is under way, it is asked for again later. If it cannot go on,
// Compaction says why.
func goOnCompacting(ctx context.Context, n *Node) {
	cut := n.compactions.cut.Load()
	if cut == nil || cut.failed != "" {
		return
	}
	c := accepted(n)
	if c == nil { // another compaction has taken its place, and has ended
		n.compactions.cut.CompareAndSwap(cut, nil)
		return
	}
	plan, err := n.Compact(ctx, fanfold.Moment{Position: c.Before}, c.Force, c.By)
	switch code := fanfold.CodeOf(err); {
	case ctx.Err() != nil:
	case err == nil && plan.Done:
		n.compactions.cut.CompareAndSwap(cut, nil)
		endAccepted(n, *c, nil)
	case err == nil: // it runs, and cut is nil
	case code == fanfold.Conflict && !errors.Is(err, errGroupsBehind), code == fanfold.Unavailable, code == fanfold.CatchingUp, code == fanfold.Lagging, code == fanfold.Busy, code == fanfold.Timeout:
	default:
		ended := *cut
		ended.failed = "the process ended meanwhile, and it cannot go on: " + fanfold.MessageOf(err)
		if n.compactions.cut.CompareAndSwap(cut, &ended) {
			endAccepted(n, *c, nil)
		}
		n.cfg.Logger.Error("a compaction that was cut off cannot go on", "before", c.Before, "err", err)
	}
}
