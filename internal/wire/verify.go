package wire

import "github.com/fanfold/fanfold"

// Wrong names one value of the read model that is not what the documents as written give.
type Wrong struct {
	Document string `json:"document"` // collection/id
	Rule     string `json:"rule,omitempty"`
	Detail   string `json:"detail"` // the stored value and the right one, as a JSON Patch, or what else is wrong
}

// Verified says what a verification found.
type Verified struct {
	Position  fanfold.Bookmark `json:"position"` // of the prefix looked at
	Documents int64            `json:"documents"`
	Wrong     []Wrong          `json:"wrong"`
	More      int64            `json:"more,omitempty"` // wrong values beyond those listed
}

// Summary returns what was found in a few numbers.
func (v *Verified) Summary() VerifiedSummary {
	return VerifiedSummary{Documents: v.Documents, Wrong: int64(len(v.Wrong)) + v.More}
}

// VerifiedSummary says in a few numbers what a verification found.
type VerifiedSummary struct {
	Documents int64 `json:"documents"`
	Wrong     int64 `json:"wrong"`
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
