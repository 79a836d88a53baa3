package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestPutAndPatch: documents are written byte for byte from a file or standard input, under conditions, and the revision and
// the position are printed.
func TestPutAndPatch(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {authors: {derive: {books: {count: books.author}}}, books: {relations: {author: {path: author, to: authors}}}}")
	at := func(stdin string, args ...string) ran {
		return runCommand(t, stdin, append(args, "--server", s.URL)...)
	}
	at(`{"n":1.50, "x":"é"}`, "put", "authors", "a1").want(t, exitDone, "created authors/a1: revision 2, position 2-0-")
	s.Want(http.StatusOK, "GET", "/v1/authors/a1?view=referenced", "")
	at("", "put", "books", "b1", writeTemp(t, "b.json", "\n"+`{"author":"a1","big":123456789012345678901234567890}`+"\n")).want(t, exitDone, "created books/b1: revision 3", "derived changes 1")
	s.WantDoc("books", "b1", `{"id":"b1","author":"a1","big":123456789012345678901234567890}`)
	at(`{}`, "put", "books", "b1", "-", "--if-absent").want(t, exitFailed, "412 Precondition Failed")
	at(`{"n":1}`, "put", "books", "b1", "--if-match", "2").want(t, exitFailed, "412 Precondition Failed")
	at(`{"n":1}`, "put", "books", "b1", "--if-match", "3").want(t, exitDone, "wrote books/b1: revision 4")
	at(`{"n":2}`, "put", "books", "b1", "--if-match", `"4"`, "--dry-run").want(t, exitDone, `"derived"`)
	at(`{"n":2}`, "put", "books", "none", "--if-match", "*").want(t, exitFailed, "412")
	at(`{"books":7}`, "put", "authors", "a1", "--strict").want(t, exitFailed, "422", "books")
	at(`{"big":12345678901234567890}`, "patch", "books", "b1").want(t, exitDone, "wrote books/b1: revision 5")
	at(` [{"op":"replace","path":"/n","value":1.50},{"op":"add","path":"/t","value":null}]`, "patch", "books", "b1", "--if-match", "5").want(t, exitDone, "revision 6")
	s.WantDoc("books", "b1", `{"id":"b1","n":1.50,"big":12345678901234567890,"t":null}`)
	at(`[{"op":"increment","path":"/n","value":1,"max":2}]`, "patch", "books", "b1").want(t, exitFailed, "412")
	at(`{"n":3}`, "patch", "books", "b1", "--if", "doc.n > params.n", "--params", `{"n":2}`).want(t, exitFailed, "412", "the condition if is false")
	at(`{"n":3}`, "put", "books", "b1", "--if", "doc.n > 2", "--if-absent").want(t, exitUsage, "if-absent")
	at("", "delete", "books", "b1", "--if", "doc.n > 2").want(t, exitFailed, "412")
	for _, command := range []string{"put", "patch", "delete"} {
		at(`{"n":3}`, command, "books", "b1", "--params", `{"n":2}`).want(t, exitUsage, "--if, which is missing")
	}
	var result struct {
		ID              string
		Created, Folded bool
		Revision        uint64
		Position, ETag  string
		Derived         int
	}
	r := at(`{"author":"a1"}`, "put", "books", "b2", "--json")
	if err := json.Unmarshal([]byte(r.out), &result); err != nil || !result.Created || !result.Folded || result.Revision != 7 || result.Derived != 1 || result.ETag == "" {
		t.Errorf("as JSON it is %s, %v", r.out, err)
	}
	at("", "delete", "books", "b2", "--if-match", "6").want(t, exitFailed, "412")
	at("", "delete", "books", "b2", "--dry-run").want(t, exitDone, `"derived"`)
	at("", "delete", "books", "b2", "--if-match", "7").want(t, exitDone, "deleted books/b2 at 8-0-")
	at(`{"n":1.75}`, "patch", "books", "b1", "--if", "doc.n < 2").want(t, exitDone, "wrote books/b1: revision 9")
	at(`{"books":7}`, "put", "authors", "a2").want(t, exitDone, "created authors/a2", "not stored: /books")
}

// TestBadWrites: what cannot be written is said, and changes nothing.
func TestBadWrites(t *testing.T) {
	s := harness.OpenTemp(t, "")
	at := func(stdin string, args ...string) ran {
		return runCommand(t, stdin, append(args, "--server", s.URL)...)
	}
	at("  \n", "put", "books", "b1").want(t, exitUsage, "there is no document")
	at("not json", "put", "books", "b1").want(t, exitUsage, "400")
	at("", "put", "books", "b1", "/nowhere.json").want(t, exitUsage, "cannot read the document: /nowhere.json")
	at(strings.Repeat(" ", maxInput+1), "put", "books", "b1").want(t, exitUsage, fmt.Sprintf("the document has more than %d bytes", maxInput))
	at(`{"x":"`+strings.Repeat("x", 2<<20)+`"}`, "put", "books", "b1").want(t, exitFailed, "413")
	at("{}", "put", "9books", "b1").want(t, exitUsage, "cannot name a collection")
	at("{}", "put", "books", strings.Repeat("b", 256)).want(t, exitUsage, "1 to 255 bytes")
	at("{}", "put", "books", "b1", "--if-match", "1", "--if-absent").want(t, exitUsage, "see fanfold put --help")
	at("{}", "put", "books", "b1", "--if-match", "no tag").want(t, exitUsage, "400")
	for _, command := range []string{"put", "patch", "delete"} {
		at("{}", command, "books", "b1", "--if-match", "").want(t, exitUsage, "--if-match is empty: give it a value, or leave it out")
	}
	at("{}", "put", "books").want(t, exitUsage, "missing argument: ID")
	at("{}", "patch", "books", "b1").want(t, exitFailed, "404")
	at(`[{"op":"add","path":"/x"}]`, "patch", "books", "b1").want(t, exitUsage, "operation 0 of the patch, add /x, has no value")
	at(`[1]`, "patch", "books", "b1").want(t, exitUsage, "the patch is no list of operations")
	at("", "delete", "books", "b1", "--steps", "--if-match", "1").want(t, exitUsage, "see fanfold delete --help")
	s.Want(http.StatusNotFound, "GET", "/v1/books/b1", "")
}

// TestListCommand: a page of a collection is a table for people, or documents a line, and goes on at its cursor.
func TestListCommand(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for i := range 5 {
		s.Put("books", fmt.Sprintf("b%d", i), fmt.Sprintf("{\"n\":%d,\n\"name\":%q}", i, strings.Repeat("é", 80)))
	}
	s.Put("books", "b\x1b[31m", "{}")
	at := func(args ...string) ran { return runCommand(t, "", append(args, "--server", s.URL)...) }
	r := at("list", "books", "--limit", "2")
	r.want(t, exitDone, "there are more: go on with --cursor ", "REVISION  WRITTEN", `"n":0,"name":"é`, "…")
	if lines := strings.Count(r.out, "\n"); lines != 3 || strings.Contains(r.out, "\x1b") {
		t.Errorf("%d lines, %q", lines, r.out)
	}
	_, cursor, _ := strings.Cut(r.err, "--cursor ")
	cursor, _, _ = strings.Cut(cursor, ",")
	rest := at("list", "books", "--limit", "10", "--cursor", cursor, "--json")
	rest.want(t, exitDone, `"id":"b4"`, `"_meta":`)
	if lines := strings.Count(rest.out, "\n"); lines != 4 || rest.err != "" {
		t.Errorf("%d documents a line, %q", lines, rest.err)
	}
	all := at("list", "books", "--limit", "2", "--all")
	all.want(t, exitDone, "b3")
	if strings.Count(all.out, "\n") != 7 || strings.Contains(all.out, "\x1b") || strings.Count(all.out, "REVISION") != 1 {
		t.Errorf("all pages are %q", all.out)
	}
	at("list", "books", "--limit", "0").want(t, exitUsage, "--limit 0 is not how many documents a page can have")
	at("list", "books", "--limit", "1001").want(t, exitUsage, "give 1 to 1000")
	at("list", "books", "--cursor", "x").want(t, exitUsage, "400")
	at("list", "books", "--view", "x").want(t, exitUsage, "400")
	at("list", "9books").want(t, exitUsage, "cannot name a collection")
	at("list").want(t, exitUsage, "missing argument: COLLECTION; see fanfold list --help")
}

// TestUpdateCommand: update changes, and delete deletes, all documents that a filter matches.
func TestUpdateCommand(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  products: {}
  lines:
    schema: { properties: { n: { maximum: 5 } } }
    relations: { product: { to: products, path: product } }
    derive: { price: { copy: product, value: doc.price, frozen: true } }
`)
	s.Put("products", "p", `{"price":1}`)
	for i := range 6 {
		s.Put("lines", fmt.Sprint("l", i), fmt.Sprintf(`{"product":"p","n":%d}`, i))
	}
	s.Put("products", "p", `{"price":2}`)
	run := func(in string, args ...string) ran { return runCommand(t, in, append(args, "--server", s.URL)...) }
	run("{}", "update", "lines").want(t, exitUsage, "--filter true means all")
	run("", "delete", "lines").want(t, exitUsage, "--filter")
	run("", "delete", "lines", "l1", "--filter", "true").want(t, exitUsage, "--filter")
	run(`{"x":1}`, "update", "lines", "--filter", "doc.n > params.n", "--params", `{"n":3}`, "--dry-run").want(t, exitDone, `"matched": 2`, `"written": 2`)
	run("", "update", "lines", "--filter", "true", "--refresh", "price", "--yes").want(t, exitDone, "6 documents match", "6 documents changed, 0 were so already, 0 refused, position ")
	s.WantDoc("lines", "l0", `{"id":"l0","product":"p","n":0,"price":2}`)
	add := `[{"op":"increment","path":"/n","value":1,"max":4}]`
	run(add, "update", "lines", "--filter", "doc.n > 2", "--key", "k").want(t, exitFailed, "lines/l4: ", "lines/l5: ", "1 document changed, 0 were so already, 2 refused")
	run(add, "update", "lines", "--filter", "doc.n > 2", "--key", "k").want(t, exitFailed, "1 document changed")
	s.WantDoc("lines", "l3", `{"id":"l3","product":"p","n":4,"price":2}`)
	run("", "delete", "lines", "--filter", "doc.n < 2", "--dry-run").want(t, exitDone, `"matched": 2`)
	run("", "delete", "lines", "--filter", "doc.n < 2", "--json").want(t, exitDone, `"written": 2`)
	run("", "list", "lines", "--count").want(t, exitDone, "4")
}
