package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// TestDefaults: a document that is created has the defaults of its collection, by whichever request, before its schema is asked.
// A later write may take them away.
func TestDefaults(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {orders: {defaults: {status: new, address.country: DE, lines: []}, unique: [code], schema: {required: [status]},
		derive: {open: {value: doc.status == "new"}}}}}`)
	const filled = `"status":"new","address":{"country":"DE"},"lines":[],"open":true}`
	if r := s.Want(http.StatusCreated, http.MethodPut, "/v1/orders/1", `{"code":"a"}`, "Prefer", "return=representation"); !strings.Contains(string(r.Body), `"status":"new","address":{"country":"DE"},"lines":[]`) {
		t.Errorf("the answer is %s", r.Body)
	}
	s.WantDoc("orders", "1", `{"id":"1","code":"a",`+filled)
	s.Want(http.StatusCreated, http.MethodPost, "/v1/orders", `{"id":"2"}`)
	s.WantDoc("orders", "2", `{"id":"2",`+filled)
	s.Want(http.StatusCreated, http.MethodPut, "/v1/orders/3", `{"status":"x"}`, "If-None-Match", "*")
	s.WantDoc("orders", "3", `{"id":"3","status":"x","address":{"country":"DE"},"lines":[],"open":false}`)
	s.Want(http.StatusCreated, http.MethodPut, "/v1/orders/4", `{}`, "If-None-Match", `"77"`)
	s.WantDoc("orders", "4", `{"id":"4",`+filled)
	s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"put","collection":"orders","id":"5","body":{}},{"op":"create","collection":"orders","id":"6","body":{"address":7}},
		{"op":"put","collection":"orders","id":"1","body":{"status":"old"}}]}`)
	s.WantDoc("orders", "5", `{"id":"5",`+filled)
	s.WantDoc("orders", "6", `{"id":"6","address":7,"status":"new","lines":[],"open":true}`)
	s.WantDoc("orders", "1", `{"id":"1","status":"old","open":false}`)
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import", "{\"collection\":\"orders\",\"doc\":{\"id\":\"7\"}}\n{\"collection\":\"orders\",\"doc\":{\"id\":\"7\",\"status\":\"twice\"}}\n{\"collection\":\"orders\",\"doc\":{\"id\":\"8\"}}\n", "Content-Type", "application/x-ndjson")
	s.WantDoc("orders", "7", `{"id":"7","status":"twice","open":false}`)
	s.WantDoc("orders", "8", `{"id":"8",`+filled)

	// A document that is there gets none, and has to fit by itself.
	s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/orders/1", `{"code":"b"}`)
	s.Want(http.StatusUnprocessableEntity, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"put","collection":"orders","id":"1","body":{}}]}`)
	if r := s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=orders", `{"id":"1"}`, "Content-Type", "application/x-ndjson"); !strings.Contains(string(r.Body), `"refused":1`) {
		t.Errorf("the import answers %s", r.Body)
	}
	s.Want(http.StatusNoContent, http.MethodPatch, "/v1/orders/5", `{"lines":null}`, "Content-Type", "application/merge-patch+json")
	s.WantDoc("orders", "5", `{"id":"5","status":"new","address":{"country":"DE"},"open":true}`)
	before := s.Want(http.StatusOK, http.MethodGet, "/v1/orders/5", "").Header.Get("ETag")
	s.Want(http.StatusNoContent, http.MethodPut, "/v1/orders/5", `{"id":"5","status":"new","address":{"country":"DE"}}`)
	if after := s.Want(http.StatusOK, http.MethodGet, "/v1/orders/5", "").Header.Get("ETag"); after != before {
		t.Errorf("an equal document is stored again: %s, then %s", before, after)
	}
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/orders/5", "")
	s.Want(http.StatusCreated, http.MethodPut, "/v1/orders/5", `{}`)
	s.WantDoc("orders", "5", `{"id":"5",`+filled)
	s.Want(http.StatusOK, http.MethodPut, "/v1/orders/9?dryRun=true", `{}`)

	// A version of before comes back as it was.
	at := s.Want(http.StatusNoContent, http.MethodPut, "/v1/orders/2", `{"status":"bare"}`).Header.Get("Fanfold-Position")
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/orders/2", "")
	s.Want(http.StatusCreated, http.MethodPost, "/v1/orders/2/_revert", `{"at":"`+at+`"}`)
	s.WantDoc("orders", "2", `{"id":"2","status":"bare","open":false}`)
	s.Verify()
}

// TestDefaultsBesideSequences: a number is given by the defaults of its document, too, and a document keeps it.
func TestDefaultsBesideSequences(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {orders: {defaults: {tenant: a}, sequences: {number: {per: doc.tenant}}, schema: {required: [tenant]}}}}`)
	s.Want(http.StatusCreated, http.MethodPut, "/v1/orders/1", `{}`)
	s.Want(http.StatusCreated, http.MethodPost, "/v1/orders", `{"id":"2"}`)
	s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"put","collection":"orders","id":"3","body":{}},{"op":"put","collection":"orders","id":"4","body":{"tenant":"b"}}]}`)
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=orders", "{\"id\":\"5\"}\n{\"id\":\"6\"}", "Content-Type", "application/x-ndjson")
	for id, want := range map[string]string{"1": `{"id":"1","tenant":"a","number":1}`, "2": `{"id":"2","tenant":"a","number":2}`, "3": `{"id":"3","tenant":"a","number":3}`,
		"4": `{"id":"4","tenant":"b","number":1}`, "5": `{"id":"5","tenant":"a","number":4}`, "6": `{"id":"6","tenant":"a","number":5}`} {
		s.WantDoc("orders", id, want)
	}
	s.Want(http.StatusNoContent, http.MethodPut, "/v1/orders/1", `{"tenant":"a","x":1}`)
	s.WantDoc("orders", "1", `{"id":"1","tenant":"a","x":1,"number":1}`)
	s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/orders/1", `{}`)
	s.Verify()
}

// TestDefaultsOfExports: an export comes back as it was, members that were taken away included. The defaults hold for what comes later.
func TestDefaultsOfExports(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {orders: {defaults: {status: new}}}}`)
	s.Put("orders", "1", `{"n":1}`)
	s.Want(http.StatusNoContent, http.MethodPut, "/v1/orders/1", `{"n":2}`)
	export := s.Want(http.StatusOK, http.MethodGet, "/v1/_export", "").Body
	other := harness.OpenTemp(t, "")
	other.Want(http.StatusOK, http.MethodPost, "/v1/_import", string(export), "Content-Type", "application/x-ndjson")
	other.WantDoc("orders", "1", `{"id":"1","n":2}`)
	other.Put("orders", "2", `{}`)
	other.WantDoc("orders", "2", `{"id":"2","status":"new"}`)
}

// TestDefaultsAtReservedPaths: a default does not stand where a removed rule stood, until the path is released.
func TestDefaultsAtReservedPaths(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {orders: {derive: {status: {value: doc.n}}}}}`)
	const model = `{"collections":{"orders":{"defaults":{"status":"new"}%s}}}`
	put := func(status int, body string) *harness.Response {
		return s.Want(status, http.MethodPut, "/v1/_model?allowRemoval=true", body, "Content-Type", "application/json")
	}
	if r := put(http.StatusUnprocessableEntity, fmt.Sprintf(model, "")); !strings.Contains(string(r.Body), "status is reserved") {
		t.Errorf("the model is refused with %s", r.Body)
	}
	if r := s.Want(http.StatusOK, http.MethodPut, "/v1/_model?dryRun=true", fmt.Sprintf(model, `,"release":["status"]`), "Content-Type", "application/json"); !strings.Contains(string(r.Body), `"collections.orders.defaults.status"`) {
		t.Errorf("the differences are %s", r.Body)
	}
	put(http.StatusOK, fmt.Sprintf(model, `,"release":["status"]`))
	s.Put("orders", "1", `{}`)
	s.WantDoc("orders", "1", `{"id":"1","status":"new"}`)
}

// TestDecisionsOfANodeThatLags: a node that does not show what another one has stored decides again once it does. Documents that it takes for absent get
// no defaults, and conditions that were true of the document before are judged again.
func TestDecisionsOfANodeThatLags(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	nodeURL := natsserver.Start(t, 1)[0]
	fast := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: nodeURL})
	defer fast.Close()
	var busy atomic.Bool
	free := make(chan struct{})
	open := sync.OnceFunc(func() { close(free) })
	slow := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: nodeURL, Writer: writer.Options{Timeout: time.Minute}, FailWrite: func() error {
		if busy.Load() {
			<-free
		}
		return nil
	}})
	defer slow.Close()
	defer open()
	fast.Model(`{collections: {as: {defaults: {status: new}}}}`)
	fast.Put("as", "3", `{"n":0}`)
	slow.CatchUp()
	busy.Store(true)
	fast.Put("as", "1", `{"n":1}`)
	fast.Put("as", "2", `{"n":1}`)
	fast.Put("as", "3", `{"n":1}`)
	var sent sync.WaitGroup
	answered := make(chan struct{}, 3)
	for _, write := range []func(){
		func() {
			slow.Want(http.StatusNoContent, http.MethodPut, "/v1/as/1", `{"n":2}`, "Fanfold-Timeout", "60")
		},
		func() {
			slow.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"put","collection":"as","id":"2","body":{"n":2}}]}`, "Fanfold-Timeout", "60")
		},
		func() {
			slow.Want(http.StatusPreconditionFailed, http.MethodPatch, given("/v1/as/3", "doc.n == 0", ""), `{"m":1}`, "Content-Type", harness.MergeType, "Fanfold-Timeout", "60")
		},
	} {
		sent.Go(func() {
			write()
			answered <- struct{}{}
		})
	}
	for end := time.Now().Add(suite.Deadline(30 * time.Second)); int(slow.Node.Writer().Retries())+len(answered) < 3; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Error("the writes are neither answered nor decided again")
			break
		}
	}
	open()
	sent.Wait()
	slow.CatchUp()
	slow.WantDoc("as", "1", `{"id":"1","n":2}`)
	slow.WantDoc("as", "2", `{"id":"2","n":2}`)
	slow.WantDoc("as", "3", `{"id":"3","n":1}`)
	slow.Verify()
}

// TestDefaultsBesideWriters: of many writers of one document on two nodes, each without a condition, one creates it. The events show
// defaults in its document alone.
func TestDefaultsBesideWriters(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	var nodes [2]*harness.Store
	for i := range nodes {
		nodes[i] = harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
		defer nodes[i].Close()
	}
	nodes[0].Model(`{collections: {as: {defaults: {status: new}}}}`)
	nodes[1].CatchUp()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			r, err := nodes[i%2].Do(http.MethodPut, "/v1/as/1", fmt.Appendf(nil, `{"n":%d}`, i))
			if err != nil {
				t.Error(err)
				return
			}
			if r.Status != http.StatusCreated && r.Status != http.StatusNoContent {
				t.Errorf("a PUT is answered with %d: %s", r.Status, r.Body)
			}
		})
	}
	all.Wait()
	nodes[0].CatchUp()
	body := string(nodes[0].Want(http.StatusOK, http.MethodGet, "/v1/as/1/_history?limit=100", "").Body)
	if n := strings.Count(body, `"path":"/status"`); n != 1 { // the second write takes it away
		t.Errorf("%d versions change the default: %s", n, body)
	}
	nodes[0].Verify()
}
