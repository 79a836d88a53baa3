package node

import (
	"context"
	"errors"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/sqlite"
)

// operator makes a node an api.Operator.
type operator struct{ node *Node }

// Replay starts a replay, or a check by one, which goes on after the call. Its end is logged, and Status shows it. The error is
// Conflict where one is running.
func (o operator) Replay(check bool) error {
	n := o.node
	what := rebuild.Replay()
	if check {
		what = rebuild.Check()
	}
	run, err := n.Projector.Begin(what)
	if err != nil {
		return err
	}
	n.background.Go(func() {
		err := run(n.background.ctx)
		n.cfg.Logger.Info("replay ended", "check", check, "err", err)
	})
	return nil
}

// VerifyLog reads the whole log and compares it with what was folded from it.
func (o operator) VerifyLog(ctx context.Context, progress fanfold.Progress) (*wire.LogReport, error) {
	report, err := o.node.VerifyLog(ctx, progress)
	if err != nil {
		return nil, err
	}
	return &report.LogReport, nil
}

// GroupNeeds returns what of the consumer groups needs attention.
func (o operator) GroupNeeds() []wire.Need { return o.node.metrics.GroupNeeds() }

// Status is the answer of GET /v1/_status.
type Status = wire.Status

// server returns the URL of the outside server that the node is connected to, or of all of them while it is to none, as it
// may be shown.
func (n *Node) server() string {
	if u := n.Log.Server(); u != "" {
		return servers.ShownURL(u)
	}
	return "none of " + servers.ShownURLs(n.cfg.NATS)
}

// Status tells the state of the node, and why it is not ready, nil where it is.
func (o operator) Status() (wire.Status, error) {
	n := o.node
	m, seq, _ := n.Projector.Model()
	s := wire.Status{Version: Version(), FoldVersion: foldVersion(m, seq), Store: n.Log.Store(), Fold: fold.Fingerprint(), Model: seq, Log: "embedded", Erasable: n.Log.Prefix().Erasable(), Durability: n.cfg.Durability,
		Snapshot: n.snapshots.Status(), Projection: n.Projector.Status()}
	if n.cfg.NATS != "" {
		// A client of a server cannot see whether it syncs before it acknowledges.
		s.Log, s.Durability, s.Replicas = n.server(), "unverified", new(wire.LogReplicas)
		s.Replicas.Configured, s.Replicas.Current = n.Log.Replicas().Count()
	} else {
		s.Sync = n.logServer.Embedded.Sync()
	}
	if err := n.Log.Failing(); err != nil {
		s.LogError = err.Error()
	}
	if r := s.Replay; r != nil && r.Check != nil {
		at, _ := fanfold.ParsePosition(r.Check.Position) // there is none before the rows are compared
		r.Check.Position = n.issuer().Mark(at).String()
	}
	_ = n.Store.Read(func(snap *sqlite.Snapshot) error { // what cannot be read is absent
		if history, err := n.Forget.History(snap); err == nil {
			history.Backup = n.Backups.BeforeErasure()
			s.History = history
		}
		return n.showReadModel(&s, snap, n.issuer())
	})
	if err := n.Log.Damage(); err != nil {
		s.LogError = fanfold.MessageOf(err)
	}
	s.Node, s.Nodes = n.nodes()
	behind := n.readiness.Lag()
	s.Lag, s.LagSeconds = max(s.Lag, behind.Events), behind.Age.Seconds()
	n.showWaiting(&s.Projection)
	s.Work = n.api.Work()
	return s, n.readiness.Err()
}

// showReadModel adds what a read model tells to a node's status.
func (n *Node) showReadModel(s *wire.Status, snap *sqlite.Snapshot, issuer fanfold.Issuer) error {
	s.Position = issuer.Mark(snap.At()).String()
	omitted, err := snap.Omissions()
	for _, o := range omitted {
		s.Omitted = append(s.Omitted, wire.Omission(o))
	}
	for _, r := range n.judge.Refusals() {
		if r.Count == 0 {
			continue
		}
		s.Refusals = append(s.Refusals, wire.RuleRefusals{Collection: r.Collection, Right: r.Act, Count: r.Count})
	}
	return errors.Join(err, n.showIndexes(s, snap))
}

// showIndexes adds the declared indexes, and what queries did, to a node's status.
func (n *Node) showIndexes(s *wire.Status, snap *sqlite.Snapshot) error {
	s.Queries = n.api.Queries()
	all, err := snap.AllIndexes()
	for _, x := range all {
		s.Indexes = append(s.Indexes, wire.Index{Collection: x.Collection, Name: x.Name, Entries: x.Entries, Queries: n.api.IndexQueries(x.Collection, x.Name)})
	}
	return err
}
