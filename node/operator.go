package node

import (
	"context"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// operator makes a node an api.Operator.
type operator struct{ node *Node }

// Replay starts a replay, which goes on after the call. Its end is logged, and Status shows it. The error is Conflict
// where one is running.
func (o operator) Replay() error {
	n := o.node
	run, err := n.Projector.BeginReplay()
	if err != nil {
		return err
	}
	n.background.Go(func() {
		err := run(n.running)
		n.cfg.Logger.Info("replay ended", "err", err)
	})
	return nil
}

// VerifyLog reads the whole log and compares it with what was folded from it.
func (o operator) VerifyLog(ctx context.Context) (any, error) {
	report, err := o.node.VerifyLog(ctx)
	if err != nil {
		return nil, err
	}
	return report, nil
}

// Status holds the answer of GET /v1/_status.
type Status struct {
	Version    string            `json:"version"`
	Fold       string            `json:"fold"`
	Position   fanfold.Position  `json:"position"`
	Model      uint64            `json:"model"` // the event that applied it
	Durability string            `json:"durability"`
	Sync       string            `json:"sync,omitempty"` // of the embedded server: see events.Embedded
	Log        string            `json:"log"`            // embedded, or the outside server's URL
	LogError   string            `json:"logError,omitempty"`
	Omitted    []sqlite.Omission `json:"omitted,omitempty"` // rules for whose values some embedded views have no room
	projector.Status
}

// Status returns the node's Status, and why it is not ready, nil where it is.
func (o operator) Status() (any, error) {
	n := o.node
	_, seq, _ := n.Projector.Model()
	s := Status{Version: Version(), Fold: fold.Fingerprint(), Model: seq, Log: "embedded", Durability: n.cfg.Durability, Status: n.Projector.Status()}
	if n.cfg.NATS != "" {
		// A client of a server cannot see whether it syncs before it acknowledges.
		s.Log, s.Durability = n.nc.ConnectedUrlRedacted(), "unverified"
	} else {
		s.Sync = n.embedded.Sync()
	}
	if err := n.Log.Failing(); err != nil {
		s.LogError = err.Error()
	}
	_ = n.Store.Read(func(snap *sqlite.Snapshot) (err error) { // what cannot be read is absent
		s.Position = snap.At()
		s.Omitted, err = snap.Omissions()
		return err
	})
	if err := n.Log.Damage(); err != nil {
		s.LogError = fanfold.MessageOf(err)
		return s, err
	}
	if s.Stopped != nil {
		return s, fanfold.Errorf(fanfold.Unavailable, "the projector has stopped at event %d: %s", s.Stopped.Seq, s.Stopped.Reason)
	}
	if !n.nc.IsConnected() {
		return s, fanfold.Errorf(fanfold.Unavailable, "the log cannot be reached")
	}
	if applied := n.Store.Applied.Seq(); applied < n.startLast {
		return s, fanfold.Errorf(fanfold.Unavailable, "the read model is at event %d and catches up with event %d, the log's last one at the start", applied, n.startLast)
	}
	if err := n.check.scanProgress(); err != nil {
		return s, err
	}
	return s, n.Log.Failing()
}
