package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/tests/harness"
)

// lineage is a document's, a line for each value and each rule that copies from it.
func lineage(t *testing.T, s *harness.Store, path string) string {
	t.Helper()
	var l inspect.Lineage
	if err := json.Unmarshal([]byte(body(s, path+"/_lineage")), &l); err != nil {
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
			line += fmt.Sprintf(" by %s %s %s/%s", v.Event.Op, v.Event.Seq, v.Event.Collection, v.Event.ID)
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
	wantText(t, rev(s.Merge("authors", "a", `{"name":"Cleo"}`)), "6")
	wantText(t, rev(s.Merge("books", "1", `{"title":"T"}`)), "7")

	wantText(t, lineage(t, s, "/v1/books/1"), strings.TrimSpace(`
/authors/0/name books.authors[].name  of authors/a@6 (1) by derive 6-1 authors/a
/authors/1/name books.authors[].name  of authors/b@3 (1) by create 4-0 books/1
/was books.was frozen of authors/a@6 authors/b@3 (2) by create 4-0 books/1
-> books.nextName 1 [2]
-> authors.books 2 [a b]
-> authors.n 2 [a b]`))
	wantText(t, lineage(t, s, "/v1/books/2"), strings.TrimSpace(`
/nextName books.nextName  of books/1@7 (1) by derive 6-2 authors/a
-> books.nextName 0 []
-> authors.books 0 []
-> authors.n 0 []`))
	wantText(t, lineage(t, s, "/v1/authors/a"), strings.TrimSpace(`
/books authors.books  of books/1@7 (1) by derive 4-1 books/1
/n authors.n  of books/1@7 (1) by derive 4-1 books/1
-> books.authors[].name 1 [1]
-> books.was 1 [1]`))
	s.Delete("authors", "b") // 8
	if got := lineage(t, s, "/v1/books/1"); !strings.Contains(got, "/authors/1/name books.authors[].name kept of authors/b@0 (1) by create 4-0 books/1") {
		t.Fatalf("after the delete it is\n%s", got)
	}
	s.Want(http.StatusNotFound, "GET", "/v1/books/none/_lineage", "")
	s.Want(http.StatusBadRequest, "GET", "/v1/books/1/_lineage?x=1", "")
}
