package inspect_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/sqlite"
)

// copyingModel copies an author's name to its books, and counts them.
const copyingModel = `
collections:
  authors: {derive: {books: {count: books.author}}}
  books:   {relations: {author: {path: author, to: authors}}, derive: {name: {copy: author, value: doc.name}}}
`

// openStore opens the read model of a folder.
func openStore(t *testing.T, dir string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.OpenStore(dir, sqlite.Options{Fingerprint: fold.Fingerprint()})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// foldBooks folds the model, an author and a book of the author into a new read model, closes it, and returns the path
// of its file.
func foldBooks(t *testing.T, dir string) (path string) {
	t.Helper()
	parsed, err := modelfile.Parse([]byte(copyingModel))
	if err != nil {
		t.Fatal(err)
	}
	events := []*fanfold.Event{
		{Kind: fanfold.KindModel, Body: parsed.Source},
		{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "authors", ID: "a"}, Body: []byte(`{"id":"a","name":"Ann"}`)},
		{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "books", ID: "b"}, Body: []byte(`{"id":"b","author":"a"}`)},
	}
	for i, ev := range events {
		ev.Seq, ev.Time = uint64(i+1), time.Unix(int64(i+1), 0)
	}
	plan, err := fold.NewPlan(model.Empty(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	store := openStore(t, dir)
	err = store.Use(func(db *sqlite.DB) error {
		path = db.Path()
		return db.Update(func(tx *sqlite.Tx) error { return fold.New(plan, fold.Options{}).ApplyAll(tx, events) })
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// execute runs a statement on a file that nobody has open.
func execute(t *testing.T, path, statement string) {
	t.Helper()
	c, err := (&sqlite3.SQLiteDriver{}).Open("file:" + url.PathEscape(path))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.(*sqlite3.SQLiteConn).Exec(statement, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Close(), os.Remove(filepath.Join(filepath.Dir(path), "sum-000001"))); err != nil { // it is another file now
		t.Fatal(err)
	}
}

// TestVerifyFindsWhatWasChangedByHand checks that verify lists exactly the value that somebody changed in the file.
func TestVerifyFindsWhatWasChangedByHand(t *testing.T) {
	for name, c := range map[string]struct{ statement, document, rule, detail string }{
		"nothing":   {"SELECT 1", "", "", ""},
		"a copy":    {`UPDATE document SET body = replace(body, '"Ann"', '"Bob"') WHERE collection = 'books'`, "books/b", "books.name", `"value":"Ann","old":"Bob"`},
		"a count":   {`UPDATE document SET body = replace(body, '"books":1', '"books":2') WHERE collection = 'authors'`, "authors/a", "authors.books", `"value":1,"old":2`},
		"a member":  {`UPDATE document SET body = replace(body, '"Ann"', '"Bob"') WHERE collection = 'authors'`, "books/b", "books.name", `"value":"Bob","old":"Ann"`},
		"a space":   {`UPDATE document SET body = replace(body, ',"name"', ', "name"') WHERE collection = 'authors'`, "authors/a", "", "not the canonical form"},
		"the place": {`UPDATE document SET source = x'010000' WHERE collection = 'authors'`, "authors/a", "", "the referenced view is not stored as it should be"},
		"the links": {`DELETE FROM link`, "books/b", "", `the link index lacks relation books.author to "a"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			execute(t, foldBooks(t, dir), c.statement)
			store := openStore(t, dir)
			defer func() {
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			}()
			v, err := inspect.Verify(t.Context(), store, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.document == "" {
				if len(v.Wrong) != 0 || v.Documents != 2 {
					t.Fatalf("nothing was changed, and verify says %+v", v)
				}
				return
			}
			if len(v.Wrong) != 1 {
				t.Fatalf("one value was changed, and verify lists %+v", v.Wrong)
			}
			if w := v.Wrong[0]; w.Document != c.document || w.Rule != c.rule || !strings.Contains(w.Detail, c.detail) {
				t.Errorf("verify lists %+v, want %s of %s: %s", w, c.rule, c.document, c.detail)
			}
		})
	}
}
