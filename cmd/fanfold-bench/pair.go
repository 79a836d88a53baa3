package main

import (
	"fmt"
	"slices"
	"time"
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

// one adds the result of figures that were measured once.
func (b *bench) one(name, unit string, ours, limit float64, notes ...string) {
	b.results = append(b.results, Result{Name: name, Unit: unit, Ours: ours, Limit: limit, Ratio: ours / limit, Notes: notes})
}

var (
	roundTime  = 2 * time.Second // of requests
	idleTime   = 3 * time.Second // for which a node is left alone before it is looked at
	pairRounds = 6               // that are measured after a warm-up
)

// shorten makes rounds short and few: what they measure says little then. It is called before anything is measured.
func shorten() { roundTime, idleTime, pairRounds = 300*time.Millisecond, 300*time.Millisecond, 2 }

// pair is what is measured in turns: ours, and the limit.
type pair struct {
	name, unit  string
	limit       string // says what the limit is
	rounds      int    // pairs at most; 0 for pairRounds
	oursFirst   bool   // in each pair; else the limit is
	cold        bool   // nothing is warmed up, as each round begins with something new
	ours, plain func(round int) (float64, error)
	note        func() string // is called once all is measured; nil for none
}

// pair measures in turns, and adds the result. The ratio is the median of the pairs' ratios, because a machine's speed drifts.
func (b *bench) pair(p pair) error {
	rounds, first := pairRounds, 1
	if p.rounds > 0 {
		rounds = min(rounds, p.rounds)
	}
	if p.cold {
		first = 0
	}
	var ours, limits, ratios []float64
	for i := range rounds + first {
		var took [2]float64
		turns := []func(round int) (float64, error){p.plain, p.ours}
		for k := range turns {
			if p.oursFirst {
				k = 1 - k
			}
			var err error
			if took[k], err = turns[k](i); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		if i >= first {
			limits, ours, ratios = append(limits, took[0]), append(ours, took[1]), append(ratios, took[1]/took[0])
		}
	}
	r := Result{Name: p.name, Unit: p.unit, Ours: median(ours), Limit: median(limits), Ratio: median(ratios), Notes: []string{"limit: " + p.limit}}
	if p.note != nil {
		r.Notes = append(r.Notes, p.note())
	}
	b.results = append(b.results, r)
	return nil
}

// perSecond measures how many a second are done where fn does n of them.
func perSecond(n int, fn func(round int) error) func(round int) (float64, error) {
	return func(round int) (float64, error) {
		began := time.Now()
		err := fn(round)
		return float64(n) / time.Since(began).Seconds(), err
	}
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

// latencies has the percentiles of several rounds, in ms.
type latencies struct{ p50, p99, longest []float64 }

func (l *latencies) add(sorted []float64) {
	l.p50 = append(l.p50, percentile(sorted, 50))
	l.p99 = append(l.p99, percentile(sorted, 99))
	l.longest = append(l.longest, percentile(sorted, 100))
}
