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
	Queries    int64  `json:"queries"` // that it has served since the start
}

// QueryShape tells what the queries of one shape, which differ in constants alone, did since the start.
type QueryShape struct {
	Collection string  `json:"collection"`
	Filter     string  `json:"filter,omitempty"` // with ? in place of constants and parameters
	Sort       string  `json:"sort,omitempty"`
	Group      string  `json:"group,omitempty"` // and what is computed
	Queries    int64   `json:"queries"`
	Documents  int64   `json:"documents"` // that they looked at
	Given      int64   `json:"given"`     // of these, those that they gave, counted or grouped
	Seconds    float64 `json:"seconds"`
	// Index names what served the last of them, null where all documents were looked at.
	Index *string `json:"index"`
	// Suggest is a merge patch of the model that declares an index for the last of them; absent where none would help.
	Suggest json.RawMessage `json:"suggest,omitempty"`
}

// Wasted returns how many documents the queries looked at without giving them.
func (s *QueryShape) Wasted() int64 { return s.Documents - s.Given }

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
