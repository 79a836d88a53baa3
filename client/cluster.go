package client

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"
)

// Replicas tells how many replicas the log and the buckets beside it have.
type Replicas struct {
	Replicas int // of the log
	Current  int // the fewest that are current, of the log and any bucket
	Streams  []StreamReplicas
}

// StreamReplicas tells how many replicas a stream has.
type StreamReplicas struct {
	Stream   string
	Replicas int
	Current  int    // that have everything
	Behind   uint64 // messages that the farthest of the others lacks
}

// Replicas returns how many replicas the log has.
func (c *Client) Replicas(ctx context.Context) (*Replicas, error) {
	a, err := c.send(ctx, newRequest(http.MethodGet, "/v1/_replicas"))
	if err != nil {
		return nil, err
	}
	out := &Replicas{}
	return out, decode(a.body, out)
}

// SetReplicas gives the log n replicas, and waits until all of them are current. It calls progress, if not nil, about once a
// minute with how far they are. The error is Conflict where there are not as many servers.
func (c *Client) SetReplicas(ctx context.Context, n int, progress func(r *Replicas)) (*Replicas, error) {
	for {
		r := newRequest(http.MethodPut, "/v1/_replicas")
		r.body, r.repeatable = []byte(`{"replicas":`+strconv.Itoa(n)+`}`), true
		r.header.Set("Content-Type", "application/json")
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
type Snapshot struct {
	Name   string
	Seq    uint64 // the last event in it
	Fold   string // the version of what made it
	Bytes  int64
	SHA256 string
	Taken  time.Time
}

// TakeSnapshot has the node store a copy of its read model for new nodes of the same log. It blocks until the copy is
// there, and returns its description. The error is Conflict where the log is embedded, or the node takes one already.
func (c *Client) TakeSnapshot(ctx context.Context) (*Snapshot, error) {
	a, err := c.sendSlow(ctx, command("/v1/_snapshot"))
	if err != nil {
		return nil, err
	}
	out := &Snapshot{}
	return out, decode(a.body, out)
}
