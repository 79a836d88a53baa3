package harness

import (
	"encoding/json"
	"net/http"
	"testing"
)

const (
	// MergeType is the content type of a merge patch.
	MergeType = "application/merge-patch+json"
	// PatchType is the content type of a JSON Patch.
	PatchType = "application/json-patch+json"
)

// YAMLType is the content type of a model in YAML.
const YAMLType = "application/yaml"

// Decode decodes JSON into v, and fails the test where it cannot.
func Decode(t *testing.T, doc []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(doc, v); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
}

// QuoteJSON returns a text as a JSON string.
func QuoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// WantText fails the test unless two texts are the same.
func WantText(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("got\n  %s\nwant\n  %s", got, want)
	}
}

// WantHeader fails the test unless an answer has a header with a value.
func WantHeader(t *testing.T, r *Response, name, want string) {
	t.Helper()
	if got := r.Header.Get(name); got != want {
		t.Errorf("%s is %q, want %q", name, got, want)
	}
}

// Body gets a path and wants 200.
func Body(s *Store, path string) string {
	return string(s.Want(http.StatusOK, http.MethodGet, path, "").Body)
}

// Items are the ids on one page of a list, and the cursor of the next.
func Items(t *testing.T, s *Store, path string) (ids []string, next string) {
	t.Helper()
	var page struct {
		Items []struct{ ID string }
		Next  string
	}
	if err := json.Unmarshal([]byte(Body(s, path)), &page); err != nil {
		t.Fatal(err)
	}
	for _, it := range page.Items {
		ids = append(ids, it.ID)
	}
	return ids, page.Next
}

// Tag is a document's ETag now.
func Tag(s *Store, path string) string {
	return s.Want(200, "GET", path, "").Header.Get("ETag")
}
