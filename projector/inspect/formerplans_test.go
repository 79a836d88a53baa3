package inspect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/tests/harness"
)

// BenchmarkLineageAt asks for lineages under a model of before, with 300 rules.
func BenchmarkLineageAt(b *testing.B) {
	var rules, members strings.Builder
	for i := range 300 {
		fmt.Fprintf(&rules, "      m%d: {copy: author, value: \"doc.m%d\"}\n", i, i)
		fmt.Fprintf(&members, `,"m%d":%d`, i, i)
	}
	s := harness.OpenTemp(b, "collections:\n  authors: {}\n  books:\n    relations: {author: {path: author, to: authors}}\n    derive:\n"+rules.String())
	inspector := inspect.New(s.Node.Store, s.Node.Projector, fanfold.Issuer{})
	s.Put("authors", "a", "{"+members.String()[1:]+"}")
	s.Put("books", "b", `{"author":"a"}`)
	s.CatchUp()
	at := fanfold.Moment{Position: fanfold.At(s.Node.Store.Applied.Seq(), 0)}
	s.Model("collections: {authors: {}, books: {}}")
	s.CatchUp()
	b.ResetTimer()
	for b.Loop() {
		if _, err := inspector.LineageAt(b.Context(), fanfold.Key{Collection: "books", ID: "b"}, at); err != nil {
			b.Fatal(err)
		}
	}
}
