package harness

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Refusal is a request that is refused. Every part of says is in the detail or among the problems.
type Refusal = struct {
	Name         string
	Status       int
	Code         string
	Method, Path string
	Body         string
	Headers      []string
	Says         []string
}

// Refuse sends the request and checks the problem.
func Refuse(t *testing.T, s *Store, b Refusal) ProblemDoc {
	t.Helper()
	r, err := s.Do(b.Method, b.Path, []byte(b.Body), b.Headers...)
	if err != nil {
		t.Fatal(err)
	}
	var p ProblemDoc
	if r.Status != b.Status || r.Header.Get("Content-Type") != "application/problem+json" || json.Unmarshal(r.Body, &p) != nil {
		t.Fatalf("%s %s: %d %s %s, want a problem with %d", b.Method, b.Path, r.Status, r.Header.Get("Content-Type"), Clipped(r.Body), b.Status)
	}
	if p.Type != "urn:fanfold:problem:"+b.Code || p.Status != b.Status || p.Title == "" || p.Detail == "" {
		t.Errorf("problem %s, want code %s", Clipped(r.Body), b.Code)
	}
	if strings.Contains(string(r.Body), `\u003`) {
		t.Errorf("%s has < or > escaped, which nobody reads easily in a terminal", r.Body)
	}
	for _, word := range b.Says {
		if !strings.Contains(p.Detail+fmt.Sprint(p.Problems), word) {
			t.Errorf("detail %q %v does not say %q", p.Detail, p.Problems, word)
		}
	}
	if len(p.Detail) > 1000 {
		t.Errorf("the detail has %d bytes", len(p.Detail))
	}
	return p
}

// ProblemDoc is a problem as a client reads it.
type ProblemDoc struct {
	Type, Title, Detail string
	Status              int
	Problems            []struct{ Path, Detail string }
}

// Clipped returns the first 300 bytes of a body.
func Clipped(b []byte) string {
	if len(b) > 300 {
		return string(b[:300]) + "…"
	}
	return string(b)
}

// RefusalModel is the model of the store that RefuseAll asks.
const RefusalModel = `
collections:
  authors: {derive: {count: {count: books.authors}}}
  books:
    relations: {authors: {path: "authors[].id", to: authors}}
    derive: {"authors[].name": {copy: authors, value: doc.name}}
`

// RefuseAll runs the table; the document and the log stay as they were, and the store goes on.
func RefuseAll(t *testing.T, table []Refusal) {
	t.Helper()
	s := OpenTemp(t, RefusalModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	s.Put("books", "b1", `{"title":"T", "n":[1,2],"authors":[{"id":"a1"}]}`)
	before := s.Want(200, "GET", "/v1/books/b1", "")
	_, last := s.Changes("")
	for _, b := range table {
		t.Run(b.Name, func(t *testing.T) {
			Refuse(t, s, b)
			after := s.Want(200, "GET", "/v1/books/b1", "")
			if string(after.Body) != string(before.Body) || after.Header.Get("ETag") != before.Header.Get("ETag") {
				t.Errorf("the document is now %s", after.Body)
			}
		})
	}
	if rows, now := s.Changes("since=" + last); len(rows) > 0 {
		t.Errorf("refused requests changed the store: %v, now at %s", rows, now)
	}
	s.Put("books", "b1", `{"title":"U"}`)
	s.WantDoc("books", "b1", `{"id":"b1","title":"U"}`)
}
