package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestManyIndexesOfALargeDocument: a document of 2 MB with an array of 100,000 elements is written, found and removed under as many indexes as
// a collection has.
func TestManyIndexesOfALargeDocument(t *testing.T) {
	suite.Parallel(t)
	var indexes strings.Builder
	for i := range 32 {
		fmt.Fprintf(&indexes, "      a%d: [\"tags[]\", m%d]\n      e%d: [\"lower(doc.text%d)\"]\n", i, i, i, i)
	}
	s := harness.OpenTemp(t, "collections:\n  docs:\n    indexes:\n"+indexes.String())
	var doc strings.Builder
	doc.WriteString(`{"pad":"` + strings.Repeat("x", 800_000) + `","text0":"A` + strings.Repeat("é", 100_000) + `","tags":[`)
	for i := range 100_000 {
		fmt.Fprintf(&doc, `"t%d",`, i)
	}
	doc.WriteString(`"last"]}`)
	s.Put("docs", "large", doc.String())
	for i := range 50 {
		s.Put("docs", fmt.Sprint(i), fmt.Sprintf(`{"tags":["t%d"],"m1":%d}`, i, i))
	}
	for filter, want := range map[string]string{
		`"last" in doc.tags`:                                "large",
		`"t7" in doc.tags && doc.m1 > 3`:                    "7",
		`"t99999" in doc.tags`:                              "large",
		`doc.tags.exists(t, t == "t7")`:                     "7 large",
		`lower(doc.text0).startsWith("aé")`:                 "large",
		`doc.tags.exists(t, t > "t99998" && t < "t999980")`: "",
	} {
		got := strings.Fields(askQuery(t, s.Client, "/v1/docs", "filter", filter, "fields", "id").ids())
		if len(got) != len(strings.Fields(want)) || !sameWords(got, strings.Fields(want)) {
			t.Errorf("%s gives %v, want %s", filter, got, want)
		}
	}
	s.Delete("docs", "large")
	if got := askQuery(t, s.Client, "/v1/docs", "filter", `"last" in doc.tags`).ids(); got != "" {
		t.Errorf("a document that is gone is found: %s", got)
	}
}

// sameWords tells whether two lists have the same words.
func sameWords(a, b []string) bool {
	seen := map[string]bool{}
	for _, w := range a {
		seen[w] = true
	}
	for _, w := range b {
		if !seen[w] {
			return false
		}
	}
	return len(a) == len(b)
}

// TestManyLargeQueries: of 100 large queries at once each is answered, or refused as one too many or as one that takes too long. Single
// documents are read meanwhile.
func TestManyLargeQueries(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{Admission: 100 * time.Millisecond}})
	defer s.Close()
	var lines strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&lines, `{"id":"%d","n":%d,"text":"Ticket %d"}`+"\n", i, i, i)
	}
	harness.ImportText(t, s.Client, "collection=tickets", lines.String())
	var sorts []string
	for i := range 8 {
		sorts = append(sorts, fmt.Sprintf(`"-lower(doc.text + \"%d%s\")"`, i, strings.Repeat("x", 1000)))
	}
	bodies := []string{
		`{"filter":"doc.text.matches(\"^T.*[0-9]7$\")","count":true,"limit":1}`,
		`{"sort":[` + strings.Join(sorts, ",") + `],"limit":1000,"fields":["id"]}`,
		`{"group":["lower(doc.text)"],"compute":["sum(n)","distinct(text)"],"limit":1}`,
		`{"filter":"doc.n in params.list","params":{"list":[` + strings.TrimSuffix(strings.Repeat("1,", 8000), ",") + `]}}`,
		`{"filter":"` + strings.Repeat("!(", 24) + "doc.n > 1" + strings.Repeat(")", 24) + `"}`,
		`{"filter":"` + strings.Repeat("!", 4000) + `doc.b"}`,
		`{"filter":"doc` + strings.Repeat(".a", 2000) + `"}`,
	}
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			r, err := s.Do("POST", "/v1/tickets/_query", []byte(bodies[i%len(bodies)]))
			if err != nil {
				t.Error(err)
				return
			}
			bounded := r.Status == http.StatusTooManyRequests || r.Problem() == "urn:fanfold:problem:needs-index"
			if r.Status != http.StatusOK && !bounded && (r.Status != http.StatusBadRequest || i%len(bodies) < 5) {
				t.Errorf("%.50s is answered with %d", bodies[i%len(bodies)], r.Status)
			}
		})
	}
	for i := range 100 {
		s.Want(http.StatusOK, "GET", fmt.Sprintf("/v1/tickets/%d", i), "")
	}
	wg.Wait()
	s.Want(http.StatusOK, "POST", "/v1/tickets/_query", `{"filter":"doc.n == 7"}`)
}

// TestRandomCursors: what is no cursor is refused, whatever it has and however long it is.
func TestRandomCursors(t *testing.T) {
	s := openQueries(t)
	random := rand.New(rand.NewPCG(1, 2))
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := range 60 {
		n := 1 << (i % 15)
		cursor := make([]byte, n)
		for j := range cursor {
			cursor[j] = letters[random.IntN(len(letters))]
		}
		for _, more := range [][]string{{"sort", "-opened"}, {"filter", `doc.customerId == "c1"`}, {"group", "status"}} {
			s.Want(http.StatusBadRequest, "GET", "/v1/tickets?"+queryText(append(more, "cursor", string(cursor))...), "")
		}
	}
}
