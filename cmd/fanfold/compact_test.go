package main

import (
	"testing"

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
