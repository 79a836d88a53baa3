package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestDiffCommand: the documents that differ are printed with a line for each place, as JSON, and as numbers.
func TestDiffCommand(t *testing.T) {
	s := harness.OpenTemp(t, libraryModel)
	s.Put("authors", "a", `{"name":"Ann"}`)
	for _, id := range []string{"b", "c", "d"} {
		s.Put("books", id, `{"author":"a","price":2.50}`)
	}
	s.Put("authors", "a", `{"name":"Bo"}`) // event 6
	s.Merge("books", "b", `{"price":3.00,"title":"T"}`)
	s.Delete("books", "c")
	s.Put("books", "e", `{"title":"New","n":1}`)
	s.Merge("books", "d", `{"price":3}`)
	s.Merge("books", "d", `{"price":2.50}`) // as it was
	diff := func(args ...string) ran {
		return runCommand(t, "", append([]string{"diff", "--server", s.URL}, args...)...)
	}
	book := []string{`change  books/b`, `  price 2\.50 -> 3\.00`, `  by "Ann" -> "Bo"`, `  title none -> "T"`}
	rest := []string{`delete  books/c`, `change  books/d`, `  by "Ann" -> "Bo"`, `create  books/e`, `  title "New"`, `  n 1`}
	author := []string{`change  authors/a`, `  name "Ann" -> "Bo"`}
	lines := func(parts ...[]string) (all []string) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	diff("--from", "5").lines(t, lines(author, book, rest)...)
	diff("--from", "5", "--collections", "books", "--view", "referenced").lines(t, book[0], book[1], book[3], rest[0], rest[3], rest[4], rest[5])
	diff("--from", "5-0", "--derived", "exclude", "--collections", "authors,books").lines(t, lines(author, book, rest[:1], rest[3:])...)
	diff("--from", "5", "--to", "6", "--collections", "authors").lines(t, author...)
	diff("--from", "5", "--stat").lines(t, `COLLECTION  CREATED  CHANGED  DELETED`, `authors     0        1        0`, `books       1        2        1`)
	if r := diff("--from", "5", "--to", "5"); r.code != exitDone || r.out != "" {
		t.Errorf("between a state and itself: %+v", r)
	}
	r := diff("--from", "5", "--json")
	if all := strings.Split(strings.TrimSpace(r.out), "\n"); len(all) != 5 || !json.Valid([]byte(all[0])) || !strings.HasPrefix(all[1], `{"collection":"books","id":"b","op":"change","before":{`) {
		t.Errorf("as JSON they are %s", r.out)
	}
	diff("--from", "6", "--to", "5").want(t, exitUsage, "later than to")
	diff("--from", "yesterday").want(t, exitUsage, "from=yesterday")
	diff("--from", "0", "--collections", "none").want(t, exitFailed, "404")
	diff("--from", "1-0-aaaaaaaa").want(t, exitFailed, "410")
}

// TestDiffCommandGoesOn: differences of several pages are printed whole.
func TestDiffCommandGoesOn(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for i := range 120 {
		s.Put("books", fmt.Sprintf("%03d", i), `{}`)
	}
	if r := runCommand(t, "", "diff", "--from", "0", "--server", s.URL); r.code != exitDone || strings.Count(r.out, "create  books/") != 120 {
		t.Errorf("it prints %d lines: %+v", strings.Count(r.out, "\n"), r)
	}
	runCommand(t, "", "diff", "--from", "0", "--stat", "--server", s.URL).want(t, exitDone, "books       120      0        0")
}

// TestDifferenceLines: lines are bounded, whatever a document has, and cannot steer a terminal; colours are there where asked for.
func TestDifferenceLines(t *testing.T) {
	var ops []string
	for i := range 2 * diffPlaces {
		ops = append(ops, fmt.Sprintf(`{"op":"add","path":"/%d\u001b[2J","value":%q}`, i, strings.Repeat("é", 300)))
	}
	d := &client.DocumentDifference{Collection: "books", ID: "\x1b[2J\n", Op: "change", Patch: json.RawMessage("[" + strings.Join(ops, ",") + "]")}
	got := changeStyle{}.difference(d)
	if strings.Count(got, "\n") != diffPlaces+2 || !strings.HasSuffix(got, "  and 50 more\n") || strings.ContainsAny(got, "\x1b") || len(got) > 20_000 {
		t.Errorf("the lines are %q", got)
	}
	if got := (changeStyle{colour: true}).difference(&client.DocumentDifference{Collection: "books", ID: "b", Op: "delete"}); got != "\xff[31mdelete\xff[0m  books/b\n" {
		t.Errorf("the line is %q", got)
	}
}

// TestListAt: list prints a list as it was, on all its pages.
func TestListAt(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for i := range 3 {
		s.Put("books", fmt.Sprint(i), `{"n":0}`)
	}
	s.Put("books", "1", `{"n":1}`)
	s.Delete("books", "2")
	s.Put("books", "3", `{"n":1}`)
	list := func(args ...string) ran {
		return runCommand(t, "", append([]string{"list", "books", "--json", "--server", s.URL}, args...)...)
	}
	want := []string{`{"id":"0","n":0,"_meta".*`, `{"id":"1","n":0,"_meta".*`, `{"id":"2","n":0,"_meta".*`}
	for _, at := range []string{"3", "3-0"} {
		list("--at", at).lines(t, want...)
		list("--at", at, "--all", "--limit", "1").lines(t, want...)
	}
	r := list("--at", "3", "--limit", "2")
	r.lines(t, want[:2]...)
	_, cursor, _ := strings.Cut(r.err, "--cursor ")
	cursor, _, _ = strings.Cut(cursor, ",")
	list("--cursor", cursor).lines(t, want[2])
	if r := list("--at", "0"); r.code != exitDone || r.out != "" {
		t.Errorf("at the beginning: %+v", r)
	}
	list("--at", "yesterday").want(t, exitUsage, "at=yesterday")
	list("--at", "3-0-aaaaaaaa").want(t, exitFailed, "410")
}
