package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestMembersThatShowAgain: where a rule goes that hid members of the documents' own, and its path stays reserved, a preview warns
// that the next write loses them.
func TestMembersThatShowAgain(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {ps: {}, as: {}}")
	s.Put("as", "1", `{"p":"1","price":7}`)
	s.Put("as", "2", `{"p":"1"}`)
	s.Put("as", "3", `{"p":"1","price":8}`)
	const model = "collections: {ps: {}, as: {relations: {p: {path: p, to: ps}}%s}}"
	s.Model(fmt.Sprintf(model, ", derive: {price: {copy: p, value: doc.price, takeOver: true}, n: {copy: p, value: doc.n}}"))
	warnings := func(more string) []fanfold.Problem {
		return previewed(t, s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", fmt.Sprintf(model, more), "Content-Type", harness.YAMLType).Body).Warnings
	}
	want := fanfold.Problem{Path: "collections.as.release", Detail: `2 documents, such as as/1, have a member of their own at "price", which shows again when the rule goes, and which their next write loses: release the path to keep it`}
	if got := warnings(""); len(got) != 1 || got[0] != want {
		t.Errorf("it warns of %v", got)
	}
	if got := warnings(", release: [price]"); len(got) != 0 {
		t.Errorf("of a released path it warns: %v", got)
	}
	s.Model(fmt.Sprintf(model, ", release: [price]"))
	s.Merge("as", "1", `{"m":1}`)
	s.WantDoc("as", "1", `{"id":"1","p":"1","price":7,"m":1}`)
}

// TestReservedPathsSayRelease: whatever is refused because of a removed rule's path says what to put where in the model.
func TestReservedPathsSayRelease(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  authors: {derive: {"a/b": {count: books.authors}, n: {count: books.authors}}}
  books: {relations: {authors: {path: "authors[].id", to: authors}}, derive: {"authors[].name": {copy: authors, value: doc.name}}}
`)
	s.Model(`collections: {authors: {derive: {n: {count: books.authors}}}, books: {relations: {authors: {path: "authors[].id", to: authors}}}}`)
	s.Put("authors", "a", `{}`)
	s.Put("books", "b", `{"authors":[{"id":"a","name":"an old copy"}]}`)
	s.WantDoc("books", "b", `{"id":"b","authors":[{"id":"a"}]}`)
	const name, slash = `release: [\"authors[].name\"] in collection books of the model`, `release: [\"a/b\"] in collection authors of the model`
	strict, merge, jsonPatch := []string{"Prefer", "handling=strict"}, []string{"Content-Type", harness.MergeType}, []string{"Content-Type", harness.PatchType}
	for _, c := range []struct {
		method, path, body string
		headers            []string
		want               string
	}{
		{"PUT", "books/b", `{"authors":[{"id":"a","name":"x"}]}`, strict, name},
		{"PATCH", "books/b", `[{"op":"add","path":"/authors/0/name","value":"x"}]`, jsonPatch, name},
		{"PATCH", "books/b", `[{"op":"add","path":"/name","value":"x"},{"op":"move","from":"/name","path":"/authors/0/name"}]`, jsonPatch, name},
		{"PATCH", "books/b", `[{"op":"move","from":"/authors/0/name","path":"/name"}]`, jsonPatch, name},
		{"PATCH", "books/b", `{"authors":[{"id":"a","name":"x"}]}`, merge, name},
		{"PATCH", "authors/a", `{"a/b":7}`, merge, slash},
		{"PATCH", "authors/a", `[{"op":"add","path":"/a~1b","value":7}]`, jsonPatch, slash},
		{"PATCH", "authors/a", `{"n":7}`, merge, `"/n","detail":"is derived"`},
		{"PUT", "authors/a", `{"n":7}`, strict, `"/n","detail":"is derived"`},
	} {
		if r := s.Want(http.StatusUnprocessableEntity, c.method, "/v1/"+c.path, c.body, c.headers...); !strings.Contains(string(r.Body), c.want) {
			t.Errorf("%s %s %s: %q is not in %s", c.method, c.path, c.body, c.want, r.Body)
		}
	}
	s.Model(`collections: {authors: {release: ["a/b"], derive: {n: {count: books.authors}}}, books: {release: ["authors[].name"], relations: {authors: {path: "authors[].id", to: authors}}}}`)
	s.Merge("authors", "a", `{"a/b":7}`)
	s.Put("books", "b", `{"authors":[{"id":"a","name":"x"}]}`)
	s.WantDoc("books", "b", `{"id":"b","authors":[{"id":"a","name":"x"}]}`)
}
