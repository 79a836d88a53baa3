// Command retest runs go test, and runs each test that fails twice more, alone. A test that passes both times is printed as flaky and
// noted in a file with the date and the reason of its failure. The run goes on as if it had passed. Any other failure fails the run: a
// test that fails again, a data race in which this module has a part, or more than a few failures. So does a package that does not build or does not end by itself.
//
//	go run ./tests/retest -flaky flaky.txt -- ./...
//
// Flags of go test come first and have their values after an =, packages come last. With -times it also notes how long packages and
// tests took, and -table prints what was noted.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mostFailures bounds how many tests are run again: where more fail, chance is not what they have in common.
const mostFailures = 5

func main() {
	file := flag.String("flaky", "flaky.txt", "the file to which the names of flaky tests are appended")
	times := flag.String("times", "", "a file to which is appended how long packages and tests took")
	phase := flag.String("phase", "", "of which phase the times are")
	check := flag.Bool("check", false, "fails for an entry of -flaky that is older than a week, and runs nothing")
	subtests := flag.Bool("subtests", false, "of a test with subtests runs those again that failed, and not the whole test")
	table := flag.Duration("table", 0, "prints what the file of -times has, beside how long all took, and runs nothing")
	flag.Parse()
	err := errors.New("-table needs -times")
	switch {
	case *check:
		err = checkFlaky(*file, time.Now())
	case *table == 0:
		err = run{*file, noter(*times, *phase), *subtests, os.Stdout}.tests(flag.Args())
	case *times != "":
		err = tabulate(*times, *table, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "retest:", err)
		os.Exit(1)
	}
}

// run is how tests are run.
type run struct {
	flaky    string             // the file to which flaky tests are appended
	note     func([]took) error // is given how long packages and tests took
	subtests bool               // subtests that failed are run again, and not their whole test
	out      io.Writer
}

// tests runs go test with the arguments, and the tests that failed again. It returns why the run has failed.
func (r run) tests(args []string) error {
	flags, packages := split(args)
	report := newReport(r.out, slices.Contains(flags, "-v"))
	err := goTest(append(append([]string{"-json"}, flags...), packages...), report)
	if noteErr := r.note(report.times); err == nil {
		return noteErr
	}
	if len(report.broken) > 0 {
		return fmt.Errorf("not for a single test: %s", strings.Join(report.broken, ", "))
	}
	if len(report.failed) == 0 || len(report.failed) > mostFailures {
		return fmt.Errorf("%d tests failed: %w", len(report.failed), err)
	}
	for _, f := range report.failed {
		if err := r.again(flags, f); err != nil {
			return err
		}
	}
	return noteFlaky(r.flaky, report.failed, time.Now(), r.out)
}

// split parts the flags of go test from the packages.
func split(args []string) (flags, packages []string) {
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			return args[:i], args[i:]
		}
	}
	return args, nil
}

// goTest runs go test and hands its output to the report. The error is the command's.
func goTest(args []string, report *report) error {
	cmd := exec.Command("go", append([]string{"test"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := report.read(out)
	return errors.Join(cmd.Wait(), readErr)
}

// again runs one test twice more, alone, or only its subtests that failed.
func (r run) again(flags []string, f failure) error {
	pattern, what := "^"+regexp.QuoteMeta(f.test)+"$", f.String()
	if r.subtests && len(f.subtests) > 0 {
		names := make([]string, len(f.subtests))
		for i, name := range f.subtests {
			names[i] = regexp.QuoteMeta(name)
		}
		pattern += "/^(" + strings.Join(names, "|") + ")$"
		what += " of " + strings.Join(f.subtests, ", ")
	}
	fmt.Fprintf(r.out, "=== %s failed: it is run twice more, alone\n", what)
	args := []string{"test", "-v", "-count=2", "-run=" + pattern}
	for _, flag := range flags {
		if !strings.HasPrefix(flag, "-run=") && !strings.HasPrefix(flag, "-count=") && flag != "-v" {
			args = append(args, flag)
		}
	}
	out, err := exec.Command("go", append(args, f.pkg)...).CombinedOutput()
	if err == nil && strings.Count(string(out), "\n--- PASS: "+f.test+" ") == 2 {
		return nil
	}
	fmt.Fprintf(r.out, "%s", out)
	return fmt.Errorf("%s failed again", f.testName)
}
