package suite

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"
)

// Soak is the long form of the tests that are never through: with it each of them goes on until its share of the time
// is used.
var Soak = flag.Duration("soak", 0, "how long random histories, crashes, kills, linearizability and fuzzing go on together; 0 for their short forms")

// soakBegan is when the tests began.
var soakBegan = time.Now()

// full has tests that could go on for ever do more than go test ./... does: see Amount and make full.
var full = flag.Bool("full", false, "more of what could go on for ever: random histories, kills, losses of power, damages, faults of clusters")

// Amount returns how much of something a test does: the long amount under -full, and the short one otherwise, so that
// go test ./... ends in some minutes.
func Amount[T int | time.Duration | string](short, long T) T {
	if *full {
		return long
	}
	return short
}

// The shares of the time that -soak gives, in percent.
const (
	ShareHistories        = 30
	ShareFanouts          = 5
	ShareCrashes          = 10
	ShareKills            = 10
	SharePower            = 5
	ShareLinear           = 9
	ShareDamages          = 5
	ShareGroups           = 3
	ShareFuzz             = 15
	ShareCluster          = 4
	ShareClusterProcesses = 4
)

// Budget is a test's part of what -soak gives.
type Budget struct {
	began time.Time
	Long  time.Duration // 0 without -soak
}

// Left returns how much of the share is left; less than 0 where it is used up.
func (s Budget) Left() time.Duration { return s.Long - time.Since(s.began) }

// GoesOn tells whether a test that has done n rounds does another: without -soak where it has not done enough of them,
// with it until its share is used up, and once at least.
func (s Budget) GoesOn(n, enough int) bool {
	if s.Long == 0 {
		return n < enough
	}
	return n == 0 || s.Left() > 0
}

// Begin begins a test's share, in percent.
func Begin(t *testing.T, percent int) Budget {
	s := Budget{time.Now(), *Soak * time.Duration(percent) / 100}
	if *Soak > 0 {
		fmt.Printf("%s goes on for %v\n", t.Name(), s.Long.Round(time.Second))
	}
	return s
}

// soaked is what was done under -soak.
var soaked struct {
	mu    sync.Mutex
	order []string
	count map[string]int64
}

// Done counts n more of what was done.
func Done(n int64, what string) {
	soaked.mu.Lock()
	defer soaked.mu.Unlock()
	if soaked.count == nil {
		soaked.count = map[string]int64{}
	}
	if _, known := soaked.count[what]; !known {
		soaked.order = append(soaked.order, what)
	}
	soaked.count[what] += n
}

// printSoaked prints what was done.
func printSoaked() {
	soaked.mu.Lock()
	defer soaked.mu.Unlock()
	fmt.Printf("in %v:\n", time.Since(soakBegan).Round(time.Second))
	for _, what := range soaked.order {
		fmt.Printf("%12d %s\n", soaked.count[what], what)
	}
}
