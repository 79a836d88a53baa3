package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestIncrementRequests: an increment is one more operation of a JSON Patch, in a request of its own and in a transaction. The log and the feed have
// what it came to.
func TestIncrementRequests(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {seats: {derive: {left: {value: doc.all - doc.sold}}}}}`)
	s.Put("seats", "s", `{"all":3,"sold":0}`)
	const operations = "application/json-patch+json"
	patch := func(status int, body string, headers ...string) *harness.Response {
		return s.Want(status, http.MethodPatch, "/v1/seats/s", body, append([]string{"Content-Type", operations}, headers...)...)
	}
	patch(http.StatusNoContent, `[{"op":"increment","path":"/sold","value":2,"max":3}]`)
	s.WantDoc("seats", "s", `{"id":"s","all":3,"sold":2,"left":1}`)
	if r := patch(http.StatusPreconditionFailed, `[{"op":"increment","path":"/sold","value":2,"max":3}]`); !strings.Contains(string(r.Body), "condition-failed") || !strings.Contains(string(r.Body), "more than 3") {
		t.Errorf("the refusal is %s", r.Body)
	}
	patch(http.StatusUnprocessableEntity, `[{"op":"increment","path":"/id","value":1}]`)
	patch(http.StatusUnprocessableEntity, `[{"op":"increment","path":"/left","value":1}]`)
	patch(http.StatusUnprocessableEntity, `[{"op":"increment","path":"/a/b","value":1}]`)
	patch(http.StatusBadRequest, `[{"op":"increment","path":"/sold","value":"1"}]`)
	patch(http.StatusPreconditionFailed, `[{"op":"increment","path":"/sold","value":1}]`, "If-Match", `"1"`)
	s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"patch","collection":"seats","id":"s","patch":[{"op":"increment","path":"/sold","value":1,"max":3}]}]}`)
	if r := s.Want(http.StatusPreconditionFailed, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"patch","collection":"seats","id":"s","patch":[{"op":"increment","path":"/sold","value":1,"max":3}]}]}`); !strings.Contains(string(r.Body), `"operation":0`) {
		t.Errorf("the refusal of a transaction is %s", r.Body)
	}
	s.WantDoc("seats", "s", `{"id":"s","all":3,"sold":3,"left":0}`)
	if body := string(s.Want(http.StatusOK, http.MethodGet, "/v1/seats/s/_history", "").Body); strings.Contains(body, "increment") || !strings.Contains(body, `{"op":"replace","path":"/sold","value":3,"old":2}`) {
		t.Errorf("the history is %s", body)
	}
	s.Verify()
}

// TestIncrementsAreNotLost: buyers on two nodes take seats until none is left, each with one request. As many are taken as there were.
func TestIncrementsAreNotLost(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	var nodes [2]*harness.Store
	for i := range nodes {
		nodes[i] = harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
		defer nodes[i].Close()
	}
	const seats, buyers = 20, 30
	nodes[0].Put("seats", "s", fmt.Sprintf(`{"left":%d}`, seats))
	nodes[1].CatchUp()
	var taken, refused atomic.Int32
	var all sync.WaitGroup
	for i := range buyers {
		all.Go(func() {
			r, err := nodes[i%2].Do(http.MethodPatch, "/v1/seats/s", []byte(`[{"op":"increment","path":"/left","value":-1,"min":0}]`), "Content-Type", "application/json-patch+json", "Fanfold-Timeout", "60")
			switch {
			case err != nil:
				t.Error(err)
			case r.Status == http.StatusNoContent:
				taken.Add(1)
			case r.Status == http.StatusPreconditionFailed:
				refused.Add(1)
			default:
				t.Errorf("the answer is %d %s", r.Status, r.Body)
			}
		})
	}
	all.Wait()
	if taken.Load() != seats || refused.Load() != buyers-seats {
		t.Errorf("%d seats were taken, and %d buyers refused", taken.Load(), refused.Load())
	}
	nodes[0].CatchUp()
	nodes[0].WantDoc("seats", "s", `{"id":"s","left":0}`)
}
