package node

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/membership"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/writer"
)

var (
	_ membership.KV    = (*buckets.KeyValue)(nil)
	_ membership.Local = member{}
	_ writer.Members   = (*membership.Registry)(nil)
)

// openMembers makes what knows of the other nodes, where several may keep the log. Only an
// outside server is written to by others. Errors are Invalid and Unavailable.
func (n *Node) openMembers() error {
	if err := n.checkAddress(); err != nil || n.cfg.NATS == "" {
		return err
	}
	path := filepath.Join(n.cfg.Data, "node-id")
	id, err := readNodeID(path)
	if err != nil {
		return err
	}
	opt := n.cfg.Members
	opt.ID, opt.Logger = id, n.cfg.Logger
	opt.Rename = func() (string, error) {
		id := membership.NewID()
		return id, writeNodeID(path, id)
	}
	n.members = membership.New(buckets.NewKeyValue(n.Log, "nodes"), member{n}, opt)
	return nil
}

// checkAddress sets the address that other nodes and people are told. The error is Invalid for one that is no URL.
func (n *Node) checkAddress() error {
	if n.cfg.Advertise == "" {
		n.cfg.Advertise = n.front.NamedURL()
		return nil
	}
	u, err := url.Parse(n.cfg.Advertise)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(n.cfg.Advertise) > maxAdvertise {
		return fanfold.Errorf(fanfold.Invalid, "--advertise %.80q is not a URL of up to %d bytes, such as http://10.0.0.5:8080", n.cfg.Advertise, maxAdvertise)
	}
	return nil
}

// advertisedHosts returns the name in the URL at which the node says that it is reached, none where there is none.
func advertisedHosts(advertise string) []string {
	if u, err := url.Parse(advertise); err == nil && u.Hostname() != "" {
		return []string{u.Hostname()}
	}
	return nil
}

// maxAdvertise bounds an address that is advertised, in bytes.
const maxAdvertise = 255

// readNodeID returns the id that a file has; it makes the file where there is none. Errors are Invalid for a file with
// something else in it, and Unavailable.
func readNodeID(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		id := membership.NewID()
		return id, writeNodeID(path, id)
	}
	if err != nil {
		return "", fanfold.Wrap(err, fanfold.Unavailable, "the node's id cannot be read: %v", err)
	}
	id := strings.TrimSpace(string(text))
	if !membership.ValidID(id) {
		return "", fanfold.Errorf(fanfold.Invalid, "%s does not have the id of a node, 16 characters of a-z and 2-7: remove the file, and the node takes a new id", path)
	}
	return id, nil
}

// writeNodeID stores a node's id. The error is Unavailable.
func writeNodeID(path, id string) error {
	if err := os.WriteFile(path, []byte(id+"\n"), 0o644); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the node's id cannot be stored: %v", err)
	}
	return nil
}

// mayPublish returns why nothing may be published, nil where it may: see events.Options.
func (n *Node) mayPublish() error {
	if n.members == nil {
		return nil
	}
	return n.members.MayWrite()
}

// acknowledged takes note of an acknowledgement: see events.Options.
func (n *Node) acknowledged() {
	if n.members != nil {
		n.members.Acknowledged()
	}
}

// runMembers asks the log how far it is, and renews the node's entry among the others', until ctx ends and ended is
// closed. The node must not leave before its last write.
func (n *Node) runMembers(ctx context.Context, ended <-chan struct{}) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go func() {
		<-ended
		cancel()
	}()
	if n.members == nil {
		n.readiness.Run(ctx)
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.readiness.Run(ctx)
	}()
	err := n.members.Run(ctx)
	<-done
	return err
}

// member makes a node a membership.Local.
type member struct{ *Node }

// State reports how the node stands, for the other nodes.
func (m member) State() wire.NodeState {
	n := m.Node
	behind := n.readiness.Lag()
	_, guards, _ := n.Projector.Model()
	if n.members != nil && n.members.HoldsWrites() {
		_, last := n.Projector.Proposal()
		guards = max(guards, last)
	}
	s := n.Projector.Status()
	return wire.NodeState{Address: n.cfg.Advertise, Version: Version(), Folds: [2]int{fold.OldestVersion, fold.LatestVersion},
		Applied: s.Applied, Lag: max(s.Lag, behind.Events), LagSeconds: behind.Age.Seconds(), Ready: n.readiness.Ready(), Guards: guards,
		Base: n.Forget.Built(), Erasure: uint64(n.Projector.ErasurePrepared())}
}

// Hold keeps writes from beginning, and waits until none is under way.
func (m member) Hold() { m.writer.Hold() }

// CatchUp waits until everything acknowledged before the call is folded.
func (m member) CatchUp(ctx context.Context) error { return m.writer.CatchUp(ctx) }

// Release lets writes begin again.
func (m member) Release() { m.writer.Release() }

// members makes the nodes forget.Nodes.
type members struct{ *Node }

// All returns the live nodes, and those that are away.
func (m members) All() []wire.Node {
	_, all := m.nodes()
	return all
}

// Live asks for the live nodes; nil for a log that has one node. The error is Unavailable.
func (m members) Live(ctx context.Context) ([]wire.Node, error) {
	if m.members == nil {
		return nil, nil
	}
	return m.members.Live(ctx)
}

// nodes returns the node's own id, "" where it is the only one, and all nodes.
func (n *Node) nodes() (id string, all []wire.Node) {
	if n.members != nil {
		return n.members.ID(), n.members.Nodes()
	}
	return "", []wire.Node{{NodeState: member{n}.State(), Self: true, Live: true}}
}

// showWaiting puts into a status for which nodes a model waits.
func (n *Node) showWaiting(s *projector.Status) {
	if n.members == nil {
		return
	}
	waiting := n.members.WaitingFor()
	if len(waiting) == 0 {
		return
	}
	if s.Preparing == nil { // it is applied at once, without having been announced
		s.Preparing = &projector.Preparation{Phase: "waiting", Started: n.members.WaitingSince().UTC()}
	}
	s.Preparing.WaitingFor = waiting
}
