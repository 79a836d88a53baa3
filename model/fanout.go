package model

import (
	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Fanout counts the derived changes that writes cause: in all, by rule and by collection. Clients see what a write would
// cost before they send it, and a model limits it (FanoutLimit). A change that several rules cause counts once in Derived
// and once for each of these rules.
type Fanout struct {
	Position    fanfold.Bookmark `json:"position"` // of the prefix of the log that it was computed on
	Derived     int64            `json:"derived"`
	Rules       map[string]int64 `json:"rules" schema:"{'additionalProperties':{'type':'integer','minimum':1}}" doc:"Changes by rule."`
	Collections map[string]int64 `json:"collections" schema:"{'additionalProperties':{'type':'integer','minimum':1}}" doc:"Changed documents by collection."`
	Examples    []Example        `json:"-"` // a Sample's
}

// NewFanout returns a count of no changes.
func NewFanout() *Fanout { return &Fanout{Rules: map[string]int64{}, Collections: map[string]int64{}} }

// Bounds of the examples of a dry run.
const (
	MaxExamples     = 20
	MaxExampleBytes = 64 << 10 // of all of them together, as JSON
)

// Sample says which of the derived changes that writes cause are to be shown. The zero value shows none.
type Sample struct {
	Most  int
	Reads func(collection string) bool // whether a collection's may be shown; nil for all
}

// Example shows one derived change that a write would cause, as a row of the feed would have it.
type Example struct {
	Key   fanfold.Key
	Rules []string // whose values change, one at least
	Patch []byte   // a JSON Patch whose operations also carry the old values
}

// Size returns the length of the example as JSON, with a comma, in bytes.
func (e Example) Size() int { return len(e.append(nil)) + len(",") }

// MarshalJSON returns the example as the API answers it.
func (e Example) MarshalJSON() ([]byte, error) { return e.append(nil), nil }

// append appends the example as JSON.
func (e Example) append(dst []byte) []byte {
	out := jsondoc.AppendQuote(append(dst, `{"collection":`...), e.Key.Collection)
	out = jsondoc.AppendQuote(append(out, `,"id":`...), e.Key.ID)
	out = jsondoc.AppendQuote(append(out, `,"rule":`...), e.Rules[0])
	for i, rule := range e.Rules {
		separator := ","
		switch {
		case len(e.Rules) == 1:
			continue
		case i == 0:
			separator = `,"rules":[`
		}
		out = jsondoc.AppendQuote(append(out, separator...), rule)
	}
	if len(e.Rules) > 1 {
		out = append(out, ']')
	}
	return append(append(append(out, `,"patch":`...), e.Patch...), '}')
}
