package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// lineage is a document's, a line for each value and each rule that copies from it.
func lineage(t *testing.T, s *harness.Store, path string) string {
	t.Helper()
	var l inspect.Lineage
	if err := json.Unmarshal([]byte(harness.Body(s, path+"/_lineage")), &l); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, v := range l.Derived {
		line := v.Path + " " + v.Rule + " " + v.State + " of"
		for _, src := range v.Sources {
			line += fmt.Sprintf(" %s/%s@%d", src.Collection, src.ID, src.Revision)
		}
		line += fmt.Sprintf(" (%d)", v.Documents)
		if v.Event != nil {
			line += fmt.Sprintf(" by %s %s %s/%s", v.Event.Op, v.Event.Seq.Position, v.Event.Collection, v.Event.ID)
		}
		if v.Reason != "" {
			line += ": " + v.Reason
		}
		lines = append(lines, line)
	}
	for _, e := range l.Copies {
		lines = append(lines, fmt.Sprintf("-> %s %d %v", e.Rule, e.Documents, e.First))
	}
	return strings.Join(lines, "\n")
}

func TestLineage(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  authors:
    derive: {n: {count: books.authors}, books: {ids: books.authors}}
  books:
    relations: {authors: {path: "authors[].id", to: authors, onDelete: keep}, next: {path: next, to: books}}
    derive:
      "authors[].name": {copy: authors, value: doc.name}
      was: {copy: authors, value: doc.name, frozen: true}
      nextName: {copy: next, value: "doc.authors[0].name"}
`)
	rev := func(r *harness.Response) string { return r.Header.Get("Fanfold-Revision") } // from 2 on: the model is event 1
	rev(s.Put("authors", "a", `{"name":"Ann"}`))                                        // 2
	rev(s.Put("authors", "b", `{"name":"Bob"}`))                                        // 3
	rev(s.Put("books", "1", `{"authors":[{"id":"a"},{"id":"b"}]}`))                     // 4
	rev(s.Put("books", "2", `{"authors":[{"id":"c"}],"next":1}`))                       // 5
	harness.WantText(t, rev(s.Merge("authors", "a", `{"name":"Cleo"}`)), "6")
	harness.WantText(t, rev(s.Merge("books", "1", `{"title":"T"}`)), "7")

	harness.WantText(t, lineage(t, s, "/v1/books/1"), strings.TrimSpace(`
/authors/0/name books.authors[].name  of authors/a@6 (1) by derive 6-1 authors/a
/authors/1/name books.authors[].name  of authors/b@3 (1) by create 4-0 books/1
/was books.was frozen of authors/a@6 authors/b@3 (2) by create 4-0 books/1
/nextName books.nextName no value of (0): the document refers to nothing here by books.next
-> books.nextName 1 [2]
-> authors.books 2 [a b]
-> authors.n 2 [a b]`))
	harness.WantText(t, lineage(t, s, "/v1/books/2"), strings.TrimSpace(`
/nextName books.nextName  of books/1@7 (1) by derive 6-2 authors/a
/was books.was no value of authors/c@0 (1): there is no document authors/c
/authors/0/name books.authors[].name no value of authors/c@0 (1): there is no document authors/c
-> books.nextName 0 []
-> authors.books 0 []
-> authors.n 0 []`))
	harness.WantText(t, lineage(t, s, "/v1/authors/a"), strings.TrimSpace(`
/books authors.books  of books/1@7 (1) by derive 4-1 books/1
/n authors.n  of books/1@7 (1) by derive 4-1 books/1
-> books.authors[].name 1 [1]
-> books.was 1 [1]`))
	s.Delete("authors", "b") // 8
	if got := lineage(t, s, "/v1/books/1"); !strings.Contains(got, "/authors/1/name books.authors[].name kept of authors/b@0 (1) by create 4-0 books/1") {
		t.Fatalf("after the delete it is\n%s", got)
	}
	now := harness.Body(s, "/v1/books/1/_lineage")
	for _, place := range []string{`"rule":"books.authors[].name","kind":"copy"`, `"rule":"books.was","kind":"copy"`} {
		if _, after, ok := strings.Cut(now, place); !ok || !strings.Contains(strings.SplitN(after, `"event"`, 2)[0], `"sourcePath":"/name","documents"`) {
			t.Errorf("%s has no place in its source: %s", place, now)
		}
	}
	if got := harness.Body(s, "/v1/books/2/_lineage"); !strings.Contains(got, `"sourcePath":"/authors/0/name"`) {
		t.Errorf("the place in an array is not told: %s", got)
	}
	s.Want(http.StatusNotFound, "GET", "/v1/books/none/_lineage", "")
	s.Want(http.StatusNotFound, "GET", "/v1/books/1/_lineage?at=3", "")
	s.Want(http.StatusBadRequest, "GET", "/v1/books/1/_lineage?at=5&consistency=strong", "")
	s.Want(http.StatusBadRequest, "GET", "/v1/books/1/_lineage?at=yesterday", "")
	then := harness.Body(s, "/v1/books/1/_lineage?at=5")
	if !strings.Contains(then, `"sources":[{"collection":"authors","id":"a","rev":2,`) || !strings.Contains(then, `{"collection":"authors","id":"b","rev":3,`) {
		t.Fatalf("at event 5 it was %s", then)
	}
	s.Want(http.StatusBadRequest, "GET", "/v1/books/1/_lineage?x=1", "")
}

// TestLineageOfNoValue: lineage has each rule without a value, and says why, also where the target is there and the
// expression finds nothing.
func TestLineageOfNoValue(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, `
embedded: {limit: 1000}
collections:
  authors:
    derive:
      most: {max: books.authors, of: pages, where: "doc.year > 1900"}
      mean: {avg: books.authors, of: pages}
      long: {copy: books, value: doc.text}
    relations: {books: {path: best, to: books}}
  books:
    relations: {authors: {path: "authors[].id", to: authors, onDelete: keep}, first: {path: first, to: authors}}
    derive:
      "authors[].name": {copy: authors, value: doc.nme}
      names: {copy: authors, value: doc.name}
      "info.born": {copy: first, value: "doc.born.year"}
      was: {copy: first, value: doc.price, frozen: true}
`)
	s.Put("books", "1", `{"authors":[{"id":"a"},{"id":"b"}],"first":"a","pages":"x"}`)
	s.Put("authors", "a", `{"name":"Ann","born":{}}`)
	s.Put("authors", "b", `{"nme":"Bob","best":"2"}`)
	s.Put("books", "2", `{"text":"`+strings.Repeat("x", 960)+`","info":"none"}`)
	harness.WantText(t, lineage(t, s, "/v1/books/1"), strings.TrimSpace(`
/authors/1/name books.authors[].name  of authors/b@4 (1) by derive 4-1 authors/b
/names books.names  of authors/a@3 authors/b@4 (2) by derive 3-1 authors/a: authors/b: there is no member "name"; did you mean "nme"?
/info/born books.info.born no value of authors/a@3 (1): authors/a: there is no member "year" in /born
/was books.was no value of authors/a@3 (1): authors/a: there is no member "price"
/authors/0/name books.authors[].name no value of authors/a@3 (1): authors/a: there is no member "nme"; did you mean "name"?
-> authors.long 0 []
-> authors.mean 2 [a b]
-> authors.most 0 []`))
	harness.WantText(t, lineage(t, s, "/v1/books/2"), strings.TrimSpace(`
/names books.names no value of (0): the document refers to nothing here by books.authors
/was books.was no value of (0): the document refers to nothing here by books.first
 books.authors[].name no value of (0): the document has no place for it at authors[].name
 books.info.born no value of (0): the document has no place for it at info.born
-> authors.long 1 [b]
-> authors.mean 0 []
-> authors.most 0 []`))
	got := lineage(t, s, "/v1/authors/b")
	for _, line := range []string{
		`/most authors.most no value of books/1@2 (1): books/1: where: there is no member "year"`,
		`/mean authors.mean no value of books/1@2 (1): books/1: of: member pages is no number`,
		`/long authors.long no value of books/2@5 (1): the embedded document has no room for it`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no %s in\n%s", line, got)
		}
	}
	s.Merge("authors", "a", `{"price":3}`)
	if got := lineage(t, s, "/v1/books/1"); !strings.Contains(got, "authors/a had no value when the document was last written") {
		t.Errorf("the frozen value:\n%s", got)
	}
}
