package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
)

// must returns the value of a call that must not fail.
func must[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// TestDocuments: documents are written, read, listed and deleted as values of a type.
func TestDocuments(t *testing.T) {
	s := harness.OpenTemp(t, model)
	c := connect(t, s.URL, client.Options{})
	books, authors := client.Collection[book](c, "books"), client.Collection[author](c, "authors")
	ctx := t.Context()
	made := must(books.Create(ctx, book{Title: "One", Authors: []author{{ID: "a"}}}))(t)
	if made.ID == "" || !made.Created || !made.Folded || made.ETag == "" || made.Position == "" {
		t.Errorf("create says %+v", made)
	}
	put := must(authors.Put(ctx, "a", author{Name: "Ann"}))(t)
	if !put.Created || put.Derived != 1 || put.ID != "a" { // the copy on the book
		t.Errorf("put says %+v", put)
	}
	doc := must(books.Get(ctx, made.ID))(t)
	if doc.Value.Authors[0].Name != "Ann" || doc.Revision != made.Revision || doc.ETag == made.ETag || doc.UpdatedAt.IsZero() || doc.ID != made.ID {
		t.Errorf("get says %+v", doc)
	}
	if doc := must(books.Get(ctx, made.ID, client.Referenced()))(t); doc.Value.Authors[0].Name != "" {
		t.Errorf("the referenced view is %+v", doc)
	}
	if _, err := books.Get(ctx, made.ID, client.IfNoneMatch(doc.ETag)); !errors.Is(err, client.NotModified) {
		t.Errorf("get of what did not change: %v", err)
	}
	must(books.Patch(ctx, made.ID, map[string]any{"pages": 7}, client.IfMatch(doc.ETag)))(t)
	must(books.JSONPatch(ctx, made.ID, client.JSONPatch{{Op: "test", Path: "/pages", Value: 7}, {Op: "copy", From: "/title", Path: "/old"}, {Op: "replace", Path: "/title", Value: "<Two>"}}))(t)
	returned := must(books.Put(ctx, "b2", book{Title: "Three", Authors: []author{{ID: "a"}}}, client.ReturnBody(), client.CreateOnly()))(t)
	if got := must(client.Decode[book](returned.Body))(t); got.Authors[0].Name != "Ann" {
		t.Errorf("the returned body is %s", returned.Body)
	}
	var titles []string
	for doc, err := range books.Referring(ctx, "authors", "a", client.PageSize(1), client.Relation("authors")) {
		if err != nil || doc.CreatedAt.IsZero() || doc.Position == "" {
			t.Fatal(doc, err)
		}
		titles = append(titles, doc.ID+" "+doc.Value.Title)
	}
	if want := fmt.Sprint([]string{made.ID + " <Two>", "b2 Three"}); fmt.Sprint(titles) != want {
		t.Errorf("the author's books are %v, want %s", titles, want)
	}
	if w := must(books.Delete(ctx, "b2", client.IfRevision(returned.Revision)))(t); w.ETag != "" || w.Revision == 0 {
		t.Errorf("delete says %+v", w)
	}
}

// TestRawDocuments: raw JSON comes and goes byte for byte, and numbers without a type keep their digits.
func TestRawDocuments(t *testing.T) {
	s := harness.OpenTemp(t, "")
	c := connect(t, s.URL, client.Options{})
	raw := client.Collection[json.RawMessage](c, "things")
	text := `{"id":7,"n":12345678901234567890.50,"s":"<\u0041>"}`
	must(raw.Put(t.Context(), "7", json.RawMessage(text)))(t)
	if got := must(raw.Get(t.Context(), "7"))(t); string(got.Value) != text {
		t.Errorf("the document came back as %s", got.Value)
	}
	loose := client.Collection[map[string]any](c, "things")
	doc := must(loose.Get(t.Context(), "7"))(t)
	must(loose.Put(t.Context(), "7", doc.Value, client.IfMatch(doc.ETag)))(t)
	s.WantDoc("things", "7", `{"id":7,"n":12345678901234567890.50,"s":"<A>"}`)
	for doc, err := range raw.List(t.Context()) {
		if err != nil || doc.ID != "7" {
			t.Errorf("the list has %+v, %v", doc, err)
		}
		if w := must(raw.Put(t.Context(), doc.ID, doc.Value, client.IfMatch(doc.ETag)))(t); !slices.Equal(w.Dropped, []string{"/_meta"}) || w.ETag != "" {
			t.Errorf("the list's document was written as %+v", w)
		}
	}
	s.WantDoc("things", "7", `{"id":7,"n":12345678901234567890.50,"s":"<A>"}`)
}

// TestPages: the fixed pages of a relation.
func TestPages(t *testing.T) {
	s := harness.OpenTemp(t, `{"collections":{"posts":{},"comments":{"relations":{"post":{"path":"postId","to":"posts"}},"pages":{"by":"post","size":2}}}}`)
	c := connect(t, s.URL, client.Options{})
	s.Put("posts", "p", `{}`)
	for i := range 5 {
		s.Put("comments", fmt.Sprint(i), `{"postId":"p"}`)
	}
	comments := client.Collection[json.RawMessage](c, "comments")
	second := must(comments.Page(t.Context(), "posts", "p", 2))(t)
	if second.Number != 2 || second.Pages != 3 || len(second.Documents) != 2 || second.Documents[0].ID != "2" {
		t.Errorf("page 2 is %+v", second)
	}
	if last := must(comments.Page(t.Context(), "posts", "p", 0))(t); last.Number != 3 || len(last.Documents) != 1 {
		t.Errorf("the last page is %+v", last)
	}
	if _, err := comments.Page(t.Context(), "posts", "p", 4); !errors.Is(err, client.NotFound) {
		t.Errorf("page 4: %v", err)
	}
}

// TestConditions: what a condition refuses is Stale, with the document's revision and ETag, and is final.
func TestConditions(t *testing.T) {
	s := harness.OpenTemp(t, "")
	c := connect(t, s.URL, client.Options{})
	books := client.Collection[book](c, "books")
	first := must(books.Put(t.Context(), "b", book{Title: "1"}))(t)
	second := must(books.Put(t.Context(), "b", book{Title: "2"}, client.IfMatch(first.ETag)))(t)
	var failure *client.Error
	_, err := books.Put(t.Context(), "b", book{Title: "3"}, client.IfMatch(first.ETag))
	if !errors.Is(err, client.Stale) || !errors.As(err, &failure) || failure.Revision != second.Revision || failure.ETag != second.ETag || failure.Status != 412 {
		t.Errorf("a stale put: %v", err)
	}
	if _, err := books.Put(t.Context(), "b", book{}, client.CreateOnly()); !errors.Is(err, client.Stale) {
		t.Errorf("create only: %v", err)
	}
	if _, err := books.Create(t.Context(), book{ID: "b"}); !errors.Is(err, client.Exists) {
		t.Errorf("create: %v", err)
	}
	if _, err := books.Put(t.Context(), "c", book{}, client.MustExist()); !errors.Is(err, client.Stale) {
		t.Errorf("must exist: %v", err)
	}
	if _, err := books.Get(t.Context(), "c"); !errors.Is(err, client.NotFound) || errors.Is(err, client.Stale) {
		t.Errorf("get: %v", err)
	}
	_, err = books.JSONPatch(t.Context(), "b", client.JSONPatch{{Op: "remove", Path: "/nothing"}})
	if !errors.Is(err, client.Conflict) {
		t.Errorf("a patch that does not fit: %v", err)
	}
	must(books.JSONPatch(t.Context(), "b", client.JSONPatch{{Op: "increment", Path: "/pages", Value: 3, Max: 4}}))(t)
	if _, err = books.JSONPatch(t.Context(), "b", client.JSONPatch{{Op: "increment", Path: "/pages", Value: 3, Max: 4}}); !errors.Is(err, client.ConditionFailed) {
		t.Errorf("an increment past its most: %v", err)
	}
	var refused *client.Error
	if _, err = books.Patch(t.Context(), "b", map[string]int{"pages": 9}, client.If("doc.pages > params.n", map[string]int{"n": 4})); !errors.Is(err, client.ConditionFailed) || !errors.As(err, &refused) || refused.ETag == "" {
		t.Errorf("a condition that does not hold: %v", err)
	}
	must(books.Patch(t.Context(), "b", map[string]int{"pages": 4}, client.If("doc.pages == params.n", map[string]int{"n": 3})))(t)
	if _, err = books.Patch(t.Context(), "b", map[string]int{"pages": 4}, client.If("true", func() {})); !errors.Is(err, client.Invalid) {
		t.Errorf("parameters that are no JSON: %v", err)
	}
	must(books.JSONPatch(t.Context(), "b", client.JSONPatch{{Op: "remove", Path: "/pages"}}))(t)
	if w := must(books.Put(t.Context(), "b", book{}, client.DryRun()))(t); len(w.Body) == 0 || w.Revision != 0 {
		t.Errorf("a dry run says %+v", w)
	}
	s.WantDoc("books", "b", `{"id":"b","title":"2"}`)
}

// TestTransactions: all operations or none, and the error names the one at fault.
func TestTransactions(t *testing.T) {
	s := harness.OpenTemp(t, model)
	c := connect(t, s.URL, client.Options{})
	ctx := t.Context()
	result := must(c.Transact(ctx, []client.Operation{
		client.Put("authors", "a", author{Name: "Ann"}).IfAbsent(),
		client.Create("books", "", json.RawMessage(`{"title":"\u003c1>","authors":[{"id":"a"}]}`)),
		client.Check("authors", "b").IfAbsent(),
	}))(t)
	must(c.Transact(ctx, []client.Operation{client.Check("authors", "a").If("doc.name == params.n", map[string]string{"n": "Ann"})}))(t)
	if _, err := c.Transact(ctx, []client.Operation{client.Check("authors", "a").If(`doc.name == "Bob"`, nil)}); !errors.Is(err, client.ConditionFailed) {
		t.Errorf("a condition of a check that does not hold: %v", err)
	}
	if result.Tx == "" || len(result.Operations) != 3 || result.Operations[1].ID == "" || result.Operations[0].Status != 201 || !result.Folded || result.Derived == 0 {
		t.Errorf("the transaction says %+v", result)
	}
	s.WantDoc("books", result.Operations[1].ID, `{"id":"`+result.Operations[1].ID+`","title":"\u003c1>","authors":[{"id":"a","name":"Ann"}]}`)
	_, err := c.Transact(ctx, []client.Operation{
		client.Patch("authors", "a", map[string]any{"name": "Bea"}),
		client.Delete("books", result.Operations[1].ID).IfMatch(result.Operations[0].ETag),
	})
	var failure *client.Error
	if !errors.Is(err, client.Stale) || !errors.As(err, &failure) || failure.Operation == nil || *failure.Operation != 1 {
		t.Errorf("a stale transaction: %v", err)
	}
	must(c.Transact(ctx, []client.Operation{
		client.Patch("authors", "a", client.JSONPatch{{Op: "replace", Path: "/name", Value: "Bea"}}).IfRevision(result.Operations[0].Revision),
		client.Delete("books", result.Operations[1].ID).IfMatch(result.Operations[1].ETag),
	}))(t)
	s.WantDoc("authors", "a", `{"id":"a","name":"Bea","countOfBooks":0}`)
	named := must(c.Transact(ctx, []client.Operation{
		client.Create("authors", "", author{Name: "Cy"}).As("cy"),
		client.Put("books", "cy", json.RawMessage(`{"authors":[{"id":null},{"id":null}]}`)).Ref("/authors/0/id", "cy").Ref("/authors/1/id", "cy"),
		client.Put("profiles", "", map[string]any{}).WithIDOf("cy"),
	}))(t).Operations
	s.WantDoc("books", "cy", `{"id":"cy","authors":[{"id":"`+named[0].ID+`","name":"Cy"},{"id":"`+named[0].ID+`","name":"Cy"}]}`)
	s.WantDoc("profiles", named[0].ID, `{"id":"`+named[0].ID+`"}`)
	dry := must(c.Transact(ctx, []client.Operation{client.Delete("authors", "a")}, client.DryRun()))(t)
	if len(dry.Report) == 0 {
		t.Errorf("a dry run says %+v", dry)
	}
	if later := must(c.Transact(ctx, []client.Operation{client.Put("authors", "z", author{})}, client.FoldWithin(0), client.Async()))(t); later.Position == "" {
		t.Errorf("an asynchronous transaction says %+v", later)
	}
}
