package wire

import (
	"time"
)

// History says how far back a store can be read, in GET /v1/_status.
type History struct {
	Oldest     string        `json:"oldest" ref:"Position" doc:"The oldest position that can be read."`
	OldestTime time.Time     `json:"oldestTime,omitzero" doc:"Of the last event up to there; absent for a store that has all its events."`
	Base       *HistoryBase  `json:"base,omitempty" doc:"The file with which the store begins; absent for a store that has all its events."`
	Compaction *Compaction   `json:"compaction,omitempty"`
	Erasures   []Erasure     `json:"erasures,omitempty" maxItems:"1001" doc:"Erasures that are under way, and the last that is done."`
	Backup     *ErasedBackup `json:"backup,omitempty" doc:"The last backup that the node has served, which has what was erased since; absent otherwise."`
}

// ErasedBackup is a backup from before an erasure, which has what was erased since.
type ErasedBackup struct {
	Time    time.Time `json:"time" doc:"When the node had served it."`
	Last    string    `json:"last" ref:"Position" doc:"Its last event."`
	Erasure uint64    `json:"erasure" doc:"The last erase event that is in force since."`
}

// HistoryBase says what the file is with which a store begins.
type HistoryBase struct {
	Seq   uint64 `json:"seq" doc:"The last event that it stands for."`
	Name  string `json:"name" doc:"In the object store fanfold_fanfold_base."`
	Bytes int64  `json:"bytes" doc:"Its size."`
	Sum   string `json:"sha256" doc:"Of its bytes, in hexadecimal digits."`
	Event uint64 `json:"event" doc:"The event that says so."`
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
	Running    bool      `json:"running" doc:"False once the store begins there, and after an error. The log may be purged yet."`
	Phase      string    `json:"phase" enum:"replaying|writing|storing|comparing|appending|switching|purging|done"`
	Done       int64     `json:"done" doc:"Events, or rows, of the phase."`
	Total      int64     `json:"total" doc:"Of them; 0 where that is not known."`
	Before     string    `json:"before" ref:"Position"`
	By         string    `json:"by,omitempty" doc:"Who asked for it: key:<id>, or retain for the node itself. Absent where nobody knows."`
	Started    time.Time `json:"started,omitzero" doc:"Absent where another process ran it."`
	Seconds    float64   `json:"seconds" doc:"It has taken."`
	WaitingFor []string  `json:"waitingFor,omitempty" maxItems:"1024" doc:"Nodes that have yet to begin there. The log is purged once they have, or after ten minutes."`
	Error      string    `json:"error,omitempty" doc:"Why it has ended early. The store begins where it did."`
}

// CompactPlan says what a compaction would take away.
type CompactPlan struct {
	Before   string    `json:"before" ref:"Position" doc:"Where the store begins then: the end of an event and of its transaction. It is the oldest position that can be read."`
	Time     time.Time `json:"time,omitzero" doc:"Of the last event that goes."`
	Done     bool      `json:"done" doc:"The store begins there already, or later: nothing goes."`
	Events   int64     `json:"events" doc:"Events of the log that go."`
	Bytes    int64     `json:"bytes" doc:"Of the log, that these take, as estimated."`
	Versions int64     `json:"versions" doc:"Versions of documents that go, and rows of the feed."`
	Groups   []string  `json:"groups" maxItems:"1000" doc:"Consumer groups that have yet to acknowledge changes that go, by name."`
	Feeds    int64     `json:"feeds" doc:"Open feeds of the node that was asked that have yet to get some of these changes. They end with position-gone."`
}

// CompactBody is the body of a request for a compaction.
type CompactBody struct {
	Before string `json:"before" minLength:"1" maxLength:"255" doc:"A position as it was given out, or an RFC 3339 time: the state there is the oldest that can be read then."`
	DryRun bool   `json:"dryRun,omitempty" default:"false" doc:"Tell what would go, and take nothing away."`
	Force  bool   `json:"force,omitempty" default:"false" doc:"Also where consumer groups have yet to acknowledge what goes. They read 410 until they are reset."`
}

// LogReport says how the log compares with what was folded from it.
type LogReport struct {
	Last     uint64      `json:"last" doc:"The last event that the log had, or that was known of it."`
	Read     uint64      `json:"read" doc:"Events that could be read."`
	Digest   string      `json:"digest" doc:"Of all events; empty where some are missing."`
	Compared uint64      `json:"compared" doc:"The last event up to which the digest is the one that was folded; 0 where nothing was known."`
	Missing  []Range     `json:"missing,omitempty" maxItems:"100" doc:"Events that are missing or cannot be read: the first runs."`
	More     uint64      `json:"more,omitempty" doc:"Runs of missing events besides those listed."`
	Differs  *Range      `json:"differs,omitempty" doc:"Events of which at least one is not the one that was folded."`
	Base     *BaseReport `json:"base,omitempty" doc:"The base at which the log begins; absent where it has all its events."`
}

// BaseReport says whether the base is what the log says.
type BaseReport struct {
	Seq   uint64 `json:"seq" doc:"The last event that it stands for."`
	Bytes int64  `json:"bytes"`
	Error string `json:"error,omitempty" doc:"Why it is of no use; absent where it is whole."`
}

// Range is a run of events, both ends included.
type Range struct {
	First uint64 `json:"first" minimum:"1"`
	Last  uint64 `json:"last" minimum:"1"`
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
