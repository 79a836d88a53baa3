package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// listedCollections returns what GET /v1 says, as text.
func listedCollections(t testing.TB, s *harness.Store) string {
	t.Helper()
	return strings.TrimSpace(string(s.Want(http.StatusOK, http.MethodGet, "/v1", "").Body))
}

// wantProblem wants a request to be refused with a code.
func wantProblem(t testing.TB, s *harness.Store, code fanfold.Code, path string) {
	t.Helper()
	r, err := s.Do(http.MethodGet, path, nil)
	var p struct{ Type string }
	if err == nil {
		err = json.Unmarshal(r.Body, &p)
	}
	if err != nil || p.Type != "urn:fanfold:problem:"+string(code) || !strings.HasSuffix(string(r.Body), "}\n") {
		t.Errorf("GET %s is %d %q, %v; want %s, with a line break at its end", path, r.Status, r.Body, err, code)
	}
}

// TestCollections: GET /v1 counts what is there, by declared and undeclared collections, whatever is written and deleted,
// and after a replay.
func TestCollections(t *testing.T) {
	s := harness.OpenTemp(t, "")
	if got := listedCollections(t, s); got != `{"collections":[]}` {
		t.Errorf("an empty store has %s", got)
	}
	s.Model("collections: {books: {relations: {author: {path: author, to: authors, onDelete: cascade}}}, authors: {}, shelves: {}}")
	s.Put("authors", "a1", `{}`)
	s.Put("notes", "n1", `{}`)
	for i := range 5 {
		s.Put("books", fmt.Sprint(i), `{"author":"a1"}`)
		s.Put("books", fmt.Sprint(i), `{"author":"a1","n":1}`) // the same document
	}
	s.Put("books", "other", `{"author":"a2"}`)
	s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"delete","collection":"books","id":"0"},{"op":"put","collection":"books","id":"t","body":{}},{"op":"put","collection":"drafts","id":"t","body":{}}]}`)
	s.Delete("notes", "n1")
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=lines", "{}\n{}\n{}\n", "Content-Type", "application/x-ndjson")
	want := `{"collections":[{"name":"authors","documents":1,"declared":true},{"name":"books","documents":6,"declared":true},{"name":"drafts","documents":1,"declared":false},` +
		`{"name":"lines","documents":3,"declared":false},{"name":"notes","documents":0,"declared":false},{"name":"shelves","documents":0,"declared":true}]}`
	if got := listedCollections(t, s); got != want {
		t.Errorf("the collections are\n  %s\nwant\n  %s", got, want)
	}
	r := s.Want(http.StatusOK, http.MethodGet, "/v1?consistency=strong", "")
	if r.Header.Get("Fanfold-Position") == "" || r.Header.Get("ETag") == "" {
		t.Errorf("the headers are %v", r.Header)
	}
	s.Want(http.StatusNotModified, http.MethodGet, "/v1", "", "If-None-Match", r.Header.Get("ETag"))
	s.Delete("authors", "a1") // and its books
	s.Want(http.StatusOK, http.MethodGet, "/v1", "", "If-None-Match", r.Header.Get("ETag"))
	after := strings.NewReplacer(`"authors","documents":1`, `"authors","documents":0`, `"books","documents":6`, `"books","documents":2`).Replace(want)
	if got := listedCollections(t, s); got != after {
		t.Errorf("after a cascade the collections are\n  %s\nwant\n  %s", got, after)
	}
	s.Replay()
	if got := listedCollections(t, s); got != after {
		t.Errorf("after a replay the collections are\n  %s\nwant\n  %s", got, after)
	}
	var names []string
	for path := "/v1?limit=2"; path != ""; {
		var page struct {
			Collections []fanfold.CollectionCount
			Next        string
		}
		if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, path, "").Body, &page); err != nil || len(page.Collections) != 2 {
			t.Fatalf("%s: %+v, %v", path, page, err)
		}
		for _, c := range page.Collections {
			names = append(names, c.Name)
		}
		if path = ""; page.Next != "" {
			path = "/v1?limit=2&cursor=" + page.Next
		}
	}
	if !slices.Equal(names, []string{"authors", "books", "drafts", "lines", "notes", "shelves"}) {
		t.Errorf("by pages the collections are %v", names)
	}
	for _, path := range []string{"/v1?limit=0", "/v1?limit=1001", "/v1?cursor=x", "/v1?view=embedded"} {
		wantProblem(t, s, fanfold.Invalid, path)
	}
}

// TestCollectionsAreNotCounted: what GET /v1 reads does not grow with the documents.
func TestCollectionsAreNotCounted(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=books", strings.Repeat("{}\n", 2000), "Content-Type", "application/x-ndjson")
	if err := s.Node.Store.Read(func(snap *sqlite.Snapshot) error {
		before := snap.RowsRead()
		list, more, err := snap.CollectionsBehind("", 10)
		if rows := snap.RowsRead() - before; err != nil || more || rows > 1 || len(list) != 1 || list[0].Documents != 2000 {
			t.Errorf("%d rows were read for %+v, %v, %v", rows, list, more, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestUnknownCollections: a list of a collection that nobody declared or wrote is told from an empty one.
func TestUnknownCollections(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {empty: {}, authors: {}, books: {relations: {author: {path: author, to: authors}}}}")
	s.Put("emptied", "1", `{}`)
	s.Delete("emptied", "1")
	s.Put("authors", "a", `{}`)
	for _, path := range []string{"/v1/typo", "/v1/typo?limit=1&view=referenced", "/v1/typo?ids=1,2", "/v1/_export?collections=books,typo"} {
		wantProblem(t, s, fanfold.UnknownCollection, path)
	}
	for _, path := range []string{"/v1/empty", "/v1/emptied", "/v1/emptied?ids=1", "/v1/authors/a/books", "/v1/_export?collections=empty,emptied", "/v1/_changes?collections=typo"} {
		s.Want(http.StatusOK, http.MethodGet, path, "")
	}
	wantProblem(t, s, fanfold.NotFound, "/v1/typo/1")
	wantProblem(t, s, fanfold.NotFound, "/v1/authors/a/typo")
	s.Put("typo", "1", `{}`)
	s.Want(http.StatusOK, http.MethodGet, "/v1/typo", "")
}

// TestSeveral: several documents come at once, in the order in which they were asked for, from one snapshot.
func TestSeveral(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	for _, id := range []string{"b1", "b2", "b3", "x,y", "100%"} {
		s.Put("books", id, `{"authors":[{"id":"a1"}]}`)
	}
	for query, want := range map[string]string{
		"ids=b3,b1,none,b2,b1":      `b3 b1 b2, missing ["none"]`,
		"ids=b1":                    `b1, missing []`,
		"ids=none":                  `, missing ["none"]`,
		"ids=100%25":                `100%, missing []`,
		"ids=x%2Cy":                 `, missing ["x","y"]`,
		"id=x%2Cy&id=b1&id=%22":     `x,y b1, missing ["\""]`,
		"id=b1&expand=authors":      `b1, missing []`,
		"ids=b1&view=referenced":    `b1, missing []`,
		"ids=b1&consistency=strong": `b1, missing []`,
	} {
		r := s.Want(http.StatusOK, http.MethodGet, "/v1/books?"+query, "")
		var page struct {
			Items   []item
			Missing json.RawMessage
		}
		if err := json.Unmarshal(r.Body, &page); err != nil || r.Header.Get("Fanfold-Position") == "" {
			t.Fatalf("%s: %v in %s", query, err, r.Body)
		}
		var ids []string
		for _, it := range page.Items {
			ids = append(ids, it.ID)
			if it.Meta.Rev == 0 || strings.Contains(query, "expand") != (len(it.Expanded["authors"]) == 1) {
				t.Errorf("%s: %+v", query, it)
			}
		}
		if got := fmt.Sprintf("%s, missing %s", strings.Join(ids, " "), page.Missing); got != want {
			t.Errorf("%s gives %s, want %s", query, got, want)
		}
		if has := strings.Contains(string(r.Body), `"name":"A"`); has == strings.Contains(query, "referenced") && len(ids) > 0 {
			t.Errorf("%s shows derived values: %v", query, has)
		}
	}
	many := "ids=" + strings.TrimPrefix(strings.Repeat(",1234", 1000), ",")
	s.Want(http.StatusOK, http.MethodGet, "/v1/books?"+many, "")
	for _, query := range []string{many + ",1", "ids=", "ids=a,,b", "id=", "ids=a&ids=b", "ids=a&id=b", "ids=a&limit=1", "ids=a&cursor=", "id=" + strings.Repeat("x", 256), "id=..", "ids=a&view=x", "ids=a&expand=none"} {
		wantProblem(t, s, fanfold.Invalid, "/v1/books?"+query)
	}
	s.Want(http.StatusBadRequest, http.MethodGet, "/v1/_import?id=a&id=b", "")
	s.Want(http.StatusGatewayTimeout, http.MethodGet, "/v1/books?ids=b1", "", late...)
}

// TestSeveralIsBounded: documents that one answer has no room for are refused, however few they are.
func TestSeveralIsBounded(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, "")
	var ids []string
	body := `{"x":"` + strings.Repeat("x", 1900<<10) + `"}`
	for i := range 36 { // 66.8 MiB
		ids = append(ids, fmt.Sprint(i))
		s.Put("large", ids[i], body)
	}
	r := s.Want(http.StatusUnprocessableEntity, http.MethodGet, "/v1/large?ids="+url.QueryEscape(strings.Join(ids, ",")), "")
	if !strings.Contains(string(r.Body), "fewer ids") {
		t.Errorf("the problem is %s", r.Body)
	}
	s.Want(http.StatusOK, http.MethodGet, "/v1/large?ids="+strings.Join(ids[:30], ","), "")
}
