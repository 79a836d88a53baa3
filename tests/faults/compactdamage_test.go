package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// compactedDir returns the directory of a store that was compacted in its middle and then closed, what it exports, its horizon and its last event. Only the
// documents named early were not written after the horizon.
func compactedDir(t *testing.T) (dir, export string, horizon, last uint64) {
	t.Helper()
	dir = t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir, Configure: quickPurge})
	s.Model(damageModel)
	s.Put("authors", "early", `{"name":"E"}`)
	s.Put("books", "early", `{"author":"early"}`)
	for i := range 30 {
		s.Put("authors", fmt.Sprint(i%3), fmt.Sprintf(`{"name":"Author %d"}`, i))
	}
	s.CatchUp()
	horizon = s.Node.Store.Applied.Seq()
	s.Compact(horizon)
	awaitPurged(t, s)
	for i := range 20 {
		s.Put("books", fmt.Sprint(i), fmt.Sprintf(`{"author":"%d"}`, i%3))
	}
	s.CatchUp()
	export, last = harness.Body(s, "/v1/_export"), s.Node.Store.Applied.Seq()
	s.Close()
	return dir, export, horizon, last
}

// flipAt changes a byte of a file, at a part of its length.
func flipAt(t *testing.T, path string, part float64) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	b[int(part*float64(len(b)))] ^= 1
	must(t, os.WriteFile(path, b, 0o644))
}

// blocksOf returns the files of a data directory's base, or of its log.
func blocksOf(t *testing.T, dir string, base bool) []string {
	t.Helper()
	files := slices.DeleteFunc(logBlocks(t, dir), func(path string) bool { return strings.Contains(path, "OBJ_fanfold_fanfold_base") != base })
	if len(files) == 0 {
		t.Fatal("there are no such files")
	}
	return files
}

// TestDamagedBaseIsTold: verify --log names a base that is missing, and one with a flipped bit. A node whose read model is whole serves it.
func TestDamagedBaseIsTold(t *testing.T) {
	suite.Parallel(t)
	image, export, horizon, _ := compactedDir(t)
	for what, damage := range map[string]func(dir string){
		"missing": func(dir string) { must(t, os.RemoveAll(filepath.Dir(filepath.Dir(blocksOf(t, dir, true)[0])))) },
		"flipped": func(dir string) { flipAt(t, blocksOf(t, dir, true)[0], 0.5) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			copyTree(t, image, dir)
			damage(dir)
			out, err := harness.RunProgram(t, "verify", "--log", "--data", dir)
			if harness.ExitCode(err) != 3 || !strings.Contains(out, "base") || !strings.Contains(out, fmt.Sprint(horizon)) {
				t.Errorf("verify --log: exit code %d, %s", harness.ExitCode(err), out)
			}
			requireRescued(t, dir, export)
		})
	}
}

// requireRescued requires that a rescue of a directory writes what was exported, and returns what it says.
func requireRescued(t *testing.T, dir, export string) string {
	t.Helper()
	rescued, out := rescueOf(t, dir)
	if rescued != export {
		t.Errorf("the rescue wrote\n%s\nwant\n%s\nand says %s", rescued, export, out)
	}
	return out
}

// rescueOf returns what a rescue of a directory writes, "" for nothing, and says.
func rescueOf(t *testing.T, dir string) (rescued, out string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rescued.ndjson")
	out, err := harness.RunProgram(t, "log", "rescue", "--data", dir, "--out", file)
	b, rerr := os.ReadFile(file)
	if (err == nil) != (rerr == nil) {
		t.Errorf("the rescue says %s, %v, and its file is there: %v", out, err, rerr)
	}
	return string(b), out
}

// TestRescueOfCompactedLog: a rescue of a log that begins later takes every document out, also with a damaged log or without its base, while the read model is there.
// Without that it begins with the base and goes on to the damage. If the base is missing, too, it writes no documents and says why.
func TestRescueOfCompactedLog(t *testing.T) {
	suite.Parallel(t)
	image, export, horizon, last := compactedDir(t)
	copied := func(model bool) string {
		dir := t.TempDir()
		copyTree(t, image, dir)
		if !model {
			must(t, os.RemoveAll(filepath.Join(dir, "readmodel")))
		}
		return dir
	}
	removeBase := func(dir string) string {
		must(t, os.RemoveAll(filepath.Dir(filepath.Dir(blocksOf(t, dir, true)[0]))))
		return dir
	}
	damageLog := func(dir string) string {
		files := blocksOf(t, dir, false)
		flipAt(t, files[len(files)-1], 0.9)
		return dir
	}
	for _, model := range []bool{true, false} {
		if out := requireRescued(t, copied(model), export); !strings.Contains(out, fmt.Sprintf("every document as of event %d", last)) {
			t.Errorf("whole, read model %v: %s", model, out)
		}
	}
	if out := requireRescued(t, damageLog(copied(true)), export); !strings.Contains(out, "missing or unreadable") {
		t.Errorf("damaged: %s", out)
	}
	rescued, out := rescueOf(t, damageLog(copied(false)))
	if !strings.Contains(rescued, `"id":"early"`) || !strings.Contains(rescued, `"id":"0"`) || rescued == export || !strings.Contains(out, "dropped: what events") {
		t.Errorf("damaged, and without a read model: %s\n%s", out, rescued)
	}
	if out := requireRescued(t, removeBase(copied(true)), export); !strings.Contains(out, "base") {
		t.Errorf("without a base: %s", out)
	}
	rescued, out = rescueOf(t, removeBase(copied(false)))
	if strings.Contains(rescued, `"collection":"books"`) || !strings.Contains(out, "base") || !strings.Contains(out, fmt.Sprint(horizon)) {
		t.Errorf("without a base and a read model: %s\n%s", out, rescued)
	}
}

// TestOldReadModelComesBack: a node on a log that begins later takes an old read model, of before the compaction or the log's beginning, to where the log is. A
// witness from before the horizon does no harm.
func TestOldReadModelComesBack(t *testing.T) {
	suite.Parallel(t)
	dir, early := t.TempDir(), t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir, Configure: quickPurge})
	s.Model(damageModel)
	text := strings.Repeat("x", 130<<10)
	write := func(from, to int) {
		for i := from; i < to; i++ {
			s.Put("authors", fmt.Sprint(i%7), fmt.Sprintf(`{"name":"Author %d","text":%q}`, i, text))
			s.Put("books", fmt.Sprint(i), fmt.Sprintf(`{"author":"%d"}`, i%7))
		}
	}
	write(0, 20)
	s = s.Reopen()
	copyTree(t, dir, early)
	write(20, 100)
	s.CatchUp()
	s.Compact(s.Node.Store.Applied.Seq())
	awaitPurged(t, s)
	write(100, 110)
	before := everything(t, s)
	s.Close()
	state := treeOf(t, early)
	for _, name := range []string{"readmodel", "*itness*"} {
		found, err := filepath.Glob(filepath.Join(early, name))
		if err != nil || len(found) == 0 {
			t.Fatalf("there is no %s in %s: %v", name, state, err)
		}
		for _, path := range found {
			rel, err := filepath.Rel(early, path)
			must(t, err)
			to := filepath.Join(dir, rel)
			must(t, os.RemoveAll(to))
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				copyTree(t, path, to)
			} else {
				b, err := os.ReadFile(path)
				must(t, err)
				must(t, os.WriteFile(to, b, 0o600))
			}
		}
		s = harness.Open(t, harness.Options{Dir: dir, Configure: quickPurge})
		if reason := readiness(t, s); reason != "" {
			t.Fatalf("with an old %s: %s", name, reason)
		}
		if after := everything(t, s); after != before {
			t.Fatalf("with an old %s other documents are there", name)
		}
		requireSame(t, s)
		report, err := s.Node.VerifyLog(t.Context(), nil)
		if err != nil || report.Err() != nil {
			t.Fatalf("with an old %s the log is %+v, %v", name, report, err)
		}
		s.Close()
	}
}
