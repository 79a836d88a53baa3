package node

import (
	"context"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/rebuild"
)

// How long the rebuilding of a read model in doubt waits.
const (
	startTime   = 10 * time.Second // in which a node that is in doubt may reach the log's end of its start
	doubtEvery  = 2 * time.Second  // between two looks whether the log was read through
	rebuildTime = time.Minute      // a log that cannot be read to its end by then is damaged
)

// rebuildUnclean rebuilds a read model from the log before it is served if it is in doubt: see sqlite.Store.Unclean. One that takes more than
// some seconds is served as it is, and settleDoubt rebuilds it. One of a log that lacks events stays, as it has what
// the log lacks. The error is ctx's.
func (n *Node) rebuildUnclean(ctx context.Context, last uint64) error {
	if n.Store.Killed() {
		n.cfg.Logger.Info("the node was killed, and the operating system has all that it wrote: the read model goes on from its checkpoint", "events", last)
	}
	if n.Store.Hashing.Undisturbed() && n.check.Vouched() {
		n.cfg.Logger.Info("nobody has touched the files since the node ended: the log is read through, and the read model's hash compared, while the node serves", "events", last)
	}
	if n.cfg.AsIs || !n.Store.Unclean() || n.Log.Damage() != nil {
		return nil
	}
	long, err := n.Projector.IsLong(last, n.Log.Prefix().Base().Seq)
	if err != nil {
		return err
	}
	if long {
		n.cfg.Logger.Warn("the node did not end by itself, and the read model is in doubt: its structure is sound, so it is served, and rebuilt from the log meanwhile", "events", last)
		return nil
	}
	n.cfg.Logger.Info("the node did not end by itself, and the read model is in doubt: it is rebuilt from the log", "events", last)
	limited, cancel := context.WithTimeout(ctx, rebuildTime)
	defer cancel()
	if err := n.Projector.Rebuild(limited, rebuild.ReplayTo(last)); err != nil {
		n.cfg.Logger.Error("the read model could not be rebuilt, and stays as it is", "err", err)
	}
	return ctx.Err()
}

// settleDoubt rebuilds a read model that is in doubt while it is served. If the node was killed, it looks at the structure first, and if nobody
// has touched the file since a clean end, at its hash. It
// waits until the log was read through and is whole, and blocks until it is over, or ctx ends. It returns nil.
func settleDoubt(ctx context.Context, n *Node) error {
	starting, cancel := context.WithTimeout(ctx, startTime)
	_ = n.Store.Applied.Wait(starting, n.readiness.Last) // the start comes first, unless it is the file that holds it up
	cancel()
	if err := n.Store.CheckFile(ctx); err != nil && ctx.Err() == nil {
		n.cfg.Logger.Error("the read model's file is damaged, and is rebuilt from the log", "err", err)
	}
	again := time.NewTicker(doubtEvery)
	defer again.Stop()
	for n.Store.Unclean() {
		if n.check.Scanned() && n.Log.Damage() == nil {
			run, err := n.Projector.Begin(rebuild.Replay())
			if err == nil {
				err = run(ctx)
			}
			if ctx.Err() == nil && fanfold.CodeOf(err) != fanfold.Conflict {
				return rebuilt(n, err)
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// rebuilt logs how the rebuilding of a read model ended. It returns nil.
func rebuilt(n *Node, err error) error {
	if err != nil {
		n.cfg.Logger.Error("the read model is in doubt and could not be rebuilt: it stays as it is, and fanfold replay rebuilds it", "err", err)
		return nil
	}
	n.cfg.Logger.Info("the read model was rebuilt from the log, and is not in doubt any more")
	return nil
}
