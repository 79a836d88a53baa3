package api_test

import (
	"net/http"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestNothingWritten: requests that change nothing write no event into an embedded log.
func TestNothingWritten(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Model("collections: {docs: {unique: [n]}}")
	s.Put("docs", "a", `{"n":1}`)
	last := func() uint64 {
		t.Helper()
		seq, err := s.Node.Log.LastSeq(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	before := last()
	for range 20 {
		s.Want(http.StatusOK, "GET", "/v1/docs/a?consistency=strong", "")
		s.Want(http.StatusOK, "PUT", "/v1/docs/a?dryRun=true", `{"n":2}`)
		s.Want(http.StatusNotFound, "DELETE", "/v1/docs/b", "")
		s.Want(http.StatusPreconditionFailed, "PUT", "/v1/docs/a", `{}`, "If-None-Match", "*")
		s.Want(http.StatusConflict, "PUT", "/v1/docs/c", `{"n":1}`)
	}
	if after := last(); after != before {
		t.Errorf("%d events of requests that change nothing", after-before)
	}
}
