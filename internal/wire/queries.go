package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Index tells how large a declared index is, and how much it is used.
type Index struct {
	Collection string `json:"collection"`
	Name       string `json:"name"`
	Entries    int64  `json:"entries"`
	Queries    int64  `json:"queries" doc:"That it has served since the start."`
}

// QueryShape tells what the queries of one shape, which differ in constants alone, did since the start.
type QueryShape struct {
	Collection string  `json:"collection"`
	Filter     string  `json:"filter,omitempty" doc:"With ? in place of constants and params."`
	Sort       string  `json:"sort,omitempty"`
	Group      string  `json:"group,omitempty" doc:"And what is computed."`
	Queries    int64   `json:"queries" minimum:"1"`
	Console    int64   `json:"console,omitempty" minimum:"1" doc:"Of these, those that the web console sent; absent for none."`
	Documents  int64   `json:"documents" doc:"That they looked at."`
	Given      int64   `json:"given" doc:"Of these, those that they answered with, counted or grouped."`
	Seconds    float64 `json:"seconds"`
	Index      *string `json:"index" doc:"What served the last of them; null for all documents."`
	// Suggest is a merge patch of the model that declares an index for the last of them; absent where none would help.
	Suggest json.RawMessage `json:"suggest,omitempty" ref:"Suggestion"`
}

// Wasted returns how many documents the queries looked at without giving them.
func (s *QueryShape) Wasted() int64 { return s.Documents - s.Given }

// Often tells whether other programs than the console asked such queries more than now and then.
func (s *QueryShape) Often() bool { return s.Queries-s.Console >= often }

// text says what queries looked at, and which index would serve them.
func (s *QueryShape) text() string {
	var asked []string
	for _, part := range [][2]string{{"filter", s.Filter}, {"sort", s.Sort}, {"group", s.Group}} {
		if part[1] != "" {
			asked = append(asked, part[0]+"="+part[1])
		}
	}
	var patch struct {
		Collections map[string]struct{ Indexes map[string][]string }
	}
	_ = json.Unmarshal(s.Suggest, &patch) // the node wrote it
	var indexes []string
	for _, name := range slices.Sorted(maps.Keys(patch.Collections[s.Collection].Indexes)) {
		indexes = append(indexes, name+": ["+strings.Join(patch.Collections[s.Collection].Indexes[name], ", ")+"]")
	}
	return fmt.Sprintf("%s: %d looked at %s and gave %d. An index that serves them: %s", strings.Join(asked, " "), s.Queries, Counted(s.Documents, "document", "documents"), s.Given, strings.Join(indexes, ", "))
}
