package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// numberClasses are numbers in their order. All numbers in one class are equal; 64-bit floats do not tell all classes apart.
var numberClasses = [][]string{{"-9e1000"}, {"-1e400", "-10e399"}, {"-123456789012345678901234567890"}, {"-1e-400"}, {"0", "-0", "0.0", "0e5"}, {"1e-400", "10e-401"}, {"0.1", "0.10", "1e-1"},
	{"1", "1.0", "10e-1"}, {"9007199254740992", "9007199254740992.0"}, {"9007199254740993", "9.007199254740993e15"}, {"123456789012345678901234567890"}, {"123456789012345678901234567891"},
	{"1e400", "10e399"}, {"9e1000"}}

// manyNumbers returns a store with a document for each of these numbers in a collection without an index and in one with indexes. A third
// collection, in which the number is unique, takes one of each class.
func manyNumbers(t *testing.T) *harness.Store {
	t.Helper()
	s := harness.OpenTemp(t, "collections: {plain: {}, indexed: {indexes: {n: [n], text: [string(doc.n)]}}, once: {unique: [n]}}")
	for c, class := range numberClasses {
		for i, n := range class {
			doc, id := fmt.Sprintf(`{"class":%d,"n":%s}`, c, n), fmt.Sprintf("c%02d-%d", c, i)
			s.Put("plain", id, doc)
			s.Put("indexed", id, doc)
			status := http.StatusCreated
			if i > 0 {
				status = http.StatusConflict
			}
			s.Want(status, http.MethodPut, "/v1/once/"+id, doc)
		}
	}
	return s
}

// classesOf returns the classes of the documents that a query finds, in its order.
func classesOf(t *testing.T, s *harness.Store, collection string, query map[string]any) (classes []int) {
	t.Helper()
	query["limit"] = 100
	text, err := json.Marshal(query)
	if err != nil {
		t.Fatal(err)
	}
	var a struct{ Items []struct{ Class int } }
	harness.Decode(t, s.Want(http.StatusOK, http.MethodPost, "/v1/"+collection+"/_query", string(text), "Content-Type", "application/json").Body, &a)
	for _, item := range a.Items {
		classes = append(classes, item.Class)
	}
	return classes
}

// TestNumbersAreExact: filters with and without an index, the feed's filter, sorts, groups and unique tell numbers apart by their exact
// values, and agree.
func TestNumbersAreExact(t *testing.T) {
	s := manyNumbers(t)
	before := 0
	for c, class := range numberClasses {
		for _, n := range class {
			params := map[string]any{"n": json.Number(n)}
			for filter, want := range map[string]int{"doc.n == params.n": len(class), "params.n > doc.n": before, "doc.n <= params.n": before + len(class),
				"doc.n in [params.n]": len(class), "[doc.n].exists(n, n == params.n)": len(class)} {
				for _, collection := range []string{"plain", "indexed"} {
					if found := classesOf(t, s, collection, map[string]any{"filter": filter, "params": params}); len(found) != want || strings.Contains(filter, "=") && (len(found) == 0 || found[len(found)-1] != c) {
						t.Errorf("%s of %s with %s finds %v, want %d of class %d", filter, collection, n, found, want, c)
					}
				}
			}
			var feed struct{ Results []struct{ ID string } }
			text := url.QueryEscape(fmt.Sprintf(`{"n":%s}`, n))
			harness.Decode(t, s.Want(http.StatusOK, http.MethodGet, "/v1/_changes?collections=plain&mode=all&filter="+url.QueryEscape("doc.n == params.n")+"&params="+text, "").Body, &feed)
			if len(feed.Results) != len(class) {
				t.Errorf("the feed has %v for %s", feed.Results, n)
			}
		}
		before += len(class)
	}
	for _, collection := range []string{"plain", "indexed"} {
		last := 0
		for _, c := range classesOf(t, s, collection, map[string]any{"sort": []string{"n"}}) {
			if c < last {
				t.Errorf("%s has class %d after %d", collection, c, last)
			}
			last = c
		}
		var a struct {
			Groups []struct{ Values struct{ Count int } }
		}
		harness.Decode(t, s.Want(http.StatusOK, http.MethodGet, "/v1/"+collection+"?group=n&compute=count", "").Body, &a)
		for c, g := range a.Groups {
			if len(a.Groups) != len(numberClasses) || g.Values.Count != len(numberClasses[c]) {
				t.Fatalf("the groups of %s are %+v", collection, a.Groups)
			}
		}
	}
	for text, want := range map[string]int{"9007199254740993": 1, "+Inf": 0, "0.1": 1, "1e400": 1, "-0": 1, "0": 1} { // as it is written
		for _, collection := range []string{"plain", "indexed"} {
			if found := classesOf(t, s, collection, map[string]any{"filter": "string(doc.n) == params.t", "params": map[string]any{"t": text}}); len(found) != want {
				t.Errorf("%s are as a text in %s: %v", text, collection, found)
			}
		}
	}
}

// TestNumbersBeyondAreRefused: each road by which a document is decided refuses a number that could not be compared, and names its place. A
// document from before can be read, patched elsewhere, and moved to another store.
func TestNumbersBeyondAreRefused(t *testing.T) {
	const merge, operations, lines = "application/merge-patch+json", "application/json-patch+json", "application/x-ndjson"
	s := harness.OpenTemp(t, "collections: {sums: {derive: {all: {sum: docs.in, of: n}}}, docs: {relations: {in: {path: in, to: sums}}}}")
	s.Put("docs", "d", `{"n":1}`)
	for _, n := range []string{"1e1001", "-1e1001", "1e-1001", "1e99999999999999999999", "1" + strings.Repeat("0", 1001), strings.Repeat("7", 1001)} {
		doc := `{"id":"d","a/b":[0,{"x":` + n + `}]}`
		for road, r := range map[string]struct{ method, path, body, contentType string }{
			"put":            {"PUT", "/v1/docs/d", doc, ""},
			"post":           {"POST", "/v1/docs", strings.Replace(doc, `"d"`, `"e"`, 1), ""},
			"merge patch":    {"PATCH", "/v1/docs/d", doc, merge},
			"JSON Patch":     {"PATCH", "/v1/docs/d", `[{"op":"add","path":"/a~1b","value":[0,{"x":` + n + `}]}]`, operations},
			"transaction":    {"POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"docs","id":"d","body":` + doc + `}]}`, ""},
			"patch in one":   {"POST", "/v1/_transactions", `{"operations":[{"op":"patch","collection":"docs","id":"d","patch":` + doc + `}]}`, ""},
			"import":         {"POST", "/v1/_import", `{"collection":"docs","doc":` + doc + `}`, lines},
			"import of docs": {"POST", "/v1/_import?collection=docs", doc, lines},
		} {
			status, headers := http.StatusUnprocessableEntity, []string{}
			if r.contentType != "" {
				headers = []string{"Content-Type", r.contentType}
			}
			if r.contentType == lines {
				status = http.StatusOK // with a refused line
			}
			t.Log(road)
			wantDetail(t, s.Want(status, r.method, r.path, r.body, headers...), "number of more than 1,000 digits, or beyond 1e±1000", "/a~1b/1/x", n[:min(len(n), 10)])
		}
	}
	harness.ImportStored(s, "docs", `{"id":"old","n":1e2000,"in":"s"}`)
	s.Want(http.StatusNoContent, "PATCH", "/v1/docs/old", `{"m":1}`, "Content-Type", merge)
	exported := s.Want(http.StatusOK, "GET", "/v1/_export", "").Body
	other := harness.OpenTemp(t, "")
	other.Want(http.StatusOK, "POST", "/v1/_import", string(exported), "Content-Type", lines)
	other.WantDoc("docs", "old", `{"id":"old","n":1e2000,"in":"s","m":1}`)

	ends := strings.Repeat("1", 1000)
	s.Put("docs", "high", `{"in":"s","n":1e1000}`)
	s.Put("docs", "low", `{"in":"s","n":0.`+ends+`}`)
	s.Put("sums", "s", `{}`)
	body := string(s.Want(http.StatusOK, "GET", "/v1/sums/s", "").Body)
	if !strings.Contains(body, ends) || len(body) < 2*len(ends) {
		t.Fatalf("the sum is %s", body)
	}
	s.Want(http.StatusNoContent, "PUT", "/v1/sums/s", body) // whose derived number is dropped, however long it is
}
