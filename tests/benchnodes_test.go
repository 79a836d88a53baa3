package tests

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/natsserver"
)

// benchResults runs the bench command, and returns what it measured.
func benchResults(t *testing.T, args ...string) (results []struct {
	Name        string
	Ours, Limit float64
	Notes       []string
}) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{"bench", "--quick", "--json"}, args...)...)
	cmd.Env = append(cmd.Environ(), "TMPDIR="+t.TempDir())
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s %s", err, out, said.String())
	}
	if err := json.Unmarshal(out, &results); err != nil || len(results) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, r := range results {
		if r.Ours <= 0 || r.Limit <= 0 {
			t.Errorf("%s: %v beside %v", r.Name, r.Ours, r.Limit)
		}
	}
	return results
}

// TestBenchOfBystanders: requests beside a rename are measured on two nodes, and none of them fails. No other test runs beside
// it: the requests come at their rate however long the answers take, and where too many wait they are refused.
func TestBenchOfBystanders(t *testing.T) {
	plainOnly(t, otherProcess)
	r := benchResults(t, "--only", "bystanders", "--documents", "1000", "--nodes", "2", "--steps", "2", "--nats", natsserver.Start(t, 1)[0])
	if notes := strings.Join(r[0].Notes, "\n"); len(r) != 1 || !strings.Contains(notes, "answered 202") || !strings.Contains(notes, "2 nodes") {
		t.Errorf("%+v", r)
	}
	for flags, want := range map[string]string{"--nodes 1000": "1 to 16", "--steps 1000": "1 to 500", "--nodes 2": "need --nats", "--documents 0": "1000 to"} {
		out, err := mustProgram(t, append([]string{"bench", "--only", "bystanders"}, strings.Fields(flags)...)...)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, %s", flags, err, out)
		}
	}
}

// TestBenchOfSizes: what documents take is measured; a log in use is not filled by a benchmark. That of nodes runs with the
// commands of docs/scale.md (TestOperationsWork).
func TestBenchOfSizes(t *testing.T) {
	plainOnly(t, otherProcess)
	parallel(t)
	r := benchResults(t, "--only", "sizing", "--documents", "50000")
	if len(r) != 2 || !strings.Contains(strings.Join(r[1].Notes, "\n"), "at rest: memory") {
		t.Errorf("%+v", r)
	}
	if out, err := mustProgram(t, "bench", "--only", "sizing", "--documents", "4999"); err == nil || !strings.Contains(out, "5000 to") {
		t.Errorf("few documents: %v, %s", err, out)
	}
	url := natsserver.Start(t, 1)[0]
	startProcess(t, "--data", t.TempDir(), "--nats", url).Model(crashModel)
	if out, err := mustProgram(t, "bench", "--only", "nodes", "--nats", url); err == nil || !strings.Contains(out, "is not empty") {
		t.Errorf("a log in use: %v, %s", err, out)
	}
}
