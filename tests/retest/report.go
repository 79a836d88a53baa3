package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// failure names a test that failed.
type failure struct{ pkg, test string }

// String returns the test's name and its package.
func (f failure) String() string { return f.test + " (" + f.pkg + ")" }

// report collects what go test -json tells. It prints a line a package, and what failed tests have printed.
type report struct {
	out     io.Writer
	failed  []failure
	broken  []string             // packages that failed otherwise than by a test
	printed map[failure][]string // by tests that have not ended
	times   []took               // of packages and tests, without their phase
}

func newReport(out io.Writer) *report {
	return &report{out: out, printed: map[failure][]string{}}
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
	top, _, _ := strings.Cut(e.Test, "/")
	f := failure{e.Package, top}
	if (e.Action == "pass" || e.Action == "fail") && e.Test == top {
		r.times = append(r.times, took{pkg: e.Package, test: top, time: time.Duration(e.Elapsed * float64(time.Second))})
	}
	switch {
	case e.Action == "build-output":
		fmt.Fprint(r.out, e.Output)
	case e.Action == "output" && e.Test == "":
		fmt.Fprint(r.out, e.Output)
		r.inspect(e.Package, e.Output)
	case e.Action == "output":
		r.printed[f] = append(r.printed[f], e.Output)
		r.inspect(e.Package, e.Output)
	case e.Action == "fail" && e.FailedBuild != "":
		r.breaks(e.Package + " does not build")
	case e.Action == "fail" && e.Test == "":
		if !slices.ContainsFunc(r.failed, func(f failure) bool { return f.pkg == e.Package }) {
			r.breaks(e.Package + " failed without a test")
		}
	case e.Action == "fail" && e.Test == top:
		r.failed = append(r.failed, f)
		for _, line := range r.printed[f] {
			fmt.Fprint(r.out, line)
		}
		delete(r.printed, f)
	case (e.Action == "pass" || e.Action == "skip") && e.Test == top:
		delete(r.printed, f)
	}
}

// inspect looks for what no second run can excuse: a data race, and a package whose tests did not all run.
func (r *report) inspect(pkg, output string) {
	switch {
	case strings.HasPrefix(output, "WARNING: DATA RACE"):
		r.breaks(pkg + " has a data race")
	case strings.HasPrefix(output, "panic: "), strings.HasPrefix(output, "fatal error: "):
		r.breaks(pkg + " panicked, or did not end in time")
	}
}

// breaks notes why a package has failed, once.
func (r *report) breaks(why string) {
	if !slices.Contains(r.broken, why) {
		r.broken = append(r.broken, why)
	}
}
