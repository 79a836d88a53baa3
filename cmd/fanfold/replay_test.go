package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestReplayFlags: what does not go together, and values that cannot be, are refused before anything is made.
func TestReplayFlags(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("books", "b1", "{}")
	out := filepath.Join(t.TempDir(), "past")
	replay := func(args ...string) ran {
		return runCommand(t, "", append([]string{"replay", "--server", s.URL}, args...)...)
	}
	replay("--out", out).want(t, exitUsage, "go with --to")
	replay("--model", "x.yaml").want(t, exitUsage, "go with --to")
	replay("--to", "1").want(t, exitUsage, "--to needs --out")
	replay("--to", "1", "--out", out, "--check").want(t, exitUsage, "--check compares the read model that is served")
	replay("--to", "1", "--out", out, "--data", "d", "--backup", "b").want(t, exitUsage, "--backup and --data")
	replay("--to", "yesterday", "--out", out).want(t, exitUsage, "--to yesterday is neither a position")
	replay("--to", "2999-01-01T00:00:00Z", "--out", out).want(t, exitUsage, "in the future")
	replay("--to", strings.Repeat("1", 256), "--out", out).want(t, exitUsage, "--to has 256 bytes")
	replay("--to", "1", "--out", out, "--model", filepath.Join(t.TempDir(), "none.yaml")).want(t, exitUsage, "none.yaml")
	if _, err := os.Stat(out); err == nil {
		t.Error("a refused command made the directory")
	}
	replay("--to", "1-0-aaaaaaaa", "--out", out).want(t, exitFailed, "is of store aaaaaaaa")
	replay("--to", "2", "--out", out).want(t, exitFailed, "the log ends at event 1, before event 2")
	serve := func(args ...string) ran { return runCommand(t, "", append([]string{"serve"}, args...)...) }
	serve("--read-only", out).want(t, exitUsage, "is unfinished", "fanfold replay --to 2 --out "+out)
	serve("--data", out).want(t, exitUsage, "has no log")
	replay("--to", "1", "--out", out).want(t, exitDone, "read model of position 1-0-", "fanfold serve --read-only "+out)
	replay("--to", "1", "--out", out).want(t, exitUsage, "holds a read model already")
	for _, flag := range ofLog {
		value := map[string]string{"replicas": "1", "snapshot-every": "1m", "max-auth-age": "1m", "max-lag": "1m", "retain": "1d", "allow-removal": "true", "token-map": "x=y", "webhook-allow": "10.1.0.0/16"}[flag]
		if value == "" {
			value = "x"
		}
		serve("--read-only", out, "--"+flag+"="+value).want(t, exitUsage, "--"+flag+" is about a server with a log")
	}
	serve("--read-only", out, "--listen", "0.0.0.0:0", "--plaintext").want(t, exitUsage, "--admin-key-file")
}

// TestReplaySources: the events come from a running server, a backup, and a directory on which no server runs.
func TestReplaySources(t *testing.T) {
	dir := t.TempDir()
	data, past, kept := filepath.Join(dir, "data"), filepath.Join(dir, "past"), filepath.Join(dir, "backup")
	s := harness.Open(t, harness.Options{Dir: data})
	s.Put("books", "b1", `{"n":1}`)
	s.Put("books", "b1", `{"n":2}`)
	runCommand(t, "", "replay", "--to", "1", "--out", past+"1", "--server", s.URL).want(t, exitDone, "replay done: 1 events", "position 1-0-")
	runCommand(t, "", "backup", "--out", kept, "--server", s.URL).want(t, exitDone, "2")
	runCommand(t, "", "replay", "--check", "--server", s.URL).want(t, exitDone, "rows compared at position 2-0-", ": 0 different")
	s.Close()
	runCommand(t, "", "replay", "--to", "1", "--out", past+"2", "--backup", kept).want(t, exitDone, "position 1-0-")
	runCommand(t, "", "replay", "--to", "1", "--out", past+"3", "--data", data).want(t, exitDone, "position 1-0-")
	first, err := harness.DigestFile(harness.ReadModel(t, past+"1"))
	for _, n := range []string{"2", "3"} {
		if sum, again := harness.DigestFile(harness.ReadModel(t, past+n)); err != nil || again != nil || sum != first {
			t.Errorf("read model %s has other rows: %v, %v", n, err, again)
		}
	}
	if left, err := os.ReadDir(past + "1"); err != nil || len(left) != 2 {
		t.Errorf("%v is left beside the read model, %v", left, err)
	}
	runCommand(t, "", "replay", "--check", "--data", data).want(t, exitDone, ": 0 different")
	falsify(t, harness.ReadModel(t, data), "UPDATE document SET revision = 1 WHERE id = 'b1'")
	runCommand(t, "", "replay", "--check", "--data", data).want(t, exitWrong, "different: 1 rows of document", "first: document 1 (changed)", ": 1 different")
	runCommand(t, "", "replay", "--data", data).want(t, exitDone, "replay done")
	runCommand(t, "", "replay", "--check", "--data", data).want(t, exitDone, ": 0 different")
}

// falsify runs a statement on a file that nobody has open.
func falsify(t *testing.T, path, statement string) {
	t.Helper()
	c, err := (&sqlite3.SQLiteDriver{}).Open(path)
	if err == nil {
		_, err = c.(*sqlite3.SQLiteConn).Exec(statement, nil)
	}
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
