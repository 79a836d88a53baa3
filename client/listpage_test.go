package client_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestListPage: a list is read page by page, each from the cursor that the one before it gave.
func TestListPage(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for i := range 5 {
		s.Put("books", fmt.Sprint(i), `{}`)
	}
	books := client.Collection[json.RawMessage](connect(t, s.URL, client.Options{}), "books")
	var got []string
	for cursor, first := "", true; first || cursor != ""; first = false {
		page, next, err := books.ListPage(t.Context(), cursor, client.PageSize(2))
		if err != nil || len(page) == 0 || len(page) > 2 {
			t.Fatalf("%d documents, %v", len(page), err)
		}
		for _, doc := range page {
			got = append(got, doc.ID)
		}
		cursor = next
	}
	if fmt.Sprint(got) != "[0 1 2 3 4]" {
		t.Errorf("the pages have %v", got)
	}
	if _, _, err := books.ListPage(t.Context(), "nonsense"); err == nil {
		t.Error("a cursor that is none is taken")
	}
}
