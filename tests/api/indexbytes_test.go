package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// wideTags returns a document whose tags number n, beside three texts.
func wideTags(n int, text string) string {
	tags := make([]string, n)
	for i := range tags {
		tags[i] = fmt.Sprintf(`"t%d"`, i)
	}
	return fmt.Sprintf(`{"tags":[%s],"a":%q,"b":%q,"c":%q}`, strings.Join(tags, ","), text, text, text)
}

// TestIndexBytes: a document whose entries would have more bytes than are taken is refused, whichever request brings it, before anything
// is written. One that was there before the index may stay, be patched and be imported again.
func TestIndexBytes(t *testing.T) {
	const index = "collections: {docs: {indexes: {a: [\"tags[]\", a, b, c]}}}"
	s := harness.OpenTemp(t, "")
	large := wideTags(1000, strings.Repeat("x", 1000))
	s.Put("docs", "old", large)
	s.Model(index)
	s.Put("docs", "many", wideTags(1000, strings.Repeat("x", 600)))
	s.Put("docs", "overflow", wideTags(1001, strings.Repeat("x", 1000))) // has one entry
	s.Put("docs", "d", `{"tags":[]}`)
	for method, path := range map[string]string{"PUT": "/v1/docs/d", "POST": "/v1/docs"} {
		wantDetail(t, s.Want(http.StatusUnprocessableEntity, method, path, large), "bytes", "indexes of docs up to a", "2097152", "tags[]")
	}
	wantDetail(t, s.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/docs/d", large, "Content-Type", "application/merge-patch+json"), "2097152")
	wantDetail(t, s.Want(http.StatusUnprocessableEntity, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"docs","id":"d","body":`+large+`}]}`), "2097152")
	s.Want(http.StatusNoContent, "PATCH", "/v1/docs/old", `{"d":1}`, "Content-Type", "application/merge-patch+json")
	lines := s.Want(http.StatusOK, "GET", "/v1/_export", "").Body
	other := harness.OpenTemp(t, "")
	other.Want(http.StatusOK, "POST", "/v1/_import", string(lines), "Content-Type", "application/x-ndjson")
	other.Want(http.StatusOK, "GET", "/v1/docs/old", "")
}
