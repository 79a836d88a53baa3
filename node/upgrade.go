package node

import (
	"context"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/writer"
)

// nodes makes a node a writer.Nodes.
type nodes struct{ node *Node }

// Folds returns which versions of the fold the programs of the live nodes know. The error is Unavailable where the nodes
// cannot be asked for.
func (n nodes) Folds(ctx context.Context) ([]writer.NodeFolds, error) {
	_, all := n.node.nodes()
	if n.node.members != nil {
		var err error
		if all, err = n.node.members.Live(ctx); err != nil {
			return nil, err
		}
	}
	var out []writer.NodeFolds
	for _, one := range all {
		out = append(out, writer.NodeFolds{ID: one.ID, Address: one.Address, Oldest: one.Folds[0], Newest: one.Folds[1]})
	}
	return out, nil
}

// upgrade tries again after these times, each twice as long as the one before, where the log or a model was in the way.
const (
	upgradeRetry    = time.Second
	maxUpgradeRetry = time.Minute
)

// foldVersion returns what the status says of the version of the fold, by the model of event seq. Without a model it is the one that the first
// model brings.
func foldVersion(m *model.Model, seq uint64) wire.FoldVersion {
	v := wire.FoldVersion{Version: m.Fold, Newest: fold.LatestVersion}
	if seq == 0 {
		v.Version = v.Newest
	}
	return v
}

// upgrade sets the newest version of the fold that the program knows, on a node that is the only one, unless the log has it
// or a newer one. It blocks until it is in force, which it logs, or ctx ends, and returns nil.
func (n *Node) upgrade(ctx context.Context) error {
	for wait := upgradeRetry; ; wait = min(2*wait, maxUpgradeRetry) {
		done, err := n.tryUpgrade(ctx)
		if done || ctx.Err() != nil {
			return nil //nolint:nilerr // it was asked to end
		}
		switch fanfold.CodeOf(err) {
		case "":
			continue
		case fanfold.Conflict: // a model came between
		default:
			n.cfg.Logger.Warn("the version of the fold cannot be changed yet", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// tryUpgrade takes one step towards the newest version. done says that it is in force, or that somebody does not want it now.
func (n *Node) tryUpgrade(ctx context.Context) (done bool, err error) {
	if err := n.Store.Applied.Wait(ctx, n.readiness.Last); err != nil {
		return false, err
	}
	m, seq, _ := n.Projector.Model()
	if m.Fold >= fold.LatestVersion || seq == 0 { // the first model brings the newest version with it
		return true, nil
	}
	if p, _ := n.Projector.Proposal(); p != nil {
		_, err := n.writer.WaitForModel(ctx, p.Seq)
		if fanfold.CodeOf(err) == fanfold.Unprocessable {
			n.cfg.Logger.Warn("the version of the fold stays as it is until the next start, for what was being prepared was withdrawn", "err", err)
			return true, nil
		}
		return false, err
	}
	n.cfg.Logger.Info("the version of the fold is changed to the program's newest", "from", m.Fold, "to", fold.LatestVersion)
	result, err := n.writer.Upgrade(ctx, writer.UpgradeRequest{Version: fold.LatestVersion, By: access.Node})
	if err == nil {
		err = n.Store.Applied.Wait(ctx, max(result.Applied, result.Proposed))
	}
	if err == nil && result.Applied > 0 {
		n.cfg.Logger.Info("the version of the fold was changed", "version", fold.LatestVersion, "seq", result.Applied, "changes", result.Preview.Changes)
	}
	return false, err
}
