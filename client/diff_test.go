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

// TestListAsOf: a list shows one state on all its pages, whatever is written between.
func TestListAsOf(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for i := range 5 {
		s.Put("books", fmt.Sprint(i), `{"n":0}`)
	}
	ctx, books := t.Context(), client.Collection[map[string]any](connect(t, s.URL, client.Options{}), "books")
	moments := []string{must(books.Get(ctx, "0"))(t).Position, "5", time.Now().UTC().Format(time.RFC3339Nano)}
	for _, at := range moments {
		var got []string
		list := books.List(ctx, client.AsOf(at), client.PageSize(2))
		for range 2 {
			for doc, err := range list {
				if err != nil {
					t.Fatal(at, err)
				}
				got = append(got, fmt.Sprint(doc.ID, "=", doc.Value["n"]))
				must(books.Put(ctx, "4", map[string]any{"n": 1}))(t)
				must(books.Put(ctx, "3a", map[string]any{"n": 1}))(t)
			}
		}
		if want := strings.Repeat("0=0 1=0 2=0 3=0 4=0 ", 2); strings.Join(got, " ")+" " != want {
			t.Errorf("at %s the list has %v", at, got)
		}
	}
	docs, missing, err := books.GetSeveral(ctx, []string{"4", "3a"}, client.AsOf("5"))
	if err != nil || len(docs) != 1 || fmt.Sprint(docs[0].Value["n"]) != "0" || !slices.Equal(missing, []string{"3a"}) {
		t.Errorf("several are %v, without %v: %v", docs, missing, err)
	}
	page, next, err := books.ListPage(ctx, "", client.AsOf("5"), client.PageSize(4))
	if err != nil || len(page) != 4 || next == "" {
		t.Fatalf("the first page has %d documents, then %q: %v", len(page), next, err)
	}
	if page, next, err = books.ListPage(ctx, next); err != nil || len(page) != 1 || next != "" || fmt.Sprint(page[0].Value["n"]) != "0" {
		t.Errorf("the last page has %v, then %q: %v", page, next, err)
	}
	for _, err := range books.Query(ctx, client.Query{Filter: "true"}, client.AsOf("5")) {
		if !errors.Is(err, client.Invalid) {
			t.Errorf("a query of the past: %v", err)
		}
	}
}

// TestDiff: the documents that differ come over all pages, which compare the same states.
func TestDiff(t *testing.T) {
	s := harness.OpenTemp(t, model)
	c, ctx := connect(t, s.URL, client.Options{}), t.Context()
	s.Put("authors", "a", `{"name":"Ann"}`)
	for _, id := range []string{"b", "c", "d"} {
		s.Put("books", id, `{"title":"T","authors":[{"id":"a"}]}`)
	}
	from := must(client.Collection[author](c, "authors").Get(ctx, "a"))(t).Position
	s.Put("authors", "a", `{"name":"Bea"}`)
	s.Delete("books", "c")
	s.Put("books", "e", `{"title":"New"}`)
	diff := func(opt client.DiffOptions, opts ...client.ReadOption) (lines []string) {
		t.Helper()
		opt.From = from
		for d, err := range c.Diff(ctx, opt, opts...) {
			if err != nil {
				t.Fatal(err)
			}
			if (d.Before == nil) != (d.Op == "create") || (d.After == nil) != (d.Op == "delete") || !json.Valid(d.Patch) || !json.Valid(d.Raw) {
				t.Errorf("the difference is %+v", d)
			}
			lines = append(lines, d.Op+" "+d.Collection+"/"+d.ID)
			s.Put("books", "f", `{"title":"not a part of it"}`)
			s.Delete("books", "f")
		}
		return lines
	}
	all := []string{"change authors/a", "change books/b", "delete books/c", "change books/d", "create books/e"}
	for _, limit := range []int{0, 1, 2} {
		if got := diff(client.DiffOptions{Limit: limit}); !slices.Equal(got, all) {
			t.Errorf("%d a page: %q", limit, got)
		}
	}
	if got := diff(client.DiffOptions{NoDerived: true}); !slices.Equal(got, []string{all[0], all[2], all[4]}) {
		t.Errorf("without derived changes: %q", got)
	}
	if got := diff(client.DiffOptions{Collections: []string{"authors", "books"}, To: from}); got != nil {
		t.Errorf("between a state and itself: %q", got)
	}
	if got := diff(client.DiffOptions{Collections: []string{"books"}}, client.Referenced()); !slices.Equal(got, []string{all[2], all[4]}) {
		t.Errorf("as it was written: %q", got)
	}
	page := must(c.DiffPage(ctx, "", client.DiffOptions{From: "0", To: from, Collections: []string{"authors"}}))(t)
	if len(page.Differences) != 1 || page.Next != "" || !strings.HasPrefix(page.From, "0-0-") || page.To != from {
		t.Errorf("the page is %+v", page)
	}
	for want, opt := range map[client.Code]client.DiffOptions{client.Invalid: {From: "5", To: "1"}, client.StoreChanged: {From: "1-0-aaaaaaaa"}, client.UnknownCollection: {From: "0", Collections: []string{"none"}}} {
		for _, err := range c.Diff(ctx, opt) {
			if !errors.Is(err, want) {
				t.Errorf("%+v: %v, want %s", opt, err, want)
			}
		}
	}
}

// TestRevert: a document is written as it was, under a write's conditions; where it is so already, nothing is.
func TestRevert(t *testing.T) {
	books, at := writtenBooks(t)
	ctx := t.Context()
	if w := must(books.Revert(ctx, "b", at[0], client.DryRun()))(t); w.Revision != 0 || !strings.Contains(string(w.Body), `"op":"put"`) {
		t.Errorf("a dry run tells %+v", w)
	}
	w := must(books.Revert(ctx, "b", at[0]))(t)
	if doc := must(books.Get(ctx, "b"))(t); doc.Value.Title != "One" || doc.Value.Authors[0].Name != "Bea" || doc.Revision != w.Revision || w.Unchanged || w.Created || w.ID != "b" {
		t.Errorf("it is %+v, written as %+v", doc, w)
	}
	if again := must(books.Revert(ctx, "b", at[0]))(t); !again.Unchanged || again.Revision != w.Revision {
		t.Errorf("a revert to what is there is %+v", again)
	}
	if back := must(books.Revert(ctx, "b", at[1], client.IfRevision(w.Revision)))(t); back.Unchanged || back.Revision <= w.Revision {
		t.Errorf("with its revision it is %+v", back)
	}
	must(books.Delete(ctx, "b"))(t)
	if w := must(books.Revert(ctx, "b", at[4], client.CreateOnly()))(t); !w.Created || w.Unchanged {
		t.Errorf("of a document that was deleted it is %+v", w)
	}
	for want, do := range map[client.Code]func() (*client.Written, error){
		client.Stale:        func() (*client.Written, error) { return books.Revert(ctx, "b", at[4], client.IfRevision(w.Revision)) },
		client.NotFound:     func() (*client.Written, error) { return books.Revert(ctx, "b", at[3]) },
		client.Invalid:      func() (*client.Written, error) { return books.Revert(ctx, "b", "tomorrow") },
		client.StoreChanged: func() (*client.Written, error) { return books.Revert(ctx, "b", "1-0-aaaaaaaa") },
	} {
		if _, err := do(); !errors.Is(err, want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
