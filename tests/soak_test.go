package tests

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// soak is the long form of the tests that are never through: with it each of them goes on until its share of the time
// is used.
var soak = flag.Duration("soak", 0, "how long random histories, crashes, kills, linearizability and fuzzing go on together; 0 for their short forms")

// full has tests that could go on for ever do more than go test ./... does: see amount and make full.
var full = flag.Bool("full", false, "more of what could go on for ever: random histories, kills, losses of power, damages, faults of clusters")

// amount returns how much of something a test does: the long amount under -full, and the short one otherwise, so that
// go test ./... ends in some minutes.
func amount[T int | time.Duration](short, long T) T {
	if *full {
		return long
	}
	return short
}

// The shares of the time that -soak gives, in percent. Fuzzing comes last and has what is left.
const (
	shareHistories = 30
	shareFanouts   = 5
	shareCrashes   = 10
	shareKills     = 10
	sharePower     = 5
	shareLinear    = 9
	shareDamages   = 5
	shareGroups    = 3

	shareCluster          = 4
	shareClusterProcesses = 4
)

// soakBegan is when the tests began.
var soakBegan = time.Now()

// share is a test's part of what -soak gives.
type share struct {
	began time.Time
	long  time.Duration // 0 without -soak
}

// begin begins a test's share, in percent.
func begin(t *testing.T, percent int) share {
	s := share{time.Now(), *soak * time.Duration(percent) / 100}
	if *soak > 0 {
		fmt.Printf("%s goes on for %v\n", t.Name(), s.long.Round(time.Second))
	}
	return s
}

// left returns how much of the share is left; less than 0 where it is used up.
func (s share) left() time.Duration { return s.long - time.Since(s.began) }

// goesOn tells whether a test that has done n rounds does another: without -soak where it has not done enough of them,
// with it until its share is used up, and once at least.
func (s share) goesOn(n, enough int) bool {
	if s.long == 0 {
		return n < enough
	}
	return n == 0 || s.left() > 0
}

// parallel lets a test run beside others. Under -soak each has the machine for itself while its share lasts.
func parallel(t *testing.T) {
	t.Helper()
	if *soak == 0 {
		t.Parallel()
	}
}

// soaked is what was done under -soak.
var soaked struct {
	mu    sync.Mutex
	order []string
	count map[string]int64
}

// done counts n more of what was done.
func done(n int64, what string) {
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

var (
	fuzzFunction = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	fuzzExecs    = regexp.MustCompile(`execs: (\d+)`)
)

// TestSoakFuzz runs every fuzz test of the module one after the other, under -soak only: their seeds run with the
// other tests.
func TestSoakFuzz(t *testing.T) {
	if *soak == 0 {
		t.Skip("this is for -soak; the fuzz tests' seeds run with the tests of their packages")
	}
	type target struct{ dir, name string }
	var targets []target
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range fuzzFunction.FindAllSubmatch(text, -1) {
			targets = append(targets, target{filepath.Dir(path), string(m[1])})
		}
		return err
	})
	if err != nil || len(targets) == 0 {
		t.Fatalf("%d fuzz tests, %v", len(targets), err)
	}
	fmt.Printf("%s goes on for %v\n", t.Name(), (*soak - time.Since(soakBegan)).Round(time.Second))
	for i, f := range targets {
		long := max(time.Second, (*soak-time.Since(soakBegan))/time.Duration(len(targets)-i))
		ctx, cancel := context.WithTimeout(t.Context(), long+10*time.Minute) // it builds the package first
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+f.name+"$", "-fuzztime", long.String(), "-fuzzminimizetime", "1s", ".")
		cmd.Dir = f.dir
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil {
			t.Errorf("%s in %s: %v\n%s", f.name, f.dir, err, out)
		}
		if all := fuzzExecs.FindAllSubmatch(out, -1); len(all) > 0 {
			var n int64
			if _, err := fmt.Sscan(string(all[len(all)-1][1]), &n); err == nil {
				done(n, "inputs to "+f.name)
			}
		}
	}
}
