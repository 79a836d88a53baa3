package inspect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// TestWorkOfVerifyingFewOnMany checks that a verification reads a document that many others gather from once or twice, and not
// for each of them.
func TestWorkOfVerifyingFewOnMany(t *testing.T) {
	const targets, holders = 200, 10
	ids := make([]string, targets)
	for i := range ids {
		ids[i] = fmt.Sprintf(`"%d"`, i)
	}
	for _, rule := range []string{
		"recent: books.authors, max: 10, fields: [id, double]", "recent: books.authors, max: 10, fields: [id], orderBy: n", "recent: books.authors, max: 10, fields: [id], orderBy: double",
		"count: books.authors, where: doc.n > 4", "count: books.authors, where: doc.double > 4", "sum: books.authors, of: n", "max: books.authors, of: double",
	} {
		store, plan := storeUnder(t, `
collections:
  authors: {derive: {of: {`+rule+`}}}
  books: {relations: {authors: {path: "authors[]", to: authors}}, derive: {double: {value: doc.n * 2}}}
`, func(put func(collection, id, body string)) {
			for i := range targets {
				put("authors", fmt.Sprint(i), "{}")
			}
			for i := range holders {
				put("books", fmt.Sprint(i), fmt.Sprintf(`{"n":%d,"authors":[%s]}`, i, strings.Join(ids, ",")))
			}
		})
		sc, err := store.Scan()
		if err != nil {
			t.Fatal(err)
		}
		c := newChecker(t.Context(), sc, plan, nil)
		if err := c.indexLinks(); err != nil {
			t.Fatal(err)
		}
		if err := c.eachRow(nil, func(row *sqlite.Row) error {
			want, _, err := c.expected(row, plan.Levels)
			if string(want) != string(row.Body) {
				t.Errorf("%s: %s is %s, want %s", rule, row.Key, row.Body, want)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if c.contributions.documentsRead > 3*holders {
			t.Errorf("%s: %d looks at documents, of which there are %d", rule, c.contributions.documentsRead, holders)
		}
		if err := sc.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// storeUnder returns a store of documents that are put under a model, and its plan. It is closed when the test ends.
func storeUnder(t *testing.T, m string, fill func(put func(collection, id, body string))) (*sqlite.Store, *fold.Plan) {
	t.Helper()
	store, err := sqlite.OpenStore(t.TempDir(), sqlite.Options{Fingerprint: fold.Fingerprint()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	empty, err := fold.NewPlan(model.Empty(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := modelfile.Parse([]byte(m))
	if err != nil {
		t.Fatal(err)
	}
	f := fold.New(empty, fold.Options{})
	events := []*fanfold.Event{{Seq: 1, Kind: fanfold.KindModel, Body: parsed.Source}}
	fill(func(collection, id, body string) {
		events = append(events, &fanfold.Event{Seq: uint64(len(events) + 1), Kind: fanfold.KindPut, Key: fanfold.Key{Collection: collection, ID: id}, Body: []byte(body)})
	})
	if err := store.Use(func(db *sqlite.DB) error {
		return db.Update(func(tx *sqlite.Tx) error { return f.ApplyAll(tx, events) })
	}); err != nil {
		t.Fatal(err)
	}
	return store, f.Plan()
}
