package fold_test

import (
	"fmt"
	"os"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// check ends an example that fails.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// ExampleFold_ApplyAll folds a rename: a book carries its author's name, so that the fold writes the book too, with a
// change of its own.
func ExampleFold_ApplyAll() {
	dir, err := os.MkdirTemp("", "fold")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()
	store, err := sqlite.OpenStore(dir, sqlite.Options{Fingerprint: fold.Fingerprint()})
	check(err)
	defer func() { check(store.Close()) }()

	m, err := modelfile.Parse([]byte(`
collections:
  authors: {}
  books: {relations: {author: {path: author, to: authors}}, derive: {name: {copy: author, value: doc.name}}}
`))
	check(err)
	author, book := fanfold.Key{Collection: "authors", ID: "a"}, fanfold.Key{Collection: "books", ID: "b"}
	events := []*fanfold.Event{
		{Kind: fanfold.KindModel, Body: m.Source},
		{Kind: fanfold.KindPut, Key: author, Body: []byte(`{"id":"a","name":"Ann"}`)},
		{Kind: fanfold.KindPut, Key: book, Body: []byte(`{"id":"b","author":"a"}`)},
		{Kind: fanfold.KindPut, Key: author, Body: []byte(`{"id":"a","name":"Bea"}`)},
	}
	for i, ev := range events { // as the log numbers them
		ev.Seq, ev.Time = uint64(i+1), time.Unix(int64(i+1), 0)
	}

	empty, err := fold.NewPlan(model.Empty(), 0, nil)
	check(err)
	f := fold.New(empty, fold.Options{})
	check(store.Use(func(db *sqlite.DB) error {
		return db.Update(func(tx *sqlite.Tx) error { return f.ApplyAll(tx, events) })
	}))

	doc, _, err := store.Get(book, fanfold.Embedded)
	check(err)
	fmt.Printf("revision %d, changed at %s: %s\n", doc.Revision, doc.Position, doc.Body)
	doc, _, err = store.Get(book, fanfold.Referenced)
	check(err)
	fmt.Printf("as written: %s\n", doc.Body)
	// Output:
	// revision 3, changed at 4-1: {"id":"b","author":"a","name":"Bea"}
	// as written: {"id":"b","author":"a"}
}

// ExampleDiff compares two views of a document, which differ by the members that rules own.
func ExampleDiff() {
	model, err := modelfile.Parse([]byte(`
collections:
  authors: {}
  books: {relations: {author: {path: author, to: authors}}, derive: {name: {copy: author, value: doc.name}}}
`))
	check(err)
	plan, err := fold.NewPlan(model, 1, nil)
	check(err)
	d := fold.Diff("books", plan.Collection("books").Shape,
		jsondoc.MustParse([]byte(`{"id":"b","author":"a","name":"Ann"}`)),
		jsondoc.MustParse([]byte(`{"id":"b","author":"a","name":"Bea"}`)))
	fmt.Printf("%v: %s\n", d.Rules, d.Patch())
	// Output:
	// [books.name]: [{"op":"replace","path":"/name","value":"Bea","old":"Ann"}]
}
