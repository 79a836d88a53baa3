package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
)

// libraryModel has books with a copy of their author's name.
const libraryModel = `collections: {authors: {}, books: {relations: {author: {path: author, to: authors, onDelete: cascade}}, derive: {by: {copy: author, value: doc.name}}}}`

// wantLines fails the test unless each line of text matches its pattern.
func wantLines(t *testing.T, text string, patterns ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != len(patterns) {
		t.Errorf("%d lines, want %d:\n%s", len(lines), len(patterns), text)
		return
	}
	for i, pattern := range patterns {
		if !regexp.MustCompile(`^` + pattern + `$`).MatchString(lines[i]) {
			t.Errorf("line %d is %q, want %s", i, lines[i], pattern)
		}
	}
}

// TestHistoryCommand: each version is one readable line that says when, what and by whom; in pipes without colour.
func TestHistoryCommand(t *testing.T) {
	s := harness.OpenTemp(t, libraryModel)
	s.Put("authors", "a", `{"name":"Ann"}`)
	s.Put("books", "b", `{"author":"a","price":2.50,"x/y":1}`)
	s.Merge("books", "b", `{"price":3.00,"title":"T"}`)
	s.Merge("authors", "a", `{"name":"Bo"}`)
	s.Put("books", "b", `{"author":"a","price":3.00,"title":"T"}`)
	s.Delete("authors", "a") // and the book with it
	s.Put("books", "b", `{"title":"New"}`)
	const at = `-0 +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  `
	all := []string{
		`3` + at + `create   author "a"  price 2\.50  x~1y 1  by "Ann"`,
		`4` + at + `patch    price 2\.50 -> 3\.00  title none -> "T"`,
		`5-1 +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  derive   by "Ann" -> "Bo"  by authors/a \(books\.by\)`,
		`6` + at + `replace  x~1y 1 -> none`,
		`7-1 +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  derive   by "Bo" -> none  by authors/a \(books\.by\)  within`,
		`8` + at + `delete   by authors/a \(books\.author\)`,
		`9` + at + `create   title "New"`,
	}
	runCommand(t, "", "history", "books", "b", "--asc", "--server", s.URL).lines(t, all...)
	var newest []string
	for i := range all {
		newest = append(newest, all[len(all)-1-i])
	}
	runCommand(t, "", "history", "books", "b", "--server", s.URL).lines(t, newest...)
	runCommand(t, "", "history", "books", "b", "--limit", "2", "--server", s.URL).lines(t, newest[:2]...)
	runCommand(t, "", "history", "books", "b", "--from", "4", "--to", "5", "--server", s.URL).lines(t, all[2], all[1])
	runCommand(t, "", "history", "books", "b", "--from", "4", "--to", "5", "--derived", "exclude", "--server", s.URL).lines(t, all[1])
	runCommand(t, "", "history", "books", "b", "--from", "3", "--to", "3", "--view", "referenced", "--server", s.URL).lines(t, strings.TrimSuffix(all[0], `  by "Ann"`))
	r := runCommand(t, "", "history", "books", "b", "--json", "--asc", "--server", s.URL)
	if lines := strings.Split(strings.TrimSpace(r.out), "\n"); len(lines) != len(all) || !json.Valid([]byte(lines[0])) || !strings.HasPrefix(lines[0], `{"seq":"3-0-`) || !strings.Contains(lines[0], `"doc":{`) {
		t.Errorf("as JSON they are %s", r.out)
	}
}

// lines fails the test unless the command ended well and printed lines that match their patterns.
func (r ran) lines(t *testing.T, patterns ...string) {
	t.Helper()
	r.want(t, exitDone)
	wantLines(t, r.out, patterns...)
}

// TestHistoryCommandGoesOn: a history of several pages is printed whole, and cut where --limit says.
func TestHistoryCommandGoesOn(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for i := range 120 {
		s.Put("books", "b", fmt.Sprintf(`{"n":%d}`, i))
	}
	for limit, want := range map[string]int{"0": 120, "1": 1, "110": 110, "5000": 120} {
		r := runCommand(t, "", "history", "books", "b", "--limit", limit, "--server", s.URL)
		if r.want(t, exitDone); strings.Count(r.out, "\n") != want {
			t.Errorf("--limit %s prints %d lines, want %d", limit, strings.Count(r.out, "\n"), want)
		}
	}
}

// TestGetAt: get prints a document as it was at a position or time.
func TestGetAt(t *testing.T) {
	s := harness.OpenTemp(t, libraryModel)
	s.Put("authors", "a", `{"name":"Ann"}`)
	s.Put("books", "b", `{"author":"a"}`)
	s.Merge("authors", "a", `{"name":"Bo"}`)
	get := func(args ...string) ran {
		return runCommand(t, "", append([]string{"get", "books", "b", "--json", "--server", s.URL}, args...)...)
	}
	for _, c := range []struct{ at, want string }{{"3", "Ann"}, {"3-0", "Ann"}, {"4-0", "Bo"}, {time.Now().UTC().Format(time.RFC3339Nano), "Bo"}} {
		if r := get("--at", c.at); r.code != exitDone || r.out != `{"id":"b","author":"a","by":"`+c.want+`"}`+"\n" {
			t.Errorf("--at %s: %+v", c.at, r)
		}
	}
	get("--at", "3", "--view", "referenced", "--expand", "author").want(t, exitDone, `{"id":"b","author":"a","_expanded":{"author":{"a":{"id":"a","name":"Ann"}}}}`)
	get("--at", "2").want(t, exitFailed, "404")
	get("--at", "yesterday").want(t, exitUsage, "at=yesterday is neither a position")
	get("--at", "2999-01-01T00:00:00Z").want(t, exitUsage, "in the future")
	get("--at", "3-0-aaaaaaaa").want(t, exitFailed, "410")
}

// TestVersionLine: a line is bounded, whatever a document has, and cannot steer a terminal; colours are there where asked for.
func TestVersionLine(t *testing.T) {
	line := func(op, patch string, cause *client.Cause, actor string) string {
		return changeStyle{}.version(client.Change{Seq: "1042-0-aaaaaaaa", Op: op, Time: time.Unix(0, 0), Patch: json.RawMessage(patch), Cause: cause, Actor: actor})
	}
	const begin = "1042-0     1970-01-01T00:00:00Z  "
	for _, c := range []struct{ got, want string }{
		{line("patch", `[{"op":"replace","path":"/price","value":3.00,"old":2.50}]`, nil, ""), "patch    price 2.50 -> 3.00"},
		{line("patch", `[{"op":"remove","path":"/a/0/b","old":null}]`, nil, "key:abcdefghijkl"), "patch    a/0/b null -> none  by key:abcdefghijkl"},
		{line("replace", `[]`, nil, ""), "replace"},
		{line("replace", `[{"op":"replace","path":"","value":{},"old":{"a":1}}]`, nil, ""), "replace  the whole document"},
		{line("create", `[{"op":"add","path":"","value":{"id":"x","a":[1, 2]}}]`, nil, ""), "create   a [1, 2]"},
		{line("create", `[{"op":"add","path":"","value":7}]`, nil, ""), "create"},
		{line("create", `[{"op":"add","path":""}]`, nil, ""), "create"},
		{line("create", `{"op":"add"}`, nil, ""), "create"},
		{line("later", ``, nil, ""), "later"},
		{line("delete", `[{"op":"remove","path":"","old":{"a":1}}]`, &client.Cause{Collection: "authors", ID: "a", Rule: "r"}, "key:k"), "delete   by authors/a (r), key:k"},
		{line("derive", `[]`, &client.Cause{Rule: "r1", Rules: []string{"r1", "r2", "r3", "r4"}}, ""), "derive   by r1, r2, r3 and 1 more"},
		{line("derive", `[]`, &client.Cause{}, ""), "derive"},
		{line("derive", `[]`, &client.Cause{Collection: "authors", ID: "a"}, ""), "derive   by authors/a"},
	} {
		if c.got != begin+c.want {
			t.Errorf("the line is %q, want %q", c.got, begin+c.want)
		}
	}
	var ops, members []string
	for i := range 20 {
		ops = append(ops, fmt.Sprintf(`{"op":"add","path":"/%d\u001b[2J%s","value":%q}`, i, strings.Repeat("é", 300), strings.Repeat("é", 300)))
		members = append(members, fmt.Sprintf(`"%d\u009b\u202e":"%s"`, i, strings.Repeat("\u202e", 300)))
	}
	cause := &client.Cause{Collection: "books", ID: "\x1b[2J\n", Rule: "r"}
	for _, patch := range []string{"[" + strings.Join(ops, ",") + "]", `[{"op":"add","path":"","value":{` + strings.Join(members, ",") + `}}]`} {
		got := line("patch", patch, cause, "\x1b")
		if len(got) > 4000 || !strings.Contains(got, "  and 14 more  by books/") || strings.ContainsAny(got, "\x1b\u202e\u009b\n") {
			t.Errorf("the line is %q", got)
		}
	}
	coloured := changeStyle{colour: true}.version(client.Change{Seq: "7-1", Op: "derive", Cause: cause})
	if !strings.Contains(coloured, "\xff[36mderive \xff[0m") || !strings.HasPrefix(coloured, "\xff[2m7-1 ") {
		t.Errorf("the line is %q", coloured)
	}
}
