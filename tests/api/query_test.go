package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// queryModel has an index for each of the ways in which the tests ask.
const queryModel = `
collections:
  customers: { derive: { countOfTickets: { count: tickets.customer } } }
  tickets:
    relations: { customer: { path: customerId, to: customers } }
    derive: { customerName: { copy: customer, value: doc.name } }
    indexes:
      byCustomer: [customerId, -opened]
      byTag: ["tags[]"]
      byStatus: [status, hours]
`

// ticketCount is how many tickets openQueries makes.
const ticketCount = 60

// openQueries opens a store with customers and their tickets.
func openQueries(t testing.TB) *harness.Store {
	t.Helper()
	s := harness.OpenTemp(t, queryModel)
	for i := range 3 {
		s.Put("customers", fmt.Sprint("c", i), fmt.Sprintf(`{"name":"Customer %d"}`, i))
	}
	for i := range ticketCount {
		status := []string{`"open"`, `"done"`, "null", ""}[i%4]
		if status != "" {
			status = `"status":` + status + ","
		}
		s.Put("tickets", fmt.Sprintf("t%02d", i), fmt.Sprintf(`{"customerId":"c%d","opened":%d,%s"hours":%d.5,"tags":["a%d","b%d"],"lines":[{"sku":"s%d","qty":%d}],"title":"Ticket %d"}`,
			i%3, i/2, status, i%7, i%2, i%5, i%4, i, i))
	}
	return s
}

// answered is the answer to a query.
type answered struct {
	Items   []item
	Next    string
	Count   *int64
	Groups  []struct{ Key, Values json.RawMessage }
	Explain json.RawMessage
}

// ids returns the ids of the documents, with spaces between.
func (a *answered) ids() string {
	ids := make([]string, len(a.Items))
	for i, it := range a.Items {
		ids[i] = it.ID
	}
	return strings.Join(ids, " ")
}

// askQuery sends a query by GET. The parameters are name, value, name, value.
func askQuery(t testing.TB, s *harness.Client, path string, parameters ...string) *answered {
	t.Helper()
	r := s.Want(http.StatusOK, "GET", path+"?"+queryText(parameters...), "")
	if r.Header.Get("Fanfold-Position") == "" {
		t.Error("an answer has no Fanfold-Position")
	}
	return readAnswer(t, r)
}

// readAnswer reads the answer to a query.
func readAnswer(t testing.TB, r *harness.Response) *answered {
	t.Helper()
	a := &answered{}
	if err := json.Unmarshal(r.Body, a); err != nil {
		t.Fatal(err)
	}
	return a
}

// queryText returns parameters as a query string.
func queryText(parameters ...string) string {
	q := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	return q.Encode()
}

// metaOf finds the metadata of a document in a list.
var metaOf = regexp.MustCompile(`,"_meta":\{[^}]*\}`)

// TestPlainLists: a list without a parameter of queries has the bytes that it always had, and its cursors stay what they were.
func TestPlainLists(t *testing.T) {
	s := openQueries(t)
	var want []string
	for i := range 3 {
		want = append(want, s.Get("tickets", fmt.Sprintf("t%02d", i)))
	}
	body := string(s.Want(http.StatusOK, "GET", "/v1/tickets?limit=3", "").Body)
	next := `,"next":"U8ev3nRpY2tldHMAdDAy"}`
	if got := metaOf.ReplaceAllString(body, ""); got != `{"items":[`+strings.Join(want, ",")+"]"+next {
		t.Errorf("the list is\n%s", got)
	}
	whole := string(s.Want(http.StatusOK, "GET", "/v1/tickets?limit=3&cursor="+strings.Split(next, `"`)[3], "").Body)
	if !strings.HasPrefix(whole, `{"items":[{"id":"t03"`) {
		t.Errorf("the next page is %s", whole)
	}
}

// TestQueryParameters: each parameter does what docs/use/query.md says, by GET and, in a body, by POST.
func TestQueryParameters(t *testing.T) {
	s := openQueries(t)
	for _, c := range []struct {
		want       string // ids
		parameters []string
		body       string
	}{
		{"t57 t54 t51", []string{"filter", `doc.customerId == "c0" && doc.opened >= 25`, "sort", "-opened"},
			`{"filter":"doc.customerId == \"c0\" && doc.opened >= 25","sort":["-opened"]}`},
		{"t57 t54 t51", []string{"filter", `doc.customerId == params.c && doc.opened >= params.o`, "params", `{"c":"c0","o":25}`, "sort", "-opened"},
			`{"filter":"doc.customerId == params.c && doc.opened >= params.o","params":{"c":"c0","o":25},"sort":["-opened"]}`},
		{"t59 t58", []string{"sort", "-opened", "limit", "2"}, `{"sort":["-opened"],"limit":2}`},
		{"t00 t01", []string{"sort", "opened", "limit", "2"}, `{"sort":["opened"],"limit":2}`},
		{"t03 t07 t11", []string{"sort", "status", "limit", "3"}, `{"sort":["status"],"limit":3}`},                                   // absent comes first,
		{"t56 t52 t48", []string{"sort", "-status", "limit", "3"}, `{"sort":["-status"],"limit":3}`},                                 // and last the other way
		{"t02 t06", []string{"filter", "doc.status == null && doc.opened < 4"}, `{"filter":"doc.status == null && doc.opened < 4"}`}, // null is not absent
		{"t04 t09 t14 t19", []string{"filter", `"b4" in doc.tags && doc.opened < 10`}, `{"filter":"\"b4\" in doc.tags && doc.opened < 10"}`},
		{"t05", []string{"filter", `doc.title.endsWith(" 5")`}, `{"filter":"doc.title.endsWith(\" 5\")"}`},
		{"t59 t58", []string{"sort", `-lower(doc.title),opened`, "filter", "doc.opened >= 29"}, `{"sort":["-lower(doc.title)","opened"],"filter":"doc.opened >= 29"}`},
		{"t58 t55", []string{"filter", `doc.customerName == "Customer 1"`, "sort", "-_meta.createdAt", "limit", "2"}, `{"filter":"doc.customerName == \"Customer 1\"","sort":["-_meta.createdAt"],"limit":2}`},
		{"", []string{"filter", "doc.nothing > 1"}, `{"filter":"doc.nothing > 1"}`},
	} {
		got := askQuery(t, s.Client, "/v1/tickets", c.parameters...)
		ids := strings.Fields(got.ids())
		if !slices.Contains(c.parameters, "sort") { // then the plan gives the order
			slices.Sort(ids)
		}
		if strings.Join(ids, " ") != c.want {
			t.Errorf("%q has %s, want %s", c.parameters, got.ids(), c.want)
		}
		posted := s.Want(http.StatusOK, "POST", "/v1/tickets/_query", c.body)
		asked := s.Want(http.StatusOK, "GET", "/v1/tickets?"+queryText(c.parameters...), "")
		if string(posted.Body) != string(asked.Body) || posted.Header.Get("Fanfold-Position") != asked.Header.Get("Fanfold-Position") {
			t.Errorf("%s\nis answered by POST with\n%s\nand by GET with\n%s", c.body, posted.Body, asked.Body)
		}
	}
}

// TestQueryPages: pages lead from one to the next, in every order and both ways, and have each document once.
func TestQueryPages(t *testing.T) {
	s := openQueries(t)
	for _, parameters := range [][]string{
		{"filter", "doc.opened >= 0"}, {"sort", "opened"}, {"sort", "-opened"}, {"sort", "status"}, {"sort", "-status,hours"},
		{"filter", `doc.customerId in ["c0", "c1", "c2"]`, "sort", "-opened"}, {"filter", `doc.tags.exists(x, x.startsWith("a"))`}, {"sort", "lower(doc.title)"},
	} {
		whole := askQuery(t, s.Client, "/v1/tickets", append([]string{"limit", "1000"}, parameters...)...)
		var ids []string
		for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
			page := askQuery(t, s.Client, "/v1/tickets", append([]string{"limit", "7", "cursor", cursor}, parameters...)...)
			for _, it := range page.Items {
				ids = append(ids, it.ID)
			}
			if cursor = page.Next; pages > 20 {
				t.Fatal("the pages have no end")
			}
		}
		if strings.Join(ids, " ") != whole.ids() || len(ids) != ticketCount {
			t.Errorf("%q: the pages have %q, and all at once %q", parameters, ids, whole.ids())
		}
	}
}

// TestQueryCursors: a cursor belongs to its request, whatever fields, limit and view it has, and to no other.
func TestQueryCursors(t *testing.T) {
	s := openQueries(t)
	next := askQuery(t, s.Client, "/v1/tickets", "sort", "-opened", "limit", "2").Next
	same := askQuery(t, s.Client, "/v1/tickets", "sort", "-opened", "limit", "3", "fields", "opened", "cursor", next)
	if same.ids() != "t57 t56 t55" {
		t.Errorf("the next page is %s", same.ids())
	}
	for _, other := range [][]string{{"sort", "opened"}, {"sort", "-opened", "filter", "doc.opened > 1"}, {"sort", "-opened,hours"}} {
		r := s.Want(http.StatusBadRequest, "GET", "/v1/tickets?"+queryText(append(other, "cursor", next)...), "")
		if !strings.Contains(string(r.Body), "cursor") {
			t.Errorf("%q: %s", other, r.Body)
		}
	}
	for _, wrong := range []string{"x", next + "A", next[:len(next)-2], "U8ev3nRpY2tldHMAdDAy", strings.Repeat("A", 20_000)} {
		r := s.Want(http.StatusBadRequest, "GET", "/v1/tickets?"+queryText("sort", "-opened", "cursor", wrong), "")
		if !strings.Contains(string(r.Body), "cursor") {
			t.Errorf("%.40s: %s", wrong, r.Body)
		}
	}
	s.Want(http.StatusBadRequest, "GET", "/v1/tickets?"+queryText("cursor", next), "")
	s.Want(http.StatusBadRequest, "GET", "/v1/customers?"+queryText("sort", "-opened", "cursor", next), "")
}

// TestQueryFields: fields keeps paths of lists, children, fixed sets of ids and queries, with metadata and what is expanded.
func TestQueryFields(t *testing.T) {
	s := openQueries(t)
	const want = `{"id":"t05","lines":[{"sku":"s1"}],"title":"Ticket 5"}`
	for _, path := range []string{"/v1/tickets?ids=t05&", "/v1/tickets?filter=doc.title%3D%3D%22Ticket+5%22&", "/v1/customers/c2/tickets?limit=1&filter=doc.opened%3D%3D2&", "/v1/tickets?id=t05&"} {
		r := s.Want(http.StatusOK, "GET", path+"fields=title,lines%5B%5D.sku,nothing", "")
		if got := metaOf.ReplaceAllString(string(r.Body), ""); !strings.HasPrefix(got, `{"items":[`+want+`]`) || !strings.Contains(string(r.Body), `"_meta":{"rev":`) {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	plain := string(s.Want(http.StatusOK, "GET", "/v1/tickets?fields=title&limit=1&expand=customer", "").Body)
	if got := metaOf.ReplaceAllString(plain, ""); !strings.HasPrefix(got, `{"items":[{"id":"t00","title":"Ticket 0","_expanded":{"customer":{"c0":{"id":"c0",`) {
		t.Errorf("what is not kept is not expanded: %s", plain)
	}
	children := string(s.Want(http.StatusOK, "GET", "/v1/customers/c0/tickets?limit=1&fields=opened", "").Body)
	if got := metaOf.ReplaceAllString(children, ""); !strings.HasPrefix(got, `{"items":[{"id":"t00","opened":0}]`) {
		t.Errorf("the children are %s", children)
	}
}

// TestQueryBesideOthers: view, expand, relation and the levels of consistency mean what they do without a filter, which looks at
// the embedded view.
func TestQueryBesideOthers(t *testing.T) {
	s := openQueries(t)
	filter := []string{"filter", `doc.customerName == "Customer 1" && doc.opened == 0`}
	r := s.Want(http.StatusOK, "GET", "/v1/tickets?"+queryText(append(filter, "view", "referenced", "expand", "customer")...), "")
	if got := string(r.Body); !strings.Contains(got, `"id":"t01"`) || strings.Contains(got, "customerName") || !strings.Contains(got, `"_expanded":{"customer":{"c1":{`) {
		t.Errorf("the referenced view is %s", got)
	}
	children := askQuery(t, s.Client, "/v1/customers/c1/tickets", "filter", "doc.opened < 3", "relation", "customer", "sort", "-opened")
	if children.ids() != "t04 t01" {
		t.Errorf("the children are %s", children.ids())
	}
	if counted := askQuery(t, s.Client, "/v1/customers/c1/tickets", "count", "true", "limit", "1"); counted.Count == nil || *counted.Count != ticketCount/3 {
		t.Errorf("the children are counted as %v", counted.Count)
	}
	s.Want(http.StatusNotFound, "GET", "/v1/customers/none/tickets?count=true", "")
	s.Want(http.StatusNotFound, "GET", "/v1/customers/c1/customers?count=true", "")
	written := s.Put("tickets", "late", `{"customerId":"c9","opened":1}`)
	for _, headers := range [][]string{{"Fanfold-Min-Position", written.Header.Get("Fanfold-Position")}, nil} {
		path := "/v1/tickets/_query?consistency=strong"
		if headers != nil {
			path = "/v1/tickets/_query?consistency=session"
		}
		if r := s.Want(http.StatusOK, "POST", path, `{"filter":"doc.customerId == \"c9\""}`, headers...); !strings.Contains(string(r.Body), `"id":"late"`) {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	s.Want(http.StatusBadRequest, "POST", "/v1/tickets/_query?consistency=session", `{}`)
	s.Want(http.StatusGatewayTimeout, "POST", "/v1/tickets/_query", `{}`, "Fanfold-Min-Position", strings.Replace(written.Header.Get("Fanfold-Position"), "-", "9-", 1), "Fanfold-Timeout", "10ms")
}

// TestQueryCounts: count is exact on every page, and there only where it was asked for.
func TestQueryCounts(t *testing.T) {
	s := openQueries(t)
	for _, c := range []struct {
		want       int64
		parameters []string
	}{
		{ticketCount, []string{"count", "true", "limit", "1"}},
		{ticketCount / 4, []string{"count", "true", "limit", "1", "filter", `doc.status == "open"`}},
		{ticketCount / 5, []string{"count", "true", "filter", `"b1" in doc.tags`}},
		{0, []string{"count", "true", "filter", `doc.title == ""`}},
	} {
		a := askQuery(t, s.Client, "/v1/tickets", c.parameters...)
		if a.Count == nil || *a.Count != c.want {
			t.Errorf("%q counts %v, want %d", c.parameters, a.Count, c.want)
		}
		if a.Next == "" {
			continue
		}
		if a = askQuery(t, s.Client, "/v1/tickets", append(c.parameters, "cursor", a.Next)...); a.Count == nil || *a.Count != c.want {
			t.Errorf("%q counts %v on the second page, want %d", c.parameters, a.Count, c.want)
		}
	}
	if a := askQuery(t, s.Client, "/v1/tickets", "filter", "doc.opened > 1"); a.Count != nil {
		t.Errorf("%d are counted though nobody asked", *a.Count)
	}
}

// TestQueryGroups: groups have the keys and values that were asked for, named as they were asked for, in order and in pages.
func TestQueryGroups(t *testing.T) {
	s := openQueries(t)
	for _, c := range []struct {
		want       string
		parameters []string
	}{
		{`{"groups":[{"key":{},"values":{"count":60,"sum(hours)":204,"min(hours)":0.5,"max(hours)":6.5,"distinct(customerId)":3}}]}`,
			[]string{"compute", "count,sum(hours),min(hours),max(hours),distinct(customerId)"}},
		{`{"groups":[{"key":{},"values":{"count":15}},{"key":{"status":null},"values":{"count":15}},{"key":{"status":"done"},"values":{"count":15}},{"key":{"status":"open"},"values":{"count":15}}]}`,
			[]string{"group", "status"}},
		{`{"groups":[{"key":{"tags[]":"a0"},"values":{"count":30}},{"key":{"tags[]":"a1"},"values":{"count":30}},`, []string{"group", "tags[]", "sort", "-count", "limit", "2"}},
		{`{"groups":[{"key":{"customerId":"c1","status":"open"},"values":{"avg(opened)":`, []string{"group", "customerId,status", "compute", "avg(opened)", "filter", `doc.customerId == "c1" && doc.status == "open"`}},
	} {
		got := string(s.Want(http.StatusOK, "GET", "/v1/tickets?"+queryText(c.parameters...), "").Body)
		if want := strings.TrimSuffix(c.want, ","); !strings.HasPrefix(got, want) {
			t.Errorf("%q gives\n%s\nwant\n%s", c.parameters, got, want)
		}
	}
	var keys []string
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		page := askQuery(t, s.Client, "/v1/tickets", "group", "lines[].sku", "limit", "3", "cursor", cursor)
		for _, g := range page.Groups {
			keys = append(keys, string(g.Key))
		}
		if cursor = page.Next; pages > 5 {
			t.Fatal("the pages have no end")
		}
	}
	if fmt.Sprint(keys) != `[{"lines[].sku":"s0"} {"lines[].sku":"s1"} {"lines[].sku":"s2"} {"lines[].sku":"s3"}]` {
		t.Errorf("the keys are %s", keys)
	}
	posted := s.Want(http.StatusOK, "POST", "/v1/tickets/_query", `{"group":["customerId"],"compute":["count"],"sort":["-count"]}`)
	asked := s.Want(http.StatusOK, "GET", "/v1/tickets?group=customerId&compute=count&sort=-count", "")
	if string(posted.Body) != string(asked.Body) {
		t.Errorf("by POST %s, by GET %s", posted.Body, asked.Body)
	}
}

// planOf asks how a query is answered.
func planOf(t testing.TB, s *harness.Client, parameters ...string) (p struct {
	Index              *string
	Conditions         []string
	Order, Residual    string
	Documents, Matched int64
	NoValue            int64
	Complete           bool
	Suggest            json.RawMessage
}) {
	t.Helper()
	a := askQuery(t, s, "/v1/tickets", append(parameters, "explain", "true")...)
	if err := json.Unmarshal(a.Explain, &p); err != nil || a.Items != nil {
		t.Fatalf("%v in %s", err, a.Explain)
	}
	return p
}

// TestQueryExplain: explain says which index is walked, what is left to ask, and what was looked at.
func TestQueryExplain(t *testing.T) {
	s := openQueries(t)
	for _, c := range []struct {
		index, order, residual string
		documents              int64 // at most
		parameters             []string
	}{
		{"byCustomer", "index", "", 20, []string{"filter", `doc.customerId == "c0"`, "sort", "-opened"}},
		{"byCustomer", "index", "", 20, []string{"filter", `doc.customerId == "c0"`, "sort", "opened"}},
		{"byTag", "plan", "", 12, []string{"filter", `"b1" in doc.tags`}},
		{"byStatus", "plan", `doc.title.contains("x")`, 15, []string{"filter", `doc.status == "open" && doc.title.contains("x")`}},
		{"", "plan", `doc.title.contains("x")`, ticketCount, []string{"filter", `doc.title.contains("x")`}},
		{"", "sorted", "", ticketCount, []string{"sort", "title"}},
		{"id", "plan", `doc.id == "t07"`, 1, []string{"filter", `doc.id == "t07"`}},
	} {
		p := planOf(t, s.Client, c.parameters...)
		index := ""
		if p.Index != nil {
			index = *p.Index
		}
		if index != c.index || p.Order != c.order || p.Residual != c.residual || p.Documents > c.documents || !p.Complete {
			t.Errorf("%q: %+v", c.parameters, p)
		}
	}
	if p := planOf(t, s.Client, "filter", `doc.nothing.x == 1`); p.NoValue != ticketCount {
		t.Errorf("%d documents have no value", p.NoValue)
	}
	if p := planOf(t, s.Client, "group", "status"); p.Index == nil || *p.Index != "byStatus" || p.Documents != 0 {
		t.Errorf("groups that an index holds are made by %+v", p)
	}
	r := s.Want(http.StatusOK, "POST", "/v1/tickets/_query", `{"explain":true,"filter":"doc.opened > 1"}`)
	if !strings.HasPrefix(string(r.Body), `{"explain":{"index":`) {
		t.Errorf("by POST %s", r.Body)
	}
}

// TestQueryNeedsIndex: a request past its bounds is refused with the index that it lacks, as a patch that can be sent as it is. The
// same request is answered by that index then.
func TestQueryNeedsIndex(t *testing.T) {
	s := openQueries(t)
	for i, parameters := range [][]string{
		{"filter", `doc.title == "Ticket 7"`, "maxScan", "10"},
		{"filter", `doc.hours > 5`, "sort", "-hours", "limit", "5", "maxScan", "20"},
		{"sort", "-opened,title", "limit", "10", "maxScan", "50"},
		{"group", "customerName", "maxScan", "59"},
	} {
		r := s.Want(http.StatusUnprocessableEntity, "GET", "/v1/tickets?"+queryText(parameters...), "")
		var p struct {
			Type, Detail string
			Suggest      json.RawMessage
		}
		if err := json.Unmarshal(r.Body, &p); err != nil || p.Type != "urn:fanfold:problem:needs-index" || p.Suggest == nil {
			t.Errorf("%q: %s", parameters, r.Body)
			continue
		}
		explained := planOf(t, s.Client, parameters...)
		if explained.Complete || string(explained.Suggest) != string(p.Suggest) {
			t.Errorf("%q is explained by %+v", parameters, explained)
		}
		before := declaredIndexes(t, s)
		s.Want(http.StatusOK, "PATCH", "/v1/_model", string(p.Suggest), "Content-Type", harness.MergeType)
		after := declaredIndexes(t, s)
		added := slices.DeleteFunc(after, func(name string) bool { return slices.Contains(before, name) })
		if len(added) != 1 || !strings.Contains(p.Detail, added[0]) {
			t.Fatalf("%d: the patch %s declares %q; the detail is %s", i, p.Suggest, added, p.Detail)
		}
		s.Want(http.StatusOK, "GET", "/v1/tickets?"+queryText(parameters...), "")
		if p := planOf(t, s.Client, parameters...); p.Index == nil || *p.Index != added[0] || !p.Complete {
			t.Errorf("%q is answered by %+v, want the index %s", parameters, p, added[0])
		}
	}
	r := s.Want(http.StatusUnprocessableEntity, "GET", "/v1/tickets?"+queryText("filter", `doc.customerName.contains("9")`, "maxScan", "10"), "")
	if strings.Contains(string(r.Body), "suggest") || r.Problem() != "urn:fanfold:problem:needs-index" {
		t.Errorf("where no index helps the answer is %s", r.Body)
	}
	found := 0
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		page := askQuery(t, s.Client, "/v1/tickets", "filter", `doc.customerName.contains("2")`, "maxScan", "10", "partial", "true", "cursor", cursor)
		found += len(page.Items)
		if cursor = page.Next; pages > ticketCount {
			t.Fatal("the pages have no end")
		}
	}
	if found != ticketCount/3 {
		t.Errorf("partial pages have %d documents", found)
	}
}

// declaredIndexes returns the names of the indexes of tickets.
func declaredIndexes(t testing.TB, s *harness.Store) (names []string) {
	t.Helper()
	for _, x := range statusOf(t, s.Client).Indexes {
		if x.Collection == "tickets" {
			names = append(names, x.Name)
		}
	}
	return names
}

// queryStatus is what a node's status says of queries.
type queryStatus struct {
	Indexes []struct {
		Collection, Name string
		Entries, Queries int64
	}
	Queries []struct {
		Collection, Filter, Sort, Group string
		Queries, Documents, Given       int64
		Suggest                         json.RawMessage
	}
}

// statusOf returns a node's status.
func statusOf(t testing.TB, c *harness.Client) (st queryStatus) {
	t.Helper()
	if err := json.Unmarshal(c.Want(http.StatusOK, "GET", "/v1/_status", "").Body, &st); err != nil {
		t.Fatal(err)
	}
	return st
}

// TestQueryStatus: the status has the indexes, with how often each has served. It has the shapes of queries without their constants,
// those first that looked at the most for what they gave.
func TestQueryStatus(t *testing.T) {
	s := openQueries(t)
	for i := range 5 {
		askQuery(t, s.Client, "/v1/tickets", "filter", fmt.Sprintf(`doc.title.contains("secret%d") && doc.hours > params.h`, i), "params", `{"h":4711}`)
	}
	askQuery(t, s.Client, "/v1/tickets", "filter", `doc.customerId == "c1"`)
	st := statusOf(t, s.Client)
	if len(st.Queries) != 2 || st.Queries[0].Queries != 5 || st.Queries[0].Documents < 5 || st.Queries[0].Given != 0 {
		t.Errorf("the shapes are %+v", st.Queries)
	}
	if text, err := json.Marshal(st); err != nil || strings.Contains(string(text), "secret") || strings.Contains(string(text), "4711") || strings.Contains(string(text), "c1") {
		t.Errorf("a constant is told in %s, %v", text, err)
	}
	for _, x := range st.Indexes {
		if want := map[string]int64{"byCustomer": 1}[x.Name]; x.Queries < want || x.Name == "byTag" && (x.Entries != 2*ticketCount || x.Queries != 0) || x.Name == "byCustomer" && x.Entries != ticketCount {
			t.Errorf("an index is told as %+v", x)
		}
	}
	metrics := string(s.Want(http.StatusOK, "GET", "/metrics", "").Body)
	for _, line := range []string{`fanfold_index_entries{collection="tickets",index="byTag"} ` + strconv.Itoa(2*ticketCount), `fanfold_query_duration_seconds_count{kind="list"} 6`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

// TestQueryStatusSuggests: a shape whose queries looked at more than they gave has the index that helps, however little that was. It stays
// while others of the shape look at nothing, and goes with the model that has the index.
func TestQueryStatusSuggests(t *testing.T) {
	s := openQueries(t)
	suggested := func(filter string) string {
		t.Helper()
		for _, q := range statusOf(t, s.Client).Queries {
			if q.Filter == filter {
				return string(q.Suggest)
			}
		}
		t.Fatalf("no shape has the filter %s", filter)
		return ""
	}
	ask := func(filter string, more ...string) {
		t.Helper()
		askQuery(t, s.Client, "/v1/tickets", append([]string{"filter", filter}, more...)...)
	}
	const byTitle = `{"collections":{"tickets":{"indexes":{"byTitle":["title"]}}}}`
	ask(`doc.title == "Ticket 5"`)
	ask(`doc.title == "Ticket 5"`, "limit", "1", "maxScan", "6")
	ask(`doc.title.endsWith("5") && doc.opened > 20`)
	ask(`doc.title.endsWith("5") && doc.hours >= 0.5`) // all are true
	ask(`doc.title.contains("5")`)
	for filter, want := range map[string]string{
		`doc.title == ?`: byTitle,
		`doc.title.endsWith(?) && doc.opened > ?`: `{"collections":{"tickets":{"indexes":{"byOpened":["opened"]}}}}`,
		`doc.title.endsWith(?) && doc.hours >= ?`: "", `doc.title.contains(?)`: "",
	} {
		if got := suggested(filter); got != want {
			t.Errorf("for %s %s is suggested, want %s", filter, got, want)
		}
	}
	s.Want(http.StatusOK, "PATCH", "/v1/_model", byTitle, "Content-Type", "application/merge-patch+json")
	ask(`doc.title == "Ticket 5"`)
	if got := suggested(`doc.title == ?`); got != "" {
		t.Errorf("with the index %s is suggested", got)
	}
}

// TestQueryNames: a document may be called _query, and is read and written as any other.
func TestQueryNames(t *testing.T) {
	s := openQueries(t)
	s.Put("tickets", "_query", `{"opened":7}`)
	s.Merge("tickets", "_query", `{"opened":8}`)
	s.WantDoc("tickets", "_query", `{"id":"_query","opened":8}`)
	s.Put("customers", "_query", `{"name":"Q"}`)
	s.Put("tickets", "of", `{"customerId":"_query"}`)
	if a := askQuery(t, s.Client, "/v1/customers/_query/tickets"); a.ids() != "of" {
		t.Errorf("its tickets are %s", a.ids())
	}
	s.Want(http.StatusOK, "GET", "/v1/customers/_query/_lineage", "")
	if a := askQuery(t, s.Client, "/v1/tickets", "filter", `doc.id == "_query"`); a.ids() != "_query" {
		t.Errorf("the query finds %s", a.ids())
	}
	s.Delete("tickets", "_query")
	s.Want(http.StatusNotFound, "POST", "/v1/_tickets/_query", `{}`)
	s.Want(http.StatusNotFound, "POST", "/v1/nowhere/_query", `{}`)
	s.Want(http.StatusNotFound, "GET", "/v1/nowhere?count=true", "")
	s.Want(http.StatusMethodNotAllowed, "POST", "/v1/tickets/_other", `{}`)
}
