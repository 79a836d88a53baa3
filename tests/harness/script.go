package harness

import (
	"net/http"
	"testing"
)

// CrashModel has a rule of every kind that a crash may cut in two.
const CrashModel = `
collections:
  authors:
    derive:
      countOfBooks: {count: books.authors}
      books: {ids: books.authors, limit: 2}
      stars: {avg: books.authors, of: stars}
      newest: {recent: books.authors, max: 1, fields: [id, publisherName]}
      best: {max: books.authors, of: stars}
  series: {}
  books:
    unique: [isbn]
    pages: {by: authors, size: 2}
    relations:
      series: {path: series, to: series, strict: true, onDelete: cascade}
      authors: {path: "authors[].id", to: authors}
      publisher: {path: pub-id, to: publishers, onDelete: keep}
    derive:
      "authors[].name": {copy: authors, value: doc.name}
      "authors[].n": {copy: authors, value: doc.countOfBooks}
      publisherName: {copy: publisher, value: doc.name}
      first: {copy: authors, value: doc.name, frozen: true}
    indexes:
      byPublisher: [publisherName, -stars]
      byAuthor: ["authors[].name", "-authors[].n"]
      newest: ["-_meta.updatedAt"]
  publishers: {}
`

// CrashScript is what tests of crashes do: every kind of write, and models that add and drop rules.
var CrashScript = []CrashStep{
	{"PUT", "/v1/_model", CrashModel, "application/yaml"},
	{"PUT", "/v1/books/b1", `{"authors":[{"id":"a1"},{"id":"a2"}],"pub-id":"p"}`, ""},
	{"PUT", "/v1/authors/a1", `{"name":"One"}`, ""},
	{"PUT", "/v1/publishers/p", `{"name":"Press"}`, ""},
	{"PUT", "/v1/books/b2", `{ "authors": [{"id":"a1"}] }`, ""},
	{"PATCH", "/v1/authors/a1", `{"name":"Uno"}`, "application/merge-patch+json"},
	{"PUT", "/v1/authors/a2", `{"name":"Two"}`, ""},
	{"POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"b3","body":{"authors":[{"id":"a1"},{"id":"a2"}]}},{"op":"patch","collection":"authors","id":"a1","patch":{"n":3}},{"op":"create","collection":"authors","body":{"id":"a3"}},{"op":"check","collection":"books","id":"b1","ifMatch":"*"}]}`, ""},
	{"PUT", "/v1/series/s", `{}`, ""},
	{"PUT", "/v1/books/b4", `{"series":"s","isbn":"1","stars":0.1,"authors":[{"id":"a1"}]}`, ""},
	{"PUT", "/v1/books/b5", `{"series":"s","isbn":"2","stars":0.2,"authors":[{"id":"a1"}]}`, ""},
	{"DELETE", "/v1/series/s", "", ""},
	{"DELETE", "/v1/publishers/p", "", ""},
	{"DELETE", "/v1/authors/a2", "", ""},
	{"PUT", "/v1/_model?allowRemoval=true", SmallerModel, "application/yaml"},
	{"PUT", "/v1/authors/a2", `{"name":"Zwei"}`, ""},
	{"PATCH", "/v1/books/b1", `[{"op":"remove","path":"/authors/0"}]`, "application/json-patch+json"},
	{"DELETE", "/v1/books/b2", "", ""},
}

// CrashStep is a request of CrashScript.
type CrashStep = struct{ Method, Path, Body, ContentType string }

// RunScript sends the steps; acknowledged are those that the store took.
func RunScript(t *testing.T, s *Store, script []CrashStep) (acknowledged []CrashStep) {
	t.Helper()
	for _, st := range script {
		headers := []string{"Fanfold-Timeout", "2"}
		if st.ContentType != "" {
			headers = append(headers, "Content-Type", st.ContentType)
		}
		r, err := s.Do(st.Method, st.Path, []byte(st.Body), headers...)
		if err != nil {
			t.Fatalf("%s %s: %v", st.Method, st.Path, err)
		}
		if r.Status < http.StatusMultipleChoices {
			acknowledged = append(acknowledged, st)
		}
	}
	return acknowledged
}

// SmallerModel drops, changes and adds rules of CrashModel.
const SmallerModel = `
collections:
  authors: {derive: {works: {count: books.authors}}}
  books:
    relations: {authors: {path: "authors[].id", to: authors}}
    derive: {"authors[].name": {copy: authors, value: "doc.name + '!'"}}
    indexes: {byAuthor: ["authors[].name"], newest: ["-_meta.updatedAt"]}
`
