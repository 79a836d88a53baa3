package wire

import (
	"fmt"
	"math"
	"time"
)

// Projection says how far the fold is.
type Projection struct {
	Applied    uint64         `json:"applied" doc:"Last event folded."`
	Lag        uint64         `json:"lag" doc:"Events not folded yet, when last heard."`
	Stopped    *Stopped       `json:"stopped,omitempty" doc:"Why the projector has stopped; absent while it runs."`
	RuleErrors []RuleError    `json:"ruleErrors,omitempty" doc:"Rules, indexes and checks whose expression failed since the start. A check that fails refuses nothing."`
	Refusals   []RuleRefusals `json:"ruleRefusals,omitempty" doc:"How many documents the rules of a collection's access have refused since the start, of collections that the reader may read."`
	Replay     *Replay        `json:"replay,omitempty" doc:"The replay that runs, or the last one."`
	Preparing  *Preparation   `json:"preparing,omitempty" doc:"How far this node is with a model that is to come."`
	Activated  *Activation    `json:"activated,omitempty" doc:"How the last model that was prepared came to apply, since the start."`
	Withdrawn  *Withdrawn     `json:"withdrawn,omitempty" doc:"The last model that was announced and did not come, since the start."`
	Folded     uint64         `json:"-"` // events folded by this process
}

// Stopped says why nothing is folded at present.
type Stopped struct {
	Seq    uint64 `json:"seq" doc:"The event that cannot be folded."`
	Reason string `json:"reason"`

	Reading bool `json:"-"` // the log could not be read; otherwise an event could not be folded
	Away    bool `json:"-"` // because it did not answer; otherwise because of what it has
}

// LogAway tells whether the log did not answer. Otherwise an event could not be read or folded.
func (s *Stopped) LogAway() bool { return s != nil && s.Away }

// RuleError names a rule whose expression could not be evaluated, so that its field is absent.
type RuleError struct {
	Rule     string `json:"rule"`
	Count    int64  `json:"count"` // since this process started
	Document string `json:"document" doc:"The last one it failed on."`
	Error    string `json:"error"`
}

// ReplayBody is the body of a request for a replay.
type ReplayBody struct {
	Check bool `json:"check,omitempty" default:"false"`
}

// Replay says how far a replay is, or how the last one ended.
type Replay struct {
	Running bool      `json:"running"`
	Phase   string    `json:"phase" enum:"replaying|copying|comparing|done" doc:"What is done: a check also copies the read model and compares it."`
	Seq     uint64    `json:"seq" doc:"Last event replayed."`
	Target  uint64    `json:"target" doc:"Last event to replay."`
	Rate    float64   `json:"rate" doc:"Events a second; rows, while a check compares them."`
	Left    float64   `json:"secondsLeft"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds" doc:"It has taken."`
	Error   string    `json:"error,omitempty"`
	Check   *Check    `json:"check,omitempty" doc:"What a check has found so far; absent for a replay whose read model is put in place."`
}

// Check says what came of comparing the read model with one that was replayed.
type Check struct {
	Position  string           `json:"position" ref:"Position"` // at which both stand; 0 before they are compared
	Compared  int64            `json:"compared" doc:"Rows that are compared."`
	Rows      int64            `json:"rows" doc:"All rows."`
	Different int64            `json:"different" doc:"Rows that differ."`
	First     *RowDifference   `json:"first,omitempty" doc:"The first row that differs, in order of table and key."`
	Tables    map[string]int64 `json:"tables,omitempty" schema:"{'additionalProperties':{'type':'integer'}}" doc:"How many rows differ, by table."`
}

// RowDifference is a row of the read model that is not as a replay makes it.
type RowDifference struct {
	Table string `json:"table"`
	Key   string `json:"key" doc:"The values of the primary key; empty for who may not read every collection."`
	Kind  string `json:"kind" enum:"missing|surplus|changed"`
}

// Preparation says how far this node is with an announced model.
type Preparation struct {
	Model      uint64    `json:"model" doc:"The event that announces it."`
	Phase      string    `json:"phase" enum:"waiting|copying|computing|following|ready|failed"`
	Done       int64     `json:"done" doc:"Of the phase: pages, documents, or the last event followed."`
	Total      int64     `json:"total"`
	Changes    int64     `json:"changes" doc:"Documents that the model changes, as far as known."`
	Started    time.Time `json:"started"`
	Error      string    `json:"error,omitempty"`
	WaitingFor []string  `json:"waitingFor,omitempty" doc:"The nodes for which this one waits before the model applies, for they do not hold their writes yet: an id, and an address."`
}

// Activation says how the last model that was prepared came to apply.
type Activation struct {
	Model     uint64  `json:"model" doc:"The event that applied it."`
	Documents int64   `json:"documents" doc:"That it changed."`
	Seconds   float64 `json:"seconds" doc:"For which nothing was folded."`
}

// Withdrawn says which model was announced last and did not come to apply.
type Withdrawn struct {
	Model  uint64 `json:"model" doc:"The event that announced it."`
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
