package house_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/suite"
)

var (
	fuzzFunction = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	fuzzExecs    = regexp.MustCompile(`execs: (\d+)`)
)

// TestSoakFuzz runs every fuzz test of the module one after the other, under -soak only: their seeds run with the
// other tests.
func TestSoakFuzz(t *testing.T) {
	if *suite.Soak == 0 {
		t.Skip("this is for -soak; the fuzz tests' seeds run with the tests of their packages")
	}
	type target struct{ dir, name string }
	var targets []target
	for _, f := range house(t) {
		if strings.HasSuffix(f.path, "_test.go") {
			for _, m := range fuzzFunction.FindAllStringSubmatch(f.text, -1) {
				targets = append(targets, target{filepath.Join("../..", f.dir()), m[1]})
			}
		}
	}
	if len(targets) == 0 {
		t.Fatal("there are no fuzz tests")
	}
	budget := suite.Begin(t, suite.ShareFuzz)
	for i, f := range targets {
		long := max(time.Second, budget.Left()/time.Duration(len(targets)-i))
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
				suite.Done(n, "inputs to "+f.name)
			}
		}
	}
}
