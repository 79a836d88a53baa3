package tests

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
)

const badModel = `
collections:
  authors: {derive: {count: {count: books.authors}}}
  books:
    relations: {authors: {path: "authors[].id", to: authors}}
    derive: {"authors[].name": {copy: authors, value: doc.name}}
`

// problemDoc is a problem as a client reads it.
type problemDoc struct {
	Type, Title, Detail string
	Status              int
	Problems            []struct{ Path, Detail string }
}

// bad is a request that is refused. Every part of says is in the detail or among the problems.
type bad struct {
	name         string
	status       int
	code         string
	method, path string
	body         string
	headers      []string
	says         []string
}

// refuse sends the request and checks the problem.
func refuse(t *testing.T, s *harness.Store, b bad) problemDoc {
	t.Helper()
	r, err := s.Do(b.method, b.path, []byte(b.body), b.headers...)
	if err != nil {
		t.Fatal(err)
	}
	var p problemDoc
	if r.Status != b.status || r.Header.Get("Content-Type") != "application/problem+json" || json.Unmarshal(r.Body, &p) != nil {
		t.Fatalf("%s %s: %d %s %s, want a problem with %d", b.method, b.path, r.Status, r.Header.Get("Content-Type"), clipped(r.Body), b.status)
	}
	if p.Type != "urn:fanfold:problem:"+b.code || p.Status != b.status || p.Title == "" || p.Detail == "" {
		t.Errorf("problem %s, want code %s", clipped(r.Body), b.code)
	}
	for _, word := range b.says {
		if !strings.Contains(p.Detail+fmt.Sprint(p.Problems), word) {
			t.Errorf("detail %q %v does not say %q", p.Detail, p.Problems, word)
		}
	}
	if len(p.Detail) > 1000 {
		t.Errorf("the detail has %d bytes", len(p.Detail))
	}
	return p
}

// refuseAll runs the table; the document and the log stay as they were, and the store goes on.
func refuseAll(t *testing.T, table []bad) {
	t.Helper()
	s := harness.OpenTemp(t, badModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	s.Put("books", "b1", `{"title":"T", "n":[1,2],"authors":[{"id":"a1"}]}`)
	before := s.Want(200, "GET", "/v1/books/b1", "")
	_, last := s.Changes("")
	for _, b := range table {
		t.Run(b.name, func(t *testing.T) {
			refuse(t, s, b)
			after := s.Want(200, "GET", "/v1/books/b1", "")
			if string(after.Body) != string(before.Body) || after.Header.Get("ETag") != before.Header.Get("ETag") {
				t.Errorf("the document is now %s", after.Body)
			}
		})
	}
	if rows, now := s.Changes("since=" + last); len(rows) > 0 {
		t.Errorf("refused requests changed the store: %v, now at %s", rows, now)
	}
	s.Put("books", "b1", `{"title":"U"}`)
	s.WantDoc("books", "b1", `{"id":"b1","title":"U"}`)
}

// put is a refused PUT of books/b1.
func put(name, body string, status int, code string, says ...string) bad {
	return bad{name, status, code, "PUT", "/v1/books/b1", body, []string{"Content-Type", "application/json"}, says}
}

func TestBadBodies(t *testing.T) {
	refuseAll(t, []bad{
		put("empty", ``, 400, "invalid", "ends too early", "byte 0"),
		put("word", `title`, 400, "invalid", "byte"),
		put("value missing", `{"title":}`, 400, "invalid", "byte 9", "/title"),
		put("cut off", `{"title":"x`, 400, "invalid", "too early", "/title"),
		put("more text", `{"a":1} x`, 400, "invalid", "more text", "byte"),
		put("two values", `{"a":1}{"b":1}`, 400, "invalid", "more text", "byte"),
		put("trailing comma", `{"a":1,}`, 400, "invalid", "byte 6"),
		put("leading zero", `{"a":01}`, 400, "invalid", "byte 6"),
		put("plus", `{"a":+1}`, 400, "invalid", "/a"),
		put("NaN", `{"a":{"b":NaN}}`, 400, "invalid", "/a/b"),
		put("single quotes", `{'a':1}`, 400, "invalid", "byte 1"),
		put("comment", `{"a":1/* one */}`, 400, "invalid"),
		put("control character", "{\"a\":\"\x01\"}", 400, "invalid", "/a"),
		put("bad escape", `{"a":"\x"}`, 400, "invalid", "/a"),
		put("lone surrogate", `{"a":"\ud800"}`, 400, "invalid", "/a"),
		put("byte order mark", "\xef\xbb\xbf{}", 400, "invalid", "byte 0"),
		put("duplicate member", `{"a":1,"a":2}`, 400, "invalid", "duplicate", "/a"),
		put("duplicate below", `{"x":[{"b":1,"c":2,"b":3}]}`, 400, "invalid", "duplicate", "/x/0/b"),
		put("duplicate by escape", `{"a":1,"\u0061":2}`, 400, "invalid", "duplicate", "/a"),
		put("duplicate id", `{"id":"b1","id":"b1"}`, 400, "invalid", "duplicate", "/id"),
		put("wrong UTF-8", "{\"a\":[\"ok\",\"\xff\"]}", 400, "invalid", "UTF-8", "/a/1"),
		put("wrong UTF-8 name", "{\"\xc3\":1}", 400, "invalid", "UTF-8"),
		put("overlong UTF-8", "{\"a\":\"\xc0\xaf\"}", 400, "invalid", "UTF-8", "/a"),
		put("UTF-8 surrogate", "{\"a\":\"\xed\xa0\x80\"}", 400, "invalid", "UTF-8", "/a"),
		put("UTF-16", "\xff\xfe{\x00}\x00", 400, "invalid", "byte 0"),
		put("array", `[]`, 400, "invalid", "object"),
		put("string", `"x"`, 400, "invalid", "object"),
		put("number", `1`, 400, "invalid", "object"),
		put("null", `null`, 400, "invalid", "object"),
		put("other id", `{"id":"b2"}`, 422, "unprocessable", `"b2"`, `"b1"`),
		put("other number", `{"id":1}`, 422, "unprocessable", `"1"`, `"b1"`),
		put("id null", `{"id":null}`, 422, "unprocessable", `"id"`, "string or a number"),
		put("id object", `{"id":{}}`, 422, "unprocessable", `"id"`),
		put("id true", `{"id":true}`, 422, "unprocessable", `"id"`),
		put("id empty", `{"id":""}`, 400, "invalid", "empty"),
		put("id long", `{"id":"`+strings.Repeat("x", 256)+`"}`, 400, "invalid", "256"),
		put("member of ours", `{"a":1,"_rev":2}`, 422, "unprocessable", `"_rev"`),
		put("member _", `{"_":2}`, 422, "unprocessable", `"_"`),
		put("nested 65", strings.Repeat(`{"a":`, 64)+`{}`+strings.Repeat(`}`, 64), 422, "unprocessable", "deeper than 64", "/a/a"),
		put("nested 10,000", strings.Repeat(`{"a":`, 10_000)+`1`+strings.Repeat(`}`, 10_000), 422, "unprocessable", "deeper than 64"),
		put("10,000 arrays", `{"a":`+strings.Repeat(`[`, 10_000)+strings.Repeat(`]`, 10_000)+`}`, 422, "unprocessable", "deeper than 64"),
		put("too large", `{"a":"`+strings.Repeat("x", 2<<20)+`"}`, 413, "too-large", "2097152"),
		put("1,001 ids", `{"authors":[`+strings.Repeat(`{"id":"x"},`, 1000)+`{"id":"x"}]}`, 422, "unprocessable", "1001", "1000", "authors[].id"),
	})
}

func TestBadParameters(t *testing.T) {
	get := func(name, path string, says ...string) bad {
		return bad{name, 400, "invalid", "GET", path, ``, nil, says}
	}
	refuseAll(t, []bad{
		get("unknown parameter", "/v1/books/b1?veiw=embedded", `"veiw"`, "view"),
		get("unknown list parameter", "/v1/books?sort=title", `"sort"`, "limit"),
		get("unknown value", "/v1/books/b1?view=both", "view=both", "referenced"),
		get("repeated", "/v1/books/b1?view=embedded&view=embedded", `"view"`, "more than once"),
		get("semicolon", "/v1/books/b1?a;b", "query"),
		get("bad escape", "/v1/books/b1?view=%zz", "query"),
		get("consistency", "/v1/books/b1?consistency=eventual", "consistency=eventual", "strong"),
		get("expand", "/v1/books/b1?expand=publisher", "publisher", "books"),
		get("expand further", "/v1/books/b1?expand=authors.none", `"none"`, "authors"),
		get("expand deep", "/v1/books/b1?expand=a.a.a.a.a.a.a.a.a", "8 hops"),
		get("limit 0", "/v1/books?limit=0", "limit=0", "1000"),
		get("limit 1001", "/v1/books?limit=1001", "limit=1001"),
		get("limit word", "/v1/books?limit=ten", "limit=ten"),
		get("cursor garbage", "/v1/books?cursor=%21%21", "cursor=!!"),
		get("child cursor garbage", "/v1/authors/a1/books?cursor=eHg", "cursor=eHg"),
		get("relation", "/v1/authors/a1/books?relation=x", "relation=x", "authors"),
		get("collection name", "/v1/Books/b1", `"Books"`),
		get("collection long", "/v1/"+strings.Repeat("b", 65)+"/b1", "64"),
		get("id UTF-8", "/v1/books/%ff", "UTF-8"),
		get("since", "/v1/_changes?since=yesterday", "since=yesterday", "now"),
		get("since minus", "/v1/_changes?since=-1", "since=-1"),
		get("since sign", "/v1/_changes?since=1--1", "since=1--1"),
		get("since zeros", "/v1/_changes?since=01-0", "since=01-0"),
		get("since large", "/v1/_changes?since=99999999999999999999-0", "since=9999"),
		get("since change large", "/v1/_changes?since=1-1048576", "since=1-1048576"),
		get("feed", "/v1/_changes?feed=fast", "feed=fast", "longpoll"),
		get("mode", "/v1/_changes?mode=some", "mode=some", "latest"),
		get("feed limit", "/v1/_changes?limit=0", "limit=0"),
		get("heartbeat", "/v1/_changes?heartbeat=1", "heartbeat=1"),
		get("timeout", "/v1/_changes?timeout=-1", "timeout=-1"),
		get("include_docs", "/v1/_changes?include_docs=maybe", "include_docs=maybe"),
		get("collections", "/v1/_changes?collections=books,,x", "collection"),
		get("feed parameter", "/v1/_changes?filter=x", `"filter"`),
	})
}

func TestBadHeaders(t *testing.T) {
	header := func(name, header, value, says string) bad {
		return bad{name, 400, "invalid", "PUT", "/v1/books/b1", `{}`, []string{header, value}, []string{says}}
	}
	media := func(name, contentType string) bad {
		return bad{name, 415, "unsupported-media", "PUT", "/v1/books/b1", `{}`, []string{"Content-Type", contentType}, []string{"application/json", contentType}}
	}
	refuseAll(t, []bad{
		{"Last-Event-ID", 400, "invalid", "GET", "/v1/_changes", ``, []string{"Last-Event-ID", "x"}, []string{"x"}},
		{"Min-Position", 400, "invalid", "GET", "/v1/books/b1", ``, []string{"Fanfold-Min-Position", "1.2"}, []string{`"1.2"`}},
		header("ETag bare", "If-Match", `7`, "quoted"),
		header("ETag word", "If-Match", `"abc"`, "abc"),
		header("ETag sign", "If-Match", `"+1"`, "+1"),
		header("ETag negative", "If-Match", `"-1"`, "-1"),
		header("ETag half", "If-Match", `"1`, "ETag"),
		header("ETag list", "If-Match", `"1.1-0.1", nonsense`, "nonsense"),
		header("ETag position", "If-Match", `"1.x"`, "1.x"),
		header("If-None-Match", "If-None-Match", `"1"`, "*"),
		header("timeout word", "Fanfold-Timeout", `soon`, "soon"),
		header("timeout long", "Fanfold-Timeout", `61`, "60"),
		header("timeout negative", "Fanfold-Timeout", `-1`, "-1"),
		header("timeout NaN", "Fanfold-Timeout", `NaN`, "NaN"),
		{"both conditions", 400, "invalid", "PUT", "/v1/books/b1", `{}`, []string{"If-Match", "*", "If-None-Match", "*"}, []string{"exclude"}},
		{"If-Match on POST", 400, "invalid", "POST", "/v1/books", `{}`, []string{"If-Match", "*"}, []string{"POST"}},
		{"no body PUT parameter", 400, "invalid", "PUT", "/v1/books/b1?view=embedded", `{}`, nil, []string{`"view"`}},
		media("no type", ""), media("text", "text/plain"), media("form", "application/x-www-form-urlencoded"),
		media("merge patch", "application/merge-patch+json"), media("xml", "application/xml"),
		{"encoding", 415, "unsupported-media", "PUT", "/v1/books/b1", `{}`, []string{"Content-Encoding", "gzip"}, []string{"Content-Encoding"}},
		{"patch type", 415, "unsupported-media", "PATCH", "/v1/books/b1", `{}`, nil, []string{"merge-patch", "json-patch"}},
	})
}

func TestBadRoutes(t *testing.T) {
	refuseAll(t, []bad{
		{"unknown route", 404, "not-found", "GET", "/v2/books", ``, nil, []string{"/openapi.json"}},
		{"root", 404, "not-found", "GET", "/", ``, nil, []string{"/openapi.json"}},
		{"route of ours", 404, "not-found", "GET", "/v1/_secret", ``, nil, []string{"_"}},
		{"child of ours", 404, "not-found", "GET", "/v1/books/b1/_secret", ``, nil, []string{"/openapi.json"}},
		{"method", 405, "invalid", "DELETE", "/v1/books", ``, nil, []string{"method"}},
		{"method of ours", 405, "invalid", "DELETE", "/v1/_status", ``, nil, []string{"method"}},
		{"PUT of our route", 404, "not-found", "PUT", "/v1/_secret/x", `{}`, nil, []string{"_"}},
	})
}

func TestBadPatches(t *testing.T) {
	patch := func(name, body string, status int, code string, says ...string) bad {
		return bad{name, status, code, "PATCH", "/v1/books/b1", body, []string{"Content-Type", patchType}, says}
	}
	merge := func(name, body string, status int, code string, says ...string) bad {
		return bad{name, status, code, "PATCH", "/v1/books/b1", body, []string{"Content-Type", mergeType}, says}
	}
	refuseAll(t, []bad{
		patch("not JSON", `[{"op"]`, 400, "invalid", "byte"),
		patch("object", `{}`, 400, "invalid", "array"),
		patch("unknown op", `[{"op":"test","path":"/title","value":"T"},{"op":"merge","path":"/a"}]`, 400, "invalid", `"merge"`, "operation 1"),
		patch("op missing", `[{"path":"/a"}]`, 400, "invalid", "op"),
		patch("not an operation", `[1]`, 400, "invalid", "operation 0"),
		patch("path missing", `[{"op":"remove"}]`, 400, "invalid", "path"),
		patch("path not a pointer", `[{"op":"remove","path":"title"}]`, 400, "invalid", "pointer", "title"),
		patch("bad escape", `[{"op":"remove","path":"/a~2"}]`, 400, "invalid", "/a~2"),
		patch("value missing", `[{"op":"add","path":"/a"}]`, 400, "invalid", "value"),
		patch("from missing", `[{"op":"move","path":"/a"}]`, 400, "invalid", "from"),
		patch("1,001 operations", `[`+strings.Repeat(`{"op":"remove","path":"/a"},`, 1000)+`{"op":"remove","path":"/a"}]`, 400, "invalid", "1000"),
		patch("test fails", `[{"op":"add","path":"/x","value":1},{"op":"test","path":"/title","value":"t"}]`, 409, "conflict", "operation 1", "/title"),
		patch("remove nothing", `[{"op":"remove","path":"/x"}]`, 409, "conflict", "/x"),
		patch("replace nothing", `[{"op":"replace","path":"/x","value":1}]`, 409, "conflict", "/x"),
		patch("index beyond", `[{"op":"add","path":"/n/3","value":1}]`, 409, "conflict", "/n/3"),
		patch("index zeros", `[{"op":"add","path":"/n/01","value":1}]`, 409, "conflict", "/n/01"),
		patch("index word", `[{"op":"remove","path":"/n/x"}]`, 409, "conflict", "/n/x"),
		patch("into a string", `[{"op":"add","path":"/title/x","value":1}]`, 409, "conflict", "/title/x"),
		patch("into itself", `[{"op":"move","from":"/n","path":"/n/0"}]`, 409, "conflict", "/n/0"),
		patch("derived", `[{"op":"add","path":"/authors/0/name","value":"x"}]`, 422, "unprocessable", "/authors/0/name", "derive"),
		patch("derived removed", `[{"op":"remove","path":"/authors/0/name"}]`, 422, "unprocessable", "/authors/0/name"),
		patch("derived moved", `[{"op":"move","from":"/authors/0/name","path":"/x"}]`, 422, "unprocessable", "derive"),
		patch("derived replaced at -", `[{"op":"add","path":"/authors/-/name","value":"x"}]`, 422, "unprocessable", "/authors/-/name"),
		patch("id", `[{"op":"replace","path":"/id","value":"b2"}]`, 422, "unprocessable", `"b2"`),
		patch("id removed", `[{"op":"remove","path":"/id"}]`, 422, "unprocessable", "id"),
		patch("whole document", `[{"op":"replace","path":"","value":[]}]`, 422, "unprocessable", "object"),
		patch("member of ours", `[{"op":"add","path":"/_x","value":1}]`, 422, "unprocessable", "_x"),
		patch("meta", `[{"op":"copy","from":"/title","path":"/_meta"}]`, 422, "unprocessable", "store's own"),
		patch("doubles", `[`+doublings(24)+`]`, 413, "too-large"),
		merge("array", `[]`, 400, "invalid", "object"),
		merge("null", `null`, 400, "invalid", "object"),
		merge("duplicate", `{"a":1,"a":1}`, 400, "invalid", "duplicate"),
		merge("id", `{"id":"b2"}`, 422, "unprocessable", `"b2"`),
		merge("id removed", `{"id":null}`, 422, "unprocessable", "id"),
		merge("member of ours", `{"_x":1}`, 422, "unprocessable", "_x"),
		merge("derived", `{"authors":[{"id":"a1","name":"x"}]}`, 422, "unprocessable", "/authors/0/name"),
		merge("too deep", strings.Repeat(`{"a":`, 65)+`1`+strings.Repeat(`}`, 65), 422, "unprocessable", "64"),
	})
}

// doublings are operations that each double the document.
func doublings(n int) string {
	ops := []string{`{"op":"add","path":"/x","value":["` + strings.Repeat("y", 1000) + `"]}`}
	for range n {
		ops = append(ops, `{"op":"copy","from":"/x","path":"/y"}`, `{"op":"add","path":"/x","value":[]}`, `{"op":"copy","from":"/y","path":"/x/0"}`, `{"op":"copy","from":"/y","path":"/x/1"}`)
	}
	return strings.Join(ops, ",")
}

// TestBadPreferIsIgnored: RFC 7240 wants what is not understood ignored.
func TestBadPreferIsIgnored(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("books", "b1", `{}`)
	for _, v := range []string{"", ",,", "=", "return", "return=", "handling=odd", "wait=abc", `return="repr`, "respond-async/x", "Respond-Async x", ";", "\u00e9", strings.Repeat("x,", 1000)} {
		r := s.Want(204, "PUT", "/v1/books/b1", `{}`, "Prefer", v)
		if got := r.Header.Get("Preference-Applied"); got != "" {
			t.Errorf("Prefer: %q is applied as %q", v, got)
		}
	}
}

func TestIDsOfEveryKind(t *testing.T) {
	s := harness.OpenTemp(t, badModel)
	for _, id := range []string{".", ".."} { // clients take these out of URLs
		refuse(t, s, bad{"", 400, "invalid", "POST", "/v1/books", `{"id":"` + id + `"}`, nil, []string{"cannot be an id"}})
	}
	ids := []string{"...", "a.b", "*", ">", "a/b", "/", "//", "../b", " ", " a ", "a b", "😀", "é", "e\u0301", "%", "%25", "%2F", "100%", "?x=1", "#", "a+b", "a&b=c",
		`"`, `\`, "\n", "\x00", "a\x00b", "a\x00c", "\u2028", "0", "-0", "1.0", "1e3", "id", "_x", "_changes", "$G", "'; DROP TABLE document", strings.Repeat("x", 255), strings.Repeat("é", 127), "\U0010FFFF"}
	for i, id := range ids {
		s.Want(201, "PUT", harness.Path("books", id), fmt.Sprintf(`{"n":%d}`, i))
	}
	for i, id := range ids {
		quoted, _ := json.Marshal(id)
		var doc struct {
			ID string
			N  int
		}
		if err := json.Unmarshal([]byte(s.Get("books", id)), &doc); err != nil || doc.ID != id || doc.N != i {
			t.Errorf("id %q reads %+v %v", id, doc, err)
		}
		refuse(t, s, bad{"", 409, "exists", "POST", "/v1/books", `{"id":` + string(quoted) + `}`, nil, []string{"exists"}})
		s.Want(204, "PUT", harness.Path("books", id), fmt.Sprintf(`{"id":%s,"authors":[{"id":%s}]}`, quoted, quoted))
		s.Want(201, "PUT", harness.Path("authors", id), `{"name":"x"}`)
		if !strings.Contains(s.Get("books", id), `"name":"x"`) || !strings.Contains(s.Get("authors", id), `"count":1`) {
			t.Errorf("id %q is not copied to: %s %s", id, s.Get("books", id), s.Get("authors", id))
		}
		s.Want(200, "GET", harness.Path("authors", id)+"/books?expand=authors", "")
	}
	rows, _ := s.Changes("collections=books")
	seen := map[string]bool{}
	for _, r := range rows {
		seen[r.ID] = true
	}
	listed := walk(t, s, "/v1/books?limit=7")
	for _, id := range ids {
		if !seen[id] || !listed[id] {
			t.Errorf("id %q: in the feed %v, in the list %v", id, seen[id], listed[id])
		}
	}
	s.Replay()
	for _, id := range ids {
		s.Delete("books", id)
	}
}

// walk follows a list's cursors and returns the ids it met.
func walk(t *testing.T, s *harness.Store, path string) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for cursor := ""; ; {
		var page struct {
			Items []struct{ ID string }
			Next  string
		}
		if err := json.Unmarshal(s.Want(200, "GET", path+cursor, "").Body, &page); err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			if ids[it.ID] {
				t.Errorf("%s is listed twice", it.ID)
			}
			ids[it.ID] = true
		}
		if page.Next == "" {
			return ids
		}
		cursor = "&cursor=" + url.QueryEscape(page.Next)
	}
}

func TestRefusedIDs(t *testing.T) {
	s := harness.OpenTemp(t, "")
	long := strings.Repeat("x", 256)
	for _, b := range []bad{
		{"256 bytes", 400, "invalid", "PUT", "/v1/books/" + long, `{}`, nil, []string{"256", "255"}},
		{"256 bytes of é", 400, "invalid", "PUT", harness.Path("books", strings.Repeat("é", 128)), `{}`, nil, []string{"256"}},
		{"256 bytes read", 400, "invalid", "GET", "/v1/books/" + long, ``, nil, []string{"256"}},
		{"256 bytes posted", 400, "invalid", "POST", "/v1/books", `{"id":"` + long + `"}`, nil, []string{"256"}},
		{"empty posted", 400, "invalid", "POST", "/v1/books", `{"id":""}`, nil, []string{"empty"}},
		{"wrong UTF-8", 400, "invalid", "PUT", "/v1/books/%c3%28", `{}`, nil, []string{"UTF-8"}},
		{"surrogate", 400, "invalid", "DELETE", "/v1/books/%ed%a0%80", ``, nil, []string{"UTF-8"}},
		{"empty", 404, "not-found", "PUT", "/v1/books/", `{}`, nil, []string{"/openapi.json"}},
		{"collection", 400, "invalid", "PUT", "/v1/b%2Fc/x", `{}`, nil, []string{"b/c"}},
		{"collection dots", 400, "invalid", "PUT", "/v1/../x", `{}`, nil, []string{".."}},
		{"collection token", 400, "invalid", "POST", "/v1/books.%3E", `{}`, nil, []string{"books.>"}},
	} {
		t.Run(b.name, func(t *testing.T) { refuse(t, s, b) })
	}
	if rows, _ := s.Changes(""); len(rows) > 0 {
		t.Errorf("%v was written", rows)
	}
}

// TestOwnMembers: what a GET or a list adds may be written back, and goes.
func TestOwnMembers(t *testing.T) {
	s := harness.OpenTemp(t, badModel)
	s.Put("books", "b1", `{"_meta":{"rev":1},"title":"T","sub":{"_x":1},"_expanded":{}}`)
	s.WantDoc("books", "b1", `{"id":"b1","title":"T","sub":{"_x":1}}`)
	s.Merge("books", "b1", `{"sub":{"_y":[{"_z":2}]}}`)
	s.WantDoc("books", "b1", `{"id":"b1","title":"T","sub":{"_x":1,"_y":[{"_z":2}]}}`)
}

// TestLimitsAreExact: what is at a limit is taken.
func TestLimitsAreExact(t *testing.T) {
	s := harness.OpenTemp(t, badModel)
	s.Put("books", "deep", strings.Repeat(`{"a":`, 63)+`{}`+strings.Repeat(`}`, 63))
	body := `{"id":"large","x":"` + strings.Repeat("x", 2<<20-len(`{"id":"large","x":""}`)) + `"}`
	s.Put("books", "large", body)
	s.WantDoc("books", "large", body)
	refuse(t, s, bad{"", 413, "too-large", "PUT", "/v1/books/large", body + " ", nil, nil})
	s.Put("books", "ids", `{"authors":[`+strings.Repeat(`{"id":"x"},`, 999)+`{"id":"x"}]}`)
}

const wrongModel = `
extra: 1
collections:
  Upper: {}
  list: []
  authors:
    colour: red
    unique: ["x[]", 7, y, y]
    relations:
      "a.b": {path: x, to: authors}
      nowhere: {path: x, to: nobody}
      half: {path: x}
      badpath: {path: "a[", to: authors}
      policy: {path: x, to: authors, onDelete: explode}
      later: {path: x, to: authors, onDelete: cascade, strict: true}
      own: {path: id, to: authors}
    derive:
      none: {}
      two: {copy: policy, count: authors.policy, value: doc.x}
      novalue: {copy: policy}
      syntax: {copy: policy, value: "doc."}
      clock: {copy: policy, value: "now()"}
      norel: {copy: nothing, value: doc.x}
      away: {count: authors.nothing}
      option: {count: authors.policy, limit: 3}
      limit: {ids: authors.policy, limit: 0}
      nonumber: {sum: authors.policy}
      deep: {max: authors.policy, of: "x[].y"}
      nofields: {recent: authors.policy, max: 3}
      nomax: {recent: authors.policy, fields: [id]}
      twice: {recent: authors.policy, max: 1, fields: [id, id]}
      toomany: {recent: authors.policy, max: 1001, fields: [id]}
      melting: {count: authors.policy, frozen: true}
      byDerived: {recent: authors.policy, max: 1, fields: [id], orderBy: count}
      ofDerived: {sum: authors.policy, of: count.x}
      count: {count: authors.policy}
      id: {count: authors.policy}
      _x: {count: authors.policy}
      "l[]": {ids: authors.policy}
      word: 3
    release: 7
  paged:
    relations: {a: {path: a, to: authors}}
    pages: {by: b, size: 0, of: 3}
  unpaged: {pages: {}}
`

// TestModelMistakesAreAllListed: one answer names every mistake and where it is.
func TestModelMistakesAreAllListed(t *testing.T) {
	s := harness.OpenTemp(t, badModel)
	before := s.Want(200, "GET", "/v1/_model", "")
	paths := []string{"extra", "collections.Upper", "collections.list", "collections.authors.colour", "collections.authors.unique",
		`collections.authors.relations.a.b`, "collections.authors.relations.nowhere.to", "collections.authors.relations.half",
		"collections.authors.relations.badpath.path", "collections.authors.relations.policy.onDelete",
		"collections.authors.relations.own.path", "collections.authors.release",
		"collections.paged.pages.by", "collections.paged.pages.size", "collections.paged.pages.of", "collections.unpaged.pages"}
	for _, rule := range []string{"none", "two", "novalue", "syntax", "clock", "norel", "away", "option", "limit", "nonumber", "deep", "nofields", "nomax", "twice", "toomany", "melting", "byDerived", "ofDerived", "id", "_x", "l[]", "word"} {
		paths = append(paths, fmt.Sprintf("collections.authors.derive[%q]", rule))
	}
	for _, query := range []string{"", "?dryRun=true"} {
		p := refuse(t, s, bad{"", 400, "invalid", "PUT", "/v1/_model" + query, wrongModel, []string{"Content-Type", "application/yaml"}, nil})
		for _, want := range paths {
			found := false
			for _, got := range p.Problems {
				found = found || got.Detail != "" && (got.Path == want || strings.HasPrefix(got.Path, want+"."))
			}
			if !found {
				t.Errorf("%q: no problem at %s", query, want)
			}
		}
		if t.Failed() {
			t.Fatalf("problems: %v", p.Problems)
		}
	}
	if after := s.Want(200, "GET", "/v1/_model", ""); string(after.Body) != string(before.Body) || after.Header.Get("ETag") != before.Header.Get("ETag") {
		t.Errorf("the model is now %s", after.Body)
	}
}

func TestBadModels(t *testing.T) {
	var table []bad
	for _, m := range []struct{ name, body, says string }{
		{"empty", ``, "mapping"}, {"word", `hello`, "mapping"}, {"not YAML", "a: [", "YAML"}, {"tabs", "collections:\n\tx: {}", "YAML"},
		{"not JSON", `{"collections":`, ""}, {"duplicate", "collections: {}\ncollections: {}", ""}, {"array", `[]`, "mapping"},
		{"bomb", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\ncollections: {}", ""},
		{"deep", "collections: " + strings.Repeat("{a: ", 200) + "1" + strings.Repeat("}", 200), ""},
		{"cycle", "collections: {a: {relations: {r: {path: r, to: a}}, derive: {x: {copy: r, value: doc.y}, y: {copy: r, value: doc.x}}}}", "itself"},
	} {
		table = append(table, bad{m.name, 400, "invalid", "PUT", "/v1/_model", m.body, []string{"Content-Type", "application/yaml"}, []string{m.says}})
	}
	table = append(table, bad{"type", 415, "unsupported-media", "PUT", "/v1/_model", `{}`, []string{"Content-Type", "text/plain"}, []string{"application/yaml"}},
		bad{"dryRun", 400, "invalid", "PUT", "/v1/_model?dryRun=yes", `{}`, nil, []string{"dryRun=yes"}},
		bad{"large", 413, "too-large", "PUT", "/v1/_model", strings.Repeat(" ", 1<<20+1), nil, []string{"1048576"}})
	refuseAll(t, table)
}

// TestHugeBodies: 100 MB, announced or not, are refused without being taken in.
func TestHugeBodies(t *testing.T) {
	s := harness.OpenTemp(t, badModel)
	s.Put("books", "b1", `{"title":"T"}`)
	for _, path := range []string{"PUT /v1/books/b1", "PATCH /v1/books/b1", "POST /v1/books", "PUT /v1/_model"} {
		for _, framing := range []string{"Content-Length: 104857600", "Transfer-Encoding: chunked"} {
			t.Run(path+" "+framing, func(t *testing.T) { hugeBody(t, s, path, framing) })
		}
	}
	s.WantDoc("books", "b1", `{"id":"b1","title":"T"}`)
}

func hugeBody(t *testing.T, s *harness.Store, path, framing string) {
	conn, err := net.Dial("tcp", s.Node.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	contentType := "application/json"
	if strings.HasPrefix(path, "PATCH") {
		contentType = mergeType
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var taken int
	var wg sync.WaitGroup
	wg.Go(func() {
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\n%s\r\n\r\n", path, contentType, framing)
		chunk := append([]byte(nil), strings.Repeat(" ", 1<<16)...)
		if strings.Contains(framing, "chunked") {
			chunk = []byte("10000\r\n" + string(chunk) + "\r\n")
		}
		for taken < 100<<20 {
			n, err := conn.Write(chunk)
			taken += n
			if err != nil { // the server has hung up
				return
			}
		}
	})
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(body), "urn:fanfold:problem:too-large") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	conn.Close()
	wg.Wait()
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 24<<20 || taken > 50<<20 {
		t.Errorf("the server allocated %d bytes and took %d", grown, taken)
	}
}

// TestClientThatDoesNotRead: a feed that nobody reads costs the others nothing.
func TestClientThatDoesNotRead(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	var feeds []net.Conn
	for _, feed := range []string{"feed=eventsource&mode=all&include_docs=true", "feed=eventsource", "feed=longpoll"} {
		conn, err := net.Dial("tcp", s.Node.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /v1/_changes?%s HTTP/1.1\r\nHost: x\r\n\r\n", feed)
		feeds = append(feeds, conn)
	}
	const writers, each = 8, 400
	pad := strings.Repeat("x", 4000)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				s.Put("books", fmt.Sprintf("%d-%d", w, i), `{"pad":"`+pad+`"}`)
			}
		})
	}
	wg.Wait()
	rows, _ := s.Changes("since=0")
	if len(rows) != writers*each {
		t.Errorf("%d changes, want %d", len(rows), writers*each)
	}
	s.Verify()
	begin := time.Now()
	s.Close()
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("closing took %v with %d feeds that nobody reads", took, len(feeds))
	}
}
