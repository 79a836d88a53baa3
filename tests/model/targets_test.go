package model_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/harness"
)

const targetsModel = `
collections:
  authors: {}
  books:
    relations: { authors: { path: "authors[]", to: authors }, next: { path: next, to: books }, none: { path: none, to: authors } }
`

// linkedBook returns a book that refers to some authors, one more than once, and to another book.
func linkedBook(random *rand.Rand) string {
	var authors []string
	for range random.IntN(4) {
		authors = append(authors, fmt.Sprintf(`"a%d"`, int(random.ExpFloat64()*3)))
	}
	return fmt.Sprintf(`{"authors":[%s],"next":"b%d"}`, strings.Join(append(authors, authors...), ","), random.IntN(9))
}

// recounted returns how many books refer to each target by each relation, from the documents.
func recounted(t *testing.T, s *harness.Store) map[string]map[string]int64 {
	t.Helper()
	var list struct {
		Items []struct {
			Authors []string
			Next    string
		}
	}
	harness.Decode(t, s.Want(http.StatusOK, "GET", "/v1/books?limit=1000", "").Body, &list)
	counts := map[string]map[string]int64{"books.authors": {}, "books.next": {}, "books.none": {}}
	for _, book := range list.Items {
		seen := map[string]bool{}
		for _, id := range book.Authors {
			if !seen[id] {
				counts["books.authors"][id]++
			}
			seen[id] = true
		}
		counts["books.next"][book.Next]++
	}
	return counts
}

// TestLargestTargets: the target of each relation with the most holders is what a recount over the documents gives, the first by id of several.
func TestLargestTargets(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 4 {
		s := harness.OpenTemp(t, targetsModel)
		for i := range 60 {
			s.Put("books", fmt.Sprint("b", i), linkedBook(random))
		}
		for range 20 {
			s.Put("books", fmt.Sprint("b", random.IntN(30)), linkedBook(random))
		}
		for i := range 10 {
			s.Delete("books", fmt.Sprint("b", 30+i))
		}
		var told wire.LargestTargets
		harness.Decode(t, s.Want(http.StatusOK, "GET", "/v1/_model/_targets", "").Body, &told)
		counts := recounted(t, s)
		if len(told.Relations) != len(counts) {
			t.Fatalf("%+v", told)
		}
		for _, of := range told.Relations {
			want := wire.LargestTarget{Relation: of.Relation, To: "authors"}
			if of.Relation == "books.next" {
				want.To = "books"
			}
			for id, n := range counts[of.Relation] {
				if n > want.Documents || n == want.Documents && id < want.ID {
					want.ID, want.Documents = id, n
				}
			}
			if of != want {
				t.Errorf("told %+v, want %+v", of, want)
			}
		}
	}
}

// TestLargestTargetsAreReadByReadersOfAll: whoever does not read every collection is told no id.
func TestLargestTargetsAreReadByReadersOfAll(t *testing.T) {
	s := harness.OpenClosed(t, strings.Replace(targetsModel, "authors: {}", "authors: { access: { read: [a] } }", 1))
	s.Put("books", "b", `{"authors":["secret"]}`)
	body := s.As("read", "write", "monitor").Want(http.StatusForbidden, "GET", "/v1/_model/_targets", "").Body
	if strings.Contains(string(body), "secret") {
		t.Errorf("the refusal tells the id: %s", body)
	}
	for _, all := range []*harness.Client{s.As("a", "read"), s.As("admin")} {
		var told wire.LargestTargets
		if err := json.Unmarshal(all.Want(http.StatusOK, "GET", "/v1/_model/_targets", "").Body, &told); err != nil || told.Relations[0].ID != "secret" {
			t.Errorf("%+v, %v", told, err)
		}
	}
}

// TestLargestTargetIsBounded: no more links are looked at than may be, and what is found then is told as partial.
func TestLargestTargetIsBounded(t *testing.T) {
	s := harness.OpenTemp(t, targetsModel)
	for i, authors := range []string{`"a"`, `"b"`, `"b","c"`, `"c"`, `"c"`, `"c","d"`} { // a: 1, b: 2, c: 4, d: 1
		s.Put("books", fmt.Sprint(i), `{"authors":[`+authors+`]}`)
	}
	if err := s.Node.Store.Read(func(snap *sqlite.Snapshot) error {
		for most, want := range []string{1: "a 1 1 true", 2: "b 2 2 true", 3: "c 3 3 true", 4: "c 4 4 true", 7: "c 4 7 true", 8: "c 4 8 false", 9: "c 4 8 false"} {
			if want == "" {
				continue
			}
			before := snap.RowsRead()
			id, holders, read, partial, err := sqlite.LargestTarget(snap, "books.authors", int64(most))
			if err != nil {
				return err
			}
			if got := fmt.Sprint(id, " ", holders, " ", read, " ", partial); got != want || snap.RowsRead()-before > 2*most+4 {
				t.Errorf("of %d links: %s, want %s, %d rows read", most, got, want, snap.RowsRead()-before)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
