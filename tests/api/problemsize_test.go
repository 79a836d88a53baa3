package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestProblemsAreShort: what is wrong may be as long as a body, and an answer does not repeat all of it.
func TestProblemsAreShort(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {books: {schema: {additionalProperties: false, properties: {id: {type: string}}}}}")
	s.Put("books", "d", `{}`)
	long := strings.Repeat("é", 100_000)
	for _, row := range []struct{ method, path, media, body string }{
		{"POST", "/v1/_transactions", "application/json", `{"operations":[{"op":"` + long + `"}]}`},
		{"POST", "/v1/_transactions", "application/json", `{"operations":[{"op":"put","collection":"books","id":"d","` + long + `":1}]}`},
		{"PATCH", "/v1/books/d", "application/json-patch+json", `[{"op":"remove","path":"/` + long + `"}]`},
		{"PATCH", "/v1/books/d", "application/json-patch+json", `[{"op":"` + long + `","path":"/a"}]`},
		{"PUT", "/v1/books/d", "application/json", `{"` + long + `":1}`},
		{"PUT", "/v1/_model", "application/yaml", "a: !" + long + " b"},
		{"PUT", "/v1/_model", "application/yaml", "a: *" + long},
		{"POST", "/v1/_import?collection=books", "application/x-ndjson", `{"id":"e","` + long + `":1}` + "\n"},
	} {
		r, err := s.Do(row.method, row.path, []byte(row.body), "Content-Type", row.media)
		if err != nil || r.Status >= http.StatusInternalServerError || !strings.Contains(string(r.Body), `"type":"urn:fanfold:problem:`) || strings.Contains(string(r.Body), "\ufffd") {
			t.Errorf("%s %s is answered %d, %.200s, %v", row.method, row.path, r.Status, r.Body, err)
		}
		if most := 20 << 10; len(r.Body) > most {
			t.Errorf("%s %s %.60s: an answer has %d bytes, at most %d are due: %.120s", row.method, row.path, row.body, len(r.Body), most, r.Body)
		}
	}
	var names []string
	for i := range 2000 {
		names = append(names, fmt.Sprintf("unknown%d", i))
	}
	r := s.Want(http.StatusOK, http.MethodGet, "/v1/_changes?collections="+strings.Join(names, ","), "")
	if got := r.Header.Get("Fanfold-Unknown-Collections"); len(got) > 1024 || !strings.HasSuffix(got, ",...") {
		t.Errorf("the header with collections that are not there has %d bytes: %.60s", len(got), got)
	}
}
