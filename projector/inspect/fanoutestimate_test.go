package inspect_test

import (
	"fmt"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/tests/harness"
)

// countingModel has one rule, which counts, and no rule that leads on from the documents it changes.
const countingModel = "collections: {authors: {derive: {books: {count: books.author}}}, books: {relations: {author: {path: author, to: authors}}}}"

// puts returns the events of a transaction that writes n small books, each of an author of its own.
func puts(n int) []*fanfold.Event {
	events := make([]*fanfold.Event, n)
	for i := range events {
		events[i] = &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "books", ID: fmt.Sprint(i)}, Body: fmt.Appendf(nil, `{"id":"%d","author":%d}`, i, i)}
	}
	return events
}

// TestMayExceedOfSmallTransactions checks that a transaction of small documents which only count up what they refer to
// stays within the limit of a model that declares none, however many of them there are, so that no dry run is made.
func TestMayExceedOfSmallTransactions(t *testing.T) {
	s := harness.OpenTemp(t, countingModel)
	inspector := inspect.New(s.Node.Store, s.Node.Projector)
	for _, n := range []int{1, 10, 11, 12, 1000} {
		if more, err := inspector.MayExceed(t.Context(), puts(n), fanfold.DefaultFanoutLimit); err != nil || more {
			t.Errorf("%d puts of small documents may exceed %d changes: %v, %v", n, fanfold.DefaultFanoutLimit, more, err)
		}
	}
}

// TestMayExceedSmallLimits checks that events which cause more changes than a limit are never said to stay within it.
func TestMayExceedSmallLimits(t *testing.T) {
	s := harness.OpenTemp(t, countingModel)
	for i := range 12 {
		s.Put("authors", fmt.Sprint(i), `{}`)
	}
	inspector := inspect.New(s.Node.Store, s.Node.Projector)
	wants := func(why string, events []*fanfold.Event, limit int64) {
		t.Helper()
		if more, err := inspector.MayExceed(t.Context(), events, limit); err != nil || !more {
			t.Errorf("%s: %v, %v", why, more, err)
		}
	}
	wants("12 books count up 12 authors, the limit is 11", puts(12), 11)
	wants("12 books count up 12 authors, the limit is 0", puts(12), 0)
	wants("one book counts up one author, the limit is 0", puts(1), 0)
	for _, ev := range puts(12) {
		s.Put("books", ev.Key.ID, string(ev.Body))
	}
	moved := puts(12)
	for i, ev := range moved {
		ev.Body = fmt.Appendf(nil, `{"id":"%d","author":%d}`, i, (i+1)%12)
	}
	wants("12 books move from one author to another, the limit is 23", moved, 23)
	for _, ev := range moved {
		ev.Kind, ev.Body = fanfold.KindDelete, nil
	}
	wants("12 books are deleted, the limit is 11", moved, 11)
}
