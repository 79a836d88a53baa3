package wire

import (
	"time"

	"github.com/fanfold/fanfold"
)

// History says how far back a store can be read, in GET /v1/_status.
type History struct {
	Oldest     fanfold.Bookmark `json:"oldest"`              // the oldest position that can be read
	OldestTime time.Time        `json:"oldestTime,omitzero"` // of the last event up to there; absent for a store that has all its events
	Base       *HistoryBase     `json:"base,omitempty"`      // at which the store begins; nil for a store that has all its events
	Compaction *Compaction      `json:"compaction,omitempty"`
	Erasures   []Erasure        `json:"erasures,omitempty"` // those that are not over, and the last one
	Backup     *ErasedBackup    `json:"backup,omitempty"`   // nil where the last backup that the node has served has nothing of what is erased
}

// ErasedBackup is a backup from before an erasure, which has what was erased since.
type ErasedBackup struct {
	Time    time.Time        `json:"time"`    // when the node had served it
	Last    fanfold.Bookmark `json:"last"`    // its last event
	Erasure uint64           `json:"erasure"` // the last erase event that is in force since
}

// HistoryBase says what the file is with which a store begins.
type HistoryBase struct {
	Seq   uint64 `json:"seq"` // the last event that it stands for
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Sum   string `json:"sha256"`
	Event uint64 `json:"event"` // that says so
}

// The phases of a compaction, after a replay's.
const (
	PhaseReplaying = "replaying" // events up to the horizon, and then the events after it
	PhaseWriting   = "writing"   // the base into a file
	PhaseStoring   = "storing"   // the base in the object store, and reading it back
	PhaseComparing = "comparing" // rows
	PhaseAppending = "appending" // the event from which on the store begins later
	PhaseSwitching = "switching" // to the read model without what goes
	PhasePurging   = "purging"   // the log; it waits for the other nodes
	PhaseDone      = "done"
)

// Compaction says how far a compaction is that runs, or ran last, on the node that was asked.
type Compaction struct {
	Running    bool             `json:"running"` // false once the store begins at the horizon, while the log may be purged yet, and after an error
	Phase      string           `json:"phase"`
	Done       int64            `json:"done"`  // events or rows of the phase
	Total      int64            `json:"total"` // of them
	Before     fanfold.Bookmark `json:"before"`
	By         string           `json:"by,omitempty"`         // who asked for it, where that is known; retain for the node itself
	Started    time.Time        `json:"started,omitzero"`     // absent where another process ran it
	Seconds    float64          `json:"seconds"`              // it has taken
	WaitingFor []string         `json:"waitingFor,omitempty"` // nodes whose read models still have what goes
	Error      string           `json:"error,omitempty"`
}

// CompactPlan says what a compaction would take away.
type CompactPlan struct {
	Before   fanfold.Bookmark `json:"before"` // the horizon: the end of an event and its transaction
	Time     time.Time        `json:"time,omitzero"`
	Done     bool             `json:"done"`     // the store begins there, or later, already
	Events   int64            `json:"events"`   // of the log that go
	Bytes    int64            `json:"bytes"`    // of the log that they take, as estimated
	Versions int64            `json:"versions"` // changes of the feed, and of the histories of documents, that go
	Groups   []string         `json:"groups"`   // consumer groups that have not acknowledged all of them
	Feeds    int64            `json:"feeds"`    // open feeds of this node that have yet to send some of them
}
