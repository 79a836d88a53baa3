package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// wideTags returns a document whose tags number n, beside three texts.
func wideTags(n int, text string) string {
	tags := make([]string, n)
	for i := range tags {
		tags[i] = fmt.Sprintf(`"t%d"`, i)
	}
	return fmt.Sprintf(`{"id":"d","tags":[%s],"a":%q,"b":%q,"c":%q}`, strings.Join(tags, ","), text, text, text)
}

// TestIndexBytes: each road by which a document is decided refuses one whose entries would have more bytes than are taken. The words are
// the same, and nothing is written. A document that was there before the index may stay and be patched.
func TestIndexBytes(t *testing.T) {
	s := harness.OpenTemp(t, "")
	large := wideTags(1000, strings.Repeat("x", 1000))
	s.Put("docs", "old", strings.Replace(large, `"d"`, `"old"`, 1))
	was := s.Put("docs", "d", large).Header.Get("Fanfold-Revision")
	s.Model("collections: {docs: {indexes: {a: [\"tags[]\", a, b, c]}}}")
	s.Put("docs", "many", strings.Replace(wideTags(1000, strings.Repeat("x", 600)), `"d"`, `"many"`, 1))
	s.Put("docs", "overflow", strings.Replace(wideTags(1001, strings.Repeat("x", 1000)), `"d"`, `"overflow"`, 1)) // has one entry
	s.Put("docs", "d", `{"tags":[]}`)
	const merge, operations, lines = "application/merge-patch+json", "application/json-patch+json", "application/x-ndjson"
	values := `[{"op":"add","path":"/x","value":` + large + `},{"op":"move","from":"/x/tags","path":"/tags"},{"op":"move","from":"/x/a","path":"/a"},{"op":"move","from":"/x/b","path":"/b"},{"op":"move","from":"/x/c","path":"/c"}]`
	transaction := func(op, member, body string) string {
		return fmt.Sprintf(`{"operations":[{"op":%q,"collection":"docs","id":"d",%q:%s}]}`, op, member, body)
	}
	fresh := strings.Replace(large, `"d"`, `"e"`, 1)
	before := s.Want(http.StatusOK, "GET", "/v1/docs/d", "").Header.Get("Fanfold-Revision")
	for road, r := range map[string]struct{ method, path, body, contentType string }{
		"put":                     {"PUT", "/v1/docs/d", large, ""},
		"post":                    {"POST", "/v1/docs", fresh, ""},
		"merge patch":             {"PATCH", "/v1/docs/d", large, merge},
		"JSON Patch":              {"PATCH", "/v1/docs/d", values, operations},
		"dry run":                 {"PUT", "/v1/docs/d?dryRun=true", large, ""},
		"transaction: put":        {"POST", "/v1/_transactions", transaction("put", "body", large), ""},
		"transaction: create":     {"POST", "/v1/_transactions", strings.Replace(transaction("create", "body", fresh), `"id":"d"`, `"id":"e"`, 1), ""},
		"transaction: patch":      {"POST", "/v1/_transactions", transaction("patch", "patch", large), ""},
		"revert":                  {"POST", "/v1/docs/d/_revert", `{"at":"` + was + `"}`, ""},
		"import":                  {"POST", "/v1/_import", `{"collection":"docs","doc":` + large + `}`, lines},
		"import of one":           {"POST", "/v1/_import?collection=docs", large, lines},
		"import as text":          {"POST", "/v1/_import", `{"collection":"docs","text":` + harness.QuoteJSON(large) + `}`, lines},
		"import as text, of more": {"POST", "/v1/_import", `{"collection":"docs","text":` + harness.QuoteJSON(strings.Replace(large, `"d"`, `"old"`, 1)) + `}`, lines},
	} {
		status, headers := http.StatusUnprocessableEntity, []string{}
		if r.contentType != "" {
			headers = []string{"Content-Type", r.contentType}
		}
		if r.contentType == lines {
			status = http.StatusOK // with a refused line
		}
		t.Log(road)
		wantDetail(t, s.Want(status, r.method, r.path, r.body, headers...), "entries of", "indexes of docs up to a", "2097152", "tags[]")
	}
	if after := s.Want(http.StatusOK, "GET", "/v1/docs/d", "").Header.Get("Fanfold-Revision"); after != before {
		t.Errorf("the document was written: %s, before %s", after, before)
	}
	s.Want(http.StatusNotFound, "GET", "/v1/docs/e", "")
	s.Want(http.StatusNoContent, "PATCH", "/v1/docs/old", `{"d":1}`, "Content-Type", merge)
}
