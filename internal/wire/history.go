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

// LogReport says how the log compares with what was folded from it.
type LogReport struct {
	Last   uint64 `json:"last"`   // the last event that the log had when reading began, or that was known of it
	Read   uint64 `json:"read"`   // events that could be read
	Digest string `json:"digest"` // of all of them, where none is missing
	// Compared is the last event up to which the digest was compared with what a node knew, 0 where nothing was known.
	Compared uint64  `json:"compared"`
	Missing  []Range `json:"missing,omitempty"` // events that are missing or cannot be read: the first hundred runs
	More     uint64  `json:"more,omitempty"`    // runs besides those
	Differs  *Range  `json:"differs,omitempty"` // events with at least one that is not the folded one
	// Base is that at which the log begins; nil for a log that has all its events.
	Base *BaseReport `json:"base,omitempty"`
}

// BaseReport says whether the base is what the log says.
type BaseReport struct {
	Seq   uint64 `json:"seq"` // the last event that it stands for
	Bytes int64  `json:"bytes"`
	Error string `json:"error,omitempty"` // why it is of no use; "" where it is whole
}

// Range is a run of events, both ends included.
type Range struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// Summary returns what was found in a few numbers.
func (r *LogReport) Summary() LogSummary {
	return LogSummary{Last: r.Last, Read: r.Read, Damaged: len(r.Missing) > 0 || r.Differs != nil || r.Base != nil && r.Base.Error != ""}
}

// LogSummary says in a few numbers what a verification of the log found.
type LogSummary struct {
	Last    uint64 `json:"last"`
	Read    uint64 `json:"read"`
	Damaged bool   `json:"damaged"`
}
