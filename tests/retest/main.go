// Command retest runs go test, and runs each test that fails twice more, alone. A test that passes both times is printed as
// flaky and noted in a file, and the run goes on as if it had passed. Anything else that fails fails the run: a test that
// fails again, a data race, a package that does not build or does not end by itself, and more than a few failures.
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
	"strings"
)

// mostFailures bounds how many tests are run again: where more fail, chance is not what they have in common.
const mostFailures = 5

func main() {
	file := flag.String("flaky", "flaky.txt", "the file to which the names of flaky tests are appended")
	times := flag.String("times", "", "a file to which is appended how long packages and tests took")
	phase := flag.String("phase", "", "of which phase the times are")
	table := flag.Duration("table", 0, "prints what the file of -times has, beside how long all took, and runs nothing")
	flag.Parse()
	err := errors.New("-table needs -times")
	switch {
	case *table == 0:
		err = run(flag.Args(), *file, noter(*times, *phase), os.Stdout)
	case *times != "":
		err = tabulate(*times, *table, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "retest:", err)
		os.Exit(1)
	}
}

// run runs go test with the arguments, and the tests that failed again. It notes the times and prints to out. It returns why the
// run has failed.
func run(args []string, file string, note func([]took) error, out io.Writer) error {
	flags, packages := split(args)
	report := newReport(out)
	err := goTest(append(append([]string{"-json"}, flags...), packages...), report)
	if noteErr := note(report.times); err == nil {
		return noteErr
	}
	if len(report.broken) > 0 {
		return fmt.Errorf("not for a single test: %s", strings.Join(report.broken, ", "))
	}
	if len(report.failed) == 0 || len(report.failed) > mostFailures {
		return fmt.Errorf("%d tests failed: %w", len(report.failed), err)
	}
	for _, f := range report.failed {
		if err := again(flags, f, out); err != nil {
			return err
		}
	}
	return noteFlaky(file, report.failed, out)
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

// goTest runs go test and hands its output to the report. The error is that of the command.
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

// again runs one test twice more, alone.
func again(flags []string, f failure, to io.Writer) error {
	fmt.Fprintf(to, "=== %s failed: it is run twice more, alone\n", f)
	args := []string{"test", "-v", "-count=2", "-run=^" + regexp.QuoteMeta(f.test) + "$"}
	for _, flag := range flags {
		if !strings.HasPrefix(flag, "-run=") && !strings.HasPrefix(flag, "-count=") {
			args = append(args, flag)
		}
	}
	out, err := exec.Command("go", append(args, f.pkg)...).CombinedOutput()
	if err == nil && strings.Count(string(out), "\n--- PASS: "+f.test+" ") == 2 {
		return nil
	}
	fmt.Fprintf(to, "%s", out)
	return fmt.Errorf("%s failed again", f)
}

// noteFlaky prints the tests that passed when they were run again, and appends them to a file.
func noteFlaky(file string, flaky []failure, out io.Writer) (err error) {
	w, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, f := range flaky {
		fmt.Fprintln(out, "flaky:", f)
		if _, err := fmt.Fprintln(w, f); err != nil {
			return err
		}
	}
	return nil
}
