package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/fanfold/fanfold/tests/suite" // for -full and -soak
)

// TestRun runs modules whose tests pass, fail once, fail always, race, panic, and do not build.
func TestRun(t *testing.T) {
	const once = `if _, err := os.Stat("seen"); err != nil { os.WriteFile("seen", nil, 0o644); t.Fatal("for the first time") }`
	for name, c := range map[string]struct {
		test  string
		wants string // of the error, "" for none
		flaky string // what the file has in the end
		timed bool   // the test has ended by itself
	}{
		"passes":      {test: `_ = os.Args`, timed: true},
		"fails once":  {test: once, timed: true, flaky: time.Now().Format(time.DateOnly) + " TestIt (example.org/m): m_test.go:8: for the first time\n"},
		"fails again": {test: `_ = os.Args; t.Run("sub", func(t *testing.T) { t.Error("always") })`, timed: true, wants: "TestIt (example.org/m) failed again"},
		"panics":      {test: `_ = os.Args; panic("no")`, timed: true, wants: "example.org/m panicked"},
		"exits":       {test: `os.Exit(3)`, wants: "not for a single test"},
		"no build":    {test: `os.Nothing()`, wants: "does not build"},
		"race":        {test: `os.Stdout.WriteString("WARNING: DATA RACE\n"); t.Error("always")`, timed: true, wants: "data race"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "go.mod", "module example.org/m\n\ngo 1.26\n")
			write(t, dir, "m_test.go", "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestIt(t *testing.T) { "+c.test+" }\n\nfunc TestOther(t *testing.T) {}\n")
			t.Chdir(dir)
			err := run{"flaky.txt", noter("times", "test"), false, io.Discard}.tests([]string{"-timeout=1m", "./..."})
			if (err == nil) != (c.wants == "") || err != nil && !strings.Contains(err.Error(), c.wants) {
				t.Errorf("the run gives %v, want %q", err, c.wants)
			}
			times, _ := os.ReadFile("times")
			if timed := strings.Contains(string(times), "test\texample.org/m\tTestIt\t"); timed != c.timed {
				t.Errorf("the times are %q", times)
			}
			if noted, _ := os.ReadFile("flaky.txt"); string(noted) != c.flaky {
				t.Errorf("noted is %q, want %q", noted, c.flaky)
			}
		})
	}
}

// TestRaces reads reports of data races. Only one that others' goroutines have among themselves is left to a second run.
func TestRaces(t *testing.T) {
	const theirs, ours = "  github.com/nats-io/nats-server/v2/server.(*stream).loop()\n      stream.go:1 +0x1\n", "  github.com/fanfold/fanfold/events.(*Log).Append()\n      log.go:1 +0x1\n"
	report := func(write, read, created string) string {
		return "==================\nWARNING: DATA RACE\nWrite at 0x01 by goroutine 1:\n" + write + "\nPrevious read at 0x01 by goroutine 2:\n" + read + "\nGoroutine 1 (running) created at:\n" + created
	}
	const end = "==================\n"
	for text, breaks := range map[string]bool{
		report(theirs, theirs, ours) + end:                                    false,
		report(theirs+ours, theirs, theirs) + end:                             true,
		report(theirs, theirs+ours, theirs) + end:                             true,
		report(theirs, theirs, theirs):                                        true, // it broke off
		report(theirs, theirs, theirs) + end + report(ours, theirs, "") + end: true,
		"WARNING: DATA RACE\n" + end:                                          true,
	} {
		r := newReport(io.Discard, false)
		for line := range strings.Lines(text) {
			r.add(event{Action: "output", Package: "m", Test: "TestIt", Output: line})
		}
		r.add(event{Action: "fail", Package: "m", Test: "TestIt"})
		r.add(event{Action: "fail", Package: "m"})
		if (len(r.broken) > 0) != breaks {
			t.Errorf("%v for\n%s", r.broken, text)
		}
	}
}

// TestManyFailures runs more tests that fail than are run again.
func TestManyFailures(t *testing.T) {
	dir := t.TempDir()
	src := "package m\n\nimport \"testing\"\n"
	for i := range mostFailures + 1 {
		src += "\nfunc Test" + string(rune('A'+i)) + "(t *testing.T) { t.Fail() }\n"
	}
	write(t, dir, "go.mod", "module example.org/m\n\ngo 1.26\n")
	write(t, dir, "m_test.go", src)
	t.Chdir(dir)
	if err := (run{"flaky.txt", noter("", ""), false, io.Discard}).tests([]string{"./..."}); err == nil || !strings.Contains(err.Error(), "6 tests failed") {
		t.Errorf("the run gives %v", err)
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTimesTable prints phases, what lies outside them, and the slowest packages and tests first.
func TestTimesTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times")
	if err := writeTimes(file, []took{{"lint", "", "", 3e9}, {"test", "m", "TestA", 5e9}, {"test", "m", "TestB", 7e9}, {"test", "m", "", 9e9}, {"test", "", "", 10e9}}); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := tabulate(file, 20e9, &out); err != nil {
		t.Fatal(err)
	}
	want := "      3 s  lint\n     10 s  test\n      7 s  outside the phases\n     20 s  in all\n" +
		"the 15 slowest packages:\n      9 s  test m\nthe 30 slowest tests:\n      7 s  test m TestB\n      5 s  test m TestA\n"
	if out.String() != want {
		t.Errorf("the table is\n%swant\n%s", out.String(), want)
	}
	if err := os.WriteFile(file, []byte("lint\t3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tabulate(file, 20e9, io.Discard); err == nil {
		t.Error("a line without four fields is taken")
	}
}

// TestSubtests runs a test again, one subtest fails once. With -subtests the other one is not run again.
func TestSubtests(t *testing.T) {
	for _, subtests := range []bool{false, true} {
		dir := t.TempDir()
		write(t, dir, "go.mod", "module example.org/m\n\ngo 1.26\n")
		write(t, dir, "m_test.go", `package m

import (
	"os"
	"testing"
)

func TestIt(t *testing.T) {
	t.Run("a b", func(t *testing.T) {
		if _, err := os.Stat("seen"); err != nil { os.WriteFile("seen", nil, 0o644); t.Fatal("once") }
	})
	t.Run("c", func(*testing.T) {
		f, _ := os.OpenFile("ran", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		f.WriteString("c"); f.Close()
	})
}
`)
		t.Chdir(dir)
		if err := (run{"flaky.txt", noter("", ""), subtests, io.Discard}).tests([]string{"./..."}); err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{false: "ccc", true: "c"}[subtests]
		if ran, _ := os.ReadFile("ran"); string(ran) != want {
			t.Errorf("with -subtests %v the other one ran as %q, want %q", subtests, ran, want)
		}
	}
}

// TestOldEntries: an entry may stand for seven days.
func TestOldEntries(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flaky.txt")
	today := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for text, wants := range map[string]string{
		"# a comment\n":              "",
		"2026-11-22 TestIt (m): x\n": "",
		"2026-11-20 TestIt (m): x\n": "mend this test and remove its line: 2026-11-20 TestIt (m): x",
		"TestIt (m): x\n":            "has no date",
	} {
		write(t, filepath.Dir(file), "flaky.txt", text)
		if err := checkFlaky(file, today); (err == nil) != (wants == "") || err != nil && !strings.Contains(err.Error(), wants) {
			t.Errorf("%q gives %v, want %q", text, err, wants)
		}
	}
}
