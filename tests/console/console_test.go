//go:build console

// Package console_test drives the console in a browser, against real nodes. The scenarios are the files *.test.js.
package console_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/tests/harness"
)

// These tests need what make console installs: node with the packages of tests/console, and Chromium.

var (
	files      = flag.String("js", "*.test.js", "the files of scenarios to run, as a pattern")
	scenario   = flag.String("scenario", "", "a regular expression of the names of scenarios to run")
	consoleDir = flag.String("console-dir", "", "serve the console's files of this directory, and not those in the program")
	rewrite    = flag.Bool("rewrite", false, "write the golden files anew")
	again      = flag.Bool("again", false, "run files that fail once more, alone, and only print the names of those that pass then: for machines that others use")
	late       = flag.Duration("late", 1, "answers come late by a random time up to this: it finds scenarios that hang on who is first")
	million    = flag.Bool("million", false, "measure the list of collections with 1,000,000 documents")
)

// alone lists the files that run after all others, with the machine for themselves: they measure.
const alone = "figures.test.js"

// TestMain runs the tests.
func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// TestConsole runs the scenarios, and prints what they measured. A request or answer that openapi.json does not have fails it.
func TestConsole(t *testing.T) {
	found, err := filepath.Glob(*files)
	if err != nil || len(found) == 0 {
		t.Fatalf("no files %s: %v", *files, err)
	}
	h := newHouse(t)
	env := append(os.Environ(), "FANFOLD_CONTROL="+h.url, "FANFOLD_BROWSER="+startBrowser(t))
	if *consoleDir != "" {
		env = append(env, "FANFOLD_DIR="+*consoleDir)
	}
	if *rewrite {
		env = append(env, "FANFOLD_REWRITE=1")
	}
	if *million {
		env = append(env, "FANFOLD_MILLION=1")
	}
	var together, later []string
	for _, name := range found {
		if filepath.Base(name) == alone {
			later = append(later, name)
		} else {
			together = append(together, name)
		}
	}
	runScenarios(t, env, 2, together)
	runScenarios(t, env, 1, later)
	h.end()
}

// runScenarios runs files of scenarios, some at a time.
func runScenarios(t *testing.T, env []string, atATime int, names []string) {
	t.Helper()
	var all errgroup.Group
	all.SetLimit(atATime)
	failed := make([]error, len(names))
	for i, name := range names {
		all.Go(func() error {
			failed[i] = runFile(t, env, name)
			return nil
		})
	}
	_ = all.Wait() // each has its error
	for i, name := range names {
		if failed[i] != nil && *again {
			if failed[i] = runFile(t, env, name); failed[i] == nil {
				t.Logf("FLAKY: %s failed, and passed alone", name)
			}
		}
		if failed[i] != nil {
			t.Errorf("scenarios of %s failed: %v", name, failed[i])
		}
	}
}

// runFile runs the scenarios of a file, and prints what they say.
func runFile(t *testing.T, env []string, name string) error {
	t.Helper()
	args := []string{"--test", "--test-reporter=spec"}
	if *scenario != "" {
		args = append(args, "--test-name-pattern="+*scenario)
	}
	cmd := exec.CommandContext(t.Context(), "node", append(args, name)...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	fmt.Printf("%s\n%s", name, out)
	return err
}

// startBrowser starts the browser that all scenarios share, until the test ends, and returns where it is driven.
func startBrowser(t *testing.T) (endpoint string) {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "lib/browser.js", path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // the browser ends with it
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	return strings.TrimSpace(line)
}
