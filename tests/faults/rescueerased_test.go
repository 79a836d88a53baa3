package faults_test

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestRescueAfterErasure: a rescue never writes what is erased. The read model is one from before, as a node has it which was killed before it changed over.
// The erased messages are there, or gone.
func TestRescueAfterErasure(t *testing.T) {
	suite.Parallel(t)
	killed, gone := t.TempDir(), t.TempDir()
	export := erasedBefore(t, killed, gone)
	for _, dir := range []string{killed, gone} {
		if out, rescued := rescued(t, dir); rescued != export {
			t.Errorf("%s\nthe rescue wrote\n%s\nwant\n%s", out, rescued, export)
		}
		p := harness.StartProcess(t, "--data", dir)
		if got := string(p.Want(http.StatusOK, http.MethodGet, "/v1/_export?consistency=strong", "").Body); got != export {
			t.Errorf("the store exports\n%s\nwant\n%s", got, export)
		}
		p.Signal(syscall.SIGTERM)
	}
}

// erasedBefore erases a document. Both directories get the read model from before that was in force. They get the log of the moment when it was, or when it
// was done. It returns the export of the end.
func erasedBefore(t *testing.T, killed, gone string) (export string) {
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir, Sync: true, Configure: func(cfg *node.Config) {
		cfg.Steps.Erase = func(step string) error {
			switch step {
			case forget.StepCompared:
				copyTree(t, dir, killed)
				copyTree(t, dir, gone)
			case forget.StepErased:
				replaceTree(t, filepath.Join(dir, "nats"), filepath.Join(killed, "nats"))
			}
			return nil
		}
	}})
	s.Model(forgetModel)
	writeCustomer(s, "ann")
	writeCustomer(s, "bob")
	s.CatchUp()
	r := s.Want(http.StatusAccepted, http.MethodPost, "/v1/customers/ann/_erase", "{}", "Content-Type", "application/json")
	s.Erased(r.Header.Get("Location"))
	export = harness.Body(s, "/v1/_export")
	s.Close()
	replaceTree(t, filepath.Join(dir, "nats"), filepath.Join(gone, "nats"))
	return export
}

// replaceTree replaces a directory by a copy of another one.
func replaceTree(t *testing.T, from, to string) {
	t.Helper()
	must(t, os.RemoveAll(to))
	copyTree(t, from, to)
}

// rescued returns what a rescue says and writes.
func rescued(t *testing.T, dir string) (out, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rescued.ndjson")
	out, err := harness.RunProgram(t, "log", "rescue", "--data", dir, "--out", file)
	if err != nil {
		t.Fatalf("rescue: %v %s", err, out)
	}
	b, err := os.ReadFile(file)
	must(t, err)
	return out, string(b)
}
