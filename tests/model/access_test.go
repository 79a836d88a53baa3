package model_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// accessModel has one collection with access, and a rule, so that there is something to compute.
const accessModel = `
collections:
  authors: {derive: {works: {count: books.author, publish: true}}}
  books:
    access: {read: [support], write: [editors]}
    relations: {author: {path: author, to: authors}}
    derive: {name: {copy: author, value: doc.name, publish: true}}
`

// TestAccessIsPreviewed: a preview says in words what opens and what closes, takes access away only when told so, and changes
// nothing.
func TestAccessIsPreviewed(t *testing.T) {
	s := harness.OpenTemp(t, accessModel)
	const old = "{read: [support], write: [editors]}"
	for access, want := range map[string]string{
		"{read: [everyone], write: [editors]}": `{"path":"collections.books.access","change":"changed","detail":"books: everyone may read it now"}`,
		"{write: [editors]}":                   `{"path":"collections.books.access","change":"changed","detail":"books: role support may not read it any more"}`,
		"{}":                                   `{"path":"collections.books.access","change":"changed","detail":"books: roles editors and support may not read it any more; role editors may not write it any more"}`,
		old:                                    `"differences":[]`,
	} {
		body := string(s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", strings.Replace(accessModel, old, access, 1), "Content-Type", harness.YAMLType).Body)
		if !strings.Contains(body, want) || strings.Contains(body, `"removes"`) {
			t.Errorf("%s: %s, want %s", access, body, want)
		}
	}
	without := strings.Replace(accessModel, "    access: "+old+"\n", "", 1)
	const removed = `"path":"collections.books.access","change":"removed","detail":"books: roles read and write may read it now; roles editors and support may not read it any more; role write may write it now; role editors may not write it any more","removes":true`
	if body := string(s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", without, "Content-Type", harness.YAMLType).Body); !strings.Contains(body, removed) {
		t.Errorf("without access: %s, want %s", body, removed)
	}
	r := s.Want(http.StatusConflict, "PUT", "/v1/_model", without, "Content-Type", harness.YAMLType)
	if !strings.HasSuffix(r.Problem(), "model-removes") || !strings.Contains(string(r.Body), `"path":"collections.books.access"`) {
		t.Errorf("taking access away is answered with %s", r.Body)
	}
	s.Want(http.StatusConflict, "PATCH", "/v1/_model", `{"collections":{"books":{"access":null}}}`, "Content-Type", harness.MergeType)
	s.Want(http.StatusConflict, "PUT", "/v1/_model", "collections: {authors: {}}", "Content-Type", harness.YAMLType)
	if got := accessOf(t, s); got != `{"read":["support"],"write":["editors"]}` {
		t.Errorf("the access became %s", got)
	}
	s.Want(http.StatusOK, "PATCH", "/v1/_model?allowRemoval=true", `{"collections":{"books":{"access":null}}}`, "Content-Type", harness.MergeType)
	if got := accessOf(t, s); got != "" {
		t.Errorf("the access is still %s", got)
	}
	harness.Refuse(t, s, harness.Refusal{"", 400, "invalid", "PATCH", "/v1/_model", `{"collections":{"books":{"access":{"read":"everyone"}}}}`, []string{"Content-Type", harness.MergeType}, []string{"collections.books.access.read"}})
}

// accessOf returns the access to books in the model that applies.
func accessOf(t *testing.T, s *harness.Store) string {
	t.Helper()
	var m struct {
		Collections map[string]struct{ Access json.RawMessage }
	}
	if err := json.Unmarshal(s.Want(http.StatusOK, "GET", "/v1/_model", "").Body, &m); err != nil {
		t.Fatal(err)
	}
	return string(m.Collections["books"].Access)
}

// TestAccessTouchesNoDocument: access applies with the model's event. No document changes, nothing is prepared, and the feed has
// no row of it.
func TestAccessTouchesNoDocument(t *testing.T) {
	s := harness.OpenTemp(t, accessModel)
	s.Put("authors", "a", `{"name":"Ann"}`)
	s.Put("books", "b", `{"author":"a"}`)
	_, last := s.Changes("since=0")
	before := s.Want(http.StatusOK, "GET", "/v1/books/b", "")
	for _, part := range []struct{ method, path, body, kind string }{
		{"PUT", "/v1/_model", strings.Replace(accessModel, "support", "everyone", 1), harness.YAMLType},
		{"PATCH", "/v1/_model", `{"collections":{"books":{"access":{"read":["half"]}}}}`, harness.MergeType},
		{"PUT", "/v1/_model/books", `{"access":{"write":["write"]},"relations":{"author":{"path":"author","to":"authors"}},"derive":{"name":{"copy":"author","value":"doc.name","publish":true}}}`, "application/json"},
	} {
		preview := string(s.Want(http.StatusOK, part.method, part.path+"?dryRun=true", part.body, "Content-Type", part.kind).Body)
		r := s.Want(http.StatusOK, part.method, part.path, part.body, "Content-Type", part.kind)
		if !strings.Contains(preview, `"changes":0`) || !strings.Contains(string(r.Body), `"applied":true`) {
			t.Errorf("%s %s: previewed as %s, answered with %s", part.method, part.path, preview, r.Body)
		}
	}
	if got := accessOf(t, s); got != `{"write":["write"]}` {
		t.Errorf("the access became %s", got)
	}
	after := s.Want(http.StatusOK, "GET", "/v1/books/b", "")
	if string(after.Body) != string(before.Body) || after.Header.Get("ETag") != before.Header.Get("ETag") {
		t.Errorf("the document became %s %v", after.Body, after.Header)
	}
	if rows, _ := s.Changes("mode=all&since=" + last); len(rows) > 0 {
		t.Errorf("the feed has %+v", rows)
	}
	var status struct{ Preparing, Activated json.RawMessage }
	if err := json.Unmarshal(s.Want(http.StatusOK, "GET", "/v1/_status", "").Body, &status); err != nil || status.Preparing != nil || status.Activated != nil {
		t.Errorf("a model was prepared: %s %s %v", status.Preparing, status.Activated, err)
	}
}

// TestAccessIsExported: the model of an export has its access, and an import applies it. So does the model's YAML.
func TestAccessIsExported(t *testing.T) {
	s := harness.OpenTemp(t, accessModel)
	s.Put("books", "b", `{}`)
	lines := s.Want(http.StatusOK, "GET", "/v1/_export", "").Body
	yaml := s.Want(http.StatusOK, "GET", "/v1/_model", "", "Accept", "application/yaml").Body
	want := accessOf(t, s)
	for name, apply := range map[string]func(s *harness.Store){
		"export": func(s *harness.Store) {
			s.Want(http.StatusOK, "POST", "/v1/_import", string(lines), "Content-Type", "application/x-ndjson")
		},
		"YAML": func(s *harness.Store) { s.Model(string(yaml)) },
	} {
		other := harness.OpenTemp(t, "")
		if apply(other); accessOf(t, other) != want {
			t.Errorf("%s: the access came as %s, want %s", name, accessOf(t, other), want)
		}
	}
}
