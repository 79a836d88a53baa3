package tests

import (
	"encoding/json"
	"flag"
	"net/http"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

const (
	mergeType = "application/merge-patch+json"
	patchType = "application/json-patch+json"
)

func decode(t *testing.T, doc []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(doc, v); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
}

func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("got\n  %s\nwant\n  %s", got, want)
	}
}

func wantHeader(t *testing.T, r *harness.Response, name, want string) {
	t.Helper()
	if got := r.Header.Get(name); got != want {
		t.Errorf("%s is %q, want %q", name, got, want)
	}
}

// The patterns of the article the product was made from; each test carries its pattern's number.

// body gets a path and wants 200.
func body(s *harness.Store, path string) string {
	return string(s.Want(http.StatusOK, http.MethodGet, path, "").Body)
}

// items are the ids on one page of a list, and the cursor of the next.
func items(t *testing.T, s *harness.Store, path string) (ids []string, next string) {
	t.Helper()
	var page struct {
		Items []struct{ ID string }
		Next  string
	}
	if err := json.Unmarshal([]byte(body(s, path)), &page); err != nil {
		t.Fatal(err)
	}
	for _, it := range page.Items {
		ids = append(ids, it.ID)
	}
	return ids, page.Next
}

// listAll calls fn for every document of a collection, page by page.
func listAll(t *testing.T, s *harness.Store, collection string, fn func(doc []byte)) {
	t.Helper()
	for cursor := ""; ; {
		var page struct {
			Items []json.RawMessage
			Next  string
		}
		decode(t, s.Want(http.StatusOK, "GET", "/v1/"+collection+"?limit=1000&cursor="+cursor, "").Body, &page)
		for _, doc := range page.Items {
			fn(doc)
		}
		if cursor = page.Next; cursor == "" {
			return
		}
	}
}

// tag is a document's ETag now.
func tag(s *harness.Store, path string) string {
	return s.Want(200, "GET", path, "").Header.Get("ETag")
}

// referenced is a document as written.
func referenced(s *harness.Store, collection, id string) string {
	return string(s.Want(200, "GET", harness.Path(collection, id)+"?view=referenced", "").Body)
}

// givenFlags are the flags of the command line. Once a flag was set by setFlag, package flag takes it for given too.
var givenFlags = map[string]bool{}

// setFlag sets a flag, unless the command line did. The function it returns sets it back.
func setFlag(name, value string) (back func()) {
	old := flag.Lookup(name).Value.String()
	if givenFlags[name] || flag.Set(name, value) != nil {
		return func() {}
	}
	return func() { _ = flag.Set(name, old) }
}

// plainOnly skips a test under the race detector, which would make it slow and has nothing to see in it.
func plainOnly(t *testing.T, why string) {
	t.Helper()
	if raceDetector {
		t.Skipf("runs without the race detector only: %s", why)
	}
}

// fewerRaced returns how often a test repeats what it does, and how often under the race detector: this sees in a few rounds
// what it sees in many, and takes several times as long for each.
func fewerRaced(plain, raced int) int {
	if raceDetector {
		return raced
	}
	return plain
}

// Why a test is plainOnly.
const (
	otherProcess = "what it tests is another process"
	oneByOne     = "it does one thing after the other"
)
