// Package bench measures Fanfold beside the best that its parts can do, in the same run.
package bench

import (
	"fmt"
	"slices"

	_ "github.com/mattn/go-sqlite3" // the driver behind database/sql
)

// Result is one measurement beside its limit.
type Result struct {
	Name  string   `json:"name"`
	Ours  float64  `json:"ours"`  // in Unit
	Limit float64  `json:"limit"` // in Unit
	Unit  string   `json:"unit"`
	Ratio float64  `json:"ratio"` // ours to the limit: 1 is as fast
	Notes []string `json:"notes,omitempty"`
}

// String returns the figures on a line, and each note on one below it.
func (r Result) String() string {
	out := fmt.Sprintf("%-42s %12.0f %-10s limit %12.0f   ratio %.2f", r.Name, r.Ours, r.Unit, r.Limit, r.Ratio)
	for _, n := range r.Notes {
		out += "\n    " + n
	}
	return out
}

// result returns the Result of rates that were measured in pairs. The ratio is the median of the pairs' ratios, because
// a machine's speed drifts.
func result(name, unit string, ours, limit []float64) Result {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / limit[i]
	}
	return Result{Name: name, Unit: unit, Ours: median(ours), Limit: median(limit), Ratio: median(ratios)}
}

// median returns the middle of v, which must not be empty; of an even number the upper one.
func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// percentile returns the value below which p of 100 sorted ones are; 0 where there are none.
func percentile(sorted []float64, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}
