package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestExportIsOnePrefix: an export shows one position, whatever is written meanwhile; imported
// into an empty store it gives an equal one.
func TestExportIsOnePrefix(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, harness.Bookshop)
	var lines []string
	for i := range 3000 {
		lines = append(lines, fmt.Sprintf(`{"collection":"books","doc":{"id":%d,"n":0,"authors":[{"id":"a%d"}]}}`, i, i%50))
	}
	for i := range 50 {
		lines = append(lines, fmt.Sprintf(`{"collection":"authors","doc":{"id":"a%d","firstName":"F%d","lastName":"L"}}`, i, i))
	}
	harness.ImportText(t, s.Client, "", strings.Join(lines, "\n"))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			var ops []string
			for i := range 300 {
				ops = append(ops, fmt.Sprintf(`{"op":"patch","collection":"books","id":"%d","patch":{"n":%d}}`, i*10, n))
			}
			transact(s.Client, http.StatusOK, strings.Join(ops, ","))
		}
	})
	for range suite.Amount(2, 5) {
		r := s.Want(http.StatusOK, http.MethodGet, "/v1/_export", "")
		if r.Header.Get("Fanfold-Position") == "" {
			t.Error("the export does not say its position")
		}
		seen := map[string]bool{}
		for _, line := range strings.Split(string(r.Body), "\n") {
			var l struct {
				Collection string
				Doc        struct{ ID, N int }
			}
			if strings.HasPrefix(line, `{"collection":"books"`) {
				harness.Decode(t, []byte(line), &l)
				if l.Doc.ID%10 == 0 {
					seen[fmt.Sprint(l.Doc.N)] = true
				}
			}
		}
		if len(seen) != 1 {
			t.Fatalf("the export has documents of %d transactions", len(seen))
		}
	}
	close(stop)
	wg.Wait()
	dir := t.TempDir()
	file := filepath.Join(dir, "export.ndjson")
	if out, err := harness.RunProgram(t, "export", "--server", s.URL, "--out", file); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	empty := harness.OpenTemp(t, "")
	if out, err := harness.RunProgram(t, "import", "--server", empty.URL, file); err != nil || !strings.Contains(out, "3050 documents written") {
		t.Fatalf("%v %s", err, out)
	}
	for _, path := range []string{"/v1/_export", "/v1/books?limit=1000&view=embedded", "/v1/authors?limit=1000"} {
		a, b := withoutMeta(s.Want(http.StatusOK, http.MethodGet, path, "").Body), withoutMeta(empty.Want(http.StatusOK, http.MethodGet, path, "").Body)
		if a != b {
			t.Errorf("%s differs", path)
		}
	}
}

// withoutMeta drops what belongs to a store's own history.
func withoutMeta(list []byte) string {
	var out []string
	for i, part := range strings.Split(string(list), `"_meta":`) {
		if i > 0 {
			_, part, _ = strings.Cut(part, "}")
		}
		if j := strings.Index(part, `"next":`); j >= 0 {
			part = part[:j]
		}
		out = append(out, part)
	}
	return strings.Join(out, "")
}

// TestExportIsTakenAsItIs: documents that a write would refuse or change today - for more ids than
// a relation takes, for members at reserved paths - come back as they were.
func TestExportIsTakenAsItIs(t *testing.T) {
	s := harness.OpenTemp(t, "")
	var ids []string
	for i := range 1200 {
		ids = append(ids, fmt.Sprint(i))
	}
	wide := `{"id":"w","refs":[` + strings.Join(ids, ",") + `]}`
	s.Put("wide", "w", wide)
	s.Put("books", "h", `{"id":"h","ex":"hidden","pub":"p"}`)
	s.Model(`collections: {authors: {}, publishers: {}, wide: {relations: {refs: {path: "refs[]", to: authors}}}, books: {relations: {pub: {path: pub, to: publishers}}, derive: {ex: {copy: pub, value: doc.name, takeOver: true}}}}`)
	s.Model(`collections: {authors: {}, publishers: {}, wide: {relations: {refs: {path: "refs[]", to: authors}}}, books: {relations: {pub: {path: pub, to: publishers}}}}`)
	s.Merge("wide", "w", `{"more":1}`)
	s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/wide/x", wide)
	export := s.Want(http.StatusOK, http.MethodGet, "/v1/_export", "").Body
	for _, into := range []*harness.Store{s, harness.OpenTemp(t, "")} {
		if got := harness.ImportText(t, into.Client, "", string(export)); !strings.Contains(got, `"refused":0`) {
			t.Errorf("the import says %s", got)
		}
		for _, path := range []string{"/v1/wide/w?view=referenced", "/v1/books/h?view=referenced", "/v1/books/h"} {
			if a, b := s.Want(http.StatusOK, http.MethodGet, path, "").Body, into.Want(http.StatusOK, http.MethodGet, path, "").Body; !bytes.Equal(a, b) || !bytes.Contains(append(a, wide...), []byte(`"ex":"hidden"`)) && strings.Contains(path, "books") {
				t.Errorf("%s is %.100s, was %.100s", path, b, a)
			}
		}
	}
}

// TestExportOfGuardedDocuments: documents that refer to each other strictly, or to later ones, come back.
func TestExportOfGuardedDocuments(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  authors: {unique: [name], relations: {best: {path: best, to: books, strict: true, onDelete: restrict}}, derive: {books: {count: books.author}}}
  books: {unique: [isbn], relations: {author: {path: author, to: authors, strict: true, onDelete: restrict}}, derive: {then: {copy: author, value: doc.name, frozen: true}}}
`)
	transact(s.Client, http.StatusOK, `{"op":"put","collection":"authors","id":"1","body":{"name":"Ann","best":"1"}},{"op":"put","collection":"books","id":"1","body":{"author":1,"isbn":"a"}}`)
	s.Put("books", "2", `{"isbn":"b"}`)
	s.Put("authors", "2", `{"name":"Bea"}`)
	s.Merge("books", "2", `{"author":"2"}`)
	s.Merge("authors", "2", `{"name":"Bee"}`)
	export := s.Want(http.StatusOK, http.MethodGet, "/v1/_export", "").Body
	into := harness.OpenTemp(t, "")
	for range 2 { // the second time into what is there
		if got := harness.ImportText(t, into.Client, "", string(export)); !strings.Contains(got, `"refused":0`) {
			t.Fatalf("the import says %s", got)
		}
		for _, key := range []string{"authors/1", "authors/2", "books/1", "books/2"} {
			if a, b := s.Want(http.StatusOK, http.MethodGet, "/v1/"+key, "").Body, into.Want(http.StatusOK, http.MethodGet, "/v1/"+key, "").Body; !bytes.Equal(a, b) {
				t.Errorf("%s is %s, was %s", key, b, a)
			}
		}
		into.Want(http.StatusConflict, http.MethodDelete, "/v1/authors/2", "")
		into.Want(http.StatusConflict, http.MethodPut, "/v1/authors/3", `{"name":"Bee"}`)
		into.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/books/3", `{"author":"none"}`)
	}
	again := into.Want(http.StatusOK, http.MethodGet, "/v1/_export", "").Body
	if !bytes.Equal(again, export) {
		t.Errorf("exported again it is\n%s\nwas\n%s", again, export)
	}
	if got := harness.ImportText(t, into.Client, "", `{"guards":"last","collection":"books","doc":{"id":"x"}}`+"\n"+`{"model":{"collections":{}},"guards":"first"}`); !strings.Contains(got, `"refused":2`) {
		t.Errorf("guards elsewhere: %s", got)
	}
}
