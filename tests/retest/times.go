package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// How many packages and tests the table has.
const (
	mostPackages = 15
	mostTests    = 30
)

// took is how long something took: a phase, a package of a phase, or a test of a package.
type took struct {
	phase, pkg, test string
	time             time.Duration
}

// noter returns what appends times to a file, with the phase; without a file it notes nothing.
func noter(file, phase string) func([]took) error {
	return func(all []took) error {
		if file == "" {
			return nil
		}
		for i := range all {
			all[i].phase = phase
		}
		return writeTimes(file, all)
	}
}

// tabulate prints the table of what a file has.
func tabulate(file string, total time.Duration, out io.Writer) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	all, err := readTimes(in)
	if err == nil {
		printTimes(out, all, total)
	}
	return err
}

// writeTimes appends what took how long to a file, one a line. Tabs part the phase, the package, the test and the seconds.
func writeTimes(file string, all []took) (err error) {
	w, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, t := range all {
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\n", t.phase, t.pkg, t.test, t.time.Seconds()); err != nil {
			return err
		}
	}
	return nil
}

// readTimes reads what writeTimes wrote. A line with neither package nor test is a phase.
func readTimes(in io.Reader) (all []took, err error) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 4 {
			return nil, fmt.Errorf("%q has %d fields, not 4", lines.Text(), len(fields))
		}
		d, err := time.ParseDuration(fields[3] + "s")
		if err != nil {
			return nil, err
		}
		all = append(all, took{fields[0], fields[1], fields[2], d})
	}
	return all, nil
}

// printTimes prints a table: the phases and what lies outside them, the slowest packages, and the slowest tests. A test that runs
// beside others takes longer than alone.
func printTimes(out io.Writer, all []took, total time.Duration) {
	outside := total
	var packages, tests []took
	for _, t := range all {
		switch {
		case t.test != "":
			tests = append(tests, t)
		case t.pkg != "":
			packages = append(packages, t)
		default:
			outside -= t.time
			printTook(out, t, t.phase)
		}
	}
	printTook(out, took{time: outside}, "outside the phases")
	printTook(out, took{time: total}, "in all")
	fmt.Fprintf(out, "the %d slowest packages:\n", mostPackages)
	for _, t := range slowest(packages, mostPackages) {
		printTook(out, t, t.phase+" "+t.pkg)
	}
	fmt.Fprintf(out, "the %d slowest tests:\n", mostTests)
	for _, t := range slowest(tests, mostTests) {
		printTook(out, t, t.phase+" "+t.pkg+" "+t.test)
	}
}

func printTook(out io.Writer, t took, what string) {
	fmt.Fprintf(out, "%7.0f s  %s\n", t.time.Seconds(), what)
}

// slowest returns the n that took longest.
func slowest(all []took, n int) []took {
	slices.SortStableFunc(all, func(a, b took) int { return cmp.Compare(b.time, a.time) })
	return all[:min(n, len(all))]
}
