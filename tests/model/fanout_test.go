package model_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestFanoutIsTold: what a write will cause can be asked before, and is told afterwards; past the
// model's limit it is refused.
func TestFanoutIsTold(t *testing.T) {
	s := harness.OpenTemp(t, `
fanout: {limit: 6}
collections:
  authors: {derive: {n: {count: books.author}}}
  books:
    relations: {author: {path: author, to: authors, onDelete: cascade}, next: {path: next, to: books}}
    derive:
      name: {copy: author, value: doc.name}
      nextName: {copy: next, value: doc.name}
`)
	s.Put("authors", "a", `{"name":"Ann"}`)
	for i := range 4 {
		r := s.Put("books", strconv.Itoa(i), fmt.Sprintf(`{"author":"a","next":%d}`, i+1))
		harness.WantText(t, r.Header.Get("Fanfold-Derived-Changes"), strconv.Itoa(min(i+1, 2)))
	}
	state := func() string {
		rows, _ := s.Changes("mode=all")
		return fmt.Sprintln(len(rows), harness.Body(s, "/v1/_export"))
	}
	before := state()
	const rename = `{"name":"Bea"}`
	told := func(derived int, rules string, method, path, body string, headers ...string) {
		t.Helper()
		r := s.Want(http.StatusOK, method, path, body, headers...)
		var out struct {
			Writes  []struct{ Op, Collection, ID string }
			Derived int
			Rules   map[string]int
		}
		harness.Decode(t, r.Body, &out)
		var list []string
		for rule, n := range out.Rules {
			list = append(list, fmt.Sprintf("%s=%d", rule, n))
		}
		slices.Sort(list)
		if got := strings.Join(list, " "); out.Derived != derived || got != rules || len(out.Writes) == 0 {
			t.Fatalf("%s %s: %s; want %d, %s", method, path, r.Body, derived, rules)
		}
	}
	told(4, "books.name=4 books.nextName=3", "PATCH", "/v1/authors/a?dryRun=true", rename, "Content-Type", harness.MergeType)
	told(4, "books.name=4 books.nextName=3", "PUT", "/v1/authors/a", rename, "Prefer", "dry-run", "Idempotency-Key", "k", "If-Match", "*")
	told(2, "authors.n=1 books.nextName=1", "PUT", "/v1/books/4?dryRun=true", `{"author":"a"}`)
	told(1, "authors.n=1", "POST", "/v1/books?dryRun=true", `{"author":"a"}`)
	told(7, "authors.n=2 books.name=4 books.nextName=4", "POST", "/v1/_transactions?dryRun=true", `{"operations":[{"op":"patch","collection":"authors","id":"a","patch":`+rename+`},
		{"op":"put","collection":"books","id":"4","body":{"author":"a"}},{"op":"delete","collection":"books","id":"0"},{"op":"check","collection":"books","id":"1","ifMatch":"*"}]}`)
	r := s.Want(http.StatusOK, "DELETE", "/v1/authors/a?dryRun=true", "")
	if got := strings.Count(string(r.Body), `"op":"delete"`); got != 5 {
		t.Fatalf("a dry cascade tells %s", r.Body)
	}
	s.Want(http.StatusNotFound, "DELETE", "/v1/authors/none?dryRun=true", "")
	s.Want(http.StatusPreconditionFailed, "PUT", "/v1/authors/a?dryRun=true", rename, "If-Match", `"1"`)
	s.Want(http.StatusConflict, "POST", "/v1/authors?dryRun=true", `{"id":"a"}`)
	s.Want(http.StatusBadRequest, "PUT", "/v1/authors/a?dryRun=yes", rename)
	if state() != before {
		t.Fatalf("a dry run changed something:\n%s\n%s", before, state())
	}

	r = s.Merge("authors", "a", rename)
	harness.WantText(t, r.Header.Get("Fanfold-Derived-Changes"), "4")
	s.Merge("authors", "a", `{"name":"Ann"}`)
	for i := 4; i < 8; i++ { // one more than the limit, counted once though two rules change it
		s.Put("books", strconv.Itoa(i), fmt.Sprintf(`{"author":"a","next":%d}`, i+1))
	}
	before = state()
	r = s.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/authors/a", rename, "Content-Type", harness.MergeType)
	harness.WantText(t, r.Problem(), "urn:fanfold:problem:fanout-limit")
	if !strings.Contains(string(r.Body), "8 derived changes") || !strings.Contains(string(r.Body), "books.nextName") {
		t.Fatalf("the refusal is %s", r.Body)
	}
	r = s.Want(http.StatusUnprocessableEntity, "POST", "/v1/_transactions", `{"operations":[{"op":"patch","collection":"authors","id":"a","patch":`+rename+`}]}`)
	harness.WantText(t, r.Problem(), "urn:fanfold:problem:fanout-limit")
	if state() != before {
		t.Fatal("a refused write changed something")
	}
	r = s.Want(http.StatusOK, "POST", "/v1/_import?collection=authors", `{"id":"a","name":"Bea"}`+"\n"+`{"id":"b"}`, "Content-Type", "application/x-ndjson")
	if text := string(r.Body); !strings.Contains(text, `"line":1,"status":422`) || !strings.Contains(text, `"written":1,"refused":1`) && !strings.Contains(text, `"refused":1,"status"`) && !strings.Contains(text, `"refused":1,"written":1`) {
		t.Fatalf("the import says %s", text)
	}
	s.Delete("authors", "b")
	s.WantDoc("books", "7", `{"id":"7","author":"a","next":8,"name":"Ann"}`)
	told(8, "books.name=8 books.nextName=7", "PATCH", "/v1/authors/a?dryRun=true", rename, "Content-Type", harness.MergeType)
	r = s.Want(http.StatusNoContent, "PATCH", "/v1/authors/a?allowFanout=true", rename, "Content-Type", harness.MergeType)
	harness.WantText(t, r.Header.Get("Fanfold-Derived-Changes"), "8")

	// Once more under its key it says the same.
	key := []string{"Content-Type", harness.MergeType, "Idempotency-Key", "again"}
	for range 2 {
		r = s.Want(http.StatusNoContent, "PATCH", "/v1/authors/a?allowFanout=true", `{"name":"Cleo"}`, key...)
		harness.WantText(t, r.Header.Get("Fanfold-Derived-Changes"), "8")
	}
	r = s.Want(http.StatusOK, "POST", "/v1/_transactions", `{"operations":[{"op":"delete","collection":"books","id":"7"},{"op":"delete","collection":"books","id":"6"}]}`)
	harness.WantText(t, r.Header.Get("Fanfold-Derived-Changes"), "4")
}

// TestFanoutLimitCountsItsOwnLinks: what a transaction links itself counts as well.
func TestFanoutLimitCountsItsOwnLinks(t *testing.T) {
	s := harness.OpenTemp(t, "fanout: {limit: 3}\ncollections: {as: {}, bs: {relations: {a: {path: a, to: as}}, derive: {n: {copy: a, value: doc.n}}}}")
	var ops []string
	for i := range 5 {
		ops = append(ops, fmt.Sprintf(`{"op":"put","collection":"bs","id":"%d","body":{"a":"x"}}`, i))
	}
	ops = append(ops, `{"op":"put","collection":"as","id":"x","body":{"n":1}}`)
	s.Want(http.StatusUnprocessableEntity, http.MethodPost, "/v1/_transactions", `{"operations":[`+strings.Join(ops, ",")+`]}`)
}

// TestDryRunBesideWrites: a dry run of a large fan-out says exactly what the write causes, and makes nobody else wait
// for it.
func TestDryRunBesideWrites(t *testing.T) {
	suite.Concurrent(t)
	const holders = 20_000
	s := harness.OpenTemp(t, `
collections:
  authors: {}
  books: {relations: {author: {path: author, to: authors}}, derive: {"x.name": {copy: author, value: doc.name}}}
`)
	s.Put("authors", "a", `{"name":"Ann"}`)
	var lines strings.Builder
	for i := range holders {
		fmt.Fprintf(&lines, "{\"id\":\"%d\",\"author\":\"a\"}\n", i)
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=books", lines.String(), "Content-Type", "application/x-ndjson")
	done := make(chan time.Duration)
	go func() {
		begin := time.Now()
		r := s.Want(http.StatusOK, http.MethodPut, "/v1/authors/a?dryRun=true", `{"name":"Bea"}`)
		if !strings.Contains(string(r.Body), fmt.Sprintf(`"derived":%d`, holders)) {
			t.Errorf("the dry run says %s", r.Body)
		}
		done <- time.Since(begin)
	}()
	writes, longest := 0, time.Duration(0)
	for {
		select {
		case took := <-done:
			t.Logf("the dry run took %v; the longest of %d writes beside it took %v", took, writes, longest)
			if writes == 0 || longest > max(took/2, 5*time.Second) {
				t.Errorf("the longest of %d writes took %v of the dry run's %v", writes, longest, took)
			}
			s.Verify()
			s.WantDoc("books", "7", `{"id":"7","author":"a","x":{"name":"Ann"}}`)
			return
		default:
			begin := time.Now()
			s.Put("others", strconv.Itoa(writes), `{}`)
			writes, longest = writes+1, max(longest, time.Since(begin))
		}
	}
}

// TestImportAllowsFanout: the import command loads what changes more documents than the limit where it is told to.
func TestImportAllowsFanout(t *testing.T) {
	s := harness.OpenTemp(t, "fanout: {limit: 2}\ncollections: {as: {}, bs: {relations: {a: {path: a, to: as}}, derive: {n: {copy: a, value: doc.n}}}}")
	for i := range 3 {
		s.Put("bs", strconv.Itoa(i), `{"a":"x"}`)
	}
	file := filepath.Join(t.TempDir(), "as.ndjson")
	if err := os.WriteFile(file, []byte(`{"id":"x","n":1}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := harness.RunProgram(t, "import", "--server", s.URL, "--collection", "as", file); err == nil || !strings.Contains(out, "allowFanout=true") {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := harness.RunProgram(t, "import", "--server", s.URL, "--collection", "as", "--allow-fanout", file); err != nil || !strings.Contains(out, "1 documents written") {
		t.Fatalf("%v: %s", err, out)
	}
	s.WantDoc("bs", "2", `{"id":"2","a":"x","n":1}`)
}
