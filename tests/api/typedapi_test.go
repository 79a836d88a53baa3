package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/openapi"
)

// typedPath is where the API is described with the types of documents.
const typedPath = "/openapi.json?model=true"

// libraryModel has derived members, sequences, unions and a schema that takes no other members.
const libraryModel = `
collections:
  authors:
    schema: { type: object, required: [name], properties: { name: { type: string }, born: { type: [integer, "null"] }, style: { enum: [terse, florid] } } }
    derive: { countOfBooks: { count: books.authors }, newest: { recent: books.authors, fields: [title], max: 3 } }
  books:
    relations: { authors: { path: "authors[].id", to: authors }, publisher: { path: publisherId, to: publishers } }
    derive: { "authors[].name": { copy: authors, value: doc.name }, publisherName: { copy: publisher, value: doc.name } }
  publishers: {}
  invoices:
    sequences: { number: { start: 1000 } }
    schema: { type: object, additionalProperties: false, properties: { id: {}, number: {}, year: { type: integer } } }
`

// typedOf returns the description with types as a client has it, and fails where it is no OpenAPI.
func typedOf(t *testing.T, c *harness.Client) *openapi.Contract {
	t.Helper()
	of, err := openapi.Read(c.Want(http.StatusOK, "GET", typedPath, "").Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := of.Doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return of
}

// membersOf returns the names of the members that a schema of a description has, nil where there is no such schema.
func membersOf(of *openapi.Contract, schema string) (names []string) {
	if s := of.Doc.Components.Schemas[schema]; s != nil {
		for name := range s.Value.Properties {
			names = append(names, name)
		}
		slices.Sort(names)
	}
	return names
}

// TestTypesFit: requests that are taken, and their answers, are as the paths of their collections have them: documents of each kind, lists, queries and children.
func TestTypesFit(t *testing.T) {
	s := harness.OpenTemp(t, libraryModel)
	of := typedOf(t, s.Client)
	for _, a := range []struct {
		status             int
		method, path, body string
		headers            []string
	}{
		{201, "PUT", "/v1/authors/a1", `{"name":"Jane","born":null,"style":"terse","more":{"any":[1,null]}}`, nil},
		{201, "PUT", "/v1/books/b1", `{"title":"Emma","authors":[{"id":"a1","role":1}],"publisherId":null}`, []string{"Prefer", "return=representation"}},
		{200, "PUT", "/v1/books/b1", `{"title":"Emma","authors":[{"id":"a1"}],"publisherId":"p"}`, []string{"Prefer", "return=representation"}},
		{201, "POST", "/v1/books", `{"id":7,"publisherId":8}`, nil},
		{200, "GET", "/v1/books/b1?expand=authors", "", nil},
		{200, "GET", "/v1/authors/a1", "", nil},
		{200, "GET", "/v1/authors/a1?view=referenced", "", nil},
		{200, "PATCH", "/v1/authors/a1", `{"born":1775}`, []string{"Prefer", "return=representation", "Content-Type", harness.MergeType}},
		{200, "GET", "/v1/books?limit=1&count=true", "", nil},
		{200, "POST", "/v1/books/_query", `{"filter":"doc.title == 'Emma'"}`, nil},
		{200, "GET", "/v1/authors/a1/books", "", nil},
		{201, "POST", "/v1/invoices", `{"year":2026}`, []string{"Prefer", "return=representation"}},
		{422, "POST", "/v1/invoices", `{"other":2026}`, nil},
		{404, "GET", "/v1/authors/none", "", nil},
	} {
		r := s.Want(a.status, a.method, a.path, a.body, a.headers...)
		req, err := http.NewRequestWithContext(t.Context(), a.method, s.URL+a.path, strings.NewReader(a.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(a.headers); i += 2 {
			req.Header.Set(a.headers[i], a.headers[i+1])
		}
		resp := &http.Response{StatusCode: r.Status, Header: r.Header, Body: io.NopCloser(bytes.NewReader(r.Body))}
		if err := of.Check(req, []byte(a.body), resp, r.Body); err != nil {
			t.Errorf("%s %s: %v\n%s", a.method, a.path, err, r.Body)
		}
	}
	for _, answer := range []string{"PUT /v1/books/{id} 201", "PUT /v1/books/{id} 200", "GET /v1/books/{id} 200", "GET /v1/books 200", "POST /v1/books/_query 200", "GET /v1/authors/{id}/books 200", "POST /v1/invoices 201"} {
		if !of.Seen(answer) {
			t.Errorf("%s was not held against the path of its collection", answer)
		}
	}
}

// TestTypesOfRights: the description has for each sender the collections that it reads or writes. It has no private members that the sender does not see, and
// no values that only documents of others may tell.
func TestTypesOfRights(t *testing.T) {
	h := openHouse(t, `
collections:
  books:
    access: { read: [everyone], write: [editor] }
    private: { cost: [editor], "parts[].cost": [editor], supplier: [editor] }
    schema: { type: object, required: [cost], properties: { cost: { enum: [4711] }, title: { enum: [Emma, secret-title] }, parts: { type: array, items: { type: object, properties: { cost: {}, name: {} } } } } }
    relations: { case: { path: caseId, to: cases }, supplier: { path: supplier, to: cases } }
    derive: { state: { copy: case, value: doc.state, publish: true } }
  cases:
    access: { read: { roles: [editor], where: "doc.owner == auth.sub" }, write: [editor] }
    schema: { type: object, properties: { state: { enum: [open, secret-state] }, owner: { type: string } } }
  drop:
    access: { read: [editor], create: [everyone], update: [editor], delete: [editor] }
  vault:
    access: { read: [editor], write: [editor] }
`, nil)
	h.Want(http.StatusUnauthorized, "GET", typedPath, "")
	h.Want(http.StatusUnauthorized, "HEAD", typedPath, "")
	h.Want(http.StatusOK, "GET", "/openapi.json?model=false", "")
	editor, ann := typedOf(t, h.as(t, "editor")), h.asSub(t, "ann")
	r := ann.Want(http.StatusOK, "GET", typedPath, "")
	if r.Header.Get("Cache-Control") != "private, no-cache" || !slices.Contains(varies(r), "Authorization") {
		t.Errorf("caches may keep it for others: %v", r.Header)
	}
	told := typedOf(t, ann)
	for _, c := range []struct {
		schema        string
		editors, anns []string
	}{
		{"BooksDocument", []string{"_expanded", "caseId", "cost", "id", "parts", "state", "supplier", "title"}, []string{"_expanded", "caseId", "id", "parts", "state", "title"}},
		{"BooksDocumentIn", []string{"caseId", "cost", "id", "parts", "supplier", "title"}, nil},
		{"CasesDocument", []string{"_expanded", "id", "owner", "state"}, []string{"_expanded", "id", "owner", "state"}},
		{"DropDocument", []string{"_expanded", "id"}, nil},
		{"DropDocumentIn", []string{"id"}, []string{"id"}},
		{"VaultDocument", []string{"_expanded", "id"}, nil},
		{"VaultDocumentIn", []string{"id"}, nil},
		{"Documents", []string{"books", "cases", "drop", "vault"}, []string{"books", "cases"}},
	} {
		if got := membersOf(editor, c.schema); !slices.Equal(got, c.editors) {
			t.Errorf("%s has %q for an editor, want %q", c.schema, got, c.editors)
		}
		if got := membersOf(told, c.schema); !slices.Equal(got, c.anns) {
			t.Errorf("%s has %q for ann, want %q", c.schema, got, c.anns)
		}
	}
	for _, text := range []string{"4711", "secret-state", "vault", "Vault", "supplier"} {
		if strings.Contains(string(r.Body), text) {
			t.Errorf("ann is told of %s", text)
		}
	}
	if !strings.Contains(string(r.Body), "secret-title") {
		t.Error("who reads all documents of a collection knows which values its members may have")
	}
	parts := told.Doc.Components.Schemas["BooksDocument"].Value.Properties["parts"].Value.Items.Value.Properties
	if parts["cost"] != nil || parts["name"] == nil {
		t.Errorf("ann sees of the parts %v", parts)
	}
	if told.Doc.Paths.Find("/v1/drop").Get != nil || told.Doc.Paths.Find("/v1/drop").Post == nil || told.Doc.Paths.Find("/v1/vault") != nil || told.Doc.Paths.Find("/v1/cases/{id}/books") == nil {
		t.Error("ann's paths are not what she may do")
	}
}

// TestTypesOfTwins: models that differ in what a reader may not know are described to that reader with the same bytes.
func TestTypesOfTwins(t *testing.T) {
	var said [2]string
	for i, hidden := range []string{
		`{ kind: { enum: [a, b] }, owner: { type: string } }`,
		`{ kind: { enum: [c] }, owner: { type: string, maxLength: 7 } }`,
	} {
		secret := []string{"one: { access: {} }", "two: { access: {}, schema: { type: object, properties: { x: {} } } }"}[i]
		price := []string{"{ type: number }", "{ type: string, const: x }"}[i]
		h := openHouse(t, `
collections:
  tasks:
    access: { read: { where: "doc.owner == auth.sub" }, write: [manager] }
    private: { price: [manager] }
    schema: { type: object, properties: `+strings.Replace(hidden, "{ kind", "{ price: "+price+", kind", 1)+` }
  `+secret+`
`, nil)
		said[i] = string(h.asSub(t, "ann").Want(http.StatusOK, "GET", typedPath, "").Body)
	}
	if said[0] != said[1] || !strings.Contains(said[0], "TasksDocument") {
		t.Error("the description tells what is hidden")
	}
}

// TestDescriptionIsCached: both descriptions have an ETag that changes with the text alone, and take no other parameters.
func TestDescriptionIsCached(t *testing.T) {
	s := harness.OpenTemp(t, libraryModel)
	for _, path := range []string{"/openapi.json", typedPath} {
		r := s.Want(http.StatusOK, "GET", path, "")
		tag := r.Header.Get("ETag")
		if tag == "" || r.Header.Get("Cache-Control") == "" {
			t.Errorf("%s: %v", path, r.Header)
		}
		s.Want(http.StatusNotModified, "GET", path, "", "If-None-Match", tag)
		s.Want(http.StatusNotModified, "HEAD", path, "", "If-None-Match", tag)
		s.Put("books", "b", `{}`)
		s.Want(http.StatusNotModified, "GET", path, "", "If-None-Match", tag)
		zipped := s.Want(http.StatusOK, "GET", path, "", "Accept-Encoding", "gzip")
		s.Want(http.StatusNotModified, "GET", path, "", "Accept-Encoding", "gzip", "If-None-Match", zipped.Header.Get("ETag"))
		s.Model(libraryModel + "  more" + strings.Repeat("e", len(path)) + ": {}\n")
		status := http.StatusNotModified
		if path == typedPath {
			status = http.StatusOK
		}
		s.Want(status, "GET", path, "", "If-None-Match", tag)
		s.Want(http.StatusBadRequest, "GET", path, "", "If-Match", tag)
	}
	for _, query := range []string{"?model=yes", "?model", "?model=true&model=true", "?other=1", "?model=true&limit=1"} {
		r := s.Want(http.StatusBadRequest, "GET", "/openapi.json"+query, "")
		var p struct{ Type string }
		if err := json.Unmarshal(r.Body, &p); err != nil || p.Type != "urn:fanfold:problem:invalid" {
			t.Errorf("%s: %s", query, r.Body)
		}
	}
}
