package api_test

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestByteOrderMark: a byte order mark before a body is left out on every route, and a second one is refused as other text is.
func TestByteOrderMark(t *testing.T) {
	const mark = "\ufeff"
	s := harness.OpenTemp(t, "collections: {books: {}}")
	for _, c := range []struct {
		status                         int
		method, path, body, media, has string
	}{
		{201, "PUT", "/v1/books/b1", `{"n":1}`, "application/json", ""},
		{201, "POST", "/v1/books", `{"n":2}`, "application/json", ""},
		{204, "PATCH", "/v1/books/b1", `{"m":1}`, "application/merge-patch+json", ""},
		{204, "PATCH", "/v1/books/b1", `[{"op":"add","path":"/k","value":1}]`, "application/json-patch+json", ""},
		{200, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"t1","body":{}}]}`, "application/json", ""},
		{200, "POST", "/v1/books/_query", `{"filter":"doc.n == 1"}`, "application/json", `"id":"b1"`},
		{200, "POST", "/v1/_import", `{"collection":"books","doc":{"id":"i1"}}` + "\n", "application/x-ndjson", `"written":1`},
		{200, "PUT", "/v1/_model?dryRun=true", "collections: {books: {indexes: {n: [n]}}}", "application/yaml", ""},
		{200, "PUT", "/v1/_model?dryRun=true", `{"collections":{"books":{"indexes":{"n":["n"]}}}}`, "application/json", ""},
		{200, "PUT", "/v1/_model/books?dryRun=true", "indexes: {n: [n]}", "application/yaml", ""},
		{201, "PUT", "/v1/_groups/g1", `{"partitions":1}`, "application/json", ""},
		{200, "POST", "/v1/_find", `{"text":"nobody"}`, "application/json", ""},
	} {
		if r := s.Want(c.status, c.method, c.path, mark+c.body, "Content-Type", c.media); !strings.Contains(string(r.Body), c.has) {
			t.Errorf("%s %s with a byte order mark is %s, want %s", c.method, c.path, r.Body, c.has)
		}
		if c.has == `"written":1` {
			if got := harness.ImportText(t, s.Client, "", mark+mark+c.body); !strings.Contains(got, `{"line":1,"status":400,`) {
				t.Errorf("an import with two byte order marks is %s", got)
			}
			continue
		}
		s.Want(400, c.method, c.path, mark+mark+c.body, "Content-Type", c.media)
	}
	s.WantDoc("books", "b1", `{"id":"b1","n":1,"m":1,"k":1}`)
	s.WantDoc("books", "t1", `{"id":"t1"}`)
}
