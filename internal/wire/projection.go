package wire

import (
	"fmt"
	"math"
	"time"

	"github.com/fanfold/fanfold"
)

// Projection says how far the fold is.
type Projection struct {
	Applied    uint64      `json:"applied"` // last event folded
	Lag        uint64      `json:"lag"`     // events that the log had beyond it, when last heard
	Stopped    *Stopped    `json:"stopped,omitempty"`
	RuleErrors []RuleError `json:"ruleErrors,omitempty"`
	Replay     *Replay     `json:"replay,omitempty"`
	// Preparing says how far this node is with an announced model, Activated how the last one came to apply.
	Preparing *Preparation `json:"preparing,omitempty"`
	Activated *Activation  `json:"activated,omitempty"`
	Withdrawn *Withdrawn   `json:"withdrawn,omitempty"`
	Folded    uint64       `json:"-"` // events folded by this process
}

// Stopped says why nothing is folded at present.
type Stopped struct {
	Seq    uint64 `json:"seq"` // the event that cannot be folded
	Reason string `json:"reason"`

	Reading bool `json:"-"` // the log could not be read; otherwise an event could not be folded
	Away    bool `json:"-"` // because it did not answer; otherwise because of what it has
}

// LogAway tells whether the log did not answer. Otherwise an event could not be read or folded.
func (s *Stopped) LogAway() bool { return s != nil && s.Away }

// RuleError names a rule whose expression could not be evaluated, so that its field is absent.
type RuleError struct {
	Rule     string `json:"rule"`
	Count    int64  `json:"count"`    // since this process started
	Document string `json:"document"` // the last one it failed on
	Error    string `json:"error"`
}

// Replay says how far a replay is, or how the last one ended.
type Replay struct {
	Running bool      `json:"running"`
	Phase   string    `json:"phase"`  // replaying; of a check also copying and comparing; done once it has ended
	Seq     uint64    `json:"seq"`    // last event replayed
	Target  uint64    `json:"target"` // last event to replay
	Rate    float64   `json:"rate"`   // events a second so far, of comparing rows a second
	Left    float64   `json:"secondsLeft"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"` // it has taken
	Error   string    `json:"error,omitempty"`
	Check   *Check    `json:"check,omitempty"` // nil for a replay whose read model is put in place
}

// Check says what came of comparing the read model with one that was replayed.
type Check struct {
	Position  fanfold.Bookmark `json:"position"`         // at which both stand; 0 before they are compared
	Compared  int64            `json:"compared"`         // rows
	Rows      int64            `json:"rows"`             // that the read model has
	Different int64            `json:"different"`        // rows
	First     *RowDifference   `json:"first,omitempty"`  // in order of table and key
	Tables    map[string]int64 `json:"tables,omitempty"` // rows that differ, by table
}

// RowDifference is a row of the read model that is not as a replay makes it.
type RowDifference struct {
	Table string `json:"table"`
	Key   string `json:"key"`  // the values of the primary key, separated by spaces
	Kind  string `json:"kind"` // missing, surplus or changed
}

// Preparation says how far this node is with an announced model.
type Preparation struct {
	Model   uint64    `json:"model"` // the event that announces it
	Phase   string    `json:"phase"` // waiting, copying, computing, following, ready or failed
	Done    int64     `json:"done"`  // of the phase: pages, documents, or the last event followed
	Total   int64     `json:"total"`
	Changes int64     `json:"changes"` // documents that the model changes, as far as known
	Started time.Time `json:"started"`
	Error   string    `json:"error,omitempty"`
	// WaitingFor names the nodes for which this one waits before the model applies: they do not hold their writes yet.
	WaitingFor []string `json:"waitingFor,omitempty"`
}

// Activation says how the last model that was prepared came to apply.
type Activation struct {
	Model     uint64  `json:"model"` // the event that applied it
	Documents int64   `json:"documents"`
	Seconds   float64 `json:"seconds"` // for which nothing was folded
}

// Withdrawn says which model was announced last and did not come to apply.
type Withdrawn struct {
	Model  uint64 `json:"model"` // the event that announced it
	Reason string `json:"reason"`
}

// text says how far a preparation is.
func (p *Preparation) text() string {
	out := p.Phase
	if p.Model != 0 {
		out = fmt.Sprintf("the model of event %d: %s", p.Model, p.Phase)
	}
	switch p.Phase {
	case "copying", "computing":
		out += fmt.Sprintf(", %.0f%%", math.Round(100*float64(p.Done)/float64(max(p.Total, 1))))
	case "following":
		out += fmt.Sprintf(", event %d of %d", p.Done, p.Total)
	}
	if p.Error != "" {
		out += ": " + p.Error
	}
	return out
}
