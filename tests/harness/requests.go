package harness

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// NDJSON is the content type of an import.
const NDJSON = "application/x-ndjson"

// ImportText imports lines and wants the import done.
func ImportText(t *testing.T, s *Client, query, text string) string {
	t.Helper()
	r := s.Want(http.StatusOK, http.MethodPost, "/v1/_import?"+query, text, "Content-Type", NDJSON)
	if !strings.Contains(string(r.Body), `"done":true`) {
		t.Fatalf("the import says %s", r.Body)
	}
	return string(r.Body)
}

// KeptValues returns what a dry run of a model says of values that stay on documents, without the brackets.
func KeptValues(t interface{ Fatal(args ...any) }, s *Store, model string) string {
	var preview struct{ Kept json.RawMessage }
	if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodPut, "/v1/_model?dryRun=true", model, "Content-Type", YAMLType).Body, &preview); err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(preview.Kept), "[]")
}

// LockedBuffer takes what several goroutines log.
type LockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write adds to the buffer.
func (l *LockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns what was written.
func (l *LockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// ImportStored stores a document as an import of an export does, also one that a PUT would refuse.
func ImportStored(s *Store, collection, document string) {
	s.tb.Helper()
	r := s.Want(http.StatusOK, http.MethodPost, "/v1/_import", `{"collection":"`+collection+`","text":`+QuoteJSON(document)+`}`, "Content-Type", "application/x-ndjson")
	if !strings.Contains(string(r.Body), `"written":1`) {
		s.tb.Fatalf("%s is not taken: %s", document, r.Body)
	}
}
