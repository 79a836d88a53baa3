// Package wire declares the JSON of answers and bodies once, for the API and its client. Whoever finds an answer out fills it.
package wire

import (
	"encoding/json"
	"time"

	"github.com/fanfold/fanfold"
)

// Status holds the answer of GET /v1/_status.
type Status struct {
	Version     string          `json:"version"`
	Fold        string          `json:"fold" doc:"Fingerprint of what the read model depends on besides the log: its schema and the expressions."`
	FoldVersion FoldVersion     `json:"foldVersion" doc:"By which version of the fold the log is folded where this node stands, and the newest that its program knows."`
	Store       fanfold.StoreID `json:"store" pattern:"^[a-z2-7]{8}$" doc:"The store's id, which stands in every position."`
	Position    string          `json:"position" ref:"Position"`
	Model       uint64          `json:"model" doc:"The event that applied the model; 0 for none."`
	Durability  string          `json:"durability" enum:"always|interval|unverified|none" doc:"Of the log. unverified: an outside server's, which nobody can see; none: the server takes no writes."`
	Sync        string          `json:"sync,omitempty" enum:"group|server|none" doc:"of the embedded server: who makes what is written durable. group: the log, with one fsync for all concurrent writes; server: the server, with one fsync a message, for its files are not as the log expects them; none: the server, every two minutes"`
	Log         string          `json:"log" doc:"embedded, the outside server's URL, or none where the server takes no writes."`
	LogError    string          `json:"logError,omitempty" doc:"Why the log cannot be reached, or what it has lost; absent where all is right."`
	ReadOnly    bool            `json:"readOnly,omitempty" doc:"The server has the read model of one position, and no log."`
	Erasable    bool            `json:"logErasable" doc:"Whether the log's server lets events be erased from it. It does not where the log was made by an older version, which had delete and purge denied for good."`
	Replicas    *LogReplicas    `json:"replicas,omitempty" doc:"Replicas of the log on outside servers, as last heard."`
	Snapshot    *SnapshotStatus `json:"snapshot,omitempty" doc:"Snapshots that this node had to do with since its start."`
	History     *History        `json:"history,omitempty" doc:"How far back the store can be read."`
	Omitted     []Omission      `json:"omitted,omitempty" doc:"Rules for whose values some embedded documents have no room."`
	Indexes     []Index         `json:"indexes,omitempty" doc:"The declared indexes of collections that the reader may read."`
	Node        string          `json:"node,omitempty" doc:"The node's id; absent where it is the only one."`
	Nodes       []Node          `json:"nodes" maxItems:"1024" doc:"All nodes of the log, as this one knows them."`
	LagSeconds  float64         `json:"lagSeconds" doc:"How old the oldest event is that is not folded, at most; it grows while the log cannot be asked."`
	Work        []Work          `json:"work,omitempty" maxItems:"20" doc:"What this node does, or has done, for requests that take long, the newest first. Results are at /v1/_work/{id}."`
	Queries     []QueryShape    `json:"queries,omitempty" maxItems:"100" doc:"The shapes of queries that looked at the most documents for what they gave, since the start, of collections that the reader may read."`
	Needs       []Need          `json:"needs,omitempty" maxItems:"100" doc:"What needs somebody's attention, the most important first; absent where nothing does. Of more than 100 the last one tells how many more there are. Parked batches are as they were up to 15 seconds ago."`
	Projection
}

// RuleRefusals says how many documents the rule of a right has refused, by an error and by a missing member, too. Those that lists leave out do not count.
type RuleRefusals struct {
	Collection string `json:"collection" ref:"CollectionName"`
	Right      string `json:"right" enum:"read|create|update|delete"`
	Count      uint64 `json:"count"`
}

// FoldVersion says which version of the fold is in force where the node stands, and which is the newest that its program
// knows.
type FoldVersion struct {
	Version int `json:"version" minimum:"1"`
	Newest  int `json:"newest" minimum:"1"`
}

// FoldBody is the body of a request for another version of the fold.
type FoldBody struct {
	Version int `json:"version" minimum:"1" maximum:"2147483647" doc:"The version to set; the one in force changes nothing."`
}

// FoldChange is the answer to a request for another version of the fold.
type FoldChange struct {
	Version int   `json:"version" minimum:"1"`
	Changes int64 `json:"changes" doc:"Documents that it changes."`
}

// Node is one of the nodes that keep a log, as the node that is asked knows it.
type Node struct {
	ID string `json:"id" pattern:"^.{0,255}$" doc:"The node's id; empty where it is the only one."`
	NodeState
	Self        bool    `json:"self" doc:"The node that was asked."`
	Live        bool    `json:"live" doc:"Whether it may still write: its entry has changed within twenty seconds."`
	SeenSeconds float64 `json:"seenSeconds" doc:"Since its entry was seen to change."`
	Error       string  `json:"error,omitempty" doc:"Why its entry cannot be read."`
}

// NodeState says how a node stands, as it says of itself.
type NodeState struct {
	Address    string  `json:"address" doc:"The URL at which it says that it is reached."`
	Version    string  `json:"version"` // of its program
	Folds      [2]int  `json:"folds" minItems:"2" maxItems:"2" doc:"The oldest and the newest fold version that its program has."`
	Applied    uint64  `json:"applied"` // last event folded
	Lag        uint64  `json:"lag" doc:"Events that the log has beyond it."`
	LagSeconds float64 `json:"lagSeconds"`
	Ready      bool    `json:"ready"`
	Guards     uint64  `json:"guards" doc:"The newest event about models whose guards it keeps."`
	Base       uint64  `json:"base,omitempty" doc:"The last event of the base on which its read model is built; absent where it was built from the first event."`
	Erasure    uint64  `json:"erasure,omitempty" doc:"The last erasure of which its read model has nothing, or one that it has prepared; absent for none."`
}

// LogReplicas says how many replicas the log has, and how many of them are current.
type LogReplicas struct {
	Configured int `json:"configured" doc:"As many as there are to be."`
	Current    int `json:"current" doc:"Those of them that have everything."`
}

// Omission says for how many values of a rule there is no room, and in how many documents.
type Omission struct {
	Rule      string `json:"rule"`
	Documents int64  `json:"documents" minimum:"1"`
	Values    int64  `json:"values" minimum:"1"`
}

// SnapshotStatus says which snapshots a node had to do with.
type SnapshotStatus struct {
	StartedFrom *Snapshot `json:"startedFrom,omitempty"` // the node's read model began as this
	Last        *Snapshot `json:"last,omitempty"`        // the last one that this node took
}

// Snapshot says what a copy of the read model is.
type Snapshot struct {
	Name   string          `json:"name"`
	Store  fanfold.StoreID `json:"store" doc:"The store's id."`
	Fold   string          `json:"fold" doc:"Fingerprint of the fold that made it."`
	Seq    uint64          `json:"seq" doc:"The last event in it."`
	Bytes  int64           `json:"bytes" doc:"Its size."`
	SHA256 string          `json:"sha256" pattern:"^[0-9a-f]{64}$"` // of its bytes, as hexadecimal digits
	Taken  time.Time       `json:"taken"`                           // when it was complete, by the server's clock
}

// Replicas says how many replicas the log and the buckets beside it have.
type Replicas struct {
	Replicas int              `json:"replicas" doc:"Of the log, as configured."`
	Current  int              `json:"current" doc:"The fewest that are current, of the log and any bucket."`
	Streams  []StreamReplicas `json:"streams"`
}

// ReplicasBody is the body of a request for other replicas of the log.
type ReplicasBody struct {
	Replicas int `json:"replicas" minimum:"1" maximum:"5"`
}

// StreamReplicas says how many replicas a stream has.
type StreamReplicas struct {
	Stream   string `json:"stream"`
	Replicas int    `json:"replicas" doc:"As configured."`
	Current  int    `json:"current" doc:"Those of them that have everything."`
	Behind   uint64 `json:"behind" doc:"Messages that the farthest of the others lacks."`
}

// Work tells how far work is that takes as long as looking at many documents: a change of the model, the preview of one, or a
// verification. Work that nobody waits for (Prefer: respond-async) is told until it is forgotten; other work while it runs.
type Work struct {
	ID      string            `json:"id" pattern:"^[a-z2-7]{16}$"`
	Kind    string            `json:"kind" enum:"model|preview|verify|verify-log"`
	Phase   string            `json:"phase" doc:"What is being done; done or failed at the end."`
	Done    int64             `json:"done" doc:"Documents or events of the phase that were looked at."`
	Total   int64             `json:"total" doc:"All of the phase; 0 where that is not known."`
	Started time.Time         `json:"started"`
	Ended   time.Time         `json:"ended,omitzero"`
	Status  int               `json:"status,omitempty" minimum:"200" maximum:"599" doc:"The status of the answer that a client which had waited would have had. Absent while the work runs."`
	Headers map[string]string `json:"headers,omitempty" doc:"Headers of that answer."`
	Summary json.RawMessage   `json:"summary,omitempty" schema:"{}" doc:"The result in a few numbers; of a failure its detail."`
	Result  json.RawMessage   `json:"result,omitempty" doc:"The body of that answer; a problem where the status is 400 or more. Absent in _status."`
}
