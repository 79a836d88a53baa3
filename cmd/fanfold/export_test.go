package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestExportOfUnknownCollections: an export of collections fails, and writes nothing, where one of them is not there.
func TestExportOfUnknownCollections(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {authors: {}}")
	s.Put("books", "b1", "{}")
	out := filepath.Join(t.TempDir(), "out.ndjson")
	export := func(collections string) ran {
		return runCommand(t, "", "export", "--collections", collections, "--out", out, "--server", s.URL)
	}
	export("boks").want(t, exitFailed, `there is no collection "boks": it never held a document, and the model declares "authors"`)
	export("books,boks,athors").want(t, exitFailed, `there is no collection "boks", "athors"`)
	export("9books").want(t, exitUsage, "cannot name a collection")
	export(strings.Repeat("a,", maxCollections)+"a").want(t, exitUsage, "--collections has 1001 names")
	if _, err := os.Stat(out); err == nil {
		t.Error("an export that fails has written a file")
	}
	export("books,authors").want(t, exitDone, "1 lines")
	if text, err := os.ReadFile(out); err != nil || !strings.Contains(string(text), `"collection":"books"`) {
		t.Errorf("the export is %s, %v", text, err)
	}
}

// TestExportText: an export says how far it is, by what it has read.
func TestExportText(t *testing.T) {
	lines := &lineCounter{r: strings.NewReader(strings.Repeat("a line\n", 300))}
	text, err := io.ReadAll(lines)
	if err != nil || len(text) != 2100 {
		t.Fatal(len(text), err)
	}
	if got := lines.text(2 * time.Second); got != "300 lines, 0.0 MB, 150/s" {
		t.Errorf("it says %q", got)
	}
}
