package node

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

// modelRetry is the time after which ApplyModel tries again where the log or another node was in the way.
const modelRetry = time.Second

// ApplyModel applies a model, unless it applies already. If the model is being prepared, because of an earlier start or by
// another node, it waits for that. If another model is being prepared, it waits for that one first. It blocks until the
// model applies or was withdrawn, which it logs, and returns nil then or once ctx has ended. Errors are Invalid, and
// Unprocessable where documents stand in the way.
func (n *Node) ApplyModel(ctx context.Context, src []byte) error {
	m, err := modelfile.Parse(src)
	if err != nil {
		return err
	}
	for {
		done, err := n.tryModel(ctx, m)
		if done || ctx.Err() != nil {
			return err
		}
		switch {
		case err == nil:
			continue
		case !slices.Contains([]fanfold.Code{fanfold.Conflict, fanfold.Unavailable, fanfold.OutcomeUnknown}, fanfold.CodeOf(err)):
			return err
		}
		n.cfg.Logger.Warn("the model cannot be applied yet", "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(modelRetry):
		}
	}
}

// tryModel takes one step towards applying a model. done tells whether the model applies, or was withdrawn.
func (n *Node) tryModel(ctx context.Context, m *model.Model) (done bool, err error) {
	last, err := n.Log.LastSeq(ctx) // what another node did must be known here
	if err == nil {
		err = n.Store.Applied.Wait(ctx, last)
	}
	if err != nil {
		return false, err
	}
	have, seq, _ := n.Projector.Model()
	if seq > 0 && bytes.Equal(have.Source, m.Source) {
		n.cfg.Logger.Info("the model applies", "model", seq)
		return true, nil
	}
	proposal, _ := n.Projector.Proposal()
	if proposal == nil {
		result, err := n.writer.PutModel(ctx, writer.ModelRequest{Source: m.Source, AllowRemoval: n.cfg.AllowRemoval, By: access.Node})
		if err != nil {
			return false, err
		}
		if result.Applied != 0 {
			return false, n.Store.Applied.Wait(ctx, result.Applied)
		}
		return false, n.Store.Applied.Wait(ctx, result.Proposed)
	}
	same := bytes.Equal(proposal.Source, m.Source)
	n.cfg.Logger.Info("a model is being prepared; requests are served meanwhile", "model", proposal.Seq, "own", same)
	_, err = n.writer.WaitForModel(ctx, proposal.Seq)
	if fanfold.CodeOf(err) == fanfold.Unprocessable {
		n.cfg.Logger.Error("a model was withdrawn", "model", proposal.Seq, "err", err)
		return same, nil // the node goes on under the model before
	}
	return false, err
}
