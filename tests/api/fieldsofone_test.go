package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestFieldsOfOneDocument: fields keeps the same paths of one document as of each in a list, in every view and state, and leaves the ETag.
func TestFieldsOfOneDocument(t *testing.T) {
	s := harness.OpenTemp(t, `collections: {authors: {}, books: {relations: {author: {path: author, to: authors}}, derive: {authorName: {copy: author, value: "doc.name"}}}}`)
	s.Put("authors", "a", `{"name":"Ann"}`)
	s.Put("books", "b", `{"author":"a","title":"One","price":2.50,"lines":[{"sku":"x","n":1},7]}`)
	const path = "/v1/books/b"
	whole := s.Want(http.StatusOK, "GET", path, "")
	at := whole.Header.Get("Fanfold-Position")
	for _, c := range []struct{ query, want string }{
		{"fields=price,title", `{"id":"b","title":"One","price":2.50}`},
		{"fields=lines[].sku", `{"id":"b","lines":[{"sku":"x"}]}`},
		{"fields=authorName", `{"id":"b","authorName":"Ann"}`},
		{"fields=authorName&view=referenced", `{"id":"b"}`},
		{"fields=title&expand=author", `{"id":"b","title":"One","_expanded":{"author":{"a":{"id":"a","name":"Ann"}}}}`},
		{"fields=title&at=" + at, `{"id":"b","title":"One"}`},
		{"fields=title&expand=author&at=" + at, `{"id":"b","title":"One","_expanded":{"author":{"a":{"id":"a","name":"Ann"}}}}`},
	} {
		got := s.Want(http.StatusOK, "GET", path+"?"+c.query, "")
		if string(got.Body) != c.want {
			t.Errorf("%s gives %s, want %s", c.query, got.Body, c.want)
		}
		if tag := got.Header.Get("ETag"); tag != whole.Header.Get("ETag") && !strings.Contains(c.query, "expand") {
			t.Errorf("%s has the ETag %s, the document %s", c.query, tag, whole.Header.Get("ETag"))
		}
		head := s.Want(http.StatusOK, "HEAD", path+"?"+c.query, "")
		if head.Header.Get("ETag") != got.Header.Get("ETag") || head.Header.Get("Content-Length") != got.Header.Get("Content-Length") {
			t.Errorf("HEAD %s has %v, GET %v", c.query, head.Header, got.Header)
		}
		s.Want(http.StatusNotModified, "GET", path+"?"+c.query, "", "If-None-Match", got.Header.Get("ETag"))
	}
	s.Want(http.StatusOK, "PATCH", path, `{"title":"Two"}`, "If-Match", whole.Header.Get("ETag"), "Content-Type", "application/merge-patch+json", "Prefer", "return=representation")
	for _, bad := range []string{"fields=a..b", "fields=" + strings.Repeat("a,", 100) + "a", "fields=a&fields=b"} {
		harness.Refuse(t, s, harness.Refusal{Status: 400, Code: "invalid", Method: "GET", Path: path + "?" + bad, Says: []string{"fields"}})
	}
}
