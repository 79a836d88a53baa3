package node

import "context"

// cluster makes a node an api.Cluster.
type cluster struct{ node *Node }

// Replicas tells how many replicas the log and the buckets beside it have.
func (c cluster) Replicas(ctx context.Context) (any, error) { return c.node.Log.Replicas(ctx) }

// SetReplicas gives the log and the buckets beside it n replicas, and returns whether all of them are current.
func (c cluster) SetReplicas(ctx context.Context, n int) (any, bool, error) {
	r, err := c.node.Log.SetReplicas(ctx, n)
	return r, r.Settled(n), err
}

// Snapshot puts a copy of the read model where new nodes find it, and tells what it is.
func (c cluster) Snapshot(ctx context.Context) (any, error) { return c.node.TakeSnapshot(ctx) }
