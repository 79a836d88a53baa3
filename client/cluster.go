package client

import (
	"bytes"
	"context"
	"net/http"

	"github.com/fanfold/fanfold/internal/wire"
)

// Replicas tells how many replicas the log and the buckets beside it have.
type Replicas = wire.Replicas

// StreamReplicas tells how many replicas a stream has.
type StreamReplicas = wire.StreamReplicas

// Replicas returns how many replicas the log has.
func (c *Client) Replicas(ctx context.Context) (*Replicas, error) {
	return answerOf[Replicas](c.send(ctx, newRequest(http.MethodGet, "/v1/_replicas")))
}

// SetReplicas gives the log n replicas, and waits until all of them are current. It calls progress, if not nil, about once a
// minute with how far they are. The error is Conflict where there are not as many servers.
func (c *Client) SetReplicas(ctx context.Context, n int, progress func(r *Replicas)) (*Replicas, error) {
	for {
		r, err := jsonRequest(http.MethodPut, "/v1/_replicas", wire.ReplicasBody{Replicas: n})
		if err != nil {
			return nil, err
		}
		r.repeatable = true
		a, err := c.sendSlow(ctx, r)
		if err != nil {
			return nil, err
		}
		out := &Replicas{}
		if err := decode(bytes.TrimSpace(a.body), out); err != nil || a.status == http.StatusOK {
			return out, err
		}
		if progress != nil {
			progress(out)
		}
	}
}

// Snapshot tells what a copy of the read model is that a node has taken for new nodes.
type Snapshot = wire.Snapshot

// TakeSnapshot has the node store a copy of its read model for new nodes of the same log. It blocks until the copy is
// there, and returns its description. The error is Conflict where the log is embedded, or the node takes one already.
func (c *Client) TakeSnapshot(ctx context.Context) (*Snapshot, error) {
	return answerOf[Snapshot](c.sendSlow(ctx, command("/v1/_snapshot")))
}
