package model_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

const unlinkModel = `
collections:
  publishers: {}
  authors: {relations: {publisher: {path: pub, to: publishers, onDelete: cascade}}}
  books:
    schema: {required: [editor], properties: {authors: {minItems: 1}}}
    relations:
      authors: {path: "authors[].id", to: authors, onDelete: unlink}
      editor: {path: editor, to: authors, onDelete: unlink}
      parts: {path: "parts[].book", to: books, onDelete: unlink}
`

// TestUnlinkFitsSchema: a delete that would leave a document which does not fit its schema is refused, names the document
// and what would not fit, and changes nothing.
func TestUnlinkFitsSchema(t *testing.T) {
	s := harness.OpenTemp(t, unlinkModel)
	s.Put("publishers", "p", `{}`)
	s.Put("authors", "a", `{"pub":"p"}`)
	s.Put("authors", "b", `{}`)
	s.Put("authors", "c", `{}`)
	s.Put("books", "1", `{"authors":[{"id":"a"},{"id":"b"}],"editor":"c"}`)
	s.Put("books", "2", `{"authors":[{"id":"b"}],"editor":"c"}`)
	_, before := s.Changes("mode=all")
	refused := func(method, path, body string, headers []string, want ...string) {
		t.Helper()
		r := s.Want(http.StatusConflict, method, path, body, headers...)
		harness.WantText(t, r.Problem(), "urn:fanfold:problem:restricted")
		for _, text := range want {
			if !strings.Contains(string(r.Body), text) {
				t.Errorf("%q is not in %s", text, r.Body)
			}
		}
		if list, _ := feedOf(t, s, before); len(list) > 0 {
			t.Fatalf("%s %s has changed %v", method, path, list)
		}
	}
	operations := func(ops ...string) string { return `{"operations":[` + strings.Join(ops, ",") + `]}` }
	const deleteA, deleteB = `{"op":"delete","collection":"authors","id":"a"}`, `{"op":"delete","collection":"authors","id":"b"}`
	refused("DELETE", "/v1/authors/b", "", nil, "1 document would not fit", `"books/2/authors"`, "minItems")
	refused("DELETE", "/v1/authors/b?dryRun=true", "", nil, `"books/2/authors"`)
	refused("DELETE", "/v1/authors/b?steps=true", "", nil, `"books/2/authors"`)
	refused("DELETE", "/v1/authors/c", "", nil, "2 documents would not fit", `"books/1"`, `"books/2"`, "editor")
	refused("POST", "/v1/_transactions", operations(deleteA, deleteB), nil, `"books/1/authors"`, `"books/2/authors"`)
	refused("POST", "/v1/_transactions", operations(deleteA, deleteB, `{"op":"delete","collection":"books","id":"2"}`), nil, `"books/1/authors"`)

	// A cascade leads to the unlink.
	s.Merge("books", "1", `{"authors":[{"id":"a"}]}`)
	_, before = s.Changes("mode=all")
	refused("DELETE", "/v1/publishers/p", "", nil, `"books/1/authors"`)
	refused("DELETE", "/v1/publishers/p?steps=true", "", nil, `"books/1/authors"`)

	// The writes of the same transaction in the reference's place are looked at instead.
	s.Want(200, "POST", "/v1/_transactions", operations(deleteB, `{"op":"patch","collection":"books","id":"2","patch":{"authors":[{"id":"a"}]}}`))
	s.Want(200, "POST", "/v1/_transactions", operations(`{"op":"delete","collection":"publishers","id":"p"}`,
		`{"op":"delete","collection":"books","id":"1"}`, `{"op":"put","collection":"books","id":"2","body":{"editor":"c"}}`))
	s.WantDoc("books", "2", `{"id":"2","editor":"c"}`)
}

// TestUnlinkOfMisfits: a document that does not fit a schema which came after it does not keep others from being deleted, in
// steps either; one that fits does.
func TestUnlinkOfMisfits(t *testing.T) {
	const model = "collections: {as: {}, bs: {%srelations: {a: {path: a, to: as, onDelete: unlink}}}}"
	s := harness.OpenTemp(t, fmt.Sprintf(model, ""))
	for _, id := range []string{"1", "2", "3"} {
		s.Put("as", id, `{}`)
	}
	s.Put("bs", "1", `{"a":"1","n":"text"}`)
	s.Put("bs", "2", `{"a":"2","n":"text"}`)
	s.Put("bs", "3", `{"a":"3","n":3}`)
	s.Want(200, "PUT", "/v1/_model?allowMisfits=true", fmt.Sprintf(model, "schema: {required: [a], properties: {n: {type: number}}}, "), "Content-Type", harness.YAMLType)
	s.Delete("as", "1")
	s.WantDoc("bs", "1", `{"id":"1","n":"text"}`)
	s.Want(http.StatusOK, "DELETE", "/v1/as/2?steps=true", "")
	s.WantDoc("bs", "2", `{"id":"2","n":"text"}`)
	if r := s.Want(http.StatusConflict, "DELETE", "/v1/as/3", ""); !strings.Contains(string(r.Body), "bs/3") {
		t.Fatalf("the document is not named: %s", r.Body)
	}
	s.Want(http.StatusConflict, "DELETE", "/v1/as/3?steps=true", "")
	s.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/bs/1", `{"m":1}`, "Content-Type", harness.MergeType) // a write has to fit
}

// TestUnlinkOfManyReferences: a document may refer to one target more often than a JSON Patch has operations.
func TestUnlinkOfManyReferences(t *testing.T) {
	s := harness.OpenTemp(t, `collections: {as: {}, bs: {relations: {a: {path: "a[]", to: as, onDelete: unlink}, b: {path: "b[].id", to: as, onDelete: unlink}}}}`)
	s.Put("as", "1", `{}`)
	s.Put("bs", "1", `{"a":[1`+strings.Repeat(`,"1"`, 999)+`],"b":[{"id":2}`+strings.Repeat(`,{"id":1}`, 999)+`],"c":[1]}`)
	s.Delete("as", "1")
	s.WantDoc("bs", "1", `{"id":"1","a":[],"b":[{"id":2}],"c":[1]}`)
}

// TestUnlinkUnderConcurrency: of two deletes on two nodes that each leave a document which fits, and together do not, one is
// refused.
func TestUnlinkUnderConcurrency(t *testing.T) {
	suite.Concurrent(t)
	nodes := cluster(t, 1, 2)
	nodes[0].Model(`
collections:
  as: {}
  bs: {schema: {properties: {as: {minItems: 1}}}, relations: {a: {path: "as[]", to: as, onDelete: unlink}}}
`)
	for i := range 10 {
		a, b, holder := fmt.Sprintf("%d-0", i), fmt.Sprintf("%d-1", i), fmt.Sprint(i)
		nodes[0].Put("as", a, `{}`)
		nodes[0].Put("as", b, `{}`)
		nodes[0].Put("bs", holder, fmt.Sprintf(`{"as":[%q,%q]}`, a, b))
		nodes[1].CatchUp()
		var wg sync.WaitGroup
		var status [2]int
		var errs [2]error
		for n, id := range []string{a, b} {
			wg.Go(func() {
				var r *harness.Response
				if r, errs[n] = nodes[n].Do(http.MethodDelete, "/v1/as/"+id, nil); errs[n] == nil {
					status[n] = r.Status
				}
			})
		}
		wg.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		left := b
		if status == [2]int{http.StatusConflict, http.StatusNoContent} {
			left = a
		} else if status != [2]int{http.StatusNoContent, http.StatusConflict} {
			t.Fatalf("the deletes were answered %v", status)
		}
		nodes[0].CatchUp()
		nodes[0].WantDoc("bs", holder, fmt.Sprintf(`{"id":%q,"as":[%q]}`, holder, left))
	}
}
