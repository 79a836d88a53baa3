package docs_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestSearchIndex: the example of a search index has each document as it is in the end, whatever happened in between, and is
// made anew where its position is another store's.
func TestSearchIndex(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "searchindex")
	if out, err := exec.Command("go", "build", "-o", program, "../../examples/searchindex").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := harness.OpenTemp(t, `{"collections":{"authors":{},"books":{"relations":{"author":{"path":"author","to":"authors"}},"derive":{"name":{"copy":"author","value":"doc.name"}}}}}`)
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(program, append([]string{"--server", s.URL, "--index", filepath.Join(dir, "index.json")}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Join(strings.Fields(string(out)), " ")
	}
	find := func(word, want string) {
		t.Helper()
		if got := run("--search", word); got != want {
			t.Errorf("%s is found in %q, want %q", word, got, want)
		}
	}
	s.Put("authors", "a", `{"name":"Ann"}`)
	for i := range 300 {
		s.Put("books", fmt.Sprint(i), fmt.Sprintf(`{"author":"a","title":"Volume %d"}`, i))
	}
	run("--once")
	find("299", "books/299")
	for i := range 300 {
		if i != 7 {
			s.Want(http.StatusNoContent, "DELETE", fmt.Sprintf("/v1/books/%d", i), "")
		}
	}
	s.Put("authors", "a", `{"name":"Bea"}`)
	run("--once")
	find("ann", "")
	find("bea", "books/7")
	find("299", "")
	s.Put("books", "8", `{"author":"a","title":"Volume 8"}`)
	s.Put("books", "9", `{"author":"a","title":"Volume 9"}`)
	part := func() {
		t.Helper()
		run("--once", "--index", filepath.Join(dir, "part.json"), "--filter", "doc.name == 'Bea'")
	}
	part()
	s.Put("books", "7", `{"title":"Volume of nobody"}`)
	s.Want(http.StatusNoContent, "DELETE", "/v1/books/8", "")
	part()
	if got := run("--index", filepath.Join(dir, "part.json"), "--search", "volume"); got != "books/9" {
		t.Errorf("an index of some books has %s", got)
	}
	s = harness.OpenTemp(t, "")
	s.Put("books", "other", `{"title":"Another store"}`)
	run("--once")
	find("volume", "")
	find("another", "books/other")
}
