package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// refusedQuery is a query that is refused, and what the refusal names.
type refusedQuery struct{ name, value, says string }

// refusedQueries are refused as parameters and in bodies.
var refusedQueries = []refusedQuery{
	{"filter", "doc.a ==", "filter"},
	{"filter", "doc.a == 1 &&& doc.b", "column"},
	{"filter", "nobody.a == 1", "nobody"},
	{"filter", "doc.a + 1", "filter"},
	{"filter", `"x"`, "filter"},
	{"filter", "doc.a == params.x", "params.x"},
	{"filter", "doc.a.matches('(')", "filter"},
	{"filter", strings.Repeat("(", 25) + "doc.a == 1" + strings.Repeat(")", 25), "filter"},
	{"filter", "doc.a == 1" + strings.Repeat(" ", 4096), "filter"},
	{"filter", "doc.a == 1" + strings.Repeat(" && doc.a == 1", 200), "filter"},
	{"filter", "doc.a == 1\x00", "filter"},
	{"filter", "doc.a == \xff", "filter"},
	{"sort", "a..b", "sort"},
	{"sort", "tags[]", "sort"},
	{"sort", "-", "sort"},
	{"sort", "a,,b", "sort"},
	{"sort", "doc.x + nobody.y", "nobody"},
	{"group", "a,doc.x + nobody.y", "column"},
	{"compute", "count,sum(nobody(doc.x))", "column"},
	{"sort", "a,b,c,d,e,f,g,h,i", "sort"},
	{"group", "a,b,c,d,e", "group"},
	{"group", "a[],b[]", "group"},
	{"group", "a..b", "group"},
	{"filter", `doc.n > int("x")`, "column 12: this never has a value"}, {"filter", `doc.n < null`, "column 7: this never has a value"}, {"filter", `1/0 == 1`, "column 2: this never has a value"},
	{"filter", `meta.createdAt > timestamp("2026-11-28")`, "column 27: this never has a value"}, {"filter", `doc.s.matches("(" + "x")`, "column 19: error parsing regexp"},
	{"compute", "median(a)", "compute"},
	{"compute", "sum(", "compute"},
	{"compute", "sum()", "compute"},
	{"compute", "count(a)", "compute"},
	{"compute", strings.TrimSuffix(strings.Repeat("sum(a),", 17), ","), "compute"},
	{"fields", "a..b", "fields"},
	{"fields", strings.TrimSuffix(strings.Repeat("a,", 101), ","), "fields"},
	{"view", "x", "view"},
	{"expand", "nothing", "expand"},
	{"cursor", "x", "cursor"},
}

// refusedAlone are refused as parameters, whose values are text there.
var refusedAlone = []refusedQuery{
	{"limit", "0", "limit"}, {"limit", "1001", "limit"}, {"limit", "1.5", "limit"}, {"limit", "x", "limit"},
	{"maxScan", "0", "maxScan"}, {"maxScan", "100001", "maxScan"}, {"maxScan", "-1", "maxScan"},
	{"count", "yes", "count"}, {"partial", "1", "partial"}, {"explain", "TRUE", "explain"},
	{"params", "[]", "params"}, {"params", "{", "params"}, {"params", `{"a":1,"a":2}`, "params"}, {"params", "null", "params"},
	{"params", strings.Repeat(`{"a":`, 17) + "1" + strings.Repeat("}", 17), "params"},
	{"params", `{"a":"` + strings.Repeat("x", 17<<10) + `"}`, "params"},
	{"filters", "x", "filters"}, {"skip", "1", "skip"}, {"until", "1", "until"}, {"filter", "", "filter"}, {"sort", "", "sort"},
}

// TestBadQueries: a query that cannot be understood is a 400 that names the parameter at fault, by GET and by POST, before any
// document is looked at.
func TestBadQueries(t *testing.T) {
	s := openQueries(t)
	refused := func(r *harness.Response, c refusedQuery) {
		t.Helper()
		if r.Problem() != "urn:fanfold:problem:invalid" || !strings.Contains(string(r.Body), c.says) {
			t.Errorf("%s=%.60q: %s", c.name, c.value, r.Body)
		}
	}
	for _, c := range append(refusedQueries, refusedAlone...) {
		parameters := []string{c.name, c.value}
		if c.name == "expand" || c.name == "fields" || c.name == "view" || c.name == "cursor" {
			parameters = append(parameters, "filter", "doc.opened > 1")
		}
		refused(s.Want(http.StatusBadRequest, "GET", "/v1/tickets?"+queryText(parameters...), ""), c)
		refused(s.Want(http.StatusBadRequest, "GET", "/v1/customers/c0/tickets?"+queryText(parameters...), ""), c)
	}
	for _, c := range refusedQueries {
		value := any(c.value)
		switch c.name {
		case "sort", "group", "compute", "fields":
			value = params.Terms(c.value)
		}
		body, err := json.Marshal(map[string]any{c.name: value})
		if err != nil {
			t.Fatal(err)
		}
		if c.value == "doc.a == \xff" { // JSON has no such text
			body = []byte("{\"filter\":\"doc.a == \xff\"}")
			c.says = "UTF-8"
		}
		refused(s.Want(http.StatusBadRequest, "POST", "/v1/tickets/_query", string(body)), c)
	}
	for _, path := range []string{"/v1/tickets?ids=t01&", "/v1/tickets?id=t01&"} {
		for _, name := range []string{"filter", "sort", "group", "compute", "params", "count", "maxScan", "partial", "explain"} {
			refused(s.Want(http.StatusBadRequest, "GET", path+name+"=true", ""), refusedQuery{name, "true", name})
		}
	}
	for _, together := range [][]string{{"partial", "true", "count", "true"}, {"partial", "true", "group", "a"}, {"partial", "true", "sort", "title"}, {"count", "true", "group", "a"}, {"fields", "a", "group", "a"}, {"expand", "customer", "group", "a"}, {"group", "a", "sort", "b"}} {
		r := s.Want(http.StatusBadRequest, "GET", "/v1/tickets?"+queryText(together...), "")
		refused(r, refusedQuery{together[0], together[1], together[2]})
	}
}

// TestBadQueriesTellColumns: an error in an expression tells the column in the parameter's text, and in a body's list the entry and the
// column in it.
func TestBadQueriesTellColumns(t *testing.T) {
	s := openQueries(t)
	for _, c := range []struct{ name, text, list, byGet, byPost string }{
		{"filter", "doc.a == 1 && doc.b > params.c", "", "filter: column 23: params.c is not given", "filter: column 23: params.c is not given"},
		{"sort", "opened, -doc.x + nobody", `["opened","-doc.x + nobody"]`, "sort: column 18: ", "sort[1]: column 10: "},
		{"group", "status,doc.x + nobody", `["status","doc.x + nobody"]`, "group: column 16: ", "group[1]: column 9: "},
		{"compute", "count,avg(doc.hours + nobody)", `["count","avg(doc.hours + nobody)"]`, "compute: column 23: ", "compute[1]: column 17: "},
	} {
		list := c.list
		if list == "" {
			list = strconv.Quote(c.text)
		}
		got := s.Want(http.StatusBadRequest, "GET", "/v1/tickets?"+queryText(c.name, c.text), "")
		posted := s.Want(http.StatusBadRequest, "POST", "/v1/tickets/_query", fmt.Sprintf(`{%q:%s}`, c.name, list))
		if !strings.Contains(string(got.Body), c.byGet) || !strings.Contains(string(posted.Body), c.byPost) {
			t.Errorf("%s=%s: %s and %s", c.name, c.text, got.Body, posted.Body)
		}
	}
}

// TestBadQueryBodies: a body that is no query is a 400 that names the member at fault, or a 413 or 415.
func TestBadQueryBodies(t *testing.T) {
	s := openQueries(t)
	for body, says := range map[string]string{
		``:                              "JSON",
		`[]`:                            "object",
		`{"filters":"x"}`:               "filters",
		`{"filter":1}`:                  "filter",
		`{"filter":null}`:               "filter",
		`{"filter":""}`:                 "filter",
		`{"sort":"a"}`:                  "sort",
		`{"sort":[1]}`:                  "sort",
		`{"sort":[""]}`:                 "sort",
		`{"limit":"1"}`:                 "limit",
		`{"limit":0}`:                   "limit",
		`{"limit":1001}`:                "limit",
		`{"limit":1.5}`:                 "limit",
		`{"maxScan":1e9}`:               "maxScan",
		`{"count":"true"}`:              "count",
		`{"partial":1}`:                 "partial",
		`{"params":[]}`:                 "params",
		`{"params":"{}"}`:               "params",
		`{"filter":"true","Filter":""}`: "Filter",
		`{"filter":"doc.a==1","filter":"doc.a==2"}`: "filter",
		`{"view":"x"}`:            "view",
		`{"expand":"none"}`:       "expand",
		`{"ids":["t01"]}`:         "ids",
		`{"relation":"customer"}`: "relation",
	} {
		r := s.Want(http.StatusBadRequest, "POST", "/v1/tickets/_query", body)
		if !strings.Contains(string(r.Body), says) {
			t.Errorf("%s: %s", body, r.Body)
		}
	}
	s.Want(http.StatusUnsupportedMediaType, "POST", "/v1/tickets/_query", `{}`, "Content-Type", "text/plain")
	s.Want(http.StatusRequestEntityTooLarge, "POST", "/v1/tickets/_query", `{"filter":"`+strings.Repeat("x", 64<<10)+`"}`)
	s.Want(http.StatusBadRequest, "POST", "/v1/tickets/_query", `{}`, "If-Match", "*")
	s.Want(http.StatusBadRequest, "POST", "/v1/tickets/_query", `{}`, "Idempotency-Key", "k")
	s.Want(http.StatusBadRequest, "POST", "/v1/tickets/_query?limit=1", `{}`)
	s.Want(http.StatusBadRequest, "POST", "/v1/tickets/_query", strings.Repeat(`{"params":`, 20)+"1"+strings.Repeat("}", 20))
	largest := `{"filter":"doc.opened == 3","params":{"a":"` + strings.Repeat("x", 16<<10-8) + `"}}`
	s.Want(http.StatusOK, "POST", "/v1/tickets/_query", largest)
}

// TestHostileQueries: whatever a query has, the answer comes soon, and is a page or a refusal.
func TestHostileQueries(t *testing.T) {
	s := openQueries(t)
	numbers := make([]string, 700)
	for i := range numbers {
		numbers[i] = fmt.Sprint(i)
	}
	bodies := []string{
		`{"sort":["` + strings.Join(slicesRepeat("t", 10_000), `","`) + `"]}`,
		`{"group":["` + strings.Join(slicesRepeat("t", 10_000), `","`) + `"]}`,
		`{"compute":["` + strings.Join(slicesRepeat("count", 5_000), `","`) + `"]}`,
		`{"fields":["` + strings.Repeat("a[]", 5_000) + `"]}`,
		`{"fields":["` + strings.Repeat("a.", 20_000) + `a"]}`,
		`{"filter":"doc.title == \"a\u0000b\""}`,
		`{"filter":"doc.opened in params.list","params":{"list":[` + strings.Join(numbers, ",") + `]}}`,
		`{"filter":"doc.title.matches(params.r)","params":{"r":"(a+)+$"}}`,
		`{"filter":"doc.title.matches(params.r)","params":{"r":"` + strings.Repeat("(", 500) + strings.Repeat(")*", 500) + `"}}`,
		`{"filter":"doc.tags.all(x, doc.tags.all(y, doc.tags.all(z, x + y + z != \"\")))"}`,
		`{"filter":"[1,2,3].exists(x, [1,2,3].exists(y, [1,2,3].exists(z, x * y * z == 28)))"}`,
		`{"filter":"doc.opened == 1e400 || doc.opened < -1e400"}`,
		`{"filter":"doc.opened < params.n","params":{"n":1e100000}}`,
		`{"filter":"doc.opened / 0 == 1 || doc.opened > 28"}`,
		`{"filter":"doc.opened * 9223372036854775807 > 1"}`,
		`{"filter":"doc.title == params.__proto__","params":{"__proto__":"Ticket 1"}}`,
		`{"filter":"doc[\"title\"] == \"Ticket 1\" || doc[params.k] == 1","params":{"k":"opened"}}`,
		`{"sort":["lower(upper(lower(doc.title)))","-` + strings.Repeat("a.", 500) + `a"]}`,
		`{"group":["doc.title + doc.title + doc.title"],"compute":["max(doc.title + \"x\")","sum(title)"]}`,
		`{"cursor":"` + strings.Repeat("A", 16<<10) + `"}`,
	}
	for _, body := range bodies {
		r, err := s.Do("POST", "/v1/tickets/_query", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != http.StatusOK && r.Status != http.StatusBadRequest && r.Status != http.StatusUnprocessableEntity {
			t.Errorf("%.100s: %d %s", body, r.Status, harness.Clipped(r.Body))
		}
	}
	s.Verify()
}

// slicesRepeat returns a text so many times.
func slicesRepeat(text string, times int) []string {
	out := make([]string, times)
	for i := range out {
		out[i] = text
	}
	return out
}

// TestQueriesOfPages: pages read from other origins query where they may read, and without asking first they do not.
func TestQueriesOfPages(t *testing.T) {
	suite.Parallel(t)
	s := openQueries(t)
	foreign := []string{"Origin", "https://other.example", "Sec-Fetch-Site", "cross-site"}
	s.Want(http.StatusOK, "POST", "/v1/tickets/_query", `{"limit":1}`, foreign...)
	s.Want(http.StatusForbidden, "POST", "/v1/tickets", `{"limit":1}`, foreign...)
	s.Want(http.StatusUnsupportedMediaType, "POST", "/v1/tickets/_query", `{"limit":1}`, append(foreign, "Content-Type", "text/plain")...)
	shared := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.Origins = []string{"*"} }})
	defer shared.Close()
	for path, methods := range map[string]string{"/v1/tickets/_query": "POST,GET,HEAD", "/v1/tickets": "GET,HEAD", "/v1/tickets/a/_query": "GET,HEAD"} {
		r := shared.Want(http.StatusNoContent, "OPTIONS", path, "", "Origin", "https://other.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type")
		if got := r.Header.Get("Access-Control-Allow-Methods"); got != methods {
			t.Errorf("pages of other origins may send %s to %s", got, path)
		}
	}
	shared.Put("tickets", "t", `{}`)
	if r := shared.Want(http.StatusOK, "POST", "/v1/tickets/_query", `{}`, foreign...); r.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("the answer may not be read: %v", r.Header)
	}
}
