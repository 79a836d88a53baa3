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

// TestChangesCommand: each change is one readable line that says what changed; in pipes without colour.
func TestChangesCommand(t *testing.T) {
	s := harness.OpenTemp(t, `collections: {authors: {derive: {count: {count: books.author}}}, books: {relations: {author: {path: author, to: authors}}, derive: {by: {copy: author, value: doc.name}}}}`)
	s.Put("authors", "a1", `{"name":"Samuel"}`)
	s.Put("books", "b1", `{"author":"a1","x/y":1}`)
	s.Put("books", "b1", "{\"author\":\"a1\",\n \"x/y\":1.0,\"title\":\"T\"}")
	s.Merge("authors", "a1", `{"name":"Mark"}`)
	s.Merge("books", "b1", `{"title":null}`)
	s.Delete("books", "b1")
	r := runCommand(t, "", "changes", "--since", "0", "--once", "--server", s.URL)
	r.want(t, exitDone)
	at := `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  \d+-\d+-\S+ +`
	var patterns = []string{
		`create +authors/a1  /name: "Samuel"  /count: 0`,
		`create +books/b1  /author: "a1"  /x~1y: 1  /by: "Samuel"`,
		`derive +authors/a1  /count: 0 -> 1  \(authors\.count, from books/b1\)`,
		`replace +books/b1  /x~1y: 1 -> 1\.0  /title: none -> "T"`,
		`patch +authors/a1  /name: "Samuel" -> "Mark"`,
		`derive +books/b1  /by: "Samuel" -> "Mark"  \(books\.by, from authors/a1\)`,
		`patch +books/b1  /title: "T" -> none`,
		`delete +books/b1`,
		`derive +authors/a1  /count: 1 -> 0  \(authors\.count, from books/b1\)`,
	}
	lines := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
	for i, pattern := range patterns {
		if i >= len(lines) || !regexp.MustCompile(`^`+at+pattern+`$`).MatchString(lines[i]) {
			t.Errorf("line %d is not %s in\n%s", i, pattern, r.out)
		}
	}
	if len(lines) != len(patterns) {
		t.Errorf("%d lines, want %d", len(lines), len(patterns))
	}
	rows := runCommand(t, "", "changes", "--since", "0", "--once", "--json", "--server", s.URL)
	if !strings.HasPrefix(rows.out, `{"seq":"`) || strings.Contains(rows.out, `"doc":`) || strings.Count(rows.out, "\n") != len(patterns) {
		t.Errorf("as JSON they are %s", rows.out)
	}
}

// TestChangeLine: a line is bounded, whatever a document has, and cannot steer a terminal; colours are there where asked for.
func TestChangeLine(t *testing.T) {
	var members, before []string
	for i := range 20 {
		members = append(members, fmt.Sprintf(`"m%d":%q`, i, strings.Repeat("é", 300)))
		before = append(before, fmt.Sprintf(`"m%d":null`, i))
	}
	change := client.Change{Seq: "7-0-x", Collection: "books", ID: "b\x1b[2J\u202e\u2066\u200f\u2028", Op: "patch", Time: time.Unix(0, 0),
		Doc: json.RawMessage("{" + strings.Join(members, ",") + "}"), Previous: json.RawMessage("{" + strings.Join(before, ",") + "}")}
	line := changeStyle{}.line(change)
	if len(line) > 2000 || !strings.HasSuffix(line, "  and 14 more") || strings.ContainsAny(line, "\x1b\u202e\u2066\u200f\u2028\n") {
		t.Errorf("the line is %q", line)
	}
	change = client.Change{Seq: "7-1-x", Collection: "books", ID: "b", Op: "derive", Patch: json.RawMessage(`[{"op":"add","path":"/a","value":null}]`),
		Cause: &client.Cause{Collection: "authors", ID: "a", Rule: "r1", Rules: []string{"r1", "r2", "r3", "r4"}}}
	if line := (changeStyle{}).line(change); line != "7-1-x                derive   books/b  /a: none -> null  (r1, r2, r3 and 1 more, from authors/a)" {
		t.Errorf("the line is %q", line)
	}
	if line := (changeStyle{colour: true}).line(change); !strings.Contains(line, "\xff[36mderive  \xff[0m books/b") {
		t.Errorf("the line is %q", line)
	}
	change.Call = "rename"
	if line := (changeStyle{}).version(change); !strings.HasSuffix(line, `  by authors/a (r1, r2, r3 and 1 more), function rename`) {
		t.Errorf("the line is %q", line)
	}
	change.Op = "later" // than this program
	if line := (changeStyle{colour: true}).line(change); !strings.Contains(line, " later    books/b") {
		t.Errorf("the line is %q", line)
	}
}
