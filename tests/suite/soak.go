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
func Amount[T int | time.Duration](short, long T) T {
	if *full {
		return long
	}
	return short
}

// Share is what a test that is never through may take: a part of the time that -soak gives, and a budget without it.
type Share struct {
	percent     int           // of -soak
	short, full time.Duration // in go test ./..., and under -full
}

// The shares of all tests that are never through. On a machine with two idle cores each test does
// all that it wants to do (Budget.GoesOn) well within its budget; beside a busy core some do less.
var (
	ShareHistories        = Share{15, time.Minute, 30 * time.Minute}
	ShareFolded           = Share{15, time.Minute, 10 * time.Minute}
	ShareFanouts          = Share{5, 10 * time.Second, 5 * time.Minute}
	ShareCell             = Share{1, 10 * time.Second, 10 * time.Minute} // of the matrix of faults and features, which has some 25
	ShareLinear           = Share{9, 10 * time.Second, 25 * time.Second}
	ShareDamages          = Share{5, 30 * time.Second, 10 * time.Minute}
	ShareGroups           = Share{3, 10 * time.Second, 10 * time.Second}
	ShareFeeds            = Share{2, 30 * time.Second, 5 * time.Minute}
	ShareFuzz             = Share{15, 0, 0} // runs under -soak alone
	ShareCluster          = Share{4, 15 * time.Second, 30 * time.Second}
	ShareClusterProcesses = Share{4, 15 * time.Second, 30 * time.Second}
)

// Budget is how long a test goes on.
type Budget struct {
	began time.Time
	Long  time.Duration // the share of -soak; 0 without it
	most  time.Duration // without -soak
}

// Left returns how much of the budget is left; less than 0 where it is used up.
func (s Budget) Left() time.Duration {
	if s.Long > 0 {
		return s.Long - time.Since(s.began)
	}
	return s.most - time.Since(s.began)
}

// GoesOn tells whether a test that has done n rounds does another, once at least, until its budget is used up. Without -soak it does
// no more than enough.
func (s Budget) GoesOn(n, enough int) bool {
	return n == 0 || (s.Long > 0 || n < enough) && s.Left() > 0
}

// Begin begins a test's share.
func Begin(t *testing.T, share Share) Budget {
	s := Budget{time.Now(), *Soak * time.Duration(share.percent) / 100, Amount(share.short, share.full)}
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
