package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestListQueries: list takes filters, sorts, fields, counts and groups, and says how a query was done.
func TestListQueries(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {books: {indexes: {byAuthor: [author]}}}")
	for i := range 40 {
		s.Put("books", fmt.Sprintf("b%02d", i), fmt.Sprintf(`{"author":"a%d","year":%d,"title":"Book %d","lines":[{"x":1}]}`, i%4, 1990+i, i))
	}
	at := func(args ...string) ran {
		return runCommand(t, "", append(append([]string{"list", "books"}, args...), "--server", s.URL)...)
	}
	table := at("--filter", "doc.year > params.since", "--params", `{"since":2027}`, "--sort=-year", "--fields", "title,lines[].x,none")
	table.want(t, exitDone)
	if want := "ID   title    lines[].x  none\nb39  Book 39  [{\"x\":1}]  -\nb38  Book 38  [{\"x\":1}]  -\n"; table.out != want || table.err != "" {
		t.Errorf("the table is\n%s%s, want\n%s", table.out, table.err, want)
	}
	lines := at("--sort=-year", "--limit", "2", "--json", "--fields", "year")
	lines.want(t, exitDone, `{"id":"b39","year":2029,"_meta":`, "there are more: go on with --cursor ")
	_, cursor, _ := strings.Cut(lines.err, "--cursor ")
	cursor, _, _ = strings.Cut(cursor, ",")
	at("--sort=-year", "--limit", "1", "--json", "--cursor", cursor).want(t, exitDone, `{"id":"b37"`)
	all := at("--filter", `doc.author == "a1"`, "--limit", "3", "--all")
	all.want(t, exitDone, "REVISION", "b01", "b37")
	if n := strings.Count(all.out, "\n"); n != 11 {
		t.Errorf("all pages have %d lines", n)
	}
	if r := at("--filter", `doc.author == "a1"`, "--count"); r.out != "10\n" {
		t.Errorf("the count is %q", r.out)
	}
	if r := at("--group", "author", "--compute", "count,max(year)", "--sort=-max(year)", "--limit", "2"); r.out != "author  count  max(year)\na3      10     2029\na2      10     2028\n" {
		t.Errorf("the groups are\n%s", r.out)
	}
	if r := at("--group", "none", "--all"); r.out != "none  count\n-     40\n" {
		t.Errorf("the groups are\n%s", r.out)
	}
	at("--compute", "avg(year)", "--json").want(t, exitDone, `{"key":{},"values":{"avg(year)":2009.5}}`)
	at("--filter", `doc.author == "a1" && doc.title.contains("3")`, "--explain").want(t, exitDone, "walked 10 of byAuthor, read 10 documents, of which 3 match, in ",
		`decided by the index  doc.author == "a1"`, `asked each document   doc.title.contains("3")`, "that of the walk")
	at("--filter", "doc.year > 2027", "--max-scan", "10", "--explain").want(t, exitDone, "walked no index, read 10 documents", "incomplete", "better", `{"collections":{"books":{"indexes":{`)
	at("--filter", "doc.nothing > 1", "--explain", "--json").want(t, exitDone, `{"index":null,"conditions":[]`, `"noValue":40`)
	at("--filter", "doc.year > 2027", "--max-scan", "10").want(t, exitFailed, "422", "indexes in the model: byYear: [year]")
	at("--filter", "doc.title.contains('x')", "--max-scan", "10", "--partial").want(t, exitDone, "there are more")
	at("--filter", "doc.yaer > 1").want(t, exitDone, "the filter has no value for 40 documents")
	at("--filter", "doc.yaer > 1", "--count").want(t, exitDone, "0\n", "the filter has no value for 40 documents")
	changes := func(args ...string) ran {
		return runCommand(t, "", append([]string{"changes", "--once", "--since", "0", "--server", s.URL}, args...)...)
	}
	changes("--filter", "doc.yaer > 1").want(t, exitDone, "the filter has no value for 40 changes")
	changes("--collections", "books,bokos").want(t, exitDone, `not there: "bokos"`, "books/b00")
	get := runCommand(t, "", "get", "books", "b01", "--fields", "year,title", "--json", "--server", s.URL)
	if get.want(t, exitDone); get.out != `{"id":"b01","year":1991,"title":"Book 1"}`+"\n" {
		t.Errorf("the fields are %q", get.out)
	}
	at("--params", "x").want(t, exitUsage, "--params is no JSON")
	at("--filter", "doc.").want(t, exitUsage, "filter")
	at("--count", "--group", "author").want(t, exitUsage, "count", "group")
	runCommand(t, "", "status", "--server", s.URL).want(t, exitDone, "queries     books filter=doc.title.contains(?)")
}
