// Package bench measures Fanfold beside the best that its parts can do, in the same run.
package bench

import (
	"fmt"
	"slices"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver under database/sql
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

// One returns the result of figures that were measured once.
func One(name, unit string, ours, limit float64, notes ...string) Result {
	return Result{Name: name, Unit: unit, Ours: ours, Limit: limit, Ratio: ours / limit, Notes: notes}
}

var (
	roundTime  = 2 * time.Second // of requests
	idleTime   = 3 * time.Second // for which a node is left alone before it is looked at
	pairRounds = 6               // that are measured after a warm-up
)

// Shorten makes rounds short and few: what they measure says little then. It is called before anything is measured.
func Shorten() { roundTime, idleTime, pairRounds = 300*time.Millisecond, 300*time.Millisecond, 2 }

// Pair is what is measured in turns: ours, and the limit.
type Pair struct {
	Name, Unit  string
	Limit       string // says what the limit is
	Rounds      int    // pairs at most; 0 for pairRounds
	OursFirst   bool   // in each pair; else the limit is
	Cold        bool   // nothing is warmed up, as each round begins with something new
	Ours, Plain func(round int) (float64, error)
}

// Run measures. The ratio is the median of the pairs' ratios, because a machine's speed drifts.
func (p Pair) Run() (Result, error) {
	rounds, first := pairRounds, 1
	if p.Rounds > 0 {
		rounds = min(rounds, p.Rounds)
	}
	if p.Cold {
		first = 0
	}
	var ours, limits, ratios []float64
	for i := range rounds + first {
		var took [2]float64
		turns := []func(round int) (float64, error){p.Plain, p.Ours}
		for k := range turns {
			if p.OursFirst {
				k = 1 - k
			}
			var err error
			if took[k], err = turns[k](i); err != nil {
				return Result{}, fmt.Errorf("%s: %w", p.Name, err)
			}
		}
		if i >= first {
			limits, ours, ratios = append(limits, took[0]), append(ours, took[1]), append(ratios, took[1]/took[0])
		}
	}
	return Result{Name: p.Name, Unit: p.Unit, Ours: median(ours), Limit: median(limits), Ratio: median(ratios), Notes: []string{"limit: " + p.Limit}}, nil
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
