package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestQueryBounds: a query past a bound of its work is refused as one that needs an index, by the bound's name, and explained all the
// same. The node answers on.
func TestQueryBounds(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, "")
	var many, long, wide strings.Builder
	for i := range 10_001 {
		fmt.Fprintf(&many, `{"id":"%d","n":%d,"text":"%d%s"}`+"\n", i, i, i, strings.Repeat("x", 1000))
	}
	for i := range 560 {
		fmt.Fprintf(&long, `{"id":"%d","text":"%d%s"}`+"\n", i, i, strings.Repeat("x", 64<<10))
		fmt.Fprintf(&wide, `{"id":"%d","list":[%s0]}`+"\n", i, strings.Repeat("1,", 299))
	}
	for collection, lines := range map[string]*strings.Builder{"many": &many, "long": &long, "wide": &wide} {
		harness.ImportText(t, s.Client, "collection="+collection, lines.String())
	}
	for _, c := range []struct{ collection, body, says string }{
		{"many", `{"group":["n"],"maxScan":100000%s}`, "10000 groups"},
		{"many", `{"group":["text","lower(doc.text)","upper(doc.text)","doc.text + \"y\""],"maxScan":100000,"filter":"doc.n < 9990"%s}`, "32 MiB|longer than 5s"}, // a busy machine passes the time first
		{"many", `{"compute":["distinct(text)","distinct(lower(doc.text))","distinct(upper(doc.text))","distinct(doc.text + \"y\")"],"maxScan":100000%s}`, "32 MiB|longer than 5s"},
		{"wide", `{"filter":"doc.list.all(x, doc.list.all(y, x + y >= 0))"%s}`, "cost|longer than 5s"},
		{"many", `{"filter":"doc.n > 10000","maxScan":10000%s}`, "maxScan=10000"},
	} {
		r := s.Want(http.StatusUnprocessableEntity, "POST", "/v1/"+c.collection+"/_query", fmt.Sprintf(c.body, ""))
		if r.Problem() != "urn:fanfold:problem:needs-index" || !regexp.MustCompile(c.says).Match(r.Body) {
			t.Errorf("%s: %s", c.body, r.Body)
		}
		explained := s.Want(http.StatusOK, "POST", "/v1/"+c.collection+"/_query", fmt.Sprintf(c.body, `,"explain":true`))
		if !strings.Contains(string(explained.Body), `"complete":false`) {
			t.Errorf("%s is explained by %s", c.body, explained.Body)
		}
	}
	pages, found := 0, 0
	for cursor := ""; pages == 0 || cursor != ""; pages++ {
		page := askQuery(t, s.Client, "/v1/long", "group", "text", "limit", "1000", "cursor", cursor)
		found += len(page.Groups)
		cursor = page.Next
	}
	if pages < 3 || found != 560 {
		t.Errorf("%d pages of large groups have %d", pages, found)
	}
	s.Want(http.StatusOK, "POST", "/v1/many/_query", `{"filter":"doc.n > 10000","maxScan":10001}`)
	s.Want(http.StatusOK, "POST", "/v1/many/_query", `{"group":["n"],"maxScan":10001,"filter":"doc.n < 10000"}`)
}

// TestQueryPagesAreSmall: a page ends early where it gets large, and the next one goes on after it. Fields that are not kept take no room.
func TestQueryPagesAreSmall(t *testing.T) {
	s := harness.OpenTemp(t, "")
	var lines strings.Builder
	for i := range 20 {
		fmt.Fprintf(&lines, `{"id":"%02d","n":%d,"text":"%s"}`+"\n", i, i, strings.Repeat("x", 1<<20))
	}
	harness.ImportText(t, s.Client, "collection=docs", lines.String())
	var sizes []int
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		r := s.Want(http.StatusOK, "GET", "/v1/docs?sort=-n&count=true&cursor="+cursor, "")
		page := readAnswer(t, r)
		sizes = append(sizes, len(page.Items))
		if cursor = page.Next; page.Count == nil || *page.Count != 20 || len(r.Body) > 17<<20 || pages > 5 {
			t.Fatalf("page %d has %d bytes, and counts %v", pages, len(r.Body), page.Count)
		}
	}
	if fmt.Sprint(sizes) != "[15 5]" {
		t.Errorf("the pages have %v documents", sizes)
	}
	if page := askQuery(t, s.Client, "/v1/docs", "sort", "-n", "fields", "n"); len(page.Items) != 20 || page.Next != "" {
		t.Errorf("%d documents without their texts have a page", len(page.Items))
	}
}

// TestLargeQueriesAgree: many large queries at a time wait for each other, some of them with snapshots of their own, and each is
// answered as one by itself is. Reads of single documents go on beside them.
func TestLargeQueriesAgree(t *testing.T) {
	suite.Concurrent(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{Admission: time.Minute}})
	defer s.Close()
	s.Model(queryModel)
	s.Put("customers", "c1", `{"name":"Acme"}`)
	var lines strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&lines, `{"id":"%d","customerId":"c1","n":%d,"title":"Ticket %d"}`+"\n", i, i, i)
	}
	harness.ImportText(t, s.Client, "collection=tickets", lines.String())
	path := "/v1/tickets?" + queryText("filter", `doc.title.matches("^T.*7$") && doc.customerName.matches("^A.*e$")`, "sort", "-n", "limit", "50", "count", "true", "expand", "customer")
	want := string(s.Want(http.StatusOK, "GET", path, "").Body)
	if !strings.Contains(want, `"count":300`) || strings.Count(want, `"_expanded":{"customer":{"c1":`) != 50 {
		t.Fatalf("the answer is %.500s", want)
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 3 {
				if r, err := s.Do("GET", path, nil); err != nil || r.Status != http.StatusOK || string(r.Body) != want {
					t.Errorf("beside others the answer is %v %+v", err, r)
				}
				if r, err := s.Do("GET", "/v1/tickets/7", nil); err != nil || r.Status != http.StatusOK {
					t.Errorf("a document is answered with %v %+v", err, r)
				}
			}
		})
	}
	wg.Wait()
}
