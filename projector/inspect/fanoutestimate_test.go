package inspect_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
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

// TestMayExceedOfSmallTransactions checks a transaction of many small documents which only count up what they refer to. It stays within
// the limit of a model that declares none, so that no dry run is made.
func TestMayExceedOfSmallTransactions(t *testing.T) {
	s := harness.OpenTemp(t, countingModel)
	inspector := inspect.New(s.Node.Store, s.Node.Projector, fanfold.Issuer{})
	for _, n := range []int{1, 10, 11, 12, 1000} {
		if more, err := inspector.MayExceed(t.Context(), puts(n), model.DefaultFanoutLimit); err != nil || more {
			t.Errorf("%d puts of small documents may exceed %d changes: %v, %v", n, model.DefaultFanoutLimit, more, err)
		}
	}
}

// TestMayExceedSmallLimits checks that events which cause more changes than a limit are never said to stay within it.
func TestMayExceedSmallLimits(t *testing.T) {
	s := harness.OpenTemp(t, countingModel)
	for i := range 12 {
		s.Put("authors", fmt.Sprint(i), `{}`)
	}
	inspector := inspect.New(s.Node.Store, s.Node.Projector, fanfold.Issuer{})
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

// TestMayExceedByDisplacing checks that what a longer value leaves no room for counts with all that follows from it.
func TestMayExceedByDisplacing(t *testing.T) {
	s := harness.OpenTemp(t, `{"collections":{"as":{"derive":{"a":{"recent":"cs.r","max":3,"fields":["t"]},"b":{"ids":"ds.r"}}},
"cs":{"relations":{"r":{"path":"a","to":"as"}}},"ds":{"relations":{"r":{"path":"a","to":"as"}},"derive":{"names":{"copy":"r","value":"doc.b"}}}},"embedded":{"limit":60}}`)
	inspector := inspect.New(s.Node.Store, s.Node.Projector, fanfold.Issuer{})
	s.Put("as", "1", `{"id":"1"}`)
	s.Put("ds", "1", `{"id":"1","a":"1"}`)
	s.WantDoc("ds", "1", `{"id":"1","a":"1","names":["1"]}`)
	body := `{"id":"1","a":"1","t":"0123456789012345678901234567"}`
	event := &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "cs", ID: "1"}, Body: []byte(body)}
	for limit, want := range map[int64]bool{1: true, 2: false} {
		if more, err := inspector.MayExceed(t.Context(), []*fanfold.Event{event}, limit); err != nil || more != want {
			t.Errorf("the limit %d may be exceeded: %v, want %v (%v)", limit, more, want, err)
		}
	}
	s.Put("cs", "1", body)
	s.WantDoc("ds", "1", `{"id":"1","a":"1"}`)
}

// TestMayExceedByComputing checks that what reads a computed member counts where something changes that the member reads.
func TestMayExceedByComputing(t *testing.T) {
	s := harness.OpenTemp(t, `{"collections":{"as":{},"bs":{"relations":{"r":{"path":"r","to":"as"}},"derive":{"x":{"copy":"r","value":"doc.n"},"y":{"value":"doc.x"},"z":{"value":"doc.y"}}},
"cs":{"relations":{"r":{"path":"r","to":"bs"}},"derive":{"v":{"copy":"r","value":"doc.z"}}}}}`)
	s.Put("as", "1", `{"n":1}`)
	s.Put("bs", "1", `{"r":1}`)
	var lines strings.Builder
	for range 300 { // more than are rehearsed
		lines.WriteString(`{"r":1}` + "\n")
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=cs", lines.String(), "Content-Type", "application/x-ndjson")
	inspector := inspect.New(s.Node.Store, s.Node.Projector, fanfold.Issuer{})
	event := &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "as", ID: "1"}, Body: []byte(`{"id":"1","n":2}`)}
	for _, limit := range []int64{0, 1, 100, 299} {
		if more, err := inspector.MayExceed(t.Context(), []*fanfold.Event{event}, limit); err != nil || !more {
			t.Errorf("301 changes do not exceed %d: %v", limit, err)
		}
	}
}
