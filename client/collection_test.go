package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestCollections: the collections are told page by page, with how many documents each holds.
func TestCollections(t *testing.T) {
	s := harness.OpenTemp(t, model)
	c := connect(t, s.URL, client.Options{})
	books := client.Collection[book](c, "books")
	for range 3 {
		must(books.Create(t.Context(), book{}))(t)
	}
	var seen []string
	for info, err := range c.Collections(t.Context(), client.PageSize(1), client.Strong()) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, fmt.Sprint(info.Name, info.Documents, info.Declared))
	}
	if want := []string{"authors0 true", "books3 true"}; !slices.Equal(seen, want) {
		t.Errorf("the collections are %v, want %v", seen, want)
	}
	for _, err := range client.Collection[book](c, "boks").List(t.Context()) {
		if !errors.Is(err, client.UnknownCollection) {
			t.Errorf("the list of a mistyped collection ends with %v", err)
		}
	}
	for _, err := range c.Collections(t.Context(), client.PageSize(0)) {
		if !errors.Is(err, client.Invalid) {
			t.Errorf("pages of 0 end with %v", err)
		}
	}
}

// TestGetSeveral: documents come in the order in which they were asked for, and those that are not there are told.
func TestGetSeveral(t *testing.T) {
	s := harness.OpenTemp(t, model)
	c := connect(t, s.URL, client.Options{})
	books := client.Collection[book](c, "books")
	for _, id := range []string{"b1", "b,2", "b&3"} {
		must(books.Put(t.Context(), id, book{Title: id}))(t)
	}
	docs, missing, err := books.GetSeveral(t.Context(), []string{"b&3", "none", "b1", "b,2"}, client.Referenced())
	if err != nil || !slices.Equal(missing, []string{"none"}) || len(docs) != 3 {
		t.Fatalf("%v, missing %v, %v", docs, missing, err)
	}
	for i, id := range []string{"b&3", "b1", "b,2"} {
		if d := docs[i]; d.ID != id || d.Value.Title != id || d.Revision == 0 || d.ETag == "" {
			t.Errorf("document %d is %+v, want %s", i, d, id)
		}
	}
	if docs, missing, err := books.GetSeveral(t.Context(), nil); len(docs)+len(missing) > 0 || err != nil {
		t.Errorf("of nothing: %v, %v, %v", docs, missing, err)
	}
	raw, _, err := client.Collection[json.RawMessage](c, "books").GetSeveral(t.Context(), []string{"b1"})
	if err != nil || !strings.Contains(string(raw[0].Value), `"_meta"`) {
		t.Errorf("raw: %s, %v", raw[0].Value, err)
	}
	many := slices.Repeat([]string{"b1"}, 1001)
	long := slices.Repeat([]string{strings.Repeat("é", 100)}, 100)
	for _, ids := range [][]string{many, long, {""}} {
		if _, _, err := books.GetSeveral(t.Context(), ids); !errors.Is(err, client.Invalid) {
			t.Errorf("%d ids: %v", len(ids), err)
		}
	}
	if _, _, err := client.Collection[book](c, "boks").GetSeveral(t.Context(), []string{"b1"}); !errors.Is(err, client.UnknownCollection) {
		t.Errorf("of a mistyped collection: %v", err)
	}
}
