// Package wire holds what the store tells about itself, as JSON. Those who find it out fill it, and the API answers with it.
package wire

import (
	"encoding/json"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/membership"
)

// Status holds the answer of GET /v1/_status.
type Status struct {
	Version    string            `json:"version"`
	Fold       string            `json:"fold"`
	Versions   FoldVersion       `json:"foldVersion"`
	Store      fanfold.StoreID   `json:"store"`
	Position   fanfold.Bookmark  `json:"position"`
	Model      uint64            `json:"model"` // the event that applied it
	Durability string            `json:"durability"`
	Sync       string            `json:"sync,omitempty"` // of the embedded server: see embedded.Server
	Log        string            `json:"log"`            // embedded, or the outside server's URL
	LogError   string            `json:"logError,omitempty"`
	ReadOnly   bool              `json:"readOnly,omitempty"` // the read model is of one position, and there is no log
	Erasable   bool              `json:"logErasable"`        // the log's server lets events be erased from it
	Replicas   *LogReplicas      `json:"replicas,omitempty"` // of the log on outside servers, as last heard
	Snapshot   *SnapshotStatus   `json:"snapshot,omitempty"`
	History    *History          `json:"history,omitempty"`
	Omitted    []Omission        `json:"omitted,omitempty"` // rules for whose values some embedded views have no room
	Indexes    []Index           `json:"indexes,omitempty"` // that the model declares
	Node       string            `json:"node,omitempty"`    // the node's id; absent where it is the only one
	Nodes      []membership.Node `json:"nodes"`             // all nodes of the log, as this one knows them
	LagSeconds float64           `json:"lagSeconds"`
	Work       []Work            `json:"work,omitempty"`    // what is done, or was, for requests that take long
	Queries    []QueryShape      `json:"queries,omitempty"` // the shapes of queries that looked at the most documents for what they gave
	Needs      []Need            `json:"needs,omitempty"`   // what needs attention: see NeedsOf
	Projection
}

// FoldVersion says which version of the fold is in force where the node stands, and which is the newest that its program
// knows.
type FoldVersion struct {
	Version int `json:"version"`
	Newest  int `json:"newest"`
}

// LogReplicas says how many replicas the log has, and how many of them are current.
type LogReplicas struct {
	Configured int `json:"configured"`
	Current    int `json:"current"`
}

// Omission says for how many values of a rule there is no room, and in how many documents.
type Omission struct {
	Rule      string `json:"rule"`
	Documents int64  `json:"documents"`
	Values    int64  `json:"values"`
}

// SnapshotStatus says which snapshots a node had to do with.
type SnapshotStatus struct {
	StartedFrom *Snapshot `json:"startedFrom,omitempty"` // the node's read model began as this
	Last        *Snapshot `json:"last,omitempty"`        // the last one that this node took
}

// Snapshot says what a copy of the read model is.
type Snapshot struct {
	Name  string          `json:"name"`
	Store fanfold.StoreID `json:"store"`
	Fold  string          `json:"fold"`   // fingerprint of the fold that made it
	Seq   uint64          `json:"seq"`    // the last event folded
	Bytes int64           `json:"bytes"`  // its size
	Sum   string          `json:"sha256"` // of its bytes, as hexadecimal digits
	Taken time.Time       `json:"taken"`  // when it was complete, by the server's clock
}

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

// Work tells how far work is that takes as long as looking at many documents: a change of the model, the preview of one, or a
// verification. Work that nobody waits for (Prefer: respond-async) is told until it is forgotten; other work while it runs.
type Work struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`  // one of the kinds
	Phase   string    `json:"phase"` // what is being done; done, failed or cancelled at the end
	Done    int64     `json:"done"`  // of the phase
	Total   int64     `json:"total"` // 0 where that is not known
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// Status, Headers and Result are what a client that had waited would have been answered with; Result may be a problem. They
	// are absent while the work runs.
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Summary any               `json:"summary,omitempty"` // of the result, in a few numbers
	Result  json.RawMessage   `json:"result,omitempty"`
}
