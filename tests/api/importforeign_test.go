package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/tests/harness"
)

// octets are the headers of an export of another store.
var octets = []string{"Content-Type", "application/octet-stream"}

// foreignReport sends an export of another store, and returns what the server says of it.
func foreignReport(t *testing.T, c *harness.Client, query string, body string) (r wire.ImportReport) {
	t.Helper()
	if err := json.Unmarshal(c.Want(http.StatusOK, "POST", "/v1/_import?"+query, body, octets...).Body, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDryRunOfAnExport: a dry run asks for the collection and for the id where the documents do not say them, and tells where which lines are refused.
func TestDryRunOfAnExport(t *testing.T) {
	s := harness.OpenTemp(t, "")
	r := foreignReport(t, s.Client, "from=auto&dryRun=true&name=Old%20Books.json.gz", `[{"title":"A","isbn":"1","shelf_id":7,"n":1},`+"\n"+`{"title":"A","isbn":"2","shelf_id":8},{"id":"3","_x":1}]`)
	if r.Proposed != "old-books" || r.WithoutID != 2 || !slices.Equal(r.IDs, []string{"shelf_id", "isbn"}) || r.Refused != 1 || r.Refusals[0].Line != 2 || !r.Done || r.From != "json" || r.Documents != 2 || r.Collections != nil {
		t.Errorf("the report is %+v", r)
	}
	if !strings.Contains(r.Refusals[0].Detail, "give rename=_x=x, or drop=_x") {
		t.Errorf("the refusal says %s", r.Refusals[0].Detail)
	}
	s.Want(http.StatusNotFound, "GET", "/v1/old-books", "")
	r = foreignReport(t, s.Client, "from=auto&collection=books&rename=shelf_id=id", `[{"title":"A","shelf_id":7}]`)
	if r.Written != 1 || r.Collections["books"] != 1 {
		t.Errorf("the report is %+v", r)
	}
	s.WantDoc("books", "7", `{"title":"A","id":7}`)
	for query, want := range map[string]string{
		"from=auto":                              "give collection=NAME, such as collection=documents",
		"from=auto&collection=9":                 "9",
		"from=oracle&collection=c":               "from=",
		"from=auto&collection=c&id=i":            "do not go with from",
		"from=auto&collection=c&first=2":         "do not go with from",
		"from=auto&collection=c&rename=a":        "rename=a is not OLD=NEW",
		"from=auto&collection=c&rename=a=_b":     "rename=a=_b renames nothing",
		"from=auto&name=books.csv":               "fanfold import --mapping",
		"collection=c&list=a":                    "unknown parameter",
		"collection=c&dryRun=true":               "unknown parameter",
		"from=auto&dryRun=1":                     "dryRun",
		"from=auto&collection=c&keepExtended=no": "keepExtended",
	} {
		kind := octets
		if !strings.Contains(query, "from") {
			kind = []string{"Content-Type", harness.NDJSON}
		}
		if answer := s.Want(http.StatusBadRequest, "POST", "/v1/_import?"+query, `[{"id":"1"}]`, kind...); !strings.Contains(string(answer.Body), want) {
			t.Errorf("%s: %s", query, answer.Body)
		}
	}
	if answer := s.Want(http.StatusBadRequest, "POST", "/v1/_import?from=auto&collection=c", `{"data":[{"id":"1"}]}`, octets...); !strings.Contains(string(answer.Body), "give list=data") {
		t.Errorf("%s", answer.Body)
	}
	s.Want(http.StatusUnsupportedMediaType, "POST", "/v1/_import?collection=c", `{}`, octets...)
}

// TestBoundsOfAnExport: a document that is too long or too deep is refused, and the rest goes on. Reading ends with a body that is compressed too much. Refusals,
// renames and names have bounds.
func TestBoundsOfAnExport(t *testing.T) {
	s := harness.OpenTemp(t, "")
	lines := `{"id":"1"}` + "\n" + `{"a":"` + strings.Repeat("x", 8<<20) + `"}` + "\n" + `{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "}\n" + strings.Repeat("no\n", 40) + `{"id":"2"}`
	for _, dry := range []string{"", "&dryRun=true"} {
		r := foreignReport(t, s.Client, "from=auto&collection=c"+dry, lines)
		if r.Documents != 2 || r.Refused != 42 || len(r.Refusals) != 20 || !strings.Contains(r.Refusals[0].Detail, "more than 8 MiB") || !strings.Contains(r.Refusals[1].Detail, "deeper than 256") || !r.Done {
			t.Errorf("%d documents, %d refused: %+v", r.Documents, r.Refused, r.Refusals[:2])
		}
		r = foreignReport(t, s.Client, "from=auto&collection=c"+dry, bomb(t))
		if r.Done || r.Status != http.StatusBadRequest || !strings.Contains(r.Detail, "250 times") || r.Documents != 1 {
			t.Errorf("of what is compressed too much, the server says %+v", r)
		}
	}
	s.Want(http.StatusBadRequest, "POST", "/v1/_import?from=auto&collection=c&name="+strings.Repeat("x", 401), `{}`, octets...)
	s.Want(http.StatusBadRequest, "POST", "/v1/_import?from=auto&collection=c&drop="+strings.Repeat("x", 401), `{}`, octets...)
	many := strings.Builder{}
	for i := range 101 {
		fmt.Fprintf(&many, "&drop=m%d", i)
	}
	s.Want(http.StatusBadRequest, "POST", "/v1/_import?from=auto&collection=c"+many.String(), `{}`, octets...)
}

// bomb returns gzip of one document and many blanks.
func bomb(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, `{"id":"1"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	blanks := bytes.Repeat([]byte(" \n"), 1<<19)
	for range 80 {
		if _, err := z.Write(blanks); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRightsOfAnExport: who may not write a collection imports nothing into it, and who is no admin compares nothing.
func TestRightsOfAnExport(t *testing.T) {
	s := harness.OpenTemp(t, "collections: { books: { access: { write: [editors] } } }")
	s.CloseHouse()
	reader, editor := s.As("read"), s.As("editors")
	for _, dry := range []string{"", "&dryRun=true"} {
		reader.Want(http.StatusForbidden, "POST", "/v1/_import?from=auto&collection=books"+dry, `{"id":"1"}`, octets...)
		foreignReport(t, editor, "from=auto&collection=books"+dry, `{"id":"1"}`)
	}
	if r := foreignReport(t, editor, "from=auto", `{"collection":"others","doc":{"id":"1"}}`); r.Refused != 1 || r.Refusals[0].Status != http.StatusForbidden {
		t.Errorf("an editor of books imports %+v", r)
	}
	editor.Want(http.StatusForbidden, "POST", "/v1/_drift?collection=books", `{"id":"1"}`, octets...)
}

// TestBoundsOfADrift: documents that are long as shown are compared a few at a time, and one that is longer than the bound is not compared.
func TestBoundsOfADrift(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  texts: {}
  books:
    relations: { texts: { path: "to[].id", to: texts } }
    derive: { "to[].text": { copy: texts, value: doc.text } }
`)
	for i := range 5 {
		s.Put("texts", fmt.Sprint(i), `{"text":"`+strings.Repeat("x", 1900<<10)+`"}`)
	}
	lines := `{"id":"long","to":[{"id":"0","text":"?"},{"id":"1"},{"id":"2"},{"id":"3"},{"id":"4"}]}` + "\n"
	for i := range 7 { // 3.8 MB each: more than are shown at a time
		lines += fmt.Sprintf(`{"id":"b%d","to":[{"id":"0","text":"?"},{"id":"1"}]}`+"\n", i)
	}
	if r := foreignReport(t, s.Client, "from=auto&collection=books", lines); r.Written != 8 {
		t.Fatalf("the import says %+v", r)
	}
	var got wire.DriftReport
	if err := json.Unmarshal(s.Want(http.StatusOK, "POST", "/v1/_drift?collection=books", lines, octets...).Body, &got); err != nil {
		t.Fatal(err)
	}
	if got.Documents != 7 || got.NotThere != 1 || got.Rules[0].Wrong != 7 || got.Rules[0].Missing != 7 {
		t.Errorf("compared %d, not there %d: %+v", got.Documents, got.NotThere, got.Rules[0])
	}
}
