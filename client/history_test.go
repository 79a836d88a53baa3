package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
)

// writtenBooks opens a store in which books/b was written, renamed, deleted and created again, and returns the positions of its
// changes, the oldest first.
func writtenBooks(t *testing.T) (*client.Documents[book], []string) {
	t.Helper()
	s := harness.OpenTemp(t, model)
	c := connect(t, s.URL, client.Options{})
	books, authors := client.Collection[book](c, "books"), client.Collection[author](c, "authors")
	ctx := t.Context()
	must(authors.Put(ctx, "a", author{Name: "Ann"}))(t)
	must(books.Put(ctx, "b", book{Title: "One", Authors: []author{{ID: "a"}}}))(t)
	must(books.Patch(ctx, "b", map[string]any{"title": "Two"}))(t)
	must(authors.Patch(ctx, "a", map[string]any{"name": "Bea"}))(t)
	must(books.Delete(ctx, "b"))(t)
	must(books.Put(ctx, "b", book{Title: "Three"}))(t)
	var positions []string
	for version, err := range books.History(ctx, "b", client.HistoryOptions{OldestFirst: true}) {
		if err != nil {
			t.Fatal(err)
		}
		positions = append(positions, version.Seq)
	}
	if len(positions) != 5 {
		t.Fatalf("the versions are at %v", positions)
	}
	return books, positions
}

// TestHistory: the versions of a document come in either order, over all pages, each with its document and its patch.
func TestHistory(t *testing.T) {
	books, at := writtenBooks(t)
	history := func(h client.HistoryOptions, opts ...client.ReadOption) (lines []string) {
		for v, err := range books.History(t.Context(), "b", h, opts...) {
			if err != nil {
				t.Fatal(err)
			}
			name := ""
			if len(v.Value.Authors) > 0 {
				name = v.Value.Authors[0].Name
			}
			lines = append(lines, strings.TrimRight(fmt.Sprint(v.Op, " ", v.Value.Title, " ", name), " "))
		}
		return lines
	}
	all := []string{"create One Ann", "patch Two Ann", "derive Two Bea", "delete", "create Three"}
	newest := slices.Clone(all)
	slices.Reverse(newest)
	for _, limit := range []int{0, 1, 2, 5} {
		if got := history(client.HistoryOptions{Limit: limit}); !slices.Equal(got, newest) {
			t.Errorf("%d a page: %q", limit, got)
		}
		if got := history(client.HistoryOptions{Limit: limit, OldestFirst: true}); !slices.Equal(got, all) {
			t.Errorf("%d a page, the oldest first: %q", limit, got)
		}
	}
	if got := history(client.HistoryOptions{OldestFirst: true, NoDerived: true, From: at[1], To: at[3]}); !slices.Equal(got, []string{"patch Two Ann", "delete"}) {
		t.Errorf("within bounds: %q", got)
	}
	if got := history(client.HistoryOptions{NoDocs: true, Limit: 1, To: at[0]}); !slices.Equal(got, []string{"create"}) {
		t.Errorf("without documents: %q", got)
	}
	if got := history(client.HistoryOptions{OldestFirst: true}, client.Referenced(), client.Strong()); !slices.Equal(got, []string{"create One", "patch Two", "derive Two", "delete", "create Three"}) {
		t.Errorf("as it was written: %q", got)
	}
}

// TestVersion: a version has what the feed tells of the change, and the patch from the version before.
func TestVersion(t *testing.T) {
	books, at := writtenBooks(t)
	page := must(books.HistoryPage(t.Context(), "b", "", client.HistoryOptions{From: at[1], To: at[2]}))(t)
	if len(page.Versions) != 2 || page.Next != "" || !strings.HasPrefix(page.Oldest, "0-0-") {
		t.Fatalf("the page is %+v", page)
	}
	derived, patched := page.Versions[0], page.Versions[1]
	if derived.Cause == nil || derived.Cause.ID != "a" || derived.Cause.Rule != "books.authors[].name" || derived.Time.IsZero() || derived.Rev != patched.Rev {
		t.Errorf("the derived change is %+v, by %+v", derived.Change, derived.Cause)
	}
	if got := string(patched.Patch); got != `[{"op":"replace","path":"/title","value":"Two","old":"One"}]` || !json.Valid(patched.Raw) {
		t.Errorf("the patch is %s", got)
	}
	for _, opts := range [][]client.ReadOption{{client.AsOf("x")}, {client.Eventual(), client.AsOf(at[0])}} {
		if _, err := books.HistoryPage(t.Context(), "b", "", client.HistoryOptions{}, opts...); !errors.Is(err, client.Invalid) {
			t.Errorf("a history at a position: %v", err)
		}
	}
	for _, err := range books.History(t.Context(), "none", client.HistoryOptions{}) {
		if !errors.Is(err, client.NotFound) {
			t.Errorf("the history of a document that never was: %v", err)
		}
	}
	if _, err := books.HistoryPage(t.Context(), "b", "nonsense", client.HistoryOptions{}); !errors.Is(err, client.Invalid) {
		t.Errorf("a cursor that is none: %v", err)
	}
}

// TestAsOf: Get returns a document as it was, and the position that was come to.
func TestAsOf(t *testing.T) {
	books, at := writtenBooks(t)
	ctx := t.Context()
	now := must(books.Get(ctx, "b"))(t)
	for i, want := range []string{"One Ann", "Two Ann", "Two Bea", "", "Three"} {
		doc, err := books.Get(ctx, "b", client.AsOf(at[i]))
		if want == "" {
			if !errors.Is(err, client.NotFound) {
				t.Errorf("at the delete: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got := doc.Value.Title
		if len(doc.Value.Authors) > 0 {
			got += " " + doc.Value.Authors[0].Name
		}
		if got != want || doc.Revision == 0 || doc.ETag == "" || doc.UpdatedAt.IsZero() {
			t.Errorf("at %s it is %s: %+v", at[i], got, doc)
		}
		if _, err := books.Get(ctx, "b", client.AsOf(at[i]), client.IfNoneMatch(doc.ETag)); !errors.Is(err, client.NotModified) {
			t.Errorf("at %s under its ETag: %v", at[i], err)
		}
	}
	if doc := must(books.Get(ctx, "b", client.AsOf(at[2]), client.Referenced()))(t); doc.Value.Authors[0].Name != "" || doc.Position == now.Position {
		t.Errorf("as it was written it was %+v", doc)
	}
	if doc := must(books.Get(ctx, "b", client.AsOf(time.Now().UTC().Format(time.RFC3339Nano)), client.Expand("authors")))(t); doc.Value.Title != "Three" || doc.Position != now.Position {
		t.Errorf("now it is %+v", doc)
	}
	for moment, want := range map[string]client.Code{"tomorrow": client.Invalid, time.Now().Add(time.Hour).Format(time.RFC3339): client.Invalid,
		"1-0-aaaaaaaa": client.StoreChanged, "999999": client.Timeout} {
		if _, err := books.Get(ctx, "b", client.AsOf(moment), client.ReadWithin(time.Millisecond)); !errors.Is(err, want) {
			t.Errorf("at %s: %v, want %s", moment, err, want)
		}
	}
	if _, err := books.Get(ctx, "b", client.AsOf(at[0]), client.Strong()); !errors.Is(err, client.Invalid) {
		t.Errorf("with a consistency: %v", err)
	}
}
