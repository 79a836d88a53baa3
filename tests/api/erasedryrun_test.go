package api_test

import (
	"net/http"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestEraseDryRunRefuses: a dry run of an erasure is refused as the erasure is, and promises it only where it is taken.
func TestEraseDryRunRefuses(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  authors: {}
  books: {relations: {author: {path: author, to: authors, onDelete: restrict}}}
  shelves: {}
  boxes: {relations: {shelf: {path: shelf, to: shelves, onDelete: cascade}}}
  labels: {relations: {box: {path: box, to: boxes, onDelete: restrict}}}
  notes: {schema: {type: object, required: [text]}}`)
	for _, d := range [][3]string{{"authors", "a1", `{"n":1}`}, {"authors", "a2", `{"n":1}`}, {"books", "b1", `{"author":"a1","n":1}`}, {"shelves", "s1", `{"n":1}`},
		{"boxes", "x1", `{"shelf":"s1"}`}, {"labels", "l1", `{"box":"x1"}`}, {"notes", "n1", `{"text":"t"}`}} {
		s.Put(d[0], d[1], d[2])
	}
	type problem struct{ Code, Type, Detail string }
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"/v1/authors/a1/_erase", "", http.StatusConflict},
		{"/v1/shelves/s1/_erase", "", http.StatusConflict},
		{"/v1/_erase", `{"documents":[{"collection":"authors","id":"a2"},{"collection":"authors","id":"a1"}]}`, http.StatusConflict},
		{"/v1/books/b1/_erase", "", http.StatusAccepted},
		{"/v1/notes/n1/_erase", `{"members":["/text"]}`, http.StatusUnprocessableEntity},
		{"/v1/_erase", `{"documents":[{"collection":"authors","id":"a2"},{"collection":"authors","id":"a1"}]}`, http.StatusAccepted},
	} {
		var dry, real problem
		want := c.status
		if want == http.StatusAccepted {
			want = http.StatusOK
		}
		rehearsed := s.Want(want, "POST", c.path+"?dryRun=true", c.body)
		done := s.Want(c.status, "POST", c.path, c.body)
		if c.status == http.StatusAccepted {
			awaitErasure(t, s, done)
			continue
		}
		decode(t, rehearsed, &dry)
		decode(t, done, &real)
		if dry != real || dry.Detail == "" {
			t.Errorf("%s %s: the dry run says %+v, the erasure %+v", c.path, c.body, dry, real)
		}
	}
}
