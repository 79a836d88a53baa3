package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestStumbling: small things in which new users stumbled.
func TestStumbling(t *testing.T) {
	s := harness.OpenTemp(t, `collections: {authors: {}, books: {relations: {author: {path: author, to: authors}, other: {path: other, to: authors}}}}`)
	s.Put("authors", "a", `{}`)
	s.Put("books", "b", `{"author":"a","other":"a"}`)
	list := s.Want(http.StatusOK, "POST", "/v1/books/_query", `{"expand":["author","other"]}`)
	text := s.Want(http.StatusOK, "POST", "/v1/books/_query", `{"expand":"author,other"}`)
	if string(list.Body) != string(text.Body) || !strings.Contains(string(list.Body), "_expanded") {
		t.Errorf("expand as an array gives %s, as a text %s", list.Body, text.Body)
	}
	s.Put("books", "b", `{"author":"a"}`)
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":1}`)
	lease := harness.Lease(t, s.Client, "g", "m")[0]
	for _, r := range []harness.Refusal{
		{"", 400, "invalid", "POST", "/v1/books/_query", `{"expand":[]}`, nil, []string{"expand"}},
		{"", 400, "invalid", "POST", "/v1/books/_query", `{"expand":[1]}`, nil, []string{"expand"}},
		{"", 400, "invalid", "GET", "/v1/books/b?at=2026-01-02T03:04:05+01:00", "", nil, []string{"%2B"}},
		{"", 400, "invalid", "GET", "/v1/_changes?since=2026-01-02T03:04:05+01:00", "", nil, []string{"%2B"}},
		{"", 400, "invalid", "POST", "/v1/_groups/g/_ack", harness.BatchOf(lease, "x", ""), nil, []string{"member position", `x`}},
		{"", 400, "invalid", "GET", "/v1/books/b", "", []string{"If-Match", `"1"`}, []string{"If-Match"}},
		{"", 400, "invalid", "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"b","ifMatch":"","body":{}}]}`, nil, []string{"ifMatch"}},
		{"", 415, "unsupported-media", "PUT", "/v1/books/b", `{}`, []string{"Content-Type", "application/json; charset=ISO-8859-1"}, []string{"iso-8859-1", "UTF-8"}},
	} {
		harness.Refuse(t, s, r)
	}
	s.Want(http.StatusNoContent, "PUT", "/v1/books/b", `{}`, "Content-Type", `application/json; charset="UTF-8"`)
}
