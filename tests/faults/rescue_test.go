package faults_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// logBlocks returns the files of a data directory's log, in order.
func logBlocks(t *testing.T, dir string) []string {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(dir, "nats", "jetstream", "*", "streams", "*", "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatalf("blocks %v, %v", blocks, err)
	}
	slices.SortFunc(blocks, func(a, b string) int { return len(a)*1000 + strings.Compare(a, b) - len(b)*1000 })
	return blocks
}

// TestRescue: verify --log tells of a log whose events are damaged, with the server's answer while it runs, and offline. A rescue takes
// every document out, and changes nothing in the directory. A new store that loads it is equal.
func TestRescue(t *testing.T) {
	suite.Parallel(t)
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	s.Model(damageModel)
	for i := range 30 {
		s.Put("authors", fmt.Sprint(i%3), fmt.Sprintf(`{"name":"Author %d"}`, i))
		s.Put("books", fmt.Sprint(i), fmt.Sprintf(`{"author":"%d"}`, i%3))
	}
	s.CatchUp()
	export := harness.Body(s, "/v1/_export")
	s.Close()
	if out, err := harness.RunProgram(t, "verify", "--log", "--data", dir); harness.ExitCode(err) != 0 || !strings.Contains(out, "61 of 61 events read, compared up to 61") {
		t.Fatalf("verify --log of a sound log: %v %s", err, out)
	}
	path := logBlocks(t, dir)[0]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	before := treeOf(t, dir)
	file := filepath.Join(t.TempDir(), "rescued.ndjson")
	out, err := harness.RunProgram(t, "log", "rescue", "--data", dir, "--out", file)
	if err != nil || !strings.Contains(out, "missing or unreadable: 3") || !strings.Contains(out, "every document as of event 61") {
		t.Fatalf("rescue: %v %s", err, out)
	}
	if rest, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); err != nil || len(rest) > 0 {
		t.Errorf("the rescue leaves %v, %v", rest, err)
	}
	if after := treeOf(t, dir); after != before {
		t.Errorf("the rescue changed the directory:\n%s\n%s", before, after)
	}
	if rescued, err := os.ReadFile(file); err != nil || string(rescued) != export {
		t.Errorf("%v: the rescue wrote\n%s\nwant\n%s", err, rescued, export)
	}
	p := harness.StartProcess(t, "--data", dir)
	r := p.Want(http.StatusOK, "POST", "/v1/_verify?log=true", "")
	if !strings.Contains(string(r.Body), `"missing":[{"first":3`) {
		t.Errorf("verify of the log: %s", r.Body)
	}
	p.Want(http.StatusServiceUnavailable, "GET", "/readyz", "")
	if out, err := harness.RunProgram(t, "verify", "--log", "--server", p.URL); harness.ExitCode(err) != 3 || !strings.Contains(out, "missing or unreadable: 3") || !strings.Contains(out, "restore the log") {
		t.Errorf("verify --log: %v %s", err, out)
	}
	p.Signal(syscall.SIGTERM)
	fresh := harness.StartProcess(t, "--data", t.TempDir())
	if out, err := harness.RunProgram(t, "import", "--server", fresh.URL, file); err != nil {
		t.Fatalf("import: %v %s", err, out)
	}
	if got := string(fresh.Want(http.StatusOK, "GET", "/v1/_export", "").Body); got != export {
		t.Errorf("the new store exports\n%s\nwant\n%s", got, export)
	}
}

// treeOf returns the names, sizes and times of what is in a directory.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			fmt.Fprintln(&out, path, info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestRescueOfLostLog: where all of the log is gone, the documents of the read model are rescued.
func TestRescueOfLostLog(t *testing.T) {
	suite.Parallel(t)
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	s.Put("c", "1", `{"n":1}`)
	s.CatchUp()
	s.Close()
	if err := os.RemoveAll(filepath.Join(dir, "nats", "jetstream")); err != nil {
		t.Fatal(err)
	}
	if n, err := harness.Start(t, harness.Options{Dir: dir}); err == nil {
		n.Close()
		t.Error("the node starts")
	}
	file := filepath.Join(t.TempDir(), "rescued.ndjson")
	out, err := harness.RunProgram(t, "log", "rescue", "--data", dir, "--out", file)
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), `"n":1`) {
		t.Errorf("%v %s", err, b)
	}
}
