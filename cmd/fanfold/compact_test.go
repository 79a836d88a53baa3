package main

import (
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestCompactCommand: it says what would go and what went, names groups that are late, and needs no second time.
func TestCompactCommand(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for _, body := range []string{`{"n":1}`, `{"n":2}`, `{"n":3}`} {
		s.Put("books", "b1", body)
	}
	compact := func(args ...string) ran {
		return runCommand(t, "", append([]string{"compact", "--server", s.URL}, args...)...)
	}
	compact().want(t, exitUsage, "--before is missing")
	compact("--before", "x").want(t, exitUsage, "before=x")
	compact("--before", "2", "now").want(t, exitUsage, "takes no arguments")
	compact("--before", "2-0-aaaaaaaa").want(t, exitFailed, "410")
	s.Want(201, "PUT", "/v1/_groups/late", `{"partitions":1}`)
	compact("--before", "2", "--dry-run").want(t, exitDone, "2 events of the log", "2 versions of documents would go", "the oldest position is 2-0-", "group late", "nothing is taken away")
	compact("--before", "2", "--dry-run", "--json").want(t, exitDone, `"Events": 2`, `"late"`)
	compact("--before", "2", "--yes").want(t, exitFailed, "409", "late")
	compact("--before", "2", "--yes", "--force").want(t, exitDone, "the store begins at 2-0-", "2 events and 2 versions are gone")
	compact("--before", "2").want(t, exitDone, "already")
	compact("--before", "1", "--json").want(t, exitDone, `"Done": true`)
	runCommand(t, "", "group", "describe", "late", "--server", s.URL).want(t, exitDone, "before the history that is kept")
	runCommand(t, "", "status", "--server", s.URL).want(t, exitDone, "history     from 2-0-")
}

// TestCompactIsForgotten: the command does not wait for what no node knows of. It is no error if the store begins there all the same.
func TestCompactIsForgotten(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.PurgeWait = time.Hour }})
	defer func() { s.Close() }()
	for _, body := range []string{`{"n":1}`, `{"n":2}`, `{"n":3}`} {
		s.Put("books", "b1", body)
	}
	connect := func() *client.Client {
		c, err := client.New(s.URL, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if _, err := awaitCompaction(t.Context(), connect(), "2-0", time.Millisecond); err == nil || !strings.Contains(err.Error(), "no node knows of the compaction any more") {
		t.Errorf("a compaction that never began: %v", err)
	}
	s.Compact(2)
	for range 2 {
		if state, err := awaitCompaction(t.Context(), connect(), "1-0", time.Hour); err != nil || !strings.HasPrefix(state.Before, "2-0-") {
			t.Errorf("a compaction that another one has overtaken: %+v, %v", state, err)
		}
		s = s.Reopen()
		r := runCommand(t, "", "status", "--server", s.URL)
		r.want(t, exitDone, "purging")
		if line := r.out; strings.Contains(line, "purging, for") {
			t.Errorf("%s", line)
		}
	}
}
