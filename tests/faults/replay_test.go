package faults_test

import (
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

func TestReplayIsIdentical(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  authors: {derive: {countOfBooks: {count: books.authors}, books: {ids: books.authors}}}
  books:
    relations: {authors: {path: "authors[].id", to: authors}}
    derive: {"authors[].name": {copy: authors, value: doc.name}}
`)
	s.Put("authors", "a1", `{"name":"One"}`)
	s.Put("books", "b1", `{"authors":[{"id":"a1"},{"id":"a2"}]}`)
	s.Put("authors", "a2", `{"name":"Two"}`)
	s.Put("authors", "a1", `{"name":"Uno"}`)
	s.WantDoc("books", "b1", `{"id":"b1","authors":[{"id":"a1","name":"Uno"},{"id":"a2","name":"Two"}]}`)
	before := s.Digest()
	s.Replay()
	if after := s.Digest(); after != before {
		t.Fatal("the replay's rows differ")
	}
}
