package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/sqlite/driver"
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
	for total, want := range map[int64]string{1200: "300 lines, 0.0 MB, 150/s, 25%, 6s left", 300: "300 lines, 0.0 MB, 150/s, 99%"} {
		if lines.total = total; lines.text(2*time.Second) != want {
			t.Errorf("of %d it says %q", total, lines.text(2*time.Second))
		}
	}
}

// TestExportKnowsHowMuchIsLeft: an export of the store as it is counts the documents of its collections, and one of an earlier position does not.
func TestExportKnowsHowMuchIsLeft(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for i := range 5 {
		s.Put([]string{"books", "authors"}[i%2], strconv.Itoa(i), "{}")
	}
	c, err := client.New(s.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ex := range []struct {
		exporting
		want int64
	}{{exporting{}, 5}, {exporting{collections: []string{"books"}}, 3}, {exporting{earlier: true}, 0}} {
		if got := ex.count(t.Context(), c, []client.ReadOption{client.Strong()}); got != ex.want {
			t.Errorf("%+v has %d documents", ex.exporting, got)
		}
	}
}

// TestExportSQLite: a SQLite file has what the store has, and names its position. A file that is there stays as it is.
func TestExportSQLite(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {authors: {}, books: {relations: {authors: {path: 'authors[].id', to: authors}}}}")
	dir := t.TempDir()
	file := filepath.Join(dir, "copy.db")
	export := func(args ...string) ran {
		return runCommand(t, "", append([]string{"export", "--sqlite", file, "--server", s.URL}, args...)...)
	}
	want := map[string]string{}
	for i := range 1500 {
		id := strconv.Itoa(i)
		body := fmt.Sprintf(`{"id":%q,"name":"Book %d","price":%d.50,"authors":[{"id":"a%d"}]}`, id, i, i, i%7)
		s.Put("books", id, body)
		want[id] = body
	}
	s.Put("notes", "n1", `{"id":"n1","Text":"\u001b[31m"}`)
	r := export()
	r.want(t, exitDone, "1501 documents in 3 tables, and 1 table of relations, in ", "a copy as of position ")
	conn, err := driver.Open(file, driver.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	rows := 0
	err = conn.Query("SELECT id, name, price, body, (SELECT target FROM books_authors r WHERE r.id = b.id) FROM books b", func(row driver.Row) error {
		rows++
		i, _ := strconv.Atoi(row.Text(0))
		if row.Text(3) != want[row.Text(0)] || row.Text(1) != fmt.Sprintf("Book %d", i) || row[2] != float64(i)+0.5 || row.Text(4) != fmt.Sprintf("a%d", i%7) {
			t.Errorf("a row is %v", row)
		}
		return nil
	})
	if err != nil || rows != len(want) {
		t.Errorf("%d rows, %v", rows, err)
	}
	if _, err := conn.QueryRow("SELECT position, store, documents FROM fanfold_copy", func(row driver.Row) {
		if !strings.Contains(r.err, row.Text(0)+"\n") || len(row.Text(1)) != 8 || !strings.Contains(row.Text(0), row.Text(1)) || row.Int(2) != 1501 {
			t.Errorf("it says %v, and the command %s", row, r.err)
		}
	}); err != nil {
		t.Error(err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	export().want(t, exitUsage, "copy.db is there already: give a new file, or --force to write over it")
	export("--force", "--collections", "nothing").want(t, exitFailed, "there is no collection")
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file is another, %v", err)
	}
	export("--force", "--collections", "books").want(t, exitDone, "1500 documents in 1 table, and 1 table of relations")
	export("--out", "x").want(t, exitUsage, "sqlite")
	runCommand(t, "", "export", "--force", "--server", s.URL).want(t, exitUsage, "--force goes with --sqlite")
	runCommand(t, "", "export", "--sqlite", filepath.Join(dir, "none", "x.db"), "--server", s.URL).want(t, exitUsage, "cannot write")
	if files, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(files) != 1 {
		t.Errorf("%v are left, %v", files, err)
	}
}
