// Package goclient holds the Go client that oapi-codegen makes of openapi.json against a server. make clients makes it and runs this.
package goclient

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"github.com/fanfold/fanfold/tests/openapi/goclient/server"
)

// program is where make build puts the server.
const program = "../../../bin/fanfold"

// TestRoundTrip: a document with members that no schema names, exact numbers and nested arrays is read, changed and written by the generated
// client, and loses nothing.
func TestRoundTrip(t *testing.T) {
	c, err := NewClientWithResponses(server.Start(t, program))
	if err != nil {
		t.Fatal(err)
	}
	const stored = `{"id":"b1","title":"Emma","price":12345678901234567890.10,"tiny":1e-400,"grid":[[1,[2.50,{"deep":[null,true]}]],[]],"years":{"1815":[9007199254740993]},"none":null}`
	if r, err := c.PutDocumentWithBodyWithResponse(t.Context(), "books", "b1", nil, "application/json", bytes.NewReader([]byte(stored))); err != nil || r.StatusCode() != http.StatusCreated {
		t.Fatalf("%v %+v", err, r)
	}
	read := func() *Document {
		t.Helper()
		r, err := c.GetDocumentWithResponse(t.Context(), "books", "b1", nil)
		if err != nil || r.JSON200 == nil {
			t.Fatalf("%v %+v", err, r)
		}
		return r.JSON200
	}
	doc := read()
	in := DocumentIn{Id: &doc.Id, AdditionalProperties: doc.AdditionalProperties}
	in.Set("title", json.RawMessage(`"Emma, a novel"`))
	if r, err := c.PutDocumentWithResponse(t.Context(), "books", "b1", nil, in); err != nil || r.StatusCode() != http.StatusNoContent && r.StatusCode() != http.StatusOK {
		t.Fatalf("%v %+v", err, r)
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal([]byte(stored), &want); err != nil {
		t.Fatal(err)
	}
	delete(want, "id")
	want["title"] = json.RawMessage(`"Emma, a novel"`)
	doc = read()
	if got := doc.AdditionalProperties; !reflect.DeepEqual(got, want) {
		t.Errorf("it comes back as %s, want %s", got, want)
	}
	if id, err := doc.Id.AsID0(); err != nil || id != "b1" {
		t.Errorf("its id is %q, %v", id, err)
	}
	// A merge patch, and an answer that names its problem.
	patch := MergePatch{"price": json.RawMessage(`0.30`)}
	if r, err := c.PatchDocumentWithApplicationMergePatchPlusJSONBodyWithResponse(t.Context(), "books", "b1", nil, patch); err != nil || r.StatusCode() >= http.StatusBadRequest {
		t.Fatalf("%v %+v", err, r)
	}
	if price := read().AdditionalProperties["price"]; string(price) != "0.30" {
		t.Errorf("the price is %s", price)
	}
	none, err := c.GetDocumentWithResponse(t.Context(), "books", "none", nil)
	if err != nil || none.ApplicationproblemJSON404 == nil || none.ApplicationproblemJSON404.Type != Problem404TypeUrnFanfoldProblemNotFound {
		t.Errorf("%v %s", err, none.Body)
	}
	// A dry run is told from a document by its media type.
	dry := true
	tried, err := c.PutDocumentWithResponse(t.Context(), "books", "b1", &PutDocumentParams{DryRun: &dry}, in)
	if err != nil || tried.JSON200 != nil || tried.ApplicationvndFanfoldDryRunJSON200 == nil || len(tried.ApplicationvndFanfoldDryRunJSON200.Writes) != 1 {
		t.Errorf("%v %+v", err, tried)
	}
}
