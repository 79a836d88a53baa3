package node

import (
	"context"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/membership"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/inspect"
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
func (o operator) VerifyLog(ctx context.Context, progress fanfold.Progress) (api.Report, error) {
	report, err := o.node.VerifyLog(ctx, progress)
	if err != nil {
		return nil, err
	}
	return report, nil
}

// Status holds the answer of GET /v1/_status.
type Status struct {
	Version    string              `json:"version"`
	Fold       string              `json:"fold"`
	Versions   FoldVersion         `json:"foldVersion"`
	Store      fanfold.StoreID     `json:"store"`
	Position   fanfold.Bookmark    `json:"position"`
	Model      uint64              `json:"model"` // the event that applied it
	Durability string              `json:"durability"`
	Sync       string              `json:"sync,omitempty"` // of the embedded server: see embedded.Server
	Log        string              `json:"log"`            // embedded, or the outside server's URL
	LogError   string              `json:"logError,omitempty"`
	Erasable   bool                `json:"logErasable"`        // the log's server lets events be erased from it
	Replicas   *LogReplicas        `json:"replicas,omitempty"` // of the log on outside servers, as last heard
	Snapshot   *SnapshotStatus     `json:"snapshot,omitempty"`
	Omitted    []sqlite.Omission   `json:"omitted,omitempty"`    // rules for whose values some embedded views have no room
	RuleValues *inspect.RuleValues `json:"ruleValues,omitempty"` // what the model's rules find; absent where it has none that look for a value
	Node       string              `json:"node,omitempty"`       // the node's id; absent where it is the only one
	Nodes      []membership.Node   `json:"nodes"`                // all nodes of the log, as this one knows them
	LagSeconds float64             `json:"lagSeconds"`
	Work       []api.Work          `json:"work,omitempty"` // what is done, or was, for requests that take long
	projector.Status
}

// FoldVersion says which version of the fold is in force where the node stands, and which is the newest that its program
// knows.
type FoldVersion struct {
	Version int `json:"version"`
	Newest  int `json:"newest"`
}

// server returns the URL of the outside server that the node is connected to, or of all of them while it is to none, as it
// may be shown.
func (n *Node) server() string {
	if u := n.Log.Server(); u != "" {
		return servers.ShownURL(u)
	}
	return "none of " + servers.ShownURLs(n.cfg.NATS)
}

// LogReplicas says how many replicas the log has, and how many of them are current.
type LogReplicas struct {
	Configured int `json:"configured"`
	Current    int `json:"current"`
}

// Status returns the node's Status, and why it is not ready, nil where it is.
func (o operator) Status() (any, error) {
	n := o.node
	m, seq, _ := n.Projector.Model()
	s := Status{Version: Version(), Versions: FoldVersion{m.Fold, fold.Newest}, Store: n.Log.Store(), Fold: fold.Fingerprint(), Model: seq, Log: "embedded", Erasable: n.Log.Erasable(), Durability: n.cfg.Durability,
		Snapshot: n.snapshots.status(), RuleValues: n.values.Values(), Status: n.Projector.Status()}
	if n.cfg.NATS != "" {
		// A client of a server cannot see whether it syncs before it acknowledges.
		s.Log, s.Durability, s.Replicas = n.server(), "unverified", new(LogReplicas)
		s.Replicas.Configured, s.Replicas.Current = n.Log.ReplicaCount()
	} else {
		s.Sync = n.embedded.Sync()
	}
	if err := n.Log.Failing(); err != nil {
		s.LogError = err.Error()
	}
	_ = n.Store.Read(func(snap *sqlite.Snapshot) (err error) { // what cannot be read is absent
		s.Position = n.issuer().Mark(snap.At())
		s.Omitted, err = snap.Omissions()
		return err
	})
	if err := n.Log.Damage(); err != nil {
		s.LogError = fanfold.MessageOf(err)
	}
	s.Node, s.Nodes = n.nodes()
	behind := n.shownLag()
	s.Lag, s.LagSeconds = max(s.Lag, behind.Events), behind.Age.Seconds()
	n.showWaiting(&s.Status)
	s.Work = n.api.Work()
	return s, notReady(n.reasons())
}
