package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

const strictModel = `
collections:
  publishers: {derive: {n: {count: books.publisher}}}
  authors: {}
  books:
    unique: [isbn, code.n]
    relations:
      publisher: {path: pub, to: publishers, strict: true, onDelete: restrict}
      authors: {path: "authors[].id", to: authors, strict: true, onDelete: unlink}
      sequel: {path: sequel, to: books, strict: true}
  pages: {relations: {book: {path: book, to: books, strict: true, onDelete: cascade}}}
`

// TestP06StrictLinks: references that are checked, for whoever wants them.
func TestP06StrictLinks(t *testing.T) {
	s := harness.OpenTemp(t, strictModel)
	put := func(status int, path, body string, headers ...string) *harness.Response {
		t.Helper()
		return s.Want(status, http.MethodPut, "/v1/"+path, body, headers...)
	}
	r := put(422, "books/1", `{"pub":"p"}`)
	if !strings.Contains(string(r.Body), "publishers/p") {
		t.Fatalf("the target is not named: %s", r.Body)
	}
	put(422, "books/1?dryRun=true", `{"pub":"p"}`)
	put(201, "publishers/p", `{}`)
	r = put(201, "books/1", `{"pub":"p"}`)
	s.WantDoc("publishers", "p", `{"id":"p","n":1}`)
	harness.WantText(t, s.Want(200, "GET", "/v1/books/1", "").Header.Get("Fanfold-Revision"), r.Header.Get("Fanfold-Revision"))
	put(204, "books/1", `{"pub":"p","title":"T"}`)
	put(204, "publishers/p", `{"name":"a target may be written"}`)
	put(204, "books/1", `{"pub":"p","title":"U"}`)

	// It cannot go while it is held, and can afterwards.
	r = s.Want(409, "DELETE", "/v1/publishers/p", "")
	if !strings.Contains(string(r.Body), "books/1") {
		t.Fatalf("the holder is not named: %s", r.Body)
	}
	s.Want(422, "PATCH", "/v1/books/1", `{"sequel":"2"}`, "Content-Type", harness.MergeType)
	put(204, "books/1", `{"pub":"p","sequel":"1"}`) // itself
	s.Want(409, "POST", "/v1/_transactions", `{"operations":[{"op":"delete","collection":"publishers","id":"p"}]}`)
	s.Merge("books", "1", `{"pub":null}`)
	s.Delete("publishers", "p")
	s.Delete("books", "1") // that it refers to itself is no obstacle

	// Links made and dropped in one transaction are judged together.
	tx := func(status int, ops ...string) *harness.Response {
		t.Helper()
		return s.Want(status, http.MethodPost, "/v1/_transactions", `{"operations":[`+strings.Join(ops, ",")+`]}`)
	}
	doc := func(collection, id, body string) string {
		return fmt.Sprintf(`{"op":"put","collection":%q,"id":%q,"body":%s}`, collection, id, body)
	}
	del := func(collection, id string) string {
		return fmt.Sprintf(`{"op":"delete","collection":%q,"id":%q}`, collection, id)
	}
	tx(200, doc("books", "1", `{"pub":"p","authors":[{"id":"a"},{"id":"b"},{"id":"a"}]}`), doc("publishers", "p", `{}`), doc("authors", "a", `{}`), doc("authors", "b", `{}`))
	tx(200, doc("books", "2", `{"sequel":"3"}`), doc("books", "3", `{"sequel":"2"}`)) // a ring
	tx(409, doc("books", "4", `{"pub":"p"}`), del("publishers", "p"))
	tx(409, del("publishers", "p"))
	tx(422, del("publishers", "p"), doc("books", "1", `{"pub":"p","title":"still"}`))
	tx(409, del("books", "2"))
	tx(200, del("books", "2"), del("books", "3"))
	tx(200, del("publishers", "p"), doc("books", "1", `{"authors":[{"id":"a"},{"id":"b"}]}`))

	// Policies bring the writes that free the target.
	s.Delete("authors", "a")
	s.WantDoc("books", "1", `{"id":"1","authors":[{"id":"b"}]}`)
	put(201, "pages/1", `{"book":1}`)
	put(422, "pages/2", `{"book":2}`)
	s.Delete("books", "1")
	s.Want(404, "GET", "/v1/pages/1", "")

	// Made again, it is another one.
	put(201, "books/1", `{}`)
	put(201, "pages/1", `{"book":"1"}`)
}

// TestUnique: no two documents have one value of a unique member.
func TestUnique(t *testing.T) {
	s := harness.OpenTemp(t, strictModel)
	put := func(status int, id, body string) *harness.Response {
		t.Helper()
		return s.Want(status, http.MethodPut, "/v1/books/"+id, body)
	}
	put(201, "1", `{"isbn":"978","code":{"n":1}}`)
	put(204, "1", `{"isbn":"978","code":{"n":1.0},"title":"T"}`)
	r := put(409, "2", `{"isbn":"978"}`)
	if !strings.Contains(string(r.Body), "books/1") {
		t.Fatalf("the holder is not named: %s", r.Body)
	}
	put(409, "2", `{"code":{"n":10e-1}}`)
	put(201, "2", `{"isbn":978,"code":{"n":"1"}}`) // a number is no string
	put(201, "3", `{"isbn":null,"code":[]}`)
	put(201, "4", `{"isbn":null}`)
	put(422, "5", `{"isbn":"`+strings.Repeat("x", 2000)+`"}`)
	put(204, "1", `{"isbn":"979"}`)
	put(204, "3", `{"isbn":"978","code":{"n":1}}`)
	s.Delete("books", "3")
	put(204, "4", `{"isbn":"978"}`)
	swap := `{"operations":[{"op":"patch","collection":"books","id":"1","patch":{"isbn":"978"}},{"op":"patch","collection":"books","id":"4","patch":{"isbn":"979"}}]}`
	s.Want(200, "POST", "/v1/_transactions", swap)
	s.WantDoc("books", "4", `{"id":"4","isbn":"979"}`)
	s.Want(409, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"8","body":{"isbn":"x"}},{"op":"put","collection":"books","id":"9","body":{"isbn":"x"}}]}`)
	s.Want(409, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"8","body":{"isbn":"978"}},{"op":"patch","collection":"books","id":"1","patch":{"title":"keeps it"}}]}`)
	s.Want(200, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"8","body":{"isbn":"978"}},{"op":"delete","collection":"books","id":"1"}]}`)
	s.Want(409, "POST", "/v1/books", `{"isbn":"978"}`)
	key := []string{"Idempotency-Key", "k"}
	first := s.Want(201, "POST", "/v1/books", `{"isbn":"once"}`, key...)
	again := s.Want(201, "POST", "/v1/books", `{"isbn":"once"}`, key...)
	harness.WantText(t, again.Header.Get("Location")+again.Header.Get("Fanfold-Revision"), first.Header.Get("Location")+first.Header.Get("Fanfold-Revision"))
	before := s.Digest()
	s.Replay()
	if s.Digest() != before {
		t.Fatal("the replay's rows differ")
	}
	put(409, "7", `{"isbn":"once"}`)

	// An import tells which lines break a rule, and stores the others.
	r = s.Want(200, "POST", "/v1/_import", strings.Join([]string{
		`{"collection":"publishers","doc":{"id":"p"}}`,
		`{"collection":"books","doc":{"id":"i1","isbn":"i","pub":"p"}}`,
		`{"collection":"books","doc":{"id":"i2","isbn":"i"}}`,
		`{"collection":"books","doc":{"id":"i3","pub":"none"}}`,
		`{"collection":"books","doc":{"id":"i4","isbn":"978"}}`,
		`{"collection":"books","doc":{"id":"i5","sequel":"i1"}}`}, "\n"), "Content-Type", "application/x-ndjson")
	text := string(r.Body)
	for line, want := range map[int]bool{1: false, 2: false, 3: true, 4: true, 5: true, 6: false} {
		if strings.Contains(text, fmt.Sprintf(`"line":%d,"status":4`, line)) != want {
			t.Errorf("line %d: %s", line, text)
		}
	}
	s.WantDoc("books", "i5", `{"id":"i5","sequel":"i1"}`)
}

// TestStrictOnStoredDocuments: a model is refused while documents break it.
func TestStrictOnStoredDocuments(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {publishers: {}, books: {relations: {publisher: {path: pub, to: publishers}}}}")
	s.Put("publishers", "p", `{}`)
	s.Put("books", "1", `{"pub":"p","isbn":"x"}`)
	s.Put("books", "2", `{"pub":"q","isbn":"x"}`)
	harness.ImportStored(s, "books", `{"id":"3","isbn":1e2000}`)
	const model = "collections: {publishers: {}, books: {unique: [isbn], relations: {publisher: {path: pub, to: publishers, strict: true}}}}"
	r := s.Want(422, "PUT", "/v1/_model", model, "Content-Type", "application/yaml")
	for _, want := range []string{"books/2 refers to publishers/q", "books/1 and books/2 both have isbn", "books/3"} {
		if !strings.Contains(problems(t, r), want) {
			t.Errorf("%q is not in %s", want, problems(t, r))
		}
	}
	s.Put("books", "2", `{"pub":"p","isbn":"y"}`)
	s.Delete("books", "3")
	s.Model(model)
	s.Want(409, "DELETE", "/v1/publishers/p", "") // its holders were there before the rule
	s.Want(409, "PUT", "/v1/books/4", `{"isbn":"y"}`)
	s.Merge("books", "2", `{"isbn":"z","pub":null}`)
	s.Want(201, "PUT", "/v1/books/4", `{"isbn":"y"}`)
	s.Delete("books", "1")
	s.Delete("publishers", "p")

	// Without the rule values are doubled; with it again, what there is then counts.
	s.Model("collections: {publishers: {}, books: {}}")
	s.Put("books", "5", `{"isbn":"w"}`)
	s.Put("books", "2", `{"isbn":"v"}`)
	s.Model(model)
	s.Want(409, "PUT", "/v1/books/6", `{"isbn":"w"}`)
	s.Want(201, "PUT", "/v1/books/6", `{"isbn":"z"}`)
}

// TestLongUniquePath: neither a long path nor a long value is too long for the log.
func TestLongUniquePath(t *testing.T) {
	name := strings.Repeat("é", 700)
	s := harness.OpenTemp(t, "collections: {as: {unique: ['"+name+"']}}")
	s.Put("as", "1", `{"`+name+`":"`+strings.Repeat("é", 500)+`"}`)
	s.Want(http.StatusConflict, http.MethodPut, "/v1/as/2", `{"`+name+`":"`+strings.Repeat("é", 500)+`"}`)
	s.Put("as", "2", `{}`)
}

// TestManyStrictReferences: as many as can be dropped in one transaction.
func TestManyStrictReferences(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {as: {}, bs: {relations: {a: {path: 'a[]', to: as, strict: true}, b: {path: 'b[]', to: as, strict: true}}}}")
	var lines, first, second strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, `{"id":"%d"}`+"\n", i)
		list := &first
		if i >= 500 {
			list = &second
		}
		fmt.Fprintf(list, `,"%d"`, i)
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=as", lines.String(), "Content-Type", "application/x-ndjson")
	all := fmt.Sprintf(`{"id":"1","a":[%s],"b":[%s]}`, first.String()[1:], second.String()[1:])
	s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/bs/1", all)
	r := s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=bs", all+"\n"+`{"id":"2","a":["1"]}`, "Content-Type", "application/x-ndjson")
	if text := string(r.Body); !strings.Contains(text, `"line":1,"status":422`) || !strings.Contains(text, `"done":true`) {
		t.Fatalf("the import says %s", text)
	}
	s.Put("bs", "1", fmt.Sprintf(`{"a":[%s]}`, first.String()[1:]))
	s.Delete("bs", "1")
}
