// Package wire declares the JSON of answers once, for the API and its client. Those who find an answer out fill it.
package wire

import (
	"encoding/json"
	"time"

	"github.com/fanfold/fanfold"
)

// Status holds the answer of GET /v1/_status.
type Status struct {
	Version    string           `json:"version"`
	Fold       string           `json:"fold"`
	Versions   FoldVersion      `json:"foldVersion"`
	Store      fanfold.StoreID  `json:"store"`
	Position   fanfold.Bookmark `json:"position"`
	Model      uint64           `json:"model"` // the event that applied it
	Durability string           `json:"durability"`
	Sync       string           `json:"sync,omitempty"` // of the embedded server: see embedded.Server
	Log        string           `json:"log"`            // embedded, or the outside server's URL
	LogError   string           `json:"logError,omitempty"`
	ReadOnly   bool             `json:"readOnly,omitempty"` // the read model is of one position, and there is no log
	Erasable   bool             `json:"logErasable"`        // the log's server lets events be erased from it
	Replicas   *LogReplicas     `json:"replicas,omitempty"` // of the log on outside servers, as last heard
	Snapshot   *SnapshotStatus  `json:"snapshot,omitempty"`
	History    *History         `json:"history,omitempty"`
	Omitted    []Omission       `json:"omitted,omitempty"` // rules for whose values some embedded views have no room
	Indexes    []Index          `json:"indexes,omitempty"` // that the model declares
	Node       string           `json:"node,omitempty"`    // the node's id; absent where it is the only one
	Nodes      []Node           `json:"nodes"`             // all nodes of the log, as this one knows them
	LagSeconds float64          `json:"lagSeconds"`
	Work       []Work           `json:"work,omitempty"`    // what is done, or was, for requests that take long
	Queries    []QueryShape     `json:"queries,omitempty"` // the shapes of queries that looked at the most documents for what they gave
	Needs      []Need           `json:"needs,omitempty"`   // what needs attention: see NeedsOf
	Projection
}

// FoldVersion says which version of the fold is in force where the node stands, and which is the newest that its program
// knows.
type FoldVersion struct {
	Version int `json:"version"`
	Newest  int `json:"newest"`
}

// FoldChange is the answer to a request for another version of the fold.
type FoldChange struct {
	Version int   `json:"version"`
	Changes int64 `json:"changes"` // documents that it changes
}

// Node is one of the nodes that keep a log, as the node that is asked knows it.
type Node struct {
	ID string `json:"id"`
	NodeState
	Self bool `json:"self"` // the node that was asked
	// Live is false of a node whose entry has not changed for so long that it cannot write.
	Live        bool    `json:"live"`
	SeenSeconds float64 `json:"seenSeconds"` // since its entry was seen to change
	Error       string  `json:"error,omitempty"`
}

// NodeState says how a node stands, as it says of itself.
type NodeState struct {
	Address    string  `json:"address"` // the URL at which it is reached
	Version    string  `json:"version"` // of its program
	Folds      [2]int  `json:"folds"`   // the oldest and the newest fold version that its program has
	Applied    uint64  `json:"applied"` // last event folded
	Lag        uint64  `json:"lag"`     // events that the log has beyond it
	LagSeconds float64 `json:"lagSeconds"`
	Ready      bool    `json:"ready"`
	Guards     uint64  `json:"guards"`         // the newest event about models whose guards it keeps
	Base       uint64  `json:"base,omitempty"` // the last event of the base on which its read model is built; 0 for none
	// Erasure is the last erase event that its read model has, served or prepared; 0 for none.
	Erasure uint64 `json:"erasure,omitempty"`
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
