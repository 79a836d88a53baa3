package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

const largeLineageModel = `
collections:
  authors:
    derive:
      some: {count: books.authors, where: "doc.tags.exists(t, t == 5)"}
      last: {recent: books.authors, max: 3, fields: [id], where: "doc.tags.exists(t, t == 5)"}
  books:
    relations: {authors: {path: "authors[].id", to: authors}}
    derive: {"authors[].name": {copy: authors, value: doc.name}}
`

const manyMembers, manyAuthors, manyPatches = 20_000, 500, 5

// fillLargeLineage puts a book of many members and authors, which is written some times more.
func fillLargeLineage(put func(collection, id, body string)) {
	var members, authors strings.Builder
	for i := range manyAuthors {
		put("authors", fmt.Sprint(i), fmt.Sprintf(`{"name":"%d"}`, i))
		fmt.Fprintf(&authors, `,{"id":"%d"}`, i)
	}
	for i := range manyMembers {
		fmt.Fprintf(&members, `"m%d":%d,`, i, i)
	}
	for i := range manyPatches + 1 {
		put("books", "b", fmt.Sprintf(`{%s"n":%d,"tags":[1,5],"authors":[%s]}`, members.String(), i, authors.String()[1:]))
	}
}

// readLineage collects the lineage of the large book, which ends with ctx.
func readLineage(t *testing.T, ctx context.Context, store *sqlite.Store, plan *fold.Plan) (l *lineage, err error) {
	t.Helper()
	err = store.Read(func(s *sqlite.Snapshot) error {
		defer s.EndWith(ctx)()
		var err error
		if l, err = newLineage(ctx, s, plan, fanfold.Key{Collection: "books", ID: "b"}); err != nil {
			return err
		}
		return l.collect()
	})
	return l, err
}

// TestWorkOfLineage checks that a lineage walks each earlier view once, however many values it looks for there. It evaluates a condition
// once, however many documents it is about.
func TestWorkOfLineage(t *testing.T) {
	store, plan := storeUnder(t, largeLineageModel, fillLargeLineage)
	l, err := readLineage(t, t.Context(), store, plan)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.out.Derived) != manyAuthors || len(l.out.Copies) != 2 || l.out.Copies[0].Documents != manyAuthors || l.out.Copies[1].Documents != manyAuthors {
		t.Errorf("%d values, copies %+v", len(l.out.Derived), l.out.Copies)
	}
	for _, v := range l.out.Derived {
		if v.Event == nil || v.Event.Op != fanfold.OpCreate {
			t.Fatalf("%s was given by %+v", v.Path, v.Event)
		}
	}
	if most := manyPatches * (manyMembers + 10*manyAuthors); l.walked > most {
		t.Errorf("it looked at %d members and elements, where %d would do", l.walked, most)
	}
	if l.evaluated > 2 {
		t.Errorf("it evaluated conditions %d times, of which there are 2", l.evaluated)
	}
}

// endingContext is a context that ends when it is asked for the time that left counts down to.
type endingContext struct {
	context.Context
	left, late *int // late counts how often it was asked after it had ended
}

// Err implements context.Context.
func (c endingContext) Err() error {
	if *c.left--; *c.left >= 0 {
		return nil
	}
	*c.late++
	return context.Canceled
}

// TestLineageEndsWithItsClient checks that a lineage ends with its context, whenever that ends.
func TestLineageEndsWithItsClient(t *testing.T) {
	store, plan := storeUnder(t, largeLineageModel, fillLargeLineage)
	asked := 0
	for after, ended := 0, true; ended; after = after*3/2 + 1 {
		left, late := after, 0
		_, err := readLineage(t, endingContext{t.Context(), &left, &late}, store, plan)
		if ended = late > 0; ended && !errors.Is(err, context.Canceled) || !ended && err != nil {
			t.Fatalf("it ends with %v where its context ends when it is asked for the %d. time", err, after)
		}
		if late > 5 {
			t.Errorf("it was asked %d times after it had ended, at the %d. time", late, after)
		}
		asked = after
	}
	if asked < manyAuthors+manyPatches {
		t.Errorf("it asks for its context %d times", asked)
	}
}

// TestFormerPlansAreBounded: the plan of a former model is compiled once, however many ask for it at a time. So many stay, of so many bytes, and those that
// were asked for last. An error does not stay.
func TestFormerPlansAreBounded(t *testing.T) {
	t.Parallel()
	var ps formerPlans
	var mu sync.Mutex
	compiled := map[uint64]int{}
	ask := func(seq uint64, size int, err error) error {
		plan, err := ps.of(seq, size, func() (*fold.Plan, error) {
			mu.Lock()
			defer mu.Unlock()
			compiled[seq]++
			return &fold.Plan{Seq: seq}, err
		})
		if err == nil && plan.Seq != seq {
			return fmt.Errorf("model %d has the plan of %d", seq, plan.Seq)
		}
		return err
	}
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			if err := ask(1+uint64(i)%maxFormerPlans, 10, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	want := func(seq uint64, n int) {
		t.Helper()
		if compiled[seq] != n {
			t.Errorf("model %d was compiled %d times, want %d", seq, compiled[seq], n)
		}
	}
	for seq := uint64(1); seq <= maxFormerPlans; seq++ {
		want(seq, 1)
	}
	_ = ask(1, 10, nil)
	_ = ask(100, 10, nil) // in the place of one of the others
	_ = ask(1, 10, nil)
	want(1, 1)
	_ = ask(101, maxFormerBytes+1, nil)
	_ = ask(101, maxFormerBytes+1, nil)
	want(101, 2)
	want(1, 1)
	if len(ps.list) != maxFormerPlans {
		t.Errorf("%d plans stay", len(ps.list))
	}
	_ = ask(102, maxFormerBytes, nil)
	if len(ps.list) != 1 || ps.list[0].seq != 102 {
		t.Errorf("beside the largest %d plans stay", len(ps.list))
	}
	if err := ask(103, 10, errors.New("the time is up")); err == nil || ask(103, 10, nil) != nil {
		t.Errorf("an error stays, or is not told: %v", err)
	}
}
