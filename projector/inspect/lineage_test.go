package inspect_test

import (
	"slices"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestLineageOfACopy checks that lineage names the document that a copy is made of and the write that gave the value,
// and on the other side the documents that carry it.
func TestLineageOfACopy(t *testing.T) {
	s := harness.OpenTemp(t, copyingModel)
	inspector := inspect.New(s.Node.Store, s.Node.Projector, fanfold.Issuer{})
	s.Put("authors", "a", `{"name":"Ann"}`)
	s.Put("books", "b", `{"author":"a"}`)
	s.Merge("authors", "a", `{"name":"Bea"}`)
	s.Merge("authors", "a", `{"born":1900}`) // gives the book nothing
	s.CatchUp()

	author, err := inspector.Lineage(t.Context(), fanfold.Key{Collection: "authors", ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if len(author.Copies) != 1 || author.Copies[0].Rule != "books.name" || author.Copies[0].Documents != 1 || !slices.Equal(author.Copies[0].First, []string{"b"}) {
		t.Errorf("the author is copied to %+v", author.Copies)
	}

	book, err := inspector.Lineage(t.Context(), fanfold.Key{Collection: "books", ID: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if len(book.Derived) != 1 {
		t.Fatalf("the book has %+v", book.Derived)
	}
	v := book.Derived[0]
	if v.Path != "/name" || v.Rule != "books.name" || v.Documents != 1 || len(v.Sources) != 1 || v.Sources[0].Collection != "authors" || v.Sources[0].ID != "a" {
		t.Errorf("the name comes from %+v", v)
	}
	renamed := author.Position.Seq() - 1
	if v.Event == nil || v.Event.Op != fanfold.OpDerive || v.Event.Seq.Seq() != renamed || v.Event.Collection != "authors" || v.Event.ID != "a" {
		t.Errorf("the name was given by %+v, want the write of authors/a in event %d", v.Event, renamed)
	}

	if _, err := inspector.Lineage(t.Context(), fanfold.Key{Collection: "books", ID: "none"}); fanfold.CodeOf(err) != fanfold.NotFound {
		t.Errorf("lineage of no document: %v", err)
	}
}

// TestLineageBeforeTheHorizon: a value that was given before the horizon names no change, and says why.
func TestLineageBeforeTheHorizon(t *testing.T) {
	s := harness.OpenTemp(t, copyingModel)
	inspector := inspect.New(s.Node.Store, s.Node.Projector, fanfold.Issuer{})
	s.Put("authors", "a", `{"name":"Ann"}`)
	s.Put("books", "b", `{"author":"a"}`)
	s.CatchUp()
	s.Compact(s.Node.Store.Applied.Seq())
	book, err := inspector.Lineage(t.Context(), fanfold.Key{Collection: "books", ID: "b"})
	if err != nil || len(book.Derived) != 1 {
		t.Fatalf("the book has %+v, %v", book, err)
	}
	if e := book.Derived[0].Event; e == nil || e.Reason != "before the history that is kept" || e.Op != "" || e.Seq.Position != 0 {
		t.Errorf("the name was given by %+v", e)
	}
}
