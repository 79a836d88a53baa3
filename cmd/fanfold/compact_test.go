package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// openPurging opens a store whose log is purged a time after the store begins later.
func openPurging(t *testing.T, wait time.Duration) *harness.Store {
	t.Helper()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.PurgeWait = wait }})
	t.Cleanup(s.Close)
	return s
}

// TestCompactCommand: it says what would go and what went, names groups that are late, and needs no second time.
func TestCompactCommand(t *testing.T) {
	s := openPurging(t, time.Millisecond)
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
	compact("--before", "2", "--dry-run", "--json").want(t, exitDone, `"events": 2`, `"late"`)
	compact("--before", "2", "--yes").want(t, exitFailed, "409", "late")
	compact("--before", "2", "--yes", "--force").want(t, exitDone, "the store begins at 2-0-", "2 events and 2 versions are gone")
	if c := s.Node.Forget.Compactor.Compaction(); c.Phase != "done" {
		t.Errorf("the command has ended, and the compaction is %+v", c)
	}
	compact("--before", "2").want(t, exitDone, "already")
	compact("--before", "1", "--json").want(t, exitDone, `"done": true`)
	runCommand(t, "", "verify", "--log", "--server", s.URL).want(t, exitDone, "of the 2 events after 2, where the log begins, 2 read, compared up to 4")
	runCommand(t, "", "group", "describe", "late", "--server", s.URL).want(t, exitDone, "before the history that is kept")
	runCommand(t, "", "status", "--server", s.URL).want(t, exitDone, "history     from 2-0-")
}

// TestCompactCommandJSON: the end is printed, once.
func TestCompactCommandJSON(t *testing.T) {
	s := openPurging(t, time.Millisecond)
	s.Put("books", "b1", `{"n":1}`)
	s.Put("books", "b1", `{"n":2}`)
	var end compacted
	out := runCommand(t, "", "compact", "--before", "1", "--yes", "--json", "--server", s.URL)
	if err := json.Unmarshal([]byte(out.out), &end); err != nil || !end.Done || end.Events != 1 || end.Versions != 1 || end.Seconds <= 0 {
		t.Errorf("%v: %+v of %s%s", err, end, out.out, out.err)
	}
}

// startCommand runs a command, which the test's end interrupts at the latest. The exit code comes on ended. Then out may be read.
func startCommand(t *testing.T, args ...string) (ended <-chan int, interrupt context.CancelFunc, out *bytes.Buffer) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	t.Cleanup(interrupt)
	out = &bytes.Buffer{}
	root := command()
	root.SetOut(out)
	root.SetErr(out)
	code := make(chan int, 1)
	go func() { code <- run(ctx, root, args) }()
	return code, interrupt, out
}

// TestCompactCommandInterrupted: a command that is interrupted while the log waits to be purged says that the server goes on.
func TestCompactCommandInterrupted(t *testing.T) {
	suite.Concurrent(t)
	s := openPurging(t, time.Hour)
	s.Put("books", "b1", `{"n":1}`)
	s.Put("books", "b1", `{"n":2}`)
	ended, interrupt, errs := startCommand(t, "compact", "--before", "1", "--yes", "--server", s.URL)
	for s.Node.Forget.Compactor.Compaction() == nil || s.Node.Forget.Compactor.Compaction().Phase != "purging" {
		select {
		case code := <-ended:
			t.Fatalf("exit code %d before the log is purged: %s", code, errs.String())
		case <-time.After(time.Millisecond): // between two looks
		}
	}
	interrupt()
	if code := <-ended; code != exitFailed || !strings.Contains(errs.String(), "the server goes on by itself") || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

// TestCompactLine: a compaction says for what it waits.
func TestCompactLine(t *testing.T) {
	for want, s := range map[string]client.Compaction{
		"compact: replaying, 50%, for":                     {Phase: "replaying", Done: 1, Total: 2},
		"purged once these nodes do, too: n1 a, n2 b, for": {Phase: "purging", WaitingFor: []string{"n1 a", "n2 b"}},
		"purged once writes on their way have ended, for":  {Phase: "purging"},
	} {
		if line := compactLine(&s, time.Now()); !strings.Contains(line, want) {
			t.Errorf("%q, want %q", line, want)
		}
	}
}

// TestLineageBeforeHistory: a value that was given before the history that is kept says so.
func TestLineageBeforeHistory(t *testing.T) {
	s := harness.OpenTemp(t, `collections: {authors: {}, books: {relations: {author: {path: authorId, to: authors}}, derive: {by: {copy: author, value: doc.name}}}}`)
	s.Put("authors", "a1", `{"name":"Ada"}`)
	s.Put("books", "b1", `{"authorId":"a1"}`)
	s.Put("books", "b2", `{"authorId":"a1"}`)
	s.Compact(s.Node.Store.Applied.Seq() - 1)
	runCommand(t, "", "get", "books", "b1", "--lineage", "--server", s.URL).want(t, exitDone, "of authors/a1", "since before the history that is kept")
	runCommand(t, "", "get", "books", "b2", "--lineage", "--at", s.Want(200, "GET", "/v1/books/b2", "").Header.Get("Fanfold-Position"), "--server", s.URL).want(t, exitDone, "of authors/")
	runCommand(t, "", "get", "books", "b2", "--lineage", "--server", s.URL).want(t, exitDone, "since "+s.Want(200, "GET", "/v1/books/b2", "").Header.Get("Fanfold-Revision"))
}
