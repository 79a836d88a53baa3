package node

import (
	"context"

	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/node/snapshot"
)

// cluster makes a node an api.Cluster.
type cluster struct{ node *Node }

// Replicas tells how many replicas the log and the buckets beside it have.
func (c cluster) Replicas(ctx context.Context) (*wire.Replicas, error) {
	r, err := c.node.Log.Replicas().Ask(ctx)
	return replicasOf(r), err
}

// SetReplicas gives the log and the buckets beside it n replicas, and returns whether all of them are current.
func (c cluster) SetReplicas(ctx context.Context, n int) (*wire.Replicas, bool, error) {
	r, err := c.node.Log.Replicas().Set(ctx, n)
	return replicasOf(r), r.Settled(n), err
}

// replicasOf returns what is told of replicas.
func replicasOf(r servers.Replicas) *wire.Replicas {
	out := &wire.Replicas{Replicas: r.Replicas, Current: r.Current}
	for _, s := range r.Streams {
		out.Streams = append(out.Streams, wire.StreamReplicas(s))
	}
	return out
}

// Snapshot puts a copy of the read model where new nodes find it, and tells what it is.
func (c cluster) Snapshot(ctx context.Context) (*wire.Snapshot, error) {
	s, err := c.node.snapshots.Take(ctx)
	return snapshot.Report(&s), err
}
