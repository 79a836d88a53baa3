package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// salesModel has private members of every kind: written ones, ones beside elements, a relation and derived ones.
const salesModel = `
collections:
  customers:
    access: { read: [everyone], write: [seller, staff] }
    derive: { revenue: { sum: orders.customer, of: total }, lastOrders: { recent: orders.customer, fields: [name, total], max: 2 } }
    private: { revenue: [staff], "lastOrders[].total": [staff], phone: [staff] }
  orders:
    relations: { customer: { path: customerId, to: customers }, agent: { path: agentId, to: customers } }
    derive: { customerName: { copy: customer, value: doc.name }, customerPhone: { copy: customer, value: doc.phone }, total: { sum: "lines[].cost" } }
    indexes: { byState: [state], byStateAndMargin: [state, margin], byRank: [rank] }
    pages: { by: customer, size: 2 }
    access: { read: [everyone], create: [seller, staff], update: [seller, staff], delete: [staff] }
    private: { margin: [staff], "lines[].cost": [staff, audit], agentId: [staff], customerPhone: [staff], total: [staff] }
`

// openOrders opens a closed store with a customer and orders, whose private values have the word secret or are 4711.
func openOrders(t *testing.T) *house {
	t.Helper()
	h := openHouse(t, salesModel, nil)
	h.admin.Put("customers", "c1", `{"name":"Ann","phone":"secret-phone"}`)
	h.admin.Put("customers", "c2", `{"name":"Bob","phone":"secret-phone-2"}`)
	for i := range 5 {
		h.admin.Put("orders", fmt.Sprintf("o%d", i), fmt.Sprintf(
			`{"name":"order %[1]d","state":"%[2]s","rank":%[1]d,"margin":%[3]d,"customerId":"c1","agentId":"c2","lines":[{"sku":"a","cost":4711},{"sku":"b","cost":%[1]d}],"notes":{"open":true}}`, i, []string{"new", "sent"}[i%2], 4711-i))
	}
	return h
}

// privateNumber is one of the private values. As part of a longer number, such as a time of day, it tells nothing.
var privateNumber = regexp.MustCompile(`\b471[012]\b`)

// told fails where an answer tells something private.
func told(t *testing.T, what string, body []byte) {
	t.Helper()
	for _, text := range []string{"secret", `"cost"`, `"total"`, `"margin"`, `"agentId"`, `"revenue"`, `"phone"`, `"customerPhone"`, "orders.total", "customers.revenue"} {
		if strings.Contains(string(body), text) {
			t.Errorf("%s tells %s: %s", what, text, body)
		}
	}
	if number := privateNumber.Find(body); number != nil {
		t.Errorf("%s tells %s: %s", what, number, body)
	}
}

// TestPrivateMembers: no road shows private members to who has none of their roles, and every road shows the rest.
func TestPrivateMembers(t *testing.T) {
	h := openOrders(t)
	seller, staff, audit := h.asSub(t, "sue", "seller"), h.asSub(t, "stan", "staff"), h.asSub(t, "ada", "audit")
	first := harness.Bare(h.admin.Want(http.StatusOK, "GET", "/v1/orders/o0", "").Header.Get("Fanfold-Position"))
	h.admin.Merge("orders", "o0", `{"margin":4712,"name":"order 0, changed"}`)
	h.admin.Merge("orders", "o1", `{"margin":4712}`)
	h.admin.Delete("orders", "o4")
	for _, path := range []string{"/v1/orders/o0", "/v1/orders/o0?view=referenced", "/v1/orders/o0?fields=margin,name,lines", "/v1/orders/o0?expand=customer", "/v1/orders?expand=customer",
		"/v1/_me?relations=true", "/v1/customers/c1", "/v1/customers/c1?view=referenced", "/v1/customers", "/v1/orders", "/v1/orders?view=referenced", "/v1/orders?ids=o0,o1,o9", "/v1/orders?filter=doc.rank>=0&sort=-rank",
		"/v1/orders?filter=doc.state=='new'&count=true", "/v1/orders?sort=state&limit=2", "/v1/orders?group=state&compute=count", "/v1/orders?group=lines", "/v1/orders?filter=size(doc.lines)==2&view=referenced",
		"/v1/customers/c1/orders?relation=customer", "/v1/customers/c1/orders?relation=customer&page=last", "/v1/customers/c1/orders?relation=customer&page=1", "/v1/customers/c1/orders?relation=customer&sort=rank",
		"/v1/orders/o0?at=" + first, "/v1/orders?at=" + first, "/v1/customers/c1/orders?relation=customer&at=" + first, "/v1/customers/c1/orders?relation=customer&page=1&at=" + first, "/v1/orders/o0?expand=customer&at=" + first,
		"/v1/orders/o0/_history", "/v1/orders/o1/_history?view=referenced", "/v1/customers/c1/_history?order=asc", "/v1/orders/o4/_history", "/v1/orders/o0/_history?derived=exclude&include_docs=false",
		"/v1/_diff?from=" + first, "/v1/_diff?from=" + first + "&collections=orders", "/v1/orders/o0/_lineage", "/v1/customers/c1/_lineage", "/v1/_changes?include_docs=true", "/v1/_changes?include_docs=true&mode=all",
		"/v1/_changes?mode=all&collections=orders&filter=has(doc.name)&include_docs=true", "/v1/_changes?view=referenced&include_docs=true&mode=all", "/v1", "/v1/_me"} {
		told(t, path, seller.Want(http.StatusOK, "GET", path, "").Body)
		staff.Want(http.StatusOK, "GET", path, "")
	}
	harness.WantText(t, seller.Get("orders", "o2"), `{"id":"o2","name":"order 2","state":"new","rank":2,"customerId":"c1","lines":[{"sku":"a"},{"sku":"b"}],"notes":{"open":true},"customerName":"Ann"}`)
	harness.WantText(t, audit.Get("orders", "o2"), `{"id":"o2","name":"order 2","state":"new","rank":2,"customerId":"c1","lines":[{"sku":"a","cost":4711},{"sku":"b","cost":2}],"notes":{"open":true},"customerName":"Ann"}`)
	if body := staff.Get("customers", "c1"); !strings.Contains(body, `"revenue":`) || !strings.Contains(body, "secret-phone") {
		t.Errorf("staff sees %s", body)
	}
	for who, tells := range map[*harness.Client]bool{seller: false, staff: true} { // sellers do not see all members of customers
		if body := string(who.Want(http.StatusOK, "GET", "/v1/orders/o0/_lineage", "").Body); strings.Contains(body, `"sourcePath":"/name"`) != tells {
			t.Errorf("where the customer's name stands: %s", body)
		}
	}
	if got := strings.Join(idsOf(t, seller, "/v1/orders?sort=-rank&limit=2"), " "); got != "o3 o2 o1 o0" {
		t.Errorf("a sorted list is %s", got)
	}
	if body := string(seller.Want(http.StatusOK, "GET", "/v1/orders?filter=doc.state=='new'&count=true", "").Body); !strings.Contains(body, `"count":2`) {
		t.Errorf("a count is %s", body)
	}
}

// TestPrivateNames: a request that names a private member is refused with its path, whatever is in the documents.
func TestPrivateNames(t *testing.T) {
	h := openOrders(t)
	seller := h.asSub(t, "sue", "seller")
	first := harness.Bare(h.admin.Want(http.StatusOK, "GET", "/v1/orders/o0", "").Header.Get("Fanfold-Position"))
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/v1/orders?filter=doc.margin>1", "", "margin"},
		{"GET", "/v1/orders?filter=has(doc.margin)", "", "margin"},
		{"GET", "/v1/orders?filter=doc['margin']>1", "", "margin"},
		{"GET", "/v1/orders?filter=doc.lines.exists(l,l.cost>1)", "", "lines[].cost"},
		{"GET", "/v1/orders?filter=doc.lines[0].cost>1", "", "lines[].cost"},
		{"GET", "/v1/orders?filter=doc.total>1", "", "total"},
		{"GET", "/v1/orders?sort=margin", "", "margin"},
		{"GET", "/v1/orders?sort=-doc.margin%2B1", "", "margin"},
		{"GET", "/v1/orders?group=margin", "", "margin"},
		{"GET", "/v1/orders?group=lines[].cost", "", "lines[].cost"},
		{"GET", "/v1/orders?compute=sum(margin)", "", "margin"},
		{"POST", "/v1/orders/_query", `{"filter":"doc.margin > 1"}`, "margin"},
		{"GET", "/v1/customers?filter=doc.lastOrders.exists(o,o.total>1)", "", "lastOrders[].total"},
		{"GET", "/v1/orders/o0?expand=agent", "", "agentId"},
		{"POST", "/v1/orders/_query", `{"expand":"agent"}`, "agentId"},
		{"GET", "/v1/customers/c2/orders?relation=agent", "", "agentId"},
		{"GET", "/v1/customers/c2/orders?relation=agent&at=" + first, "", "agentId"},
		{"GET", "/v1/_changes?collections=orders&filter=doc.margin>1", "", "margin"},
		{"PATCH", "/v1/orders/o0", `{"margin":1}`, "margin"},
		{"PATCH", "/v1/orders/o0", `{"lines":[{"sku":"a","cost":1}]}`, "lines[].cost"},
		{"PUT", "/v1/orders/o0?if=doc.margin==4711", `{}`, "margin"},
		{"PATCH", "/v1/orders/o0?if=doc.margin==4711", `{}`, "margin"},
	} {
		r, err := seller.Do(c.method, strings.ReplaceAll(c.path, " ", "%20"), []byte(c.body), "Content-Type", map[bool]string{true: "application/merge-patch+json", false: "application/json"}[c.method == "PATCH"])
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != http.StatusForbidden || !strings.Contains(string(r.Body), `"path":"`+strings.TrimPrefix(c.want, "/")) && !strings.Contains(string(r.Body), `"path":"/`) {
			t.Errorf("%s %s: %d %s", c.method, c.path, r.Status, r.Body)
		}
	}
	for _, patch := range []string{`[{"op":"test","path":"/margin","value":4711}]`, `[{"op":"copy","from":"/margin","path":"/x"}]`, `[{"op":"move","from":"/lines/0/cost","path":"/x"}]`, `[{"op":"increment","path":"/margin","value":1}]`,
		`[{"op":"remove","path":"/lines/0/cost"}]`, `[{"op":"add","path":"/margin/x","value":1}]`} {
		r, err := seller.Do("PATCH", "/v1/orders/o0", []byte(patch), "Content-Type", "application/json-patch+json")
		if err != nil || r.Status != http.StatusForbidden {
			t.Errorf("%s: %d %s, %v", patch, r.Status, r.Body, err)
		}
	}
	for _, path := range []string{"/v1/_export", "/v1/_export?collections=orders", "/v1/orders?filter=doc.rank>1&explain=true"} {
		seller.Want(http.StatusForbidden, "GET", path, "")
	}
}

// TestPrivateWrites: who does not see a member leaves it as it is, and gives none.
func TestPrivateWrites(t *testing.T) {
	h := openOrders(t)
	seller := h.asSub(t, "sue", "seller")
	get := func(id string) string {
		return string(h.admin.Want(http.StatusOK, "GET", "/v1/orders/"+id+"?view=referenced", "").Body)
	}
	patch := func(id, patch string) {
		t.Helper()
		seller.Want(http.StatusNoContent, "PATCH", "/v1/orders/"+id, patch, "Content-Type", "application/json-patch+json")
	}
	r := seller.Put("orders", "o0", `{"name":"changed","margin":1,"lines":[{"sku":"b","cost":7},{"sku":"c"},{"sku":"a"}]}`)
	if got := r.Header.Get("Fanfold-Dropped-Members"); got != "/margin, /lines/0/cost" {
		t.Errorf("dropped are %q", got)
	}
	harness.WantText(t, get("o0"), `{"id":"o0","name":"changed","margin":4711,"agentId":"c2","lines":[{"sku":"b","cost":0},{"sku":"c"},{"sku":"a","cost":4711}]}`)
	seller.Merge("orders", "o1", `{"state":"paid","notes":null}`)
	harness.WantText(t, get("o1"), `{"id":"o1","name":"order 1","state":"paid","rank":1,"margin":4710,"customerId":"c1","agentId":"c2","lines":[{"sku":"a","cost":4711},{"sku":"b","cost":1}]}`)
	patch("o2", `[{"op":"test","path":"/lines","value":[{"sku":"a"},{"sku":"b"}]},{"op":"add","path":"/lines/-","value":{"sku":"c","cost":1}},{"op":"copy","from":"/lines","path":"/copied"},{"op":"increment","path":"/rank","value":1}]`)
	harness.WantText(t, get("o2"), `{"id":"o2","name":"order 2","state":"new","rank":3,"margin":4709,"customerId":"c1","agentId":"c2","lines":[{"sku":"a","cost":4711},{"sku":"b","cost":2},{"sku":"c"}],"notes":{"open":true},"copied":[{"sku":"a"},{"sku":"b"},{"sku":"c","cost":1}]}`)
	for _, refused := range [][2]string{{"PUT", `{"name":"x"}`}, {"PUT", `{"lines":[{"sku":"a"}]}`}, {"PUT", `{"lines":7}`}} {
		if r := seller.Want(http.StatusForbidden, refused[0], "/v1/orders/o3", refused[1]); !strings.Contains(string(r.Body), `"path":"lines[].cost"`) {
			t.Errorf("%s: %s", refused[1], r.Body)
		}
	}
	seller.Want(http.StatusForbidden, "PUT", "/v1/orders/o3", `{"margin":1,"lines":[{"sku":"a"},{"sku":"b"}]}`, "Prefer", "handling=strict")
	seller.Want(http.StatusCreated, "PUT", "/v1/orders/new", `{"name":"mine","margin":7,"lines":[{"sku":"a","cost":1}]}`)
	harness.WantText(t, get("new"), `{"id":"new","name":"mine","lines":[{"sku":"a"}]}`)
	if body := seller.Want(http.StatusOK, "PUT", "/v1/orders/o1", `{"name":"shown","lines":[{"sku":"a"},{"sku":"b"}]}`, "Prefer", "return=representation").Body; strings.Contains(string(body), "margin") || !strings.Contains(string(body), "shown") {
		t.Errorf("the answer shows %s", body)
	}
	// in a transaction, and back to a version of before
	seller.Want(http.StatusOK, "POST", "/v1/_transactions", `{"operations":[{"op":"patch","collection":"orders","id":"o1","patch":{"rank":9}},{"op":"put","collection":"orders","id":"o3","body":{"name":"put","lines":[{"sku":"b"},{"sku":"a"}]}}]}`)
	harness.WantText(t, get("o1"), `{"id":"o1","name":"shown","margin":4710,"agentId":"c2","lines":[{"sku":"a","cost":4711},{"sku":"b","cost":1}],"rank":9}`)
	harness.WantText(t, get("o3"), `{"id":"o3","name":"put","margin":4708,"agentId":"c2","lines":[{"sku":"b","cost":3},{"sku":"a","cost":4711}]}`)
	etag := h.admin.Want(http.StatusOK, "GET", "/v1/orders/o3", "").Header.Get("ETag")
	seller.Want(http.StatusNoContent, "PUT", "/v1/orders/o3", `{"name":"put","lines":[{"sku":"b"},{"sku":"a"}]}`)
	if now := h.admin.Want(http.StatusOK, "GET", "/v1/orders/o3", "").Header.Get("ETag"); now != etag {
		t.Error("a write of what was read made a revision")
	}
	seller.Want(http.StatusForbidden, "DELETE", "/v1/orders/o3", "")
	for _, road := range [][4]string{{"POST", "/v1/_import?collection=orders", `{"id":"i1","name":"x"}`, harness.NDJSON}, {"PATCH", "/v1/orders?filter=true", `{"rank":1}`, "application/merge-patch+json"}} {
		if r, err := seller.Do(road[0], road[1], []byte(road[2]), "Content-Type", road[3]); err != nil || !strings.Contains(string(r.Body), "forbidden") {
			t.Errorf("%s %s: %d %s, %v", road[0], road[1], r.Status, r.Body, err)
		}
	}
	h.Verify()
}

// privateTwinModel has private members that indexes, totals and a copy are made of.
const privateTwinModel = `
collections:
  owners:
    access: { read: [everyone], write: [manager] }
    private: { phone: [manager], worth: [manager] }
    derive: { worth: { sum: things.owner, of: price } }
  things:
    relations: { owner: { path: ownerId, to: owners }, agent: { path: agentId, to: owners } }
    derive: { phone: { copy: owner, value: doc.phone }, total: { sum: "lines[].cost" } }
    indexes: { byPrice: [price], both: [title, price], costs: ["lines[].cost"], byRank: [rank] }
    access: { read: [everyone], write: [manager] }
    private: { price: [manager], "lines[].cost": [manager], phone: [manager], total: [manager], agentId: [manager] }
`

// openPrivateTwin returns a reader of a store. The number secret makes what the reader does not see of the documents.
func openPrivateTwin(t *testing.T, secret uint64) *harness.Client {
	h := openHouse(t, privateTwinModel, nil)
	told, hidden, n := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(secret, 15)), 0
	unique := func() string { n++; return fmt.Sprintf("%d.%d", hidden.IntN(9), n) }
	h.admin.Put("owners", "w", `{"name":"w","phone":`+unique()+`}`)
	h.admin.Put("owners", "v", `{"name":"v","phone":`+unique()+`}`)
	body := func() string {
		lines := ""
		for i := range told.IntN(4) {
			if i > 0 {
				lines += ","
			}
			lines += fmt.Sprintf(`{"n":%d,"cost":%s}`, told.IntN(2), unique())
		}
		return fmt.Sprintf(`{"title":%q,"rank":%d,"ownerId":"w","price":%s,"agentId":%q,"lines":[%s]}`, string(rune('a'+told.IntN(3))), told.IntN(4), unique(), []string{"w", "v"}[hidden.IntN(2)], lines)
	}
	for i := range 60 {
		id := fmt.Sprintf("t%02d", told.IntN(12))
		switch k := told.IntN(8); {
		case k == 0:
			if r, err := h.admin.Do("DELETE", "/v1/things/"+id, nil); err != nil || r.Status != http.StatusNoContent && r.Status != http.StatusNotFound {
				t.Fatal(r, err)
			}
		case k < 4 && i > 20:
			if r, err := h.admin.Do("PATCH", "/v1/things/"+id, []byte(`{"price":`+unique()+`}`), "Content-Type", "application/merge-patch+json"); err != nil || r.Status >= 500 {
				t.Fatal(r, err)
			}
		default:
			h.admin.Put("things", id, body())
		}
	}
	return h.asSub(t, "ann")
}

// TestTwinStoresOfPrivateMembers: two stores that differ in private members alone answer a reader alike who does not see them, on every road of reading.
func TestTwinStoresOfPrivateMembers(t *testing.T) {
	a, b := openPrivateTwin(t, 2), openPrivateTwin(t, 3)
	var paths []string
	for _, filter := range []string{"true", "doc.rank == 3", "doc.title > 'a'", "doc.lines.exists(l, l.n == 1)", "size(doc.lines) > 1", "doc.lines == [{'n': 1}]", "doc['pri' + 'ce'] > 3", "doc.lines.exists(l, l['co' + 'st'] > 2)"} {
		for _, list := range []string{"things?", "owners/w/things?relation=owner&"} {
			for _, more := range []string{"", "&sort=title", "&sort=-rank,title", "&sort=title&count=true", "&sort=lines.size()"} {
				for _, end := range []string{"limit=3", "maxScan=4", "view=referenced&limit=5"} {
					paths = append(paths, "/v1/"+list+end+more+"&filter="+url.QueryEscape(filter))
				}
			}
		}
		for _, feed := range []string{"mode=all", "mode=latest", "mode=all&include_docs=true", "mode=latest&include_docs=true", "mode=all&derived=exclude&include_docs=true&view=referenced"} {
			paths = append(paths, "/v1/_changes?"+feed+"&filter="+url.QueryEscape(filter), "/v1/_changes?"+feed)
		}
	}
	for _, group := range []string{"title", "lines", "lines[].n", "rank,title"} {
		paths = append(paths, "/v1/things?compute=count,max(rank),sum(rank)&limit=2&group="+group)
	}
	for i := range 12 {
		for _, more := range []string{"", "?view=referenced", "?expand=owner", "/_lineage", "/_history?order=asc&limit=5", "/_history?include_docs=false", "/_history?view=referenced&limit=9"} {
			paths = append(paths, fmt.Sprintf("/v1/things/t%02d%s", i, more))
		}
	}
	paths = append(paths, "/v1", "/v1/things?limit=5", "/v1/owners", "/v1/owners/w/_lineage", "/v1/owners/w/things?relation=owner&limit=3", "/v1/things?ids=t00,t01,t07,zz", "/v1/owners/w/_history?order=asc")
	for _, path := range paths {
		sameOfTwins(t, a, b, path)
	}
}

// TestFollowersOfPrivateMembers: once a follower has caught up who does not see all members, it holds what its list shows, however the documents changed. No row
// comes by a change that it does not see.
func TestFollowersOfPrivateMembers(t *testing.T) {
	for seed := range suite.Amount(6, 200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := openHouse(t, privateTwinModel, nil)
			ann := h.asSub(t, "ann")
			r := rand.New(rand.NewPCG(uint64(seed), 7))
			h.admin.Put("owners", "w", `{"name":"w"}`)
			type follower struct {
				query, since string
				holds        map[string]string
			}
			var followers []*follower
			for _, query := range []string{"mode=latest", "mode=all", "mode=latest&view=referenced", "mode=latest&filter=" + url.QueryEscape("doc.rank >= 0"), "mode=all&filter=" + url.QueryEscape("doc.rank >= 0")} {
				followers = append(followers, &follower{query: query + "&include_docs=true&collections=things", since: "0", holds: map[string]string{}})
			}
			follow := func(f *follower) {
				var page struct {
					Results []struct {
						ID, Op   string
						Doc      json.RawMessage
						Patch    json.RawMessage
						Previous json.RawMessage
					}
					LastSeq string `json:"last_seq"`
				}
				body := ann.Want(http.StatusOK, "GET", "/v1/_changes?"+f.query+"&since="+f.since, "").Body
				if err := json.Unmarshal(body, &page); err != nil {
					t.Fatal(err)
				}
				for _, text := range []string{`"price"`, `"cost"`, `"phone"`, `"total"`, `"agentId"`, "things.total", "things.phone"} {
					if strings.Contains(string(body), text) {
						t.Fatalf("%s tells %s: %s", f.query, text, body)
					}
				}
				f.since = page.LastSeq
				for _, row := range page.Results {
					was := f.holds[row.ID]
					if delete(f.holds, row.ID); row.Doc == nil {
						continue
					}
					f.holds[row.ID] = bareText(t, row.Doc)
					if strings.HasPrefix(f.query, "mode=all") && row.Previous != nil && was == f.holds[row.ID] {
						t.Errorf("%s has a row that changes nothing: %s", f.query, body)
					}
				}
			}
			for range 40 {
				id := fmt.Sprintf("t%d", r.IntN(3))
				switch r.IntN(7) {
				case 0:
					if _, err := h.admin.Do("DELETE", "/v1/things/"+id, nil); err != nil {
						t.Fatal(err)
					}
				case 1, 2, 3:
					if _, err := h.admin.Do("PATCH", "/v1/things/"+id, fmt.Appendf(nil, `{"price":%d}`, r.IntN(1000)), "Content-Type", "application/merge-patch+json"); err != nil {
						t.Fatal(err)
					}
				case 4:
					h.admin.Put("owners", "w", fmt.Sprintf(`{"name":"w","phone":%d}`, r.IntN(1000)))
				case 5:
					h.admin.Want(http.StatusOK, "POST", "/v1/_transactions", fmt.Sprintf(`{"operations":[{"op":"put","collection":"things","id":"%s","body":{"rank":%d,"ownerId":"w","price":%d}},{"op":"put","collection":"owners","id":"w","body":{"phone":%d}}]}`, id, r.IntN(2), r.IntN(9), r.IntN(999)))
				default:
					h.admin.Put("things", id, fmt.Sprintf(`{"rank":%d,"ownerId":"w","price":%d,"lines":[{"n":%d,"cost":%d}]}`, r.IntN(2), r.IntN(9), r.IntN(2), r.IntN(9)))
				}
				for _, f := range followers {
					if r.IntN(3) == 0 {
						follow(f)
					}
				}
			}
			for _, f := range followers {
				follow(f)
				view := ""
				if strings.Contains(f.query, "view=referenced") {
					view = "?view=referenced"
				}
				var list struct{ Items []json.RawMessage }
				if err := json.Unmarshal(ann.Want(http.StatusOK, "GET", "/v1/things"+view, "").Body, &list); err != nil {
					t.Fatal(err)
				}
				want := map[string]string{}
				for _, item := range list.Items {
					var doc struct{ ID string }
					if err := json.Unmarshal(item, &doc); err != nil {
						t.Fatal(err)
					}
					want[doc.ID] = bareText(t, item)
				}
				if fmt.Sprint(f.holds) != fmt.Sprint(want) {
					t.Errorf("%s: a follower holds\n%v\nand the list is\n%v", f.query, f.holds, want)
				}
			}
		})
	}
}

// bareText returns a document without what a read adds, in one form.
func bareText(t *testing.T, doc []byte) string {
	t.Helper()
	members := map[string]any{}
	if err := json.Unmarshal(doc, &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "_meta")
	return fmt.Sprint(members)
}

// TestShapesOfMe: a reader is told the relations and rules of what it reads, and nothing of what it does not.
func TestShapesOfMe(t *testing.T) {
	h := openOrders(t)
	shapes := func(c *harness.Client, want string) {
		t.Helper()
		var of struct {
			Collections map[string]struct{ Relations, Derive json.RawMessage }
		}
		if err := json.Unmarshal(c.Want(http.StatusOK, "GET", "/v1/_me?relations=true", "").Body, &of); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, name := range []string{"customers", "orders"} {
			got += string(of.Collections[name].Relations) + string(of.Collections[name].Derive)
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	seller := h.asSub(t, "sue", "seller")
	shapes(seller, `{"customer":{"path":"customerId","to":"customers","onDelete":"clear"}}{"customerName":{"kind":"copy","relation":"orders.customer"}}`)
	if body := string(seller.Want(http.StatusOK, "GET", "/v1/_me", "").Body); strings.Contains(body, "relation") {
		t.Errorf("it is told without being asked for: %s", body)
	}
	seller.Want(http.StatusBadRequest, "GET", "/v1/_me?relations=yes", "")
	staff := h.asSub(t, "stan", "staff")
	shapes(staff, `{"lastOrders":{"kind":"recent","relation":"orders.customer"},"revenue":{"kind":"sum","relation":"orders.customer"}}`+
		`{"agent":{"path":"agentId","to":"customers","onDelete":"clear"},"customer":{"path":"customerId","to":"customers","onDelete":"clear"}}`+
		`{"customerName":{"kind":"copy","relation":"orders.customer"},"customerPhone":{"kind":"copy","relation":"orders.customer"},"total":{"kind":"value"}}`)
	h = openHouse(t, "collections:\n  customers: { access: { read: [staff] } }\n  orders:\n    access: { read: [everyone] }\n"+
		"    relations: { customer: { path: customerId, to: customers } }\n    derive: { name: { copy: customer, value: doc.name, publish: true } }\n", nil)
	shapes(h.asSub(t, "sue", "seller"), `{"name":{"kind":"copy"}}`)
	h = openHouse(t, "collections:\n  customers: { access: { read: [everyone] } }\n  orders:\n    access: { read: [everyone] }\n"+
		"    relations:\n      a: { path: a, to: customers, onDelete: restrict }\n      b: { path: b, to: customers, onDelete: cascade }\n"+
		"      c: { path: c, to: customers, onDelete: unlink }\n      d: { path: d, to: customers, onDelete: keep }\n", nil)
	shapes(h.asSub(t, "sue", "seller"), `{"a":{"path":"a","to":"customers","onDelete":"restrict"},"b":{"path":"b","to":"customers","onDelete":"cascade"},`+
		`"c":{"path":"c","to":"customers","onDelete":"unlink"},"d":{"path":"d","to":"customers","onDelete":"keep"}}`)
}

// TestFormerRulesOfPrivateMembers: a member that is private now was once derived. Whoever does not see it is told of no such rule, in no state before.
func TestFormerRulesOfPrivateMembers(t *testing.T) {
	suite.Parallel(t)
	access := "    access: { read: [everyone], write: [staff] }\n"
	h := openHouse(t, "collections:\n  prices:\n"+access+"  orders:\n"+access+"    relations: { price: { path: price, to: prices } }\n    derive: { margin: { copy: price, value: doc.margin }, name: { copy: price, value: doc.name } }\n", nil)
	h.admin.Put("prices", "p", `{"name":"Tea","margin":"narrow"}`)
	h.admin.Put("orders", "o", `{"price":"p"}`)
	h.admin.Merge("prices", "p", `{"margin":"narrower","name":"Green tea"}`)
	then := h.admin.Want(http.StatusOK, "GET", "/v1/orders/o", "").Header.Get("Fanfold-Position")
	h.admin.Want(http.StatusOK, "PUT", "/v1/_model?allowRemoval=true", "collections:\n  prices:\n"+access+"    private: { margin: [staff] }\n  orders:\n"+access+
		"    relations: { price: { path: price, to: prices } }\n    derive: { name: { copy: price, value: doc.name } }\n    private: { margin: [staff] }\n", "Content-Type", "application/yaml")
	seller, staff := h.as(t, "seller"), h.as(t, "staff")
	for _, path := range []string{"/v1/orders/o/_lineage?at=" + then, "/v1/prices/p/_lineage?at=" + then, "/v1/orders/o/_history", "/v1/_changes?mode=all&since=0", "/v1/_changes?mode=all&since=0&include_docs=true", "/v1/orders/o?at=" + then, "/v1/_diff?from=" + then} {
		if body := string(seller.Want(http.StatusOK, "GET", path, "").Body); strings.Contains(body, "margin") || strings.Contains(body, "narrow") {
			t.Errorf("%s tells of the margin: %s", path, body)
		}
		staff.Want(http.StatusOK, "GET", path, "")
	}
	if body := string(staff.Want(http.StatusOK, "GET", "/v1/orders/o/_lineage?at="+then, "").Body); !strings.Contains(body, `"rule":"orders.margin"`) {
		t.Errorf("staff is told %s", body)
	}
}
