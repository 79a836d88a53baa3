package house_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
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
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
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
