package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// updateEnd is the last line of the answer to an update by query, and what the lines before it tell.
type updateEnd struct {
	Done, Folded                         bool
	Matched, Written, Unchanged, Refused int
	Status                               int
	Type, Detail, Position               string
	refused                              map[string]string // details by id
	steps                                int
}

// update sends an update by query, and reads the answer to its end.
func update(t *testing.T, s *harness.Store, method, path, body string, headers ...string) updateEnd {
	t.Helper()
	r := s.Want(http.StatusOK, method, path, body, headers...)
	if got := r.Header.Get("Content-Type"); got != "application/x-ndjson" {
		t.Fatalf("the answer is %s: %s", got, r.Body)
	}
	end := updateEnd{refused: map[string]string{}}
	for line := range strings.Lines(string(r.Body)) {
		var l struct {
			updateEnd
			ID       string
			Progress *updateEnd
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || end.Position != "" && end.Done {
			t.Fatalf("the line %s: %v", line, err)
		}
		switch {
		case l.ID != "":
			end.refused[l.ID] = l.Detail
		case l.Progress != nil:
			end.steps++
		default:
			l.refused, l.steps = end.refused, end.steps
			end = l.updateEnd
		}
	}
	return end
}

// TestDeletesByQueryTellOfSteps: of a document that one transaction does not delete the answer says that steps do, and how many documents they write.
func TestDeletesByQueryTellOfSteps(t *testing.T) {
	s := harness.OpenTemp(t, "collections:\n  shops: {}\n  visits: { relations: { shop: { path: shop, to: shops, onDelete: cascade } } }\n")
	var lines strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&lines, "{\"id\":\"v%d\",\"shop\":\"s1\"}\n", i)
	}
	s.Want(http.StatusOK, "POST", "/v1/_import?collection=visits&id=visits", lines.String(), "Content-Type", "application/x-ndjson")
	for _, id := range []string{"s1", "s2"} {
		s.Put("shops", id, `{}`)
	}
	var dry struct {
		Matched, Written, Refused, Steps int
		Refusals                         []json.RawMessage
	}
	if err := json.Unmarshal(s.Want(http.StatusOK, "DELETE", where("shops", "true", "dryRun", "true"), "").Body, &dry); err != nil {
		t.Fatal(err)
	}
	const told = `"steps":true,"documents":1002`
	if dry.Matched != 2 || dry.Written != 1 || dry.Refused != 1 || dry.Steps != 1 || len(dry.Refusals) != 1 || !strings.Contains(string(dry.Refusals[0]), told) {
		t.Errorf("the dry run tells %+v, %s", dry, dry.Refusals)
	}
	if r := s.Want(http.StatusOK, "DELETE", where("shops", "true"), ""); !strings.Contains(string(r.Body), `{"id":"s1","status":422,`) || !strings.Contains(string(r.Body), told) {
		t.Errorf("the answer is %s", r.Body)
	}
	s.Want(http.StatusNotFound, "GET", "/v1/shops/s2", "")
	s.Want(http.StatusOK, "GET", "/v1/shops/s1", "")
}

// where returns the path of an update of a collection.
func where(collection, filter string, more ...string) string {
	q := url.Values{"filter": {filter}}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return "/v1/" + collection + "?" + q.Encode()
}

const (
	merge      = "application/merge-patch+json"
	operations = "application/json-patch+json"
)

// TestUpdateByQuery: the documents that a filter matches are patched or deleted, each once, 500 in a step. Refused ones are
// listed, and the others go on.
func TestUpdateByQuery(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  products: { schema: { properties: { price: { maximum: 1000 } } } }
  orders:
    relations: { product: { to: products, path: product } }
    derive: { price: { value: doc.paid * 2 } }
`)
	const all = 1200
	var lines strings.Builder
	for i := range all {
		fmt.Fprintf(&lines, `{"id":"p%04d","price":%d,"stock":%d}`+"\n", i, min(i, 1000), i%3)
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=products", lines.String(), "Content-Type", "application/x-ndjson")
	end := update(t, s, http.MethodPatch, where("products", "doc.stock == params.n", "params", `{"n":1}`), `{"low":true}`, "Content-Type", merge)
	if !end.Done || !end.Folded || end.Matched != 400 || end.Written != 400 || end.Refused != 0 || end.steps != 1 {
		t.Errorf("a merge patch: %+v", end)
	}
	s.WantDoc("products", "p0001", `{"id":"p0001","price":1,"stock":1,"low":true}`)
	s.WantDoc("products", "p0002", `{"id":"p0002","price":2,"stock":2}`)
	if end = update(t, s, http.MethodPatch, where("products", "doc.stock == 1"), `{"low":true}`, "Content-Type", merge); end.Written != 0 || end.Unchanged != 400 {
		t.Errorf("the same again: %+v", end)
	}
	// what was patched matches as before, and is patched once
	end = update(t, s, http.MethodPatch, where("products", "doc.price >= 0"), `[{"op":"increment","path":"/price","value":1}]`, "Content-Type", operations)
	if !end.Done || end.Matched != all || end.Written != 1000 || end.Refused != 200 || len(end.refused) != 200 || end.steps < 3 || !strings.Contains(end.refused["p1000"], "schema") {
		t.Errorf("increments: %+v", end)
	}
	s.WantDoc("products", "p0000", `{"id":"p0000","price":1,"stock":0}`)
	s.WantDoc("products", "p0999", `{"id":"p0999","price":1000,"stock":0}`)
	if end = update(t, s, http.MethodDelete, where("products", "doc.stock == 2"), ""); !end.Done || end.Written != 400 {
		t.Errorf("deletes: %+v", end)
	}
	if end = update(t, s, http.MethodDelete, where("products", "true"), ""); !end.Done || end.Written != 800 {
		t.Errorf("a delete of all: %+v", end)
	}
	s.Verify()
}

// TestUpdateOfFrozenValues: one request takes 600 frozen prices anew, and only those that the filter names.
func TestUpdateOfFrozenValues(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  products: {}
  lines:
    relations: { product: { to: products, path: product } }
    derive: { price: { copy: product, value: doc.price, frozen: true } }
`)
	const all = 600
	s.Put("products", "p", `{"price":10}`)
	var lines strings.Builder
	for i := range all {
		fmt.Fprintf(&lines, `{"id":"l%03d","product":"p"}`+"\n", i)
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=lines", lines.String(), "Content-Type", "application/x-ndjson")
	s.Put("products", "p", `{"price":12}`)
	s.WantDoc("lines", "l599", `{"id":"l599","product":"p","price":10}`)
	end := update(t, s, http.MethodPatch, where("lines", "doc.price == 10", "refresh", "price"), `{}`, "Content-Type", merge)
	if !end.Done || end.Written != all || end.steps != 2 {
		t.Errorf("the update: %+v", end)
	}
	s.WantDoc("lines", "l599", `{"id":"l599","product":"p","price":12}`)
	if end = update(t, s, http.MethodPatch, where("lines", "doc.price == 10", "refresh", "price"), `{}`, "Content-Type", merge); end.Matched != 0 {
		t.Errorf("once more: %+v", end)
	}
	s.Want(http.StatusUnprocessableEntity, http.MethodPatch, where("lines", "true", "refresh", "product"), `{}`, "Content-Type", merge)
	s.Verify()
}

// TestUpdateIsRefused: what is wrong with the request as a whole is a problem, and nothing is written.
func TestUpdateIsRefused(t *testing.T) {
	s := harness.OpenTemp(t, `{open: false, collections: {docs: {derive: {b: {value: doc.a}}}}}`)
	s.Put("docs", "d", `{"a":1}`)
	at := s.Want(http.StatusOK, http.MethodGet, "/v1/docs/d", "").Header.Get("ETag")
	for _, c := range []struct {
		status             int
		method, path, body string
		told               string
		headers            []string
	}{
		{400, "PATCH", "/v1/docs", `{"a":2}`, "filter=true means all", nil},
		{400, "DELETE", "/v1/docs", "", "filter=true means all", nil},
		{400, "DELETE", "/v1/docs?filter=", "", "filter", nil},
		{400, "PATCH", where("docs", "doc.a ="), `{"a":2}`, "filter", nil},
		{400, "PATCH", where("docs", "doc.a == params.n"), `{"a":2}`, "params", nil},
		{400, "PATCH", where("docs", "doc.a == params.n", "params", "[]"), `{"a":2}`, "params", nil},
		{400, "PATCH", where("docs", "true", "limit", "1"), `{"a":2}`, "limit", nil},
		{400, "PATCH", where("docs", "true"), `[]`, "", nil},
		{400, "PATCH", where("docs", "true"), `[{"op":"twist","path":"/a"}]`, "", []string{"Content-Type", operations}},
		{415, "PATCH", where("docs", "true"), `{"a":2}`, "", []string{"Content-Type", "application/json"}},
		{422, "PATCH", where("docs", "true"), `{"b":2}`, "derives", nil},
		{400, "PATCH", where("docs", "true"), `{"a":2}`, "If-Match", []string{"If-Match", at}},
		{400, "DELETE", where("docs", "true", "refresh", "b"), "", "refresh", nil},
		{400, "PATCH", where("docs", "true", "examples", "2"), `{"a":2}`, "dryRun", nil},
		{404, "PATCH", where("others", "true"), `{"a":2}`, "others", nil},
		{404, "DELETE", where("others", "true"), "", "others", nil},
	} {
		headers := c.headers
		if c.method == "PATCH" && (len(headers) == 0 || headers[0] != "Content-Type") {
			headers = append([]string{"Content-Type", merge}, headers...)
		}
		if r := s.Want(c.status, c.method, c.path, c.body, headers...); !strings.Contains(string(r.Body), c.told) {
			t.Errorf("%s %s says %s", c.method, c.path, r.Body)
		}
	}
	s.WantDoc("docs", "d", `{"id":"d","a":1,"b":1}`)
	if got := s.Want(http.StatusOK, http.MethodGet, "/v1/docs/d", "").Header.Get("ETag"); got != at {
		t.Errorf("the document is at %s", got)
	}
}

// TestUpdateUnderAKey: the same request under one key is carried out once, whoever was faster; another request under it is refused. So is a
// key of a write of one document.
func TestUpdateUnderAKey(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	for i := range 10 {
		s.Put("docs", fmt.Sprintf("d%d", i), `{"n":0}`)
	}
	path, add := where("docs", "doc.n >= 0"), `[{"op":"increment","path":"/n","value":1}]`
	key := []string{"Content-Type", operations, "Idempotency-Key", "k"}
	first := update(t, s, http.MethodPatch, path, add, key...)
	s.Put("docs", "later", `{"n":0}`)
	again := update(t, s, http.MethodPatch, path, add, key...)
	if first.Written != 10 || again.Written != 10 || !again.Done || !again.Folded || again.Position != first.Position {
		t.Errorf("first %+v, again %+v", first, again)
	}
	s.WantDoc("docs", "d3", `{"id":"d3","n":1}`)
	s.WantDoc("docs", "later", `{"id":"later","n":0}`)
	s.Want(http.StatusUnprocessableEntity, http.MethodPatch, where("docs", "true"), add, key...)
	s.Want(http.StatusUnprocessableEntity, http.MethodDelete, path, "", "Idempotency-Key", "k")
	s.Want(http.StatusCreated, http.MethodPut, "/v1/docs/x", `{}`, "Idempotency-Key", "one")
	s.Want(http.StatusUnprocessableEntity, http.MethodDelete, path, "", "Idempotency-Key", "one")
	r := s.Reopen()
	defer r.Close()
	if again = update(t, r, http.MethodPatch, path, add, key...); again.Written != 10 || again.Position != first.Position {
		t.Errorf("after a start: %+v", again)
	}
	r.WantDoc("docs", "d3", `{"id":"d3","n":1}`)
}

// TestDeletesByQueryBringOthers: each delete does what a delete of one document does. A document that forbids one is named.
func TestDeletesByQueryBringOthers(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  people: {}
  posts: { relations: { author: { to: people, path: author, onDelete: cascade } } }
  notes: { relations: { person: { to: people, path: person, onDelete: unlink } } }
  bills: { relations: { person: { to: people, path: person, onDelete: restrict } } }
`)
	for i := range 6 {
		id := fmt.Sprintf("p%d", i)
		s.Put("people", id, fmt.Sprintf(`{"old":%t}`, i < 4))
		s.Put("posts", id, fmt.Sprintf(`{"author":%q}`, id))
		s.Put("notes", id, fmt.Sprintf(`{"person":%q}`, id))
	}
	s.Put("bills", "b", `{"person":"p2"}`)
	trial := s.Want(http.StatusOK, http.MethodDelete, where("people", "doc.old", "dryRun", "true"), "")
	for _, told := range []string{`"matched":4,"judged":4,"written":3,"unchanged":0,"refused":1`, `{"id":"p2","status":409,`, `{"op":"delete","collection":"posts","id":"p0"}`} {
		if !strings.Contains(string(trial.Body), told) {
			t.Errorf("the dry run has no %s: %s", told, trial.Body)
		}
	}
	end := update(t, s, http.MethodDelete, where("people", "doc.old"), "", "Idempotency-Key", "k")
	if !end.Done || end.Matched != 4 || end.Written != 3 || end.Refused != 1 || !strings.Contains(end.refused["p2"], "bills/b") {
		t.Errorf("the update: %+v", end)
	}
	for i := range 6 {
		id, status := fmt.Sprintf("p%d", i), http.StatusOK
		if i < 4 && i != 2 {
			status = http.StatusNotFound
			s.WantDoc("notes", id, fmt.Sprintf(`{"id":%q}`, id))
		}
		s.Want(status, http.MethodGet, "/v1/people/"+id, "")
		s.Want(status, http.MethodGet, "/v1/posts/"+id, "")
	}
	s.Verify()
}

// TestUpdateDryRun: a dry run counts all, tells of the first 1,000 what would come of them, and writes nothing.
func TestUpdateDryRun(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  docs: { relations: { of: { to: sums, path: of } }, schema: { properties: { n: { maximum: 9 } } } }
  sums: { derive: { total: { sum: docs.of, of: n } } }
`)
	s.Put("sums", "s", `{}`)
	var lines strings.Builder
	for i := range 1100 {
		fmt.Fprintf(&lines, `{"id":"d%04d","of":"s","n":%d}`+"\n", i, i%10)
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=docs", lines.String(), "Content-Type", "application/x-ndjson")
	before := s.Digest()
	r := s.Want(http.StatusOK, http.MethodPatch, where("docs", "doc.n > 0", "dryRun", "true", "examples", "2"), `[{"op":"increment","path":"/n","value":1}]`, "Content-Type", operations, "Idempotency-Key", "k")
	var told struct {
		Matched, Judged, Written, Unchanged, Refused int
		Refusals                                     []struct{ ID, Detail string }
		Writes                                       []struct{ Op, Collection, ID string }
		Derived                                      int
		Examples                                     []struct{ Collection string }
	}
	if err := json.Unmarshal(r.Body, &told); err != nil {
		t.Fatal(err)
	}
	if told.Matched != 990 || told.Judged != 990 || told.Written != 880 || told.Refused != 110 || len(told.Refusals) != 20 || told.Refusals[0].ID != "d0009" || len(told.Writes) != 20 || told.Derived == 0 || len(told.Examples) == 0 {
		t.Errorf("the dry run says %s", r.Body)
	}
	r = s.Want(http.StatusOK, http.MethodPatch, where("docs", "true"), `{"x":1}`, "Content-Type", merge, "Prefer", "dry-run")
	if err := json.Unmarshal(r.Body, &told); err != nil || told.Matched != 1100 || told.Judged != 1000 || told.Written != 1000 || r.Header.Get("Preference-Applied") != "dry-run" {
		t.Errorf("of all it says %s, %v", r.Body, err)
	}
	if r = s.Want(http.StatusOK, http.MethodPatch, where("docs", "doc.n > 10", "dryRun", "true"), `{"x":1}`, "Content-Type", merge); !strings.Contains(string(r.Body), `"matched":0,"judged":0,"written":0`) {
		t.Errorf("of none it says %s", r.Body)
	}
	if got := s.Digest(); got != before {
		t.Error("a dry run has written something")
	}
}

// TestUpdateHints: an update by query, and its dry run, say which member of the filter is misspelt, perhaps.
func TestUpdateHints(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for i := range 3 {
		s.Put("things", fmt.Sprint("t", i), `{"price":1}`)
	}
	const hint = `"hints":["there is no member \"Price\"; did you mean \"price\"?"]`
	for filter, want := range map[string]bool{"doc.Price > 0": true, "!has(doc.Price)": true, "doc.price > 0": false, "has(doc.other)": false} {
		for _, method := range []string{http.MethodPatch, http.MethodDelete} {
			body, headers := `{"a":1}`, []string{"Content-Type", "application/merge-patch+json"}
			if method == http.MethodDelete {
				body, headers = "", nil
			}
			got := string(s.Want(http.StatusOK, method, where("things", filter, "dryRun", "true"), body, headers...).Body)
			if strings.Contains(got, hint) != want {
				t.Errorf("a dry run of %s %s is answered by %s", method, filter, got)
			}
			if method == http.MethodPatch {
				got = string(s.Want(http.StatusOK, method, where("things", filter), body, headers...).Body)
				if strings.Contains(got, hint) != want {
					t.Errorf("%s %s is answered by %s", method, filter, got)
				}
			}
		}
	}
}
