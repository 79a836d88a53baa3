package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// MaxReplicas is the most replicas that a NATS server gives a stream.
const MaxReplicas = 5

// Replicas says how many replicas the log and the buckets beside it have.
type Replicas struct {
	Replicas int              `json:"replicas"` // of the log, as configured
	Current  int              `json:"current"`  // the fewest that are current, of the log and any bucket
	Streams  []StreamReplicas `json:"streams"`
}

// StreamReplicas says how many replicas a stream has.
type StreamReplicas struct {
	Stream   string `json:"stream"`
	Replicas int    `json:"replicas"` // as configured
	Current  int    `json:"current"`  // that have everything, the leader among them
	Behind   uint64 `json:"behind"`   // messages that the farthest of the others lacks, as far as the leader knows
}

// Settled returns whether the log and every bucket have n replicas, all of them current.
func (r Replicas) Settled(n int) bool {
	return !slices.ContainsFunc(r.Streams, func(s StreamReplicas) bool { return s.Replicas != n || s.Current != n })
}

// Cluster is the part of a stream's state about its replicas.
type Cluster struct {
	Leader   string `json:"leader"`
	Replicas []struct {
		Current bool          `json:"current"`
		Offline bool          `json:"offline"`
		Active  time.Duration `json:"active"` // since the leader heard of it
		Lag     uint64        `json:"lag"`
	} `json:"replicas"`
}

// silentReplica is the time without a word of a replica after which a leader does not count it. Every second brings one, and nobody
// is elected in place of a leader in less than four.
const silentReplica = 3 * time.Second

// Leads tells whether the state comes from a leader that has just heard of most of n replicas, itself among them.
func (c *Cluster) Leads(n int) bool {
	if c == nil || c.Leader == "" {
		return false
	}
	heard := 1
	for _, r := range c.Replicas {
		if !r.Offline && r.Active < silentReplica {
			heard++
		}
	}
	return heard > n/2
}

// Count returns how many replicas are current, and how many messages the farthest of the others lacks. A server that is in no
// cluster has a nil state.
func (c *Cluster) Count() (current int, behind uint64) {
	if c == nil {
		return 1, 0
	}
	if c.Leader != "" {
		current = 1
	}
	for _, r := range c.Replicas {
		if r.Current && !r.Offline {
			current++
		} else {
			behind = max(behind, r.Lag)
		}
	}
	return current, behind
}

// Away returns of how many replicas the leader has not heard just now.
func (c *Cluster) Away() (n int) {
	if c == nil {
		return 0
	}
	for _, r := range c.Replicas {
		if r.Offline || r.Active >= silentReplica {
			n++
		}
	}
	return n
}

// state is what a stream's leader says of its replicas.
type state struct {
	Config struct {
		Replicas int `json:"num_replicas"`
	} `json:"config"`
	Cluster *Cluster `json:"cluster"`
}

// Replicas asks how many replicas some streams have, the log's first. It blocks for a round trip for each; the error is
// Unavailable.
func (c *Client) Replicas(ctx context.Context, streams []string) (r Replicas, err error) {
	for i, name := range streams {
		var info state
		if err := c.RequestAPI(ctx, "STREAM.INFO."+name, nil, &info); err != nil {
			return r, err
		}
		s := StreamReplicas{Stream: name, Replicas: info.Config.Replicas}
		s.Current, s.Behind = info.Cluster.Count()
		if i == 0 {
			r.Replicas, r.Current = s.Replicas, s.Current
		}
		r.Current = min(r.Current, s.Current)
		r.Streams = append(r.Streams, s)
	}
	return r, nil
}

// How long SetReplicas waits for replicas to become current, and how often it looks.
const (
	replicasWait = time.Minute
	replicasLook = 200 * time.Millisecond
)

// SetReplicas gives some streams n replicas, the log's first, and waits until all of them are current, for a minute at most. It
// returns how far they are, and tells note each time it looks. It blocks for up to startWait longer for each whose servers have
// just started. It returns ctx's error, and Conflict if there are not as many servers, with nothing changed. After Unavailable
// some streams may have changed already, and the same call goes on from there.
func (c *Client) SetReplicas(ctx context.Context, streams []string, n int, note func(Replicas)) (r Replicas, err error) {
	for _, name := range streams { // the log's first: it is refused before anything has changed
		if err := c.setReplicas(ctx, name, n); err != nil {
			return r, err
		}
	}
	limit := time.NewTimer(replicasWait)
	defer limit.Stop()
	for {
		if r, err = c.Replicas(ctx, streams); err == nil {
			note(r)
			if r.Settled(n) {
				return r, nil
			}
		}
		select {
		case <-time.After(replicasLook):
		case <-limit.C:
			return r, err
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
}

// setReplicas gives a stream n replicas. Its other settings stay as the server has them, those included that this client does
// not know. Errors are Conflict where there are not as many servers, and Unavailable.
func (c *Client) setReplicas(ctx context.Context, name string, n int) error {
	var info struct {
		Config map[string]json.RawMessage `json:"config"`
	}
	if err := c.RequestAPI(ctx, "STREAM.INFO."+name, nil, &info); err != nil {
		return err
	}
	want := json.RawMessage(fmt.Sprint(n))
	if string(info.Config["num_replicas"]) == string(want) {
		return nil
	}
	info.Config["num_replicas"] = want
	body, err := json.Marshal(info.Config)
	if err != nil {
		return err
	}
	return c.Place(ctx, n, func() error { return c.RequestAPI(ctx, "STREAM.UPDATE."+name, body, nil) }).Explained()
}

// The server's error codes for more replicas than it has servers for, and for a cluster that has no leader.
const (
	codeNoPeers    = 10005
	codeNoClusters = 10074
	codeNoLeader   = 10008
	codeOffline    = 10118
)

// refusedReplicas reports whether the server refused a stream because it has not as many servers as replicas were asked for.
func refusedReplicas(err error) bool {
	return hasCode(err, codeNoPeers) || hasCode(err, codeNoClusters)
}

// Leaderless reports whether no server answered for the cluster, or one said that it has no leader, or that no server of the stream is there.
func Leaderless(err error) bool {
	return hasCode(err, codeNoLeader) || hasCode(err, codeOffline) || errors.Is(err, context.DeadlineExceeded)
}

// hasCode reports whether the server refused with an error code.
func hasCode(err error, code jetstream.ErrorCode) bool {
	api := Refusal(err)
	return api != nil && api.ErrorCode == code
}
