package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// given is a path with a condition and its parameters.
func given(path, condition, params string) string {
	values := url.Values{"if": {condition}}
	if params != "" {
		values.Set("params", params)
	}
	return path + "?" + values.Encode()
}

// TestIf: a write is made if a condition over the document as it was written is true, and is refused with the current ETag otherwise.
func TestIf(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {as: {relations: {bs: {path: "bs[].id", to: bs}}, derive: {left: {value: doc.all - doc.sold}, "bs[].name": {copy: bs, value: doc.name}, stats.n: {value: doc.all}}}, bs: {}}}`)
	const path, merge = "/v1/as/1", "application/merge-patch+json"
	s.Put("as", "1", `{"all":3,"sold":0,"stats":{"m":1},"bs":[{"id":"b","x":2}]}`)
	tag := s.Want(http.StatusOK, http.MethodGet, path, "").Header.Get("ETag")
	refused := func(method, path, body string, headers ...string) {
		t.Helper()
		r := s.Want(http.StatusPreconditionFailed, method, path, body, headers...)
		if !strings.Contains(string(r.Body), "urn:fanfold:problem:condition-failed") || r.Header.Get("ETag") != tag {
			t.Errorf("the refusal is %s, with the ETag %s, want %s", r.Body, r.Header.Get("ETag"), tag)
		}
	}
	refused(http.MethodPut, given(path, "doc.sold > 0", ""), `{"all":9}`)
	refused(http.MethodPatch, given(path, "doc.sold >= params.n", `{"n":1}`), `{"sold":9}`, "Content-Type", merge)
	refused(http.MethodPatch, given(path, "doc.nothing == 1", ""), `{"sold":9}`, "Content-Type", merge)
	refused(http.MethodDelete, given(path, `doc.all > "3"`, ""), "")
	refused(http.MethodDelete, given(path, `meta.createdAt > timestamp("2200-01-01T00:00:00Z")`, ""), "")
	refused(http.MethodPatch, path, `[{"op":"increment","path":"/sold","value":1,"max":0}]`, "Content-Type", "application/json-patch+json")
	refused(http.MethodDelete, given(path, "doc.sold > 0", ""), "", "If-Match", "*")
	refused(http.MethodDelete, given(path, "doc.sold > 0", ""), "", "If-Match", tag)
	if r := s.Want(http.StatusPreconditionFailed, http.MethodDelete, given(path, "doc.sold == 0", ""), "", "If-Match", `"1"`); !strings.Contains(string(r.Body), "problem:stale") {
		t.Errorf("an If-Match that fails beside an if: %s", r.Body)
	}
	s.WantDoc("as", "1", `{"id":"1","all":3,"sold":0,"stats":{"m":1,"n":3},"bs":[{"id":"b","x":2}],"left":3}`)
	for _, absent := range []*harness.Response{
		s.Want(http.StatusPreconditionFailed, http.MethodPut, given("/v1/as/2", "true", ""), `{}`),
		s.Want(http.StatusPreconditionFailed, http.MethodPatch, given("/v1/as/2", "true", ""), `{}`, "Content-Type", merge),
		s.Want(http.StatusPreconditionFailed, http.MethodDelete, given("/v1/as/2", "true", ""), ""),
	} {
		if !strings.Contains(string(absent.Body), "condition-failed") {
			t.Errorf("of an absent document: %s", absent.Body)
		}
	}
	s.Want(http.StatusNoContent, http.MethodPatch, given(path, `doc.sold < params.n && doc.bs.all(b, b.x == 2) && meta.updatedAt < timestamp("2200-01-01T00:00:00Z")`, `{"n":1}`), `{"sold":1}`, "Content-Type", merge)
	s.Want(http.StatusNoContent, http.MethodPut, given(path, "doc.sold == 1 && doc.stats.m == 1", ""), `{"all":3,"sold":2}`, "Idempotency-Key", "k")
	s.Want(http.StatusNoContent, http.MethodPut, given(path, "doc.sold == 1 && doc.stats.m == 1", ""), `{"all":3,"sold":2}`, "Idempotency-Key", "k") // which was stored
	s.WantDoc("as", "1", `{"id":"1","all":3,"sold":2,"left":1,"stats":{"n":3}}`)

	// No revision guards the values of rules.
	for _, condition := range []string{"doc.left > 0", `doc["left"] > 0`, "has(doc.left)", "doc.stats.n > 0", `doc.bs[0].name == ""`, `doc.bs.exists(b, b.name == "")`, `doc.bs.filter(b, b.x > 1).all(c, c.name == "")`} {
		if r := s.Want(http.StatusBadRequest, http.MethodDelete, given(path, condition, ""), ""); !strings.Contains(string(r.Body), "a rule derives") {
			t.Errorf("%s: %s", condition, r.Body)
		}
	}
	for _, bad := range []string{given(path, "doc.", ""), given(path, "doc.sold + 1", ""), given(path, "doc.sold == params.n", ""), given(path, "true", "7"), path + "?if=", path + "?params=%7B%7D", given(path, "doc.sold == 1", "") + "&steps=true",
		given(path, strings.Repeat(" ", 5000)+"true", ""), given(path, "true", `{"a":"`+strings.Repeat("a", 17<<10)+`"}`)} {
		s.Want(http.StatusBadRequest, http.MethodDelete, bad, "")
	}
	s.Want(http.StatusBadRequest, http.MethodPut, given(path, "true", ""), `{}`, "If-None-Match", "*")
	s.Want(http.StatusBadRequest, http.MethodPost, given("/v1/as", "true", ""), `{}`)
	s.Want(http.StatusNoContent, http.MethodDelete, given(path, "doc.sold == 2", ""), "")
	s.Verify()
}

// TestIfInTransactions: each operation of a transaction may have a condition, a check too. A refusal names the operation, and nothing is written.
func TestIfInTransactions(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {as: {derive: {twice: {value: doc.n * 2}}}, bs: {relations: {a: {path: a, to: as, onDelete: cascade}}}}}`)
	for i := range 4 {
		s.Put("as", fmt.Sprint(i), `{"n":1}`)
	}
	transact := func(status int, operations string) *harness.Response {
		t.Helper()
		return s.Want(status, http.MethodPost, "/v1/_transactions", `{"operations":[`+operations+`]}`)
	}
	first := `{"op":"put","collection":"as","id":"0","body":{"n":2},"if":"doc.n == params.n","params":{"n":1}}`
	tag := s.Want(http.StatusOK, http.MethodGet, "/v1/as/1", "").Header.Get("ETag")
	for _, second := range []string{
		`{"op":"check","collection":"as","id":"1","if":"doc.n == 2"}`,
		`{"op":"patch","collection":"as","id":"1","patch":{"n":3},"if":"doc.n > 1"}`,
		`{"op":"patch","collection":"as","id":"1","patch":[{"op":"increment","path":"/n","value":1,"max":1}]}`,
		`{"op":"put","collection":"as","id":"1","body":{"n":3},"if":"doc.m == 1"}`,
		`{"op":"delete","collection":"as","id":"1","if":"doc.n == 0"}`,
	} {
		r := transact(http.StatusPreconditionFailed, first+","+second)
		if body := string(r.Body); !strings.Contains(body, "condition-failed") || !strings.Contains(body, `"operation":1`) || r.Header.Get("ETag") != tag {
			t.Errorf("%s: %s, with the ETag %s, want %s", second, body, r.Header.Get("ETag"), tag)
		}
	}
	transact(http.StatusPreconditionFailed, first+`,{"op":"put","collection":"as","id":"none","body":{},"if":"true"}`)
	transact(http.StatusBadRequest, `{"op":"check","collection":"as","id":"1"}`)
	transact(http.StatusBadRequest, `{"op":"check","collection":"as","id":"1","params":{}}`)
	transact(http.StatusBadRequest, `{"op":"check","collection":"as","id":"1","if":7}`)
	transact(http.StatusBadRequest, `{"op":"check","collection":"as","id":"1","ifNoneMatch":"*","if":"true"}`)
	transact(http.StatusBadRequest, `{"op":"create","collection":"as","id":"9","body":{},"if":"true"}`)
	transact(http.StatusBadRequest, `{"op":"check","collection":"as","id":"1","if":"doc.twice == 2"}`)
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf(`{"op":"check","collection":"as","id":"%d","if":"true || %s == ''"}`, i, strings.Repeat("'"+strings.Repeat("x", 1000)+"' + ", 3)+"''"))
	}
	if r := transact(http.StatusBadRequest, strings.Join(many, ",")); !strings.Contains(string(r.Body), "more than 65536 bytes") {
		t.Errorf("many conditions: %s", r.Body)
	}
	s.WantDoc("as", "0", `{"id":"0","n":1,"twice":2}`)
	transact(http.StatusOK, first+`,{"op":"check","collection":"as","id":"1","if":"doc.n == 1"},{"op":"delete","collection":"as","id":"2","if":"doc.n == 1"},{"op":"patch","collection":"as","id":"3","patch":{"n":3},"if":"doc.n == 1"}`)
	s.WantDoc("as", "0", `{"id":"0","n":2,"twice":4}`)
	s.Verify()
}

// TestIfBesideFasterWrites: buyers on two nodes take one of a document's seats each, if one is left. A write that another was faster than is
// judged again.
func TestIfBesideFasterWrites(t *testing.T) {
	suite.Parallel(t)
	nodeURL := natsserver.Start(t, 1)[0]
	var nodes [2]*harness.Store
	for i := range nodes {
		nodes[i] = harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: nodeURL})
		defer nodes[i].Close()
	}
	const seats, buyers = 10, 24
	nodes[0].Put("seats", "s", `{"sold":0}`)
	nodes[1].CatchUp()
	var taken, refused atomic.Int32
	var all sync.WaitGroup
	for i := range buyers {
		all.Go(func() {
			r, err := nodes[i%2].Do(http.MethodPatch, given("/v1/seats/s", "doc.sold < params.seats", fmt.Sprintf(`{"seats":%d}`, seats)), []byte(`[{"op":"increment","path":"/sold","value":1}]`), "Content-Type", "application/json-patch+json")
			switch {
			case err != nil:
				t.Error(err)
			case r.Status == http.StatusNoContent:
				taken.Add(1)
			case r.Status == http.StatusPreconditionFailed && strings.Contains(string(r.Body), "condition-failed"):
				refused.Add(1)
			default:
				t.Errorf("a buyer is answered with %d: %s", r.Status, r.Body)
			}
		})
	}
	all.Wait()
	nodes[1].CatchUp()
	nodes[1].WantDoc("seats", "s", fmt.Sprintf(`{"id":"s","sold":%d}`, seats))
	if taken.Load() != seats || refused.Load() != buyers-seats {
		t.Errorf("%d seats were taken and %d buyers refused", taken.Load(), refused.Load())
	}
	nodes[0].Verify()
}

// TestPatchesSeeWhatIsWritten: a patch that tests or copies a member which a rule derives is a 400 that says so, in transactions, too.
func TestPatchesSeeWhatIsWritten(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {things: {derive: {total: {value: doc.a * 2}, "lines[].sum": {value: element.n + 1}}}}}`)
	s.Put("things", "t", `{"a":2,"lines":[{"n":1}]}`)
	for _, op := range []string{`{"op":"test","path":"/total","value":4}`, `{"op":"test","path":"/lines/0/sum","value":2}`, `{"op":"copy","from":"/total","path":"/was"}`} {
		for path, body := range map[string]string{"/v1/things/t": `[` + op + `,{"op":"add","path":"/b","value":1}]`,
			"/v1/_transactions": `{"operations":[{"op":"patch","collection":"things","id":"t","patch":[` + op + `,{"op":"add","path":"/b","value":1}]}]}`} {
			method, kind := http.MethodPatch, "application/json-patch+json"
			if path == "/v1/_transactions" {
				method, kind = http.MethodPost, "application/json"
			}
			r := s.Want(http.StatusBadRequest, method, path, body, "Content-Type", kind)
			if !strings.Contains(string(r.Body), "a rule derives") {
				t.Errorf("%s %s: %s", path, op, r.Body)
			}
		}
	}
	s.Want(http.StatusNoContent, http.MethodPatch, "/v1/things/t", `[{"op":"test","path":"/a","value":2},{"op":"add","path":"/b","value":1}]`, "Content-Type", "application/json-patch+json")
	s.WantDoc("things", "t", `{"id":"t","a":2,"lines":[{"n":1,"sum":2}],"b":1,"total":4}`)
}
