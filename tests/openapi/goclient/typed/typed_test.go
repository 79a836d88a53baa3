// Package typed holds the Go client that oapi-codegen makes of openapi.json with a model's types against a server with that model. make generated makes it
// and runs this.
package typed

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/oapi-codegen/nullable"

	"github.com/fanfold/fanfold/tests/openapi/goclient/server"
)

// open returns a client of a server with the model that the client was made for.
func open(t *testing.T) *ClientWithResponses {
	t.Helper()
	c, err := NewClientWithResponses(server.Start(t, "../../../../bin/fanfold"))
	if err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile("../../model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.PutModelWithBodyWithResponse(t.Context(), nil, "application/yaml", bytes.NewReader(model)); err != nil || r.StatusCode() != http.StatusOK {
		t.Fatalf("%v %+v", err, r)
	}
	author := AuthorsDocumentIn{Name: "Jane", Born: nullable.NewNullableWithValue(json.Number("1775")), Address: &AuthorsDocumentIn_Address{City: "Steventon"}}
	if r, err := c.PutDocumentOfAuthorsWithResponse(t.Context(), "jane", nil, author); err != nil || r.StatusCode() != http.StatusCreated {
		t.Fatalf("%v %+v", err, r)
	}
	return c
}

// TestRoundTrip: a document of a typed collection is read, changed by its typed members and written. It loses neither members that the model does not name,
// nor digits, nor null. Derived members come with their types, and the server drops them when they are sent.
func TestRoundTrip(t *testing.T) {
	c := open(t)
	const stored = `{"id":"b1","title":"Emma","price":12345678901234567890.10,"grid":[[1e-400,2.50],[]],"subtitle":null,"cover":{"url":"u","w":7.0},"authors":[{"id":"jane","role":"editor","share":0.50}],"publisherId":null,"years":{"1815":[9007199254740993,null]},"none":null}`
	if r, err := c.PutDocumentOfBooksWithBodyWithResponse(t.Context(), "b1", nil, "application/json", bytes.NewReader([]byte(stored))); err != nil || r.StatusCode() != http.StatusCreated {
		t.Fatalf("%v %+v", err, r)
	}
	r, err := c.GetDocumentOfBooksWithResponse(t.Context(), "b1", nil)
	if err != nil || r.JSON200 == nil {
		t.Fatalf("%v %+v", err, r)
	}
	book := r.JSON200
	if authors := *book.Authors; len(authors) != 1 || *authors[0].Name != "Jane" || *authors[0].City != "Steventon" || *authors[0].Role != "editor" {
		t.Errorf("its authors are %+v", authors)
	}
	if book.Price == nil || *book.Price != "12345678901234567890.10" || !book.Subtitle.IsNull() || book.PublisherName.IsSpecified() || book.Id.union == nil {
		t.Errorf("it is %+v", book)
	}
	book.Title = "Emma, a novel"
	text, err := json.Marshal(book)
	if err != nil {
		t.Fatal(err)
	}
	var in BooksDocumentIn
	if err := json.Unmarshal(text, &in); err != nil {
		t.Fatal(err)
	}
	if r, err := c.PutDocumentOfBooksWithResponse(t.Context(), "b1", nil, in); err != nil || r.StatusCode() >= http.StatusBadRequest {
		t.Fatalf("%v %+v", err, r)
	}
	referenced := GetDocumentOfBooksParamsViewReferenced
	now, err := c.GetDocumentOfBooksWithResponse(t.Context(), "b1", &GetDocumentOfBooksParams{View: &referenced})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sorted(t, now.Body), sorted(t, bytes.Replace([]byte(stored), []byte(`"Emma"`), []byte(`"Emma, a novel"`), 1)); got != want {
		t.Errorf("it comes back as\n%s\nwant\n%s", got, want)
	}
}

// sorted returns a document with its members by name, and every number as it is.
func sorted(t *testing.T, doc []byte) string {
	t.Helper()
	in := json.NewDecoder(bytes.NewReader(doc))
	in.UseNumber()
	var v any
	if err := in.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestTyped: lists, queries and children have the types of their collections, numbers of sequences come with theirs, and what the model refuses is a problem.
func TestTyped(t *testing.T) {
	c := open(t)
	year := json.Number("2026")
	made, err := c.CreateDocumentOfInvoicesWithResponse(t.Context(), &CreateDocumentOfInvoicesParams{Prefer: new("return=representation")}, InvoicesDocumentIn{Year: &year})
	if err != nil || made.JSON201 == nil || *made.JSON201.Number != "1000" || *made.JSON201.Text != "INV-2026-000001" {
		t.Errorf("%v %+v", err, made)
	}
	price := json.Number("0.30")
	var of ID
	if err := of.FromID0("jane"); err != nil {
		t.Fatal(err)
	}
	book := BooksDocumentIn{Title: "Emma", Price: &price, Authors: &[]BooksDocumentIn_Authors_Item{{Id: nullable.NewNullableWithValue(of)}}}
	if r, err := c.CreateDocumentOfBooksWithResponse(t.Context(), nil, book); err != nil || r.StatusCode() != http.StatusCreated {
		t.Fatalf("%v %+v", err, r)
	}
	list, err := c.ListDocumentsOfBooksWithResponse(t.Context(), nil)
	if err != nil || list.JSON200 == nil || len(list.JSON200.Items) != 1 || list.JSON200.Items[0].Title != "Emma" || list.JSON200.Items[0].UnderscoreMeta.CreatedAt.IsZero() {
		t.Errorf("%v %+v", err, list)
	}
	filter := "doc.price == 0.3"
	found, err := c.QueryDocumentsOfBooksWithResponse(t.Context(), nil, DocumentQuery{Filter: &filter})
	if err != nil || found.JSON200 == nil || len(found.JSON200.Items) != 1 || *found.JSON200.Items[0].Price != price {
		t.Errorf("%v %+v", err, found)
	}
	children, err := c.ListChildrenOfAuthorsInBooksWithResponse(t.Context(), "jane", nil)
	if err != nil || children.JSON200 == nil || len(children.JSON200.Items) != 1 || *(*children.JSON200.Items[0].Authors)[0].Name != "Jane" {
		t.Errorf("%v %+v", err, children)
	}
	jane, err := c.GetDocumentOfAuthorsWithResponse(t.Context(), "jane", nil)
	if err != nil || jane.JSON200 == nil || *jane.JSON200.CountOfBooks != "1" || *(*jane.JSON200.Newest)[0].Title != "Emma" || *jane.JSON200.Earned != "0.3" {
		t.Errorf("%v %+v", err, jane)
	}
	none, err := c.PutDocumentOfAuthorsWithResponse(t.Context(), "nobody", nil, AuthorsDocumentIn{})
	if err != nil || none.ApplicationproblemJSON422 == nil || none.ApplicationproblemJSON422.Type != "urn:fanfold:problem:unprocessable" {
		t.Errorf("%v %s", err, none.Body)
	}
}
