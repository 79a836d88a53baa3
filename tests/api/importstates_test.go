package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

const statesModel = `
collections:
  shelves: {}
  books: {unique: [isbn], relations: {shelf: {path: shelf, to: shelves, strict: true}, next: {path: next, to: books, strict: true}}}
`

// TestImportJudgesEachLine: what a line may refer to, and which values it may take, depends on the lines before it alone, and not on where a batch
// of the import ends. So strict relations and unique members hold at every position.
func TestImportJudgesEachLine(t *testing.T) {
	s := harness.OpenTemp(t, statesModel)
	s.Put("books", "old", `{"isbn":"1"}`)
	got := harness.ImportText(t, s.Client, "", strings.Join([]string{
		`{"collection":"books","doc":{"id":"b1","shelf":"s1"}}`, // too early
		`{"collection":"shelves","doc":{"id":"s1"}}`,
		`{"collection":"books","doc":{"id":"b2","shelf":"s1","next":"b2"}}`, // to itself
		`{"collection":"books","doc":{"id":"b3","isbn":"1"}}`,               // too early
		`{"collection":"books","doc":{"id":"old","isbn":"2"}}`,
		`{"collection":"books","doc":{"id":"b4","isbn":"1"}}`,
		`{"collection":"books","doc":{"id":"b5","next":"b6"}}`, // a ring
		`{"collection":"books","doc":{"id":"b6","next":"b5"}}`,
		`{"collection":"books","doc":{"id":"b7","next":"b2","isbn":"7"}}`,
	}, "\n"))
	for _, line := range []int{1, 4, 7, 8} {
		if !strings.Contains(got, fmt.Sprintf(`{"line":%d,"status":4`, line)) {
			t.Errorf("line %d is taken: %s", line, got)
		}
	}
	if !strings.Contains(got, `"written":5,"refused":4`) {
		t.Errorf("the import says %s", got)
	}
	holdsEverywhere(t, s)
}

// TestRoundsKeepOrder: writes of several clients that are stored together are each judged by what stands before them.
func TestRoundsKeepOrder(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, statesModel)
	for i := range 8 {
		var wg sync.WaitGroup
		put := func(path, body string) {
			wg.Go(func() {
				if r, err := s.Do(http.MethodPut, path, []byte(body), "Content-Type", "application/json"); err != nil || r.Status >= http.StatusInternalServerError {
					t.Errorf("%v %+v", err, r)
				}
			})
		}
		for lane := range 6 {
			id := fmt.Sprintf("%d-%d", i, lane)
			put("/v1/books/a"+id, fmt.Sprintf(`{"next":"b%s","isbn":"%d"}`, id, lane))
			put("/v1/books/b"+id, fmt.Sprintf(`{"isbn":"b%s"}`, id))
			put(fmt.Sprintf("/v1/books/a%d-%d", i-1, lane), `{}`) // gives its value up
		}
		wg.Wait()
	}
	holdsEverywhere(t, s)
}

// holdsEverywhere fails the test unless strict relations and unique members of statesModel hold at every position of a log from its beginning.
func holdsEverywhere(t *testing.T, s *harness.Store) {
	t.Helper()
	s.CatchUp()
	for seq := 2; seq <= int(s.Node.Store.Applied.Seq()); seq++ {
		there, isbn := map[string]bool{}, map[string]string{}
		var books []struct{ ID, Shelf, Next, ISBN string }
		for _, collection := range []string{"shelves", "books"} {
			r := s.Want(http.StatusOK, http.MethodGet, fmt.Sprintf("/v1/%s?limit=1000&at=%d-0", collection, seq), "")
			var page struct {
				Items []struct{ ID, Shelf, Next, ISBN string }
			}
			if err := json.Unmarshal(r.Body, &page); err != nil {
				t.Fatal(err)
			}
			books = page.Items
			for _, doc := range page.Items {
				there[collection+"/"+doc.ID] = true
			}
		}
		for _, b := range books {
			if b.Shelf != "" && !there["shelves/"+b.Shelf] || b.Next != "" && !there["books/"+b.Next] {
				t.Errorf("at %d book %s refers strictly to what is not there: %+v", seq, b.ID, b)
			}
			if other := isbn[b.ISBN]; b.ISBN != "" && other != "" {
				t.Errorf("at %d books %s and %s have one value, which is unique", seq, other, b.ID)
			}
			isbn[b.ISBN] = b.ID
		}
	}
}
