package feed_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
)

// positionsOf returns the positions of rows.
func positionsOf(rows []harness.Change) (list []string) {
	for _, row := range rows {
		list = append(list, row.Seq)
	}
	return list
}

// TestPartitionsOfTheFeed: each row is in the partition of its key, and in no other.
func TestPartitionsOfTheFeed(t *testing.T) {
	s := renamed(t)
	all, _ := s.Changes("mode=all")
	var together []string
	for i := range 4 {
		rows, _ := s.Changes(fmt.Sprintf("mode=all&partition=%d/4", i))
		for _, row := range rows {
			if got := (fanfold.Key{Collection: row.Collection, ID: row.ID}).Partition(4); got != i {
				t.Errorf("%s/%s of partition %d is in %d", row.Collection, row.ID, got, i)
			}
		}
		together = append(together, positionsOf(rows)...)
	}
	want := positionsOf(all)
	slices.Sort(together)
	slices.Sort(want)
	if !slices.Equal(together, want) {
		t.Errorf("the partitions have %v, the feed %v", together, want)
	}
}

// TestSelectionsOfTheFeed: what is left out of the feed, by each parameter and in both modes, and what pending says then.
func TestSelectionsOfTheFeed(t *testing.T) {
	s := harness.OpenTemp(t, `collections: {authors: {}, books: {relations: {authors: {path: "authors[].id", to: authors}}, derive: {"authors[].name": {copy: authors, value: doc.name}}}}`)
	s.Put("authors", "a1", `{"name":"A","stars":1}`)
	s.Put("books", "b1", `{"authors":[{"id":"a1"}],"stars":5}`)
	s.Put("books", "b2", `{"authors":[{"id":"a1"}],"stars":"many"}`)
	s.Want(204, "PATCH", "/v1/authors/a1", `{"name":"B"}`, "Content-Type", harness.MergeType)
	s.Put("books", "b1", `{"stars":2}`)
	s.Want(204, "DELETE", "/v1/books/b1", "")
	const latestWrites = "create b2, patch a1, delete b1"
	for query, want := range map[string]string{
		"mode=all":                 "create a1, create b1, create b2, patch a1, derive b1, derive b2, replace b1, delete b1",
		"mode=all&derived=exclude": "create a1, create b1, create b2, patch a1, replace b1, delete b1",
		"mode=all&derived=include&collections=books": "create b1, create b2, derive b1, derive b2, replace b1, delete b1",
		"derived=exclude": latestWrites,
		"":                "patch a1, derive b2, delete b1",
		"mode=all&filter=" + url.QueryEscape(`doc.stars > 3`):                                                          "create b1, derive b1, leave b1",
		"mode=all&params=" + url.QueryEscape(`{"least":3}`) + "&filter=" + url.QueryEscape(`doc.stars > params.least`): "create b1, derive b1, leave b1",
		"mode=all&filter=" + url.QueryEscape(`previous.stars > 3 || change.op == "delete"`):                            "derive b1, replace b1, delete b1",
		"mode=all&filter=" + url.QueryEscape(`doc.authors[0].name == "B"`):                                             "derive b1, derive b2, leave b1",
		"mode=all&filter=" + url.QueryEscape(`previous.authors[0].name == "A"`):                                        "derive b1, derive b2",
		"mode=all&view=referenced&filter=" + url.QueryEscape(`has(doc.authors[0].name)`):                               "",
		"filter=" + url.QueryEscape(`doc.stars == 1 || change.cause.rule == "books.authors[].name"`):                   "patch a1, derive b2",
	} {
		rows, _ := s.Changes(query)
		var got []string
		for _, row := range rows {
			if got = append(got, row.Op+" "+row.ID); row.Doc != nil {
				t.Errorf("%s: %s has a document that was not asked for", query, row.Seq)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %s, want %s", query, strings.Join(got, ", "), want)
		}
	}
	for query, want := range map[string]string{
		"mode=all&limit=1": `,"pending":7}`, "mode=all&limit=100": `,"pending":0}`, "limit=100": `,"pending":0}`, "limit=1": `"}`,
		"mode=all&limit=1&derived=exclude": `"}`, "mode=all&limit=1&collections=books": `"}`, "mode=all&limit=1&partition=0/1": `"}`,
		"mode=all&limit=1&filter=true": `"}`, "mode=all&filter=false": `,"pending":0}`,
	} {
		if got := strings.TrimSpace(harness.Body(s, "/v1/_changes?"+query)); !strings.HasSuffix(got, want) || want == `"}` && strings.Contains(got, "pending") {
			t.Errorf("%s ends with %s, want %s", query, got[max(0, len(got)-60):], want)
		}
	}
}

// TestBadSelections: what says which changes are asked for is checked.
func TestBadSelections(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for query, says := range map[string]string{
		"derived=no": "derived=no", "view=x": "view=x", "partition=1": "partition=1", "partition=4/4": "partition=4/4", "partition=-1/4": "partition=-1/4",
		"partition=0/5000": "4096", "partition=01/4": "partition=01/4", "partition=0/0": "partition=0/0", "partition=1/2/3": "partition=1/2/3",
		"filter=" + url.QueryEscape("doc.("): "filter: column 5: ", "filter=other.x": "filter: column 1: there is no 'other' here", "filter=" + url.QueryEscape("doc.x > params.y"): "filter: column 9: params.y is not given", "params=[]": "params: ",
		"params=" + url.QueryEscape(`{"a":"`+strings.Repeat("x", 16<<10)+`"}`): "params: ", "filter=1": "neither true nor false", "filter=[doc]": "neither true nor false", "filter=previous.x": "mode=all", "mode=all&filter=" + strings.Repeat("(", 1025): "1024",
	} {
		harness.Refuse(t, s, harness.Refusal{"", 400, "invalid", "GET", "/v1/_changes?" + query, ``, nil, []string{says}})
	}
}

// TestLongChains: a document with very many changes is read like others: each page undoes few of them, wherever it is.
func TestLongChains(t *testing.T) {
	const changes = 3000
	s := harness.OpenTemp(t, `collections: {posts: {derive: {n: {count: comments.post}, newest: {recent: comments.post, max: 2, fields: [id]}}}, comments: {relations: {post: {path: post, to: posts}}}}`)
	s.Put("posts", "p", `{"title":"T"}`)
	var lines strings.Builder
	for i := range changes {
		fmt.Fprintf(&lines, `{"id":"%d","post":"p"}`+"\n", i)
	}
	harness.ImportText(t, s.Client, "collection=comments", lines.String())
	rows, since := 0, "0"
	for {
		page, last := s.Changes("mode=all&include_docs=true&collections=posts&limit=700&since=" + since)
		if len(page) == 0 {
			break
		}
		for _, row := range page {
			want := `"n":` + fmt.Sprint(rows) + `,`
			if row.Op == "create" {
				want = `"title":"T","n":0`
			}
			if !strings.Contains(string(row.Doc)+",", want) {
				t.Fatalf("change %d is %s, want %s", rows, row.Doc, want)
			}
			rows++
		}
		since = last
	}
	if rows != changes+1 {
		t.Errorf("%d rows, want %d", rows, changes+1)
	}
}

// TestSinceATime: a time before all that can be counted is before every change, and one after it is after every change.
func TestSinceATime(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("books", "b", `{}`)
	for since, want := range map[string]int{"0001-01-01T00:00:00Z": 1, "1600-01-01T00:00:00Z": 1, "2001-01-01T00:00:00Z": 1, "2263-01-01T00:00:00Z": 0, "9999-12-31T23:59:59Z": 0} {
		if rows, _ := s.Changes("since=" + since); len(rows) != want {
			t.Errorf("since=%s gives %d rows, want %d", since, len(rows), want)
		}
	}
}

// TestHeartbeatsWhileFiltering: feeds whose filters take long say that they are there, and hold up others for little.
func TestHeartbeatsWhileFiltering(t *testing.T) {
	s := harness.OpenTemp(t, "")
	var lines strings.Builder
	for i := range 400 {
		fmt.Fprintf(&lines, `{"id":"%d"}`+"\n", i)
	}
	harness.ImportText(t, s.Client, "collection=books", lines.String())
	slow := url.QueryEscape(`[1,2,3,4,5,6,7,8].all(a,[1,2,3,4,5,6,7,8].all(b,[1,2,3,4,5,6,7,8].all(c,[1,2,3,4,5,6,7,8].all(d,a+b+c+d<999)))) && change.id=="none"`)
	for range 4 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/_changes?feed=continuous&mode=all&since=0&heartbeat=100&filter="+slow, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		in := bufio.NewScanner(resp.Body)
		in.Scan() // the beginning
		if !in.Scan() || !strings.HasPrefix(in.Text(), `{"last_seq":"0-0`) {
			t.Fatalf("before the first page is filtered comes %q, %v", in.Text(), in.Err())
		}
	}
}
