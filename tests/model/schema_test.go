package model_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
)

const bookSchema = `
collections:
  authors: {}
  books:
    relations: {author: {path: author, to: authors}}
    derive: {name: {copy: author, value: doc.name, takeOver: true}}
    schema:
      $defs: {positive: {type: integer, minimum: 1}}
      type: object
      required: [title]
      properties:
        id: {type: [string, integer]}
        title: {type: string, minLength: 1}
        pages: {$ref: "#/$defs/positive"}
        tags: {type: array, uniqueItems: true, items: {enum: [a, b]}}
        author: {}
      additionalProperties: false
`

// problems are the ones of a refusal, as "path: detail".
func problems(t *testing.T, r *harness.Response) string {
	t.Helper()
	var p struct{ Problems []fanfold.Problem }
	if err := json.Unmarshal(r.Body, &p); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, problem := range p.Problems {
		list = append(list, problem.Path+": "+problem.Detail)
	}
	return strings.Join(list, "\n")
}

// TestSchema: what does not fit is refused, by whichever way it comes, with the paths.
func TestSchema(t *testing.T) {
	s := harness.OpenTemp(t, bookSchema)
	s.Put("authors", "a", `{"name":"Ann","anything":[1]}`)
	s.Put("books", "1", `{"title":"T","pages":3,"author":"a","name":"what is derived does not count"}`)
	s.WantDoc("books", "1", `{"id":"1","title":"T","pages":3,"author":"a","name":"Ann"}`)
	const wrong = `{"title":"","pages":0.5,"tags":["a","c","a"],"colour/~":1}`
	r := s.Want(http.StatusUnprocessableEntity, "PUT", "/v1/books/2", wrong)
	for _, want := range []string{"/title: ", "/pages: ", "/tags/1: ", "/tags: items at 0 and 2 are equal", ": additional properties 'colour/~' not allowed"} {
		if !strings.Contains(problems(t, r), want) {
			t.Errorf("%q is not in\n%s", want, problems(t, r))
		}
	}
	s.Want(http.StatusUnprocessableEntity, "POST", "/v1/books", `{"pages":1}`)
	s.Want(http.StatusUnprocessableEntity, "PUT", "/v1/books/1?dryRun=true", `{"pages":1}`)
	s.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/books/1", `{"title":null}`, "Content-Type", harness.MergeType)
	s.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/books/1", `[{"op":"add","path":"/tags","value":["z"]}]`, "Content-Type", harness.PatchType)
	s.Want(http.StatusUnprocessableEntity, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"1","body":{}}]}`)
	s.Want(http.StatusUnprocessableEntity, "PUT", "/v1/books/2", `{"title":"T","pages":1e999999}`)
	r = s.Want(http.StatusOK, "POST", "/v1/_import?collection=books", `{"id":"3","title":"T"}`+"\n"+`{"id":"4"}`, "Content-Type", "application/x-ndjson")
	if text := string(r.Body); !strings.Contains(text, `"line":2,"status":422`) || !strings.Contains(text, "title") {
		t.Fatalf("the import says %s", text)
	}
	s.Merge("books", "1", `{"pages":12345678901234567890}`)
	s.WantDoc("books", "1", `{"id":"1","title":"T","pages":12345678901234567890,"author":"a","name":"Ann"}`)
}

// TestSchemaOnStoredDocuments: what does not fit is told before a schema is accepted.
func TestSchemaOnStoredDocuments(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("books", "1", `{"id":1,"title":"T"}`)
	s.Put("books", "2", `{"id":2,"pages":"many"}`)
	s.Put("books", "3", `{"id":3}`)
	send := func(status int, model, query string) *harness.Response {
		t.Helper()
		return s.Want(status, "PUT", "/v1/_model"+query, model, "Content-Type", "application/yaml")
	}
	r := send(http.StatusOK, bookSchema, "?dryRun=true")
	var report struct {
		Misfits []struct {
			Collection string
			Documents  int
			First      []struct{ Document string }
		}
	}
	harness.Decode(t, r.Body, &report)
	if len(report.Misfits) != 1 || report.Misfits[0].Documents != 2 || report.Misfits[0].First[0].Document != "books/2" {
		t.Fatalf("the report is %s", r.Body)
	}
	r = send(http.StatusUnprocessableEntity, bookSchema, "")
	if got := problems(t, r); !strings.Contains(got, "books/2") || !strings.Contains(got, "books/3") {
		t.Fatalf("the refusal is %s", r.Body)
	}
	harness.WantText(t, string(s.Want(http.StatusOK, "GET", "/v1/_model", "").Body), `{"collections":{}}`)
	send(http.StatusOK, bookSchema, "?allowMisfits=true")
	send(http.StatusOK, strings.Replace(bookSchema, "authors: {}", "authors: {derive: {n: {count: books.author}}}", 1), "") // the schema is as it was
	s.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/books/2", `{"title":"T"}`, "Content-Type", harness.MergeType)
	s.Merge("books", "2", `{"title":"T","pages":7}`)

	// An export holds what does not fit, and an import takes it from there.
	export := harness.Body(s, "/v1/_export")
	other := harness.OpenTemp(t, "")
	r = other.Want(http.StatusOK, "POST", "/v1/_import", export, "Content-Type", "application/x-ndjson")
	if !strings.Contains(string(r.Body), `"refused":0`) || harness.Body(other, "/v1/_export") != export {
		t.Fatalf("the import says %s, and makes\n%s\nof\n%s", r.Body, harness.Body(other, "/v1/_export"), export)
	}

	for schema, want := range map[string]string{
		`{$ref: "#"}`:                         "without end",
		"{minimum: 1e30000000}":               "/minimum",
		"7":                                   "not a JSON Schema",
		"{type: text}":                        "not a JSON Schema",
		"{minimum: x}":                        "/minimum",
		`{$ref: "http://example.com/x.json"}`: "nothing is fetched",
		`{$ref: "file:///etc/passwd"}`:        "nothing is fetched",
		`{$ref: "#/$defs/none"}`:              "$defs/none",
		`{pattern: "("}`:                      "pattern",
		`{$schema: "http://json-schema.org/draft-07/schema#"}`: "2020-12",
	} {
		r := send(http.StatusBadRequest, "collections: {books: {schema: "+schema+"}}", "")
		if !strings.Contains(problems(t, r), "collections.books.schema: ") || !strings.Contains(problems(t, r), want) {
			t.Errorf("%s: %s; want %q", schema, r.Body, want)
		}
	}
}

// TestSchemaWithoutID: a schema that refuses every document, because each has an id, warns when the model is put.
func TestSchemaWithoutID(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for source, warns := range map[string]bool{`{"additionalProperties":false,"properties":{"a":{}}}`: true, `{"unevaluatedProperties":false}`: true, `{"additionalProperties":false,"properties":{"id":{}}}`: false,
		`{"additionalProperties":false,"patternProperties":{"^i":{}}}`: false, `{"additionalProperties":false,"patternProperties":{"^x":{}}}`: true, `{"properties":{"a":{"additionalProperties":false}}}`: false,
		`{"unevaluatedProperties":false,"allOf":[{"properties":{"id":{}}}]}`: false, `{"additionalProperties":true}`: false, `false`: false} {
		r := s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", `{"collections":{"c":{"schema":`+source+`}}}`)
		if strings.Contains(string(r.Body), `{"path":"collections.c.schema","detail":"refuses every document`) != warns {
			t.Errorf("%s is answered with %s", source, r.Body)
		}
	}
	s.Model(`{"collections":{"c":{"schema":{"properties":{"a":{"enum":[{"$ref":"#/nowhere"}]}}}}}}`)
	s.Put("c", "1", `{"a":{"$ref":"#/nowhere"}}`)
}
