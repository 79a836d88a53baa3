package api_test

import (
	"net/http"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestWritesAfterAnErasedLastVersion: a document lives on of whose messages none is left, for the last one took the member away that was erased. It is
// written as others are, at the revision that it has.
func TestWritesAfterAnErasedLastVersion(t *testing.T) {
	suite.Parallel(t)
	for _, write := range []struct{ method, body, contentType string }{
		{http.MethodPut, `{"a":2}`, "application/json"},
		{http.MethodPatch, `{"a":2}`, "application/merge-patch+json"},
		{http.MethodDelete, "", ""},
	} {
		t.Run(write.method, func(t *testing.T) {
			t.Parallel()
			s := harness.Open(t, harness.Options{Dir: t.TempDir()})
			defer func() { s.Close() }()
			s.Put("notes", "n", `{"a":1,"email":"`+secret+`"}`)
			patched := s.Want(http.StatusNoContent, http.MethodPatch, "/v1/notes/n", `{"email":null}`, "Content-Type", "application/merge-patch+json")
			s.Erased(erase(s, "/v1/notes/n/_erase", `{"members":["/email"]}`))
			s.WantDoc("notes", "n", `{"id":"n","a":1}`)
			etag := patched.Header.Get("ETag")
			s.Want(http.StatusOK, write.method, "/v1/notes/n?dryRun=true", write.body, "Content-Type", write.contentType, "If-Match", etag)
			s.Want(http.StatusPreconditionFailed, write.method, "/v1/notes/n?dryRun=true", write.body, "Content-Type", write.contentType, "If-Match", `"1"`)
			s.Want(http.StatusNoContent, write.method, "/v1/notes/n", write.body, "Content-Type", write.contentType, "If-Match", etag)
			s.Verify()
		})
	}
}

// TestErasedMembersAlone: a member that a rule has taken over stays in the document as it was written, and comes back with the rule's end.
func TestErasedMembersAlone(t *testing.T) {
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer func() { s.Close() }()
	s.Put("notes", "n", `{"sum":"by hand","email":"`+secret+`","a":1}`)
	s.Model("collections: {notes: {derive: {sum: {value: doc.a + 1, takeOver: true}}}}")
	s.Erased(erase(s, "/v1/notes/n/_erase", `{"members":["/email"]}`))
	s.WantDoc("notes", "n", `{"id":"n","a":1,"sum":2}`)
	if got := harness.Body(s, "/v1/notes/n?view=referenced"); got != `{"id":"n","sum":"by hand","a":1}` {
		t.Errorf("as it was written it is %s", got)
	}
	s.Verify()
}
