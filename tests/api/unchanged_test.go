package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// lastSeq returns the sequence of the log's last event.
func lastSeq(t *testing.T, s *harness.Store) uint64 {
	t.Helper()
	seq, err := s.Node.Log.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

// TestNothingWritten: requests that change nothing write no event into an embedded log.
func TestNothingWritten(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Model("collections: {docs: {unique: [n]}}")
	s.Put("docs", "a", `{"n":1}`)
	before := lastSeq(t, s)
	for range 20 {
		s.Want(http.StatusOK, "GET", "/v1/docs/a?consistency=strong", "")
		s.Want(http.StatusOK, "PUT", "/v1/docs/a?dryRun=true", `{"n":2}`)
		s.Want(http.StatusNotFound, "DELETE", "/v1/docs/b", "")
		s.Want(http.StatusPreconditionFailed, "PUT", "/v1/docs/a", `{}`, "If-None-Match", "*")
		s.Want(http.StatusConflict, "PUT", "/v1/docs/c", `{"n":1}`)
	}
	if after := lastSeq(t, s); after != before {
		t.Errorf("%d events of requests that change nothing", after-before)
	}
}

// TestUnchanged: a PUT or PATCH that leaves the bytes of a document as they are makes no event, and is answered with the document's ETag.
func TestUnchanged(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Model("collections: {docs: {unique: [n], relations: {shelf: {path: shelf, to: shelves, strict: true}}, derive: {name: {copy: shelf, value: doc.name}}}, shelves: {}}")
	s.Put("shelves", "s", `{"name":"S"}`)
	s.Put("docs", "a", `{"n":1,"shelf":"s"}`)
	s.Put("plain", "a", `{"n":1,"x":[1.0]}`)
	s.Put("shelves", "s", `{"name":"T"}`)
	for _, path := range []string{"/v1/docs/a", "/v1/plain/a"} {
		was := s.Want(http.StatusOK, "GET", path+"?view=referenced", "")
		stored := string(was.Body)
		tag := s.Want(http.StatusOK, "GET", path, "").Header.Get("ETag")
		before := lastSeq(t, s)
		same := func(method, body string, header ...string) {
			t.Helper()
			r := s.Want(http.StatusNoContent, method, path, body, header...)
			if got := r.Header.Get("ETag"); got != tag {
				t.Errorf("%s %s %v: ETag %s, want %s", method, path, header, got, tag)
			}
			if r.Header.Get("Fanfold-Revision") != was.Header.Get("Fanfold-Revision") || r.Header.Get("Fanfold-Position") == "" || r.Header.Get("Fanfold-Derived-Changes") != "0" {
				t.Errorf("%s %s %v: %v", method, path, header, r.Header)
			}
			if after := lastSeq(t, s); after != before {
				t.Errorf("%s %s %v made %d events", method, path, header, after-before)
			}
		}
		same("PUT", stored)
		same("PUT", stored, "If-Match", tag)
		same("PUT", stored, "If-Match", "*")
		same("PUT", stored, "If-None-Match", `"1"`)
		same("PUT", stored, "Prefer", "respond-async")
		same("PATCH", `{}`, "Content-Type", "application/merge-patch+json")
		same("PATCH", `{"n":1}`, "Content-Type", "application/merge-patch+json", "If-Match", tag)
		same("PATCH", `[{"op":"test","path":"/n","value":1}]`, "Content-Type", "application/json-patch+json")

		r := s.Want(http.StatusOK, "PUT", path, stored, "Prefer", "return=representation")
		if r.Header.Get("ETag") != tag || string(r.Body) != string(s.Want(http.StatusOK, "GET", path, "").Body) {
			t.Errorf("the representation of %s: %v %s", path, r.Header, r.Body)
		}
		s.Want(http.StatusPreconditionFailed, "PUT", path, stored, "If-Match", `"1"`)
		s.Want(http.StatusPreconditionFailed, "PUT", path, stored, "If-None-Match", "*")
		s.Want(http.StatusPreconditionFailed, "PUT", path, stored, "If-None-Match", tag)
		s.Want(http.StatusConflict, "PATCH", path, `[{"op":"test","path":"/n","value":2}]`, "Content-Type", "application/json-patch+json")
		if r := s.Want(http.StatusOK, "PUT", path+"?dryRun=true", stored); !strings.Contains(string(r.Body), `{"writes":[],`) || !strings.Contains(string(r.Body), `"derived":0,`) {
			t.Errorf("a dry run: %s", r.Body)
		}
		if after := lastSeq(t, s); after != before {
			t.Errorf("%s: %d events", path, after-before)
		}
	}
}

// TestUnchangedIsStored: an equal write is stored where it has an effect beside the document, and under an Idempotency-Key.
func TestUnchangedIsStored(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Model(`collections:
  docs: {relations: {shelf: {path: shelf, to: shelves}}, derive: {name: {copy: shelf, value: doc.name, frozen: true}}}
  notes: {relations: {shelf: {path: shelf, to: shelves}}}
  shelves: {derive: {latest: {recent: notes.shelf, max: 1, fields: [id], orderBy: _meta.updatedAt}}}`)
	const onShelf = `{"shelf":"s"}`
	s.Put("docs", "a", onShelf)
	s.Put("notes", "a", onShelf)
	s.Put("notes", "b", onShelf)
	s.Put("plain", "a", `{"n":1}`)
	s.Put("shelves", "s", `{"name":"S"}`)
	put := func(path, body string, header ...string) {
		t.Helper()
		document, _, _ := strings.Cut(path, "?")
		before := s.Want(http.StatusOK, "GET", document, "").Header.Get("Fanfold-Revision")
		if after := s.Want(http.StatusNoContent, "PUT", path, body, header...).Header.Get("Fanfold-Revision"); after == before {
			t.Errorf("PUT %s %v was not stored", path, header)
		}
	}
	put("/v1/docs/a", onShelf)
	if got := s.Want(http.StatusOK, "GET", "/v1/docs/a", "").Body; string(got) != `{"id":"a","shelf":"s","name":"S"}` {
		t.Errorf("the frozen value: %s", got)
	}
	put("/v1/docs/a?refresh=name", onShelf)
	put("/v1/notes/a", onShelf)
	if got := s.Want(http.StatusOK, "GET", "/v1/shelves/s", "").Body; !strings.Contains(string(got), `"latest":[{"id":"a"}]`) {
		t.Errorf("the latest note: %s", got)
	}
	// Somebody writes between a request and its repeat, which must not undo that.
	const plain = `{"id":"a","n":1}`
	put("/v1/plain/a", plain, "Idempotency-Key", "k")
	s.Put("plain", "a", `{"n":2}`)
	s.Want(http.StatusNoContent, "PUT", "/v1/plain/a", plain, "Idempotency-Key", "k")
	if got := s.Want(http.StatusOK, "GET", "/v1/plain/a", "").Body; string(got) != `{"id":"a","n":2}` {
		t.Errorf("a repeat undid a later write: %s", got)
	}
}
