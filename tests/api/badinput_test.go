package api_test

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// put is a refused PUT of books/b1.
func put(name, body string, status int, code string, says ...string) harness.Refusal {
	return harness.Refusal{name, status, code, "PUT", "/v1/books/b1", body, []string{"Content-Type", "application/json"}, says}
}

func TestBadBodies(t *testing.T) {
	harness.RefuseAll(t, []harness.Refusal{
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
		put("two byte order marks", "\ufeff\ufeff{}", 400, "invalid", "byte 0"),
		put("a byte order mark later", " \ufeff{}", 400, "invalid", "byte 1"),
		put("a byte order mark at the end", "{}\ufeff", 400, "invalid", "byte 2"),
		put("a part of a byte order mark", "\xef\xbb{}", 400, "invalid", "byte 0"),
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
	get := func(name, path string, says ...string) harness.Refusal {
		return harness.Refusal{name, 400, "invalid", "GET", path, ``, nil, says}
	}
	harness.RefuseAll(t, []harness.Refusal{
		get("unknown parameter", "/v1/books/b1?veiw=embedded", `"veiw"`, "view"),
		get("unknown list parameter", "/v1/books?order=title", `"order"`, "limit"),
		get("unknown value", "/v1/books/b1?view=both", "view=both", "referenced"),
		get("repeated", "/v1/books/b1?view=embedded&view=embedded", `"view"`, "more than once"),
		get("semicolon", "/v1/books/b1?a;b", "query"),
		get("bad escape", "/v1/books/b1?view=%zz", "query"),
		get("consistency", "/v1/books/b1?consistency=local", "consistency=local", "strong"),
		get("expand", "/v1/books/b1?expand=publisher", "publisher", "books"),
		get("expand further", "/v1/books/b1?expand=authors.none", `"none"`, "authors"),
		get("expand deep", "/v1/books/b1?expand=a.a.a.a.a.a.a.a.a", "8 hops"),
		get("limit 0", "/v1/books?limit=0", "limit=0", "1000"),
		get("limit 1001", "/v1/books?limit=1001", "limit=1001"),
		get("limit word", "/v1/books?limit=ten", "limit=ten"),
		get("cursor garbage", "/v1/books?cursor=%21%21", "cursor=!!"),
		get("child cursor garbage", "/v1/authors/a1/books?cursor=eHg", "cursor=eHg"),
		get("relation", "/v1/authors/a1/books?relation=x", "relation=x", "authors"),
		get("collection name", "/v1/9books/b1", `"9books"`),
		get("collection long", "/v1/"+strings.Repeat("b", 65)+"/b1", "64"),
		get("id UTF-8", "/v1/books/%ff", "UTF-8"),
		get("since", "/v1/_changes?since=yesterday", "since=yesterday", "now"),
		get("since minus", "/v1/_changes?since=-1", "since=-1"),
		get("since sign", "/v1/_changes?since=1--1", "since=1--1"),
		get("since zeros", "/v1/_changes?since=01-0", "since=01-0"),
		get("since large", "/v1/_changes?since=99999999999999999999-0", "since=9999"),
		get("since change large", "/v1/_changes?since=1-1048576", "since=1-1048576"),
		get("feed", "/v1/_changes?feed=fast", "feed=fast", "longpoll", "continuous", "websocket"),
		get("mode", "/v1/_changes?mode=some", "mode=some", "latest"),
		get("feed limit", "/v1/_changes?limit=0", "limit=0"),
		get("heartbeat", "/v1/_changes?heartbeat=1", "heartbeat=1"),
		get("timeout", "/v1/_changes?timeout=-1", "timeout=-1"),
		get("include_docs", "/v1/_changes?include_docs=maybe", "include_docs=maybe"),
		get("collections", "/v1/_changes?collections=books,,x", "collection"),
		get("feed parameter", "/v1/_changes?filters=x", `"filters"`),
	})
}

func TestBadHeaders(t *testing.T) {
	header := func(name, header, value, says string) harness.Refusal {
		return harness.Refusal{name, 400, "invalid", "PUT", "/v1/books/b1", `{}`, []string{header, value}, []string{says}}
	}
	media := func(name, contentType string) harness.Refusal {
		return harness.Refusal{name, 415, "unsupported-media", "PUT", "/v1/books/b1", `{}`, []string{"Content-Type", contentType}, []string{"application/json", contentType}}
	}
	harness.RefuseAll(t, []harness.Refusal{
		{"Last-Event-ID", 400, "invalid", "GET", "/v1/_changes", ``, []string{"Last-Event-ID", "x"}, []string{"x"}},
		{"Min-Position", 400, "invalid", "GET", "/v1/books/b1", ``, []string{"Fanfold-Min-Position", "1.2"}, []string{`Fanfold-Min-Position: "1.2"`}},
		{"no media", 415, "unsupported-media", "PUT", "/v1/books/b1", `{}`, []string{"Content-Type", ""}, []string{"the header Content-Type is missing: send application/json"}},
		header("ETag bare", "If-Match", `7`, "quoted"),
		header("ETag with a blank", "If-Match", `"a b"`, "a b"),
		header("ETags without a comma", "If-Match", `"1" "2"`, `\"1\"`),
		header("weak ETag in small letters", "If-Match", `w/"1"`, "w/"),
		header("ETag list with *", "If-Match", `*, "1"`, "alone"),
		header("commas alone", "If-Match", `,,`, "no ETag"),
		header("ETag half", "If-Match", `"1`, "ETag"),
		header("ETag list", "If-Match", `"1.1-0.1", nonsense`, "nonsense"),
		header("If-None-Match in quotes", "If-None-Match", `"*"`, "quotes"),
		header("If-None-Match bare", "If-None-Match", `abc`, "quoted"),
		header("timeout word", "Fanfold-Timeout", `soon`, "soon"),
		header("timeout long", "Fanfold-Timeout", `61`, "60"),
		header("timeout negative", "Fanfold-Timeout", `-1`, "-1"),
		header("timeout NaN", "Fanfold-Timeout", `NaN`, "NaN"),
		{"both conditions", 400, "invalid", "PUT", "/v1/books/b1", `{}`, []string{"If-Match", "*", "If-None-Match", "*"}, []string{"exclude"}},
		{"both conditions, tags", 400, "invalid", "PUT", "/v1/books/b1", `{}`, []string{"If-Match", `"a"`, "If-None-Match", `"b"`}, []string{"exclude"}},
		{"If-Match on POST", 400, "invalid", "POST", "/v1/books", `{}`, []string{"If-Match", "*"}, []string{"POST"}},
		{"foreign If-Match on POST", 400, "invalid", "POST", "/v1/books", `{}`, []string{"If-Match", `"a"`}, []string{"POST"}},
		{"If-None-Match with a tag on POST", 400, "invalid", "POST", "/v1/books", `{}`, []string{"If-None-Match", `"a"`}, []string{"POST"}},
		{"no body PUT parameter", 400, "invalid", "PUT", "/v1/books/b1?view=embedded", `{}`, nil, []string{`"view"`}},
		media("no type", ""), media("text", "text/plain"), media("form", "application/x-www-form-urlencoded"),
		media("merge patch", "application/merge-patch+json"), media("xml", "application/xml"),
		{"encoding", 415, "unsupported-media", "PUT", "/v1/books/b1", `{}`, []string{"Content-Encoding", "br"}, []string{"Content-Encoding", "gzip"}},
		{"encoding empty", 415, "unsupported-media", "PUT", "/v1/books/b1", `{}`, []string{"Content-Encoding", ""}, []string{"Content-Encoding"}},
		{"encoding of a model", 415, "unsupported-media", "PUT", "/v1/_model", `{}`, []string{"Content-Encoding", "br"}, []string{"Content-Encoding"}},
		{"no gzip", 400, "invalid", "PUT", "/v1/books/b1", `{}`, []string{"Content-Encoding", "gzip"}, []string{"Content-Encoding"}},
		{"patch type", 415, "unsupported-media", "PATCH", "/v1/books/b1", `{}`, nil, []string{"merge-patch", "json-patch"}},
	})
}

func TestBadRoutes(t *testing.T) {
	harness.RefuseAll(t, []harness.Refusal{
		{"unknown route", 404, "not-found", "GET", "/v2/books", ``, nil, []string{"/openapi.json"}},
		{"root", 405, "method-not-allowed", "PUT", "/", `{}`, nil, []string{"method"}},
		{"route of ours", 404, "not-found", "GET", "/v1/_secret", ``, nil, []string{"_"}},
		{"child of ours", 404, "not-found", "GET", "/v1/books/b1/_secret", ``, nil, []string{"/openapi.json"}},
		{"method", 405, "method-not-allowed", "PUT", "/v1/books", `{}`, nil, []string{"method"}},
		{"method of ours", 405, "method-not-allowed", "DELETE", "/v1/_status", ``, nil, []string{"method"}},
		{"PUT of our route", 404, "not-found", "PUT", "/v1/_secret/x", `{}`, nil, []string{"_"}},
	})
}

func TestBadPatches(t *testing.T) {
	patch := func(name, body string, status int, code string, says ...string) harness.Refusal {
		return harness.Refusal{name, status, code, "PATCH", "/v1/books/b1", body, []string{"Content-Type", harness.PatchType}, says}
	}
	merge := func(name, body string, status int, code string, says ...string) harness.Refusal {
		return harness.Refusal{name, status, code, "PATCH", "/v1/books/b1", body, []string{"Content-Type", harness.MergeType}, says}
	}
	harness.RefuseAll(t, []harness.Refusal{
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

// TestOwnMembers: what a GET or a list adds may be written back, and goes.
func TestOwnMembers(t *testing.T) {
	s := harness.OpenTemp(t, harness.RefusalModel)
	s.Put("books", "b1", `{"_meta":{"rev":1},"title":"T","sub":{"_x":1},"_expanded":{}}`)
	s.WantDoc("books", "b1", `{"id":"b1","title":"T","sub":{"_x":1}}`)
	s.Merge("books", "b1", `{"sub":{"_y":[{"_z":2}]}}`)
	s.WantDoc("books", "b1", `{"id":"b1","title":"T","sub":{"_x":1,"_y":[{"_z":2}]}}`)
}

// TestLimitsAreExact: what is at a limit is taken.
func TestLimitsAreExact(t *testing.T) {
	s := harness.OpenTemp(t, harness.RefusalModel)
	s.Put("books", "deep", strings.Repeat(`{"a":`, 63)+`{}`+strings.Repeat(`}`, 63))
	body := `{"id":"large","x":"` + strings.Repeat("x", 2<<20-len(`{"id":"large","x":""}`)) + `"}`
	s.Put("books", "large", body)
	s.WantDoc("books", "large", body)
	harness.Refuse(t, s, harness.Refusal{"", 413, "too-large", "PUT", "/v1/books/large", body + " ", nil, nil})
	s.Put("books", "ids", `{"authors":[`+strings.Repeat(`{"id":"x"},`, 999)+`{"id":"x"}]}`)
}
