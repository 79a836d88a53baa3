package model_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestMisspeltInTwoRules: a member that rules misspell gets a suggestion in each of them, although they begin at other documents.
func TestMisspeltInTwoRules(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("authors", "a", `{"name":"Ann"}`)
	s.Put("books", "early", `{"isbn":1}`) // refers to nobody, and has no price yet
	s.Put("books", "late", `{"author":"a","price":2}`)
	r := s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", `{"collections":{
		"authors":{"derive":{"sum":{"sum":"books.author","of":"prcie"}}},
		"books":{"relations":{"author":{"path":"author","to":"authors"}},"derive":{"double":{"value":"doc.prcie * 2"}},"unique":["prcie"]}}}`)
	var preview struct {
		Warnings []struct{ Path, Detail string }
	}
	harness.Decode(t, r.Body, &preview)
	if len(preview.Warnings) != 3 {
		t.Fatalf("the preview is %s", r.Body)
	}
	for _, w := range preview.Warnings {
		if !strings.Contains(w.Detail, `books/late: there is no member "prcie"; did you mean "price"?`) {
			t.Errorf("%s: %s", w.Path, w.Detail)
		}
	}
}
