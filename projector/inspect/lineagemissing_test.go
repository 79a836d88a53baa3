package inspect

import (
	"slices"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
)

// TestLineageExplainsBriefly: a lineage that has looked for long at why there is no value looks at no other document.
func TestLineageExplainsBriefly(t *testing.T) {
	t.Parallel()
	l := &lineage{}
	if l.late() || !l.until.After(time.Now()) {
		t.Errorf("it ends at %v", l.until)
	}
	l.until = time.Now().Add(-1)
	if why, err := l.whyNot(nil, ValueSource{Revision: 1}); why != notExplained || err != nil {
		t.Errorf("%q, %v", why, err)
	}
}

// TestLineageLooksForSoManyIDs: a lineage that has looked for as many ids as it may says how many it did not look for.
func TestLineageLooksForSoManyIDs(t *testing.T) {
	t.Parallel()
	store, plan := storeUnder(t, `
collections:
  authors: {derive: {n: {count: books.authors}}}
  books: {relations: {authors: {path: "authors[]", to: authors}}}
`, func(put func(collection, id, body string)) {
		put("authors", "a", "{}")
		put("authors", "b", "{}")
		put("books", "b", `{"authors":["none","a","b","c"]}`)
	})
	if err := store.Read(func(s *sqlite.Snapshot) error {
		l, err := newLineage(t.Context(), s, plan, fanfold.Key{Collection: "books", ID: "b"})
		if err != nil {
			return err
		}
		l.referred = maxReferred - 2
		if err := l.collect(); err != nil {
			return err
		}
		if c := l.out.Copies[0]; c.Documents != 1 || c.More != 2 || !slices.Equal(c.First, []string{"a"}) {
			t.Errorf("the copies are %+v", c)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestLineageEvaluatesBriefly: a lineage that has evaluated conditions for long evaluates no other one, and says so.
func TestLineageEvaluatesBriefly(t *testing.T) {
	t.Parallel()
	store, plan := storeUnder(t, largeLineageModel, func(put func(collection, id, body string)) {
		put("authors", "a", "{}")
		put("books", "b", `{"tags":[5],"authors":[{"id":"a"}]}`)
	})
	if err := store.Read(func(s *sqlite.Snapshot) error {
		l, err := newLineage(t.Context(), s, plan, fanfold.Key{Collection: "books", ID: "b"})
		if err != nil {
			return err
		}
		l.conditions = time.Now().Add(-1)
		if err := l.collect(); err != nil {
			return err
		}
		if c := l.out.Copies[0]; c.Documents != 0 || c.Reason == "" || l.evaluated != 0 {
			t.Errorf("the copies are %+v, and conditions were evaluated %d times", c, l.evaluated)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
