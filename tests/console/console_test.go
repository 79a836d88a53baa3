//go:build console

// Package console_test drives the console in a browser, against real nodes. The scenarios are the files *.test.js.
package console_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// These tests need what make console installs: node with the packages of tests/console, and Chromium.

var (
	files      = flag.String("js", "*.test.js", "the files of scenarios to run, as a pattern")
	scenario   = flag.String("scenario", "", "a regular expression of the names of scenarios to run")
	consoleDir = flag.String("console-dir", "", "serve the console's files of this directory, and not those in the program")
	rewrite    = flag.Bool("rewrite", false, "write the golden files anew")
	atATime    = flag.Int("at-a-time", 4, "how many scenarios run at a time, but for those that measure")
	late       = flag.Duration("late", 1, "answers come late by a random time up to this: it finds scenarios that hang on who is first")
	pictures   = flag.Bool("pictures", false, "write the pictures of the documents anew")
	million    = flag.Bool("million", false, "measure the list of collections with 1,000,000 documents")
)

const (
	alone = "figures.test.js" // runs after all others, with the machine for itself: it measures
	plain = "json.test.js"    // needs no browser, and runs beside the others in a process of its own
)

// TestMain runs the tests.
func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// TestConsole runs the scenarios, and prints what they measured. A request or answer that openapi.json does not have fails it.
func TestConsole(t *testing.T) {
	found, err := filepath.Glob(*files)
	if err != nil || len(found) == 0 {
		t.Fatalf("no files %s: %v", *files, err)
	}
	browser, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t)
	env := append(os.Environ(), "FANFOLD_CONTROL="+h.url, "FANFOLD_BROWSER="+browser)
	if *consoleDir != "" {
		env = append(env, "FANFOLD_DIR="+*consoleDir)
	}
	if *rewrite {
		env = append(env, "FANFOLD_REWRITE=1")
	}
	if *pictures {
		env = append(env, "FANFOLD_PICTURES=1")
	}
	if *million {
		env = append(env, "FANFOLD_MILLION=1")
	}
	var apart, together, later []string
	for _, name := range found {
		switch filepath.Base(name) {
		case plain:
			apart = append(apart, name)
		case alone:
			later = append(later, name)
		default:
			together = append(together, name)
		}
	}
	var all sync.WaitGroup
	all.Go(func() { runScenarios(t, env, 1, apart) })
	runScenarios(t, env, *atATime, together)
	all.Wait()
	runScenarios(t, env, 1, later)
	h.end()
}

// runScenarios runs the scenarios of files, some at a time. Each that fails is a subtest that fails.
func runScenarios(t *testing.T, env []string, atATime int, names []string) {
	t.Helper()
	if len(names) == 0 {
		return
	}
	failed, err := play(t, env, atATime, chosen(), names)
	for _, name := range failed {
		t.Run(name, func(t *testing.T) { t.Error("the scenario failed") })
	}
	if err != nil {
		t.Errorf("scenarios failed: %v", err)
	}
}

// chosen returns the pattern of the scenarios to run: -scenario, or what -run asks for after TestConsole/. go test writes
// blanks in the names of subtests as underscores.
func chosen() string {
	if _, names, found := strings.Cut(flag.Lookup("test.run").Value.String(), "/"); found {
		return strings.ReplaceAll(names, "_", ".")
	}
	return *scenario
}

// play runs the scenarios whose names match a pattern, prints what they say, and returns the names of those that failed.
func play(t *testing.T, env []string, atATime int, pattern string, names []string) (failed []string, err error) {
	t.Helper()
	list := filepath.Join(t.TempDir(), "failed")
	args := []string{"--test-reporter=spec"}
	if pattern != "" {
		args = append(args, "--test-name-pattern="+pattern)
	}
	cmd := exec.CommandContext(t.Context(), "node", append(append(args, "lib/run.js"), names...)...)
	cmd.Env = slices.Concat(env, []string{fmt.Sprint("FANFOLD_AT_A_TIME=", atATime), "FANFOLD_FAILED=" + list})
	said, err := cmd.CombinedOutput()
	fmt.Printf("%s", said)
	if text, readErr := os.ReadFile(list); readErr == nil { // it is not there where the process broke off
		failed = strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
	}
	return failed, err
}
