package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// testName names a test.
type testName struct{ pkg, test string }

// String returns the test's name and its package.
func (n testName) String() string { return n.test + " (" + n.pkg + ")" }

// failure is a test that failed.
type failure struct {
	testName
	said     string   // the first line that tells why
	subtests []string // that failed, of the first level, as go test names them
}

// report collects what go test -json tells. It prints a line a package, and what failed tests have printed.
type report struct {
	out      io.Writer
	verbose  bool // it prints what any test prints
	failed   []failure
	broken   []string              // packages that failed otherwise than by a test
	printed  map[testName][]string // by tests that have not ended
	subtests map[testName][]string // that failed, of tests that have not ended
	races    map[string][]string   // the lines of a report of a data race that has not ended, by package
	times    []took                // of packages and tests, without their phase
}

func newReport(out io.Writer, verbose bool) *report {
	return &report{out: out, verbose: verbose, printed: map[testName][]string{}, subtests: map[testName][]string{}, races: map[string][]string{}}
}

// event is one line of go test -json (go doc test2json).
type event struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
	Elapsed                                                float64 // seconds
}

// read reads the events to their end.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(r.out, lines.Text()) // go says something itself
			continue
		}
		r.add(e)
	}
	return lines.Err()
}

// add adds one event.
func (r *report) add(e event) {
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		r.output(e)
	case "pass", "fail", "skip":
		r.end(e)
	}
}

// output adds what a test or a package has printed.
func (r *report) output(e event) {
	top, _, _ := strings.Cut(e.Test, "/")
	if e.Test == "" || r.verbose {
		fmt.Fprint(r.out, e.Output)
	}
	if e.Test != "" {
		n := testName{e.Package, top}
		r.printed[n] = append(r.printed[n], e.Output)
	}
	r.inspect(e.Package, e.Output)
}

// end adds the end of a test or a package.
func (r *report) end(e event) {
	top, sub, _ := strings.Cut(e.Test, "/")
	n := testName{e.Package, top}
	switch {
	case e.Action == "fail" && e.FailedBuild != "":
		r.breaks(e.Package + " does not build")
	case sub != "":
		if e.Action == "fail" && !strings.Contains(sub, "/") {
			r.subtests[n] = append(r.subtests[n], sub)
		}
		return
	case e.Action == "fail" && top == "":
		if _, racing := r.races[e.Package]; racing { // it broke off
			r.breaks(e.Package + " has a data race")
		}
		if !slices.ContainsFunc(r.failed, func(f failure) bool { return f.pkg == e.Package }) {
			r.breaks(e.Package + " failed without a test")
		}
		r.printRest(e.Package)
	case e.Action == "fail":
		r.failed = append(r.failed, failure{n, firstReason(r.printed[n]), r.subtests[n]})
		for _, line := range r.printed[n] {
			if !r.verbose {
				fmt.Fprint(r.out, line)
			}
		}
	}
	delete(r.printed, n)
	if e.Action != "skip" {
		r.times = append(r.times, took{pkg: e.Package, test: top, time: time.Duration(e.Elapsed * float64(time.Second))})
	}
}

// printRest prints what a package's tests have printed that did not end: one of them says why the package broke off.
func (r *report) printRest(pkg string) {
	for n, lines := range r.printed {
		if n.pkg == pkg && !r.verbose {
			fmt.Fprint(r.out, strings.Join(lines, ""))
		}
	}
}

var (
	reason = regexp.MustCompile(`^\s+\w+\.go:\d+: `) // as the testing package prints errors
	marker = regexp.MustCompile(`^\s*(===|---) `)
)

// firstReason returns the first line that tells why a test has failed: an error of the test, or else the first line that it printed.
func firstReason(lines []string) string {
	for _, line := range lines {
		if reason.MatchString(line) {
			return strings.TrimSpace(line)
		}
	}
	for _, line := range lines {
		if text := strings.TrimSpace(line); text != "" && !marker.MatchString(line) {
			return text
		}
	}
	return "it printed nothing"
}

// inspect looks for what no second run can excuse: a data race that this module has a part in, and a package whose tests did not all run.
func (r *report) inspect(pkg, output string) {
	race, racing := r.races[pkg]
	switch {
	case strings.HasPrefix(output, "WARNING: DATA RACE"):
		r.races[pkg] = []string{}
	case racing && strings.HasPrefix(output, "=========="): // its end
		delete(r.races, pkg)
		if !isOfOthers(race) {
			r.breaks(pkg + " has a data race")
		}
	case racing:
		r.races[pkg] = append(race, output)
	case strings.HasPrefix(output, "panic: "), strings.HasPrefix(output, "fatal error: "):
		r.breaks(pkg + " panicked, or did not end in time")
	}
}

var (
	accessRE = regexp.MustCompile(`^(Previous )?([Rr]ead|[Ww]rite|atomic [a-z]+|Atomic [a-z]+) (at|by) `) // begins the stack of one of the two accesses
	ownRE    = regexp.MustCompile(`^  (github\.com/fanfold/|main[._])`)                                   // a function of this module
)

// isOfOthers tells whether a data race is of two accesses that others' goroutines made by themselves: no function of this module is on their stacks. Nobody
// here can mend it.
func isOfOthers(race []string) bool {
	accesses, within := 0, false
	for _, line := range race {
		switch {
		case accessRE.MatchString(line):
			accesses, within = accesses+1, true
		case strings.TrimSpace(line) == "":
			within = false
		case within && ownRE.MatchString(line):
			return false
		}
	}
	return accesses == 2
}

// breaks notes why a package has failed, once.
func (r *report) breaks(why string) {
	if !slices.Contains(r.broken, why) {
		r.broken = append(r.broken, why)
	}
}
