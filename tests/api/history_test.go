package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestBadMoments: each parameter of a read of the past that cannot be understood is a 400 that names it.
func TestBadMoments(t *testing.T) {
	get := func(name, path string, says ...string) harness.Refusal {
		return harness.Refusal{name, 400, "invalid", "GET", "/v1/books/b1" + path, ``, nil, says}
	}
	table := []harness.Refusal{
		get("at with consistency", "?at=1&consistency=strong", "consistency", "at"),
		get("at with prefix", "?at=1&consistency=prefix", "consistency", "at"),
		get("at with maxLag", "?at=1&maxLag=30s", "maxLag", "at"),
		get("at with another parameter", "?at=1&limit=3", `"limit"`),
		get("at with a view", "?at=1&view=both", "view=both"),
		get("at with an expansion", "?at=3&expand=publisher", "publisher"),
		get("order", "/_history?order=up", "order=up", "desc", "asc"),
		get("derived", "/_history?derived=no", "derived=no", "include", "exclude"),
		get("include_docs", "/_history?include_docs=1", "include_docs=1", "true", "false"),
		get("view", "/_history?view=both", "view=both", "referenced"),
		get("limit 0", "/_history?limit=0", "limit=0", "1000"),
		get("limit 1001", "/_history?limit=1001", "limit=1001"),
		get("limit word", "/_history?limit=ten", "limit=ten"),
		get("cursor", "/_history?cursor=%21%21", "cursor=!!"),
		get("unknown", "/_history?since=1", `"since"`, "from"),
		get("at of versions", "/_history?at=1", `"at"`),
		get("expand of versions", "/_history?expand=authors", `"expand"`),
		{"a patch of the past", 400, "invalid", "PATCH", "/v1/books/b1?at=1", `{}`, []string{"Content-Type", harness.MergeType}, []string{`"at"`}},
		{"a put into the past", 400, "invalid", "PUT", "/v1/books/b1?at=1", `{}`, nil, []string{`"at"`}},
		{"a delete in the past", 400, "invalid", "DELETE", "/v1/books/b1?at=1", ``, nil, []string{`"at"`}},
		{"a write of versions", 405, "method-not-allowed", "POST", "/v1/books/b1/_history", `{}`, nil, []string{"method"}},
		{"the versions of no document", 404, "not-found", "GET", "/v1/books/none/_history", ``, nil, []string{"none"}},
	}
	of := func(name, path string, says ...string) harness.Refusal {
		return harness.Refusal{name, 400, "invalid", "GET", path, ``, nil, says}
	}
	for _, other := range []string{"consistency=strong", "maxLag=30s", "filter=true", "sort=n", "count=true", "group=n", "compute=count", "params={}", "maxScan=1", "partial=true", "explain=true"} {
		name, _, _ := strings.Cut(other, "=")
		table = append(table, of("a list at with "+name, "/v1/books?at=1&"+other, name, "at"), of("children at with "+name, "/v1/authors/a1/books?at=1&"+other, name, "at"))
	}
	table = append(table,
		of("a list of ids at with a limit", "/v1/books?at=1&ids=b1&limit=1", "limit", "ids"),
		of("an export at with consistency", "/v1/_export?at=1&consistency=strong", "consistency", "at"),
		of("an export at with maxLag", "/v1/_export?at=1&maxLag=30s", "maxLag", "at"),
		of("an export at with a limit", "/v1/_export?at=1&limit=3", `"limit"`),
		of("children at with another parameter", "/v1/authors/a1/books?at=1&ids=b1", `"ids"`),
		of("differences since nothing", "/v1/_diff?to=1", "from"),
		of("differences backwards", "/v1/_diff?from=2&to=1", "from=2", "later than to"),
		of("differences at", "/v1/_diff?from=1&at=1", `"at"`),
		of("differences of a collection", "/v1/_diff?from=1&collections=_", "_"),
		of("differences, limit", "/v1/_diff?from=1&limit=1001", "limit=1001"),
		harness.Refusal{"a write of differences", 405, "method-not-allowed", "POST", "/v1/_diff?from=1", `{}`, nil, []string{"method"}},
		harness.Refusal{"a read of a revert", 405, "method-not-allowed", "GET", "/v1/books/b1/_revert", ``, nil, []string{"method"}},
	)
	future := url.QueryEscape(time.Now().Add(time.Hour).Format(time.RFC3339))
	for path, name := range map[string]string{"/v1/books/b1?at=": "at", "/v1/books/b1/_history?from=": "from", "/v1/books/b1/_history?to=": "to", "/v1/books?at=": "at", "/v1/authors/a1/books?at=": "at", "/v1/authors/a1/books?page=1&at=": "at", "/v1/_export?at=": "at", "/v1/_diff?from=": "from", "/v1/_diff?from=1&to=": "to"} {
		for _, text := range []string{"x", "now", "-1", "1.5", "01-0", "1--1", "1-0-", "1-0-UPPERCAS", "1-0-aaaaaaaa-0", "1-1048576", "99999999999999999999", "1-0-aaaaaaaa-1-1",
			"2026-11-24", "2026-11-24T21:40:00", "2026-13-24T21:40:00Z", "1%00", "%ff"} {
			table = append(table, of(path+text, path+text, name+"="))
		}
		table = append(table, of(path+" future", path+future, name+"=", "in the future"),
			of(path+" twice", path+"1&"+name+"=1", `"`+name+`"`, "more than once"),
			of(path+" empty", path, `"`+name+`"`),
			of(path+" long", path+strings.Repeat("1", 256), name, "256 bytes", "255"),
			harness.Refusal{path + " of another store", 410, "store-changed", "GET", path + "1-0-aaaaaaaa", ``, nil, []string{"aaaaaaaa"}},
			harness.Refusal{path + " to come", 504, "timeout", "GET", path + "999999", ``, []string{"Fanfold-Timeout", "1ms"}, nil},
		)
	}
	for _, name := range []string{"order", "derived", "include_docs", "view", "limit"} {
		table = append(table, get(name+" empty", "/_history?"+name+"=", `"`+name+`"`), get(name+" twice", "/_history?"+name+"=1&"+name+"=1", `"`+name+`"`, "more than once"))
	}
	harness.RefuseAll(t, table)
}

// TestMomentsOf255Bytes: what is at the limit is read, and refused for what it is.
func TestMomentsOf255Bytes(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("books", "b", `{}`)
	text := time.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04:05.")
	text += strings.Repeat("0", 254-len(text)) + "Z"
	for path, status := range map[string]int{"books/b?at=" + text: 404, "books/b/_history?from=" + text: 200, "books/b/_history?to=" + text: 200, "books/b?at=0" + text: 400,
		"books?at=" + text: 200, "_diff?from=" + text: 200, "_diff?from=0&to=" + text: 200} {
		s.Want(status, "GET", "/v1/"+path, "")
	}
	s.Want(http.StatusNotFound, "POST", "/v1/books/b/_revert", `{"at":"`+text+`"}`)
}

// TestCursorsOfVersions: a cursor leads on in the list that gave it, and in no other.
func TestCursorsOfVersions(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for _, id := range []string{"b", "c"} {
		s.Put("books", id, `{"n":1}`)
		s.Put("books", id, `{"n":2}`)
	}
	cursor := versionsOf(t, s.Want(200, "GET", "/v1/books/b/_history?limit=1", "").Body).Next
	s.Want(200, "GET", "/v1/books/b/_history?limit=1&cursor="+cursor, "")
	for _, path := range []string{"/v1/books/c/_history?", "/v1/books/b/_history?order=asc&", "/v1/books?"} {
		harness.Refuse(t, s, harness.Refusal{path, 400, "invalid", "GET", path + "cursor=" + cursor, ``, nil, []string{"the cursor belongs to the list of the versions of books/b"}})
	}
}

// versionPage is the answer to a request for versions, without their documents.
type versionPage struct {
	Items []struct {
		Seq, Op, Actor string
		Cause          map[string]any
		Patch          json.RawMessage
		Doc            map[string]any
	}
	Next, Oldest string
}

// versionsOf reads a page of versions.
func versionsOf(t *testing.T, body []byte) (page versionPage) {
	t.Helper()
	if err := json.Unmarshal(body, &page); err != nil {
		t.Fatal(err)
	}
	return page
}

// TestHistoryPagesAreBounded: a page has at most 1,000 versions. It ends early past 16 MiB, with one version at least, and all versions
// come over the pages.
func TestHistoryPagesAreBounded(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for i := range 1010 {
		s.Put("books", "small", fmt.Sprintf(`{"n":%d}`, i))
	}
	if page := versionsOf(t, s.Want(200, "GET", "/v1/books/small/_history?limit=1000", "").Body); len(page.Items) != 1000 || page.Next == "" {
		t.Errorf("a page has %d versions, next %q", len(page.Items), page.Next)
	}
	const versions, size = 14, 2<<20 - 100
	for i := range versions {
		s.Put("books", "large", fmt.Sprintf(`{"n":%d,"x":%q}`, i, strings.Repeat(string(rune('a'+i)), size)))
	}
	for _, order := range []string{"desc", "asc"} {
		var got []string
		for next, pages := "", 0; next != "" || pages == 0; pages++ {
			path := "/v1/books/large/_history?order=" + order
			if next != "" {
				path += "&cursor=" + next
			}
			r := s.Want(200, "GET", path, "")
			page := versionsOf(t, r.Body)
			if next = page.Next; len(page.Items) == 0 || len(page.Items) == versions || len(r.Body) > 16<<20+4*size {
				t.Fatalf("%s: a page has %d versions and %d bytes", order, len(page.Items), len(r.Body))
			}
			for _, item := range page.Items {
				got = append(got, fmt.Sprint(item.Doc["n"]))
			}
		}
		if order == "desc" {
			slices.Reverse(got)
		}
		if want := "[0 1 2 3 4 5 6 7 8 9 10 11 12 13]"; fmt.Sprint(got) != want {
			t.Errorf("%s: the versions are %v", order, got)
		}
	}
}

// TestHistoryByRights: whoever reads the collection reads its versions and its past, without documents of others. Actors are for admins.
func TestHistoryByRights(t *testing.T) {
	s := harness.OpenClosed(t, `
collections:
  vault: { access: { read: [keepers], write: [keepers] } }
  notes:
    access: { read: [readers], write: [keepers] }
    relations: { by: { path: by, to: vault, onDelete: unlink } }
    derive: { secret: { copy: by, value: doc.name, publish: true } }
`)
	s.Put("vault", "v", `{"name":"one"}`)
	s.Put("notes", "n", `{"by":"v"}`)
	s.Merge("vault", "v", `{"name":"two"}`)
	s.Delete("vault", "v")
	reader, keeper := s.As("readers"), s.As("keepers", "readers")
	for _, path := range []string{"/v1/vault/v?at=2", "/v1/vault/v/_history", "/v1/vault/none/_history", "/v1/vault/none?at=1"} {
		reader.Want(http.StatusForbidden, "GET", path, "")
		reader.Want(http.StatusForbidden, "HEAD", path, "")
	}
	if r := reader.Want(http.StatusForbidden, "GET", "/v1/notes/n?at=3&expand=by", ""); strings.Contains(string(r.Body), "one") {
		t.Errorf("an expansion tells %s", r.Body)
	}
	body := reader.Want(http.StatusOK, "GET", "/v1/notes/n/_history", "").Body
	page := versionsOf(t, body)
	if len(page.Items) < 3 || strings.Contains(string(body), `"vault"`) || strings.Contains(string(body), `"actor"`) {
		t.Errorf("a reader is told %s", body)
	}
	body = keeper.Want(http.StatusOK, "GET", "/v1/notes/n/_history", "").Body
	if !strings.Contains(string(body), `"cause":{"seq":"`) || !strings.Contains(string(body), `"collection":"vault"`) || strings.Contains(string(body), `"actor"`) {
		t.Errorf("a keeper is told %s", body)
	}
	for _, item := range versionsOf(t, s.Want(http.StatusOK, "GET", "/v1/notes/n/_history", "").Body).Items {
		if !strings.HasPrefix(item.Actor, "key:") {
			t.Errorf("an admin is not told who did %s", item.Seq)
		}
	}
	s.With("").Want(http.StatusUnauthorized, "GET", "/v1/notes/n/_history", "")
}

// TestPastByRights: lists as they were, differences and reverts show and write what the caller may read and write, under whatever model.
func TestPastByRights(t *testing.T) {
	const access = `
collections:
  vault: { access: { read: [keepers], write: [keepers] } }
  board: { access: { read: [readers], write: [keepers] } }
  notes:
    access: { read: [readers], write: [keepers] }
    relations: { by: { path: by, to: %s } }
`
	s := harness.OpenClosed(t, fmt.Sprintf(access, "vault"))
	s.Put("vault", "v", `{"name":"one"}`)
	then := s.Put("notes", "n", `{"by":"v"}`).Header.Get("Fanfold-Position")
	s.Merge("vault", "v", `{"name":"two"}`)
	s.Merge("notes", "n", `{"x":1}`)
	s.Model(fmt.Sprintf(access, "board"))
	reader, keeper := s.As("readers"), s.As("keepers", "readers")
	for _, path := range []string{"/v1/vault?at=" + then, "/v1/vault?at=0&ids=v", "/v1/none?at=" + then, "/v1/_diff?from=0&collections=vault", "/v1/_diff?from=0&collections=notes,vault",
		"/v1/notes?expand=by&at=" + then, "/v1/notes?expand=by&ids=n&at=" + then, "/v1/notes/n?expand=by&at=" + then} {
		if r := reader.Want(http.StatusForbidden, "GET", path, ""); strings.Contains(string(r.Body), `"one"`) {
			t.Errorf("%s tells %s", path, r.Body)
		}
		reader.Want(http.StatusForbidden, "HEAD", path, "")
	}
	for _, from := range []string{"0", then} {
		if body := string(reader.Want(http.StatusOK, "GET", "/v1/_diff?from="+from, "").Body); strings.Contains(body, `"vault"`) || !strings.Contains(body, `"notes"`) {
			t.Errorf("a reader is told %s", body)
		}
		if body := string(keeper.Want(http.StatusOK, "GET", "/v1/_diff?from="+from, "").Body); !strings.Contains(body, `"vault"`) {
			t.Errorf("a keeper is told %s", body)
		}
	}
	revert := `{"at":"` + then + `"}`
	reader.Want(http.StatusForbidden, "POST", "/v1/notes/n/_revert", revert)
	reader.Want(http.StatusForbidden, "POST", "/v1/notes/n/_revert?dryRun=true", revert)
	keeper.Want(http.StatusNoContent, "POST", "/v1/notes/n/_revert", revert)
	s.With("").Want(http.StatusUnauthorized, "GET", "/v1/_diff?from=0", "")
	s.With("").Want(http.StatusUnauthorized, "POST", "/v1/notes/n/_revert", revert)
}
