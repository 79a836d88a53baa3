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

// ticketing is a model with a check of a document by itself, and one over what its orders add up to.
const ticketing = `
collections:
  events:
    derive: { sold: { sum: orders.event, of: quantity, where: '!has(doc.status) || doc.status != "cancelled"' }, left: { value: doc.capacity - doc.sold } }
    checks: { notOversold: { that: doc.left >= 0, message: "No seat is left" }, order: { that: doc.endsAt > doc.startsAt } }
  orders:
    relations: { event: { path: event, to: events } }
    checks: { some: { that: doc.quantity > 0, message: "An order has a seat" } }
`

// wantCheckFailed sends a request that a check refuses, and looks for texts in the answer.
func wantCheckFailed(t *testing.T, s *harness.Store, method, path, body string, texts ...string) {
	t.Helper()
	kind := "application/json"
	if method == http.MethodPatch {
		kind = "application/merge-patch+json"
	}
	r := s.Want(http.StatusUnprocessableEntity, method, path, body, "Content-Type", kind)
	for _, text := range append(texts, "urn:fanfold:problem:check-failed") {
		if !strings.Contains(string(r.Body), text) {
			t.Errorf("%s %s %s: %s lacks %q", method, path, body, r.Body, text)
		}
	}
}

// TestChecksOfADocument: a write that would make a check of its own document false is refused, however it comes.
func TestChecksOfADocument(t *testing.T) {
	s := harness.OpenTemp(t, ticketing)
	wantCheckFailed(t, s, http.MethodPut, "/v1/orders/o", `{"quantity":0}`, `"orders/o some"`, "An order has a seat")
	wantCheckFailed(t, s, http.MethodPost, "/v1/orders", `{"quantity":-1}`)
	s.Put("orders", "o", `{"quantity":1}`)
	wantCheckFailed(t, s, http.MethodPut, "/v1/orders/o", `{"quantity":0}`)
	wantCheckFailed(t, s, http.MethodPatch, "/v1/orders/o", `{"quantity":0}`)
	wantCheckFailed(t, s, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"put","collection":"orders","id":"o","body":{"quantity":0}}]}`)
	wantCheckFailed(t, s, http.MethodPut, "/v1/orders/o?dryRun=true", `{"quantity":0}`)
	s.Want(http.StatusNoContent, http.MethodPatch, "/v1/orders/o", `{"quantity":null,"note":"none"}`, "Content-Type", "application/merge-patch+json") // no value
	wantCheckFailed(t, s, http.MethodPut, "/v1/events/e", `{"startsAt":"2","endsAt":"1"}`, `"events/e order"`, `doc.endsAt > doc.startsAt`)
	s.Put("events", "e", `{"startsAt":"1","endsAt":"2"}`)
	wantCheckFailed(t, s, http.MethodPatch, "/v1/events/e", `{"endsAt":"0"}`)
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/events/e", "")
	r := s.Want(http.StatusOK, http.MethodPost, "/v1/_import", `{"collection":"orders","doc":{"id":"a","quantity":1}}
{"collection":"orders","doc":{"id":"b","quantity":0}}
{"collection":"orders","doc":{"id":"c","quantity":2}}
`, "Content-Type", "application/x-ndjson")
	if text := string(r.Body); !strings.Contains(text, "orders/b some") || !strings.Contains(text, `"written":2`) {
		t.Errorf("the import says %s", text)
	}
	s.Verify()
}

// TestChecksOfOthers: a write is refused that would make a check of another document false, by what that derives.
func TestChecksOfOthers(t *testing.T) {
	s := harness.OpenTemp(t, ticketing)
	s.Put("events", "e1", `{"capacity":3}`)
	s.Put("orders", "o1", `{"event":"e1","quantity":2}`)
	wantCheckFailed(t, s, http.MethodPut, "/v1/orders/o2", `{"event":"e1","quantity":2}`, "events/e1 notOversold", "No seat is left")
	wantCheckFailed(t, s, http.MethodPatch, "/v1/orders/o1", `{"quantity":4}`, "events/e1 notOversold")
	wantCheckFailed(t, s, http.MethodPatch, "/v1/events/e1", `{"capacity":1}`, "events/e1 notOversold")
	s.Put("orders", "o2", `{"event":"e1","quantity":4,"status":"cancelled"}`)
	wantCheckFailed(t, s, http.MethodPatch, "/v1/orders/o2", `{"status":"new"}`, "events/e1 notOversold")
	transaction := func(o1, o2 int) string {
		return fmt.Sprintf(`{"operations":[{"op":"put","collection":"orders","id":"o3","body":{"event":"e1","quantity":%d}},{"op":"patch","collection":"orders","id":"o1","patch":{"quantity":%d}}]}`, o2, o1)
	}
	wantCheckFailed(t, s, http.MethodPost, "/v1/_transactions", transaction(2, 2), "events/e1 notOversold")
	s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", transaction(1, 2)) // only the state after all of it counts
	s.WantDoc("events", "e1", `{"id":"e1","capacity":3,"left":0,"sold":3}`)
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/orders/o3", "")
	r := s.Want(http.StatusOK, http.MethodPost, "/v1/_import", `{"collection":"orders","doc":{"id":"i1","event":"e1","quantity":1}}
{"collection":"orders","doc":{"id":"i2","event":"e1","quantity":2}}
{"collection":"orders","doc":{"id":"i3","event":"e1","quantity":1}}
{"collection":"orders","doc":{"id":"i4","event":"e1","quantity":1}}
`, "Content-Type", "application/x-ndjson")
	if text := string(r.Body); strings.Count(text, "No seat is left") != 2 || !strings.Contains(text, `"written":2`) {
		t.Errorf("the import says %s", text)
	}
	s.WantDoc("events", "e1", `{"id":"e1","capacity":3,"left":0,"sold":3}`)
	s.Replay()
	s.Verify()
}

// TestChecksAreMended: a check that is false already refuses no write, and counts again once it holds.
func TestChecksAreMended(t *testing.T) {
	s := harness.OpenTemp(t, strings.Replace(ticketing, "checks: { notOversold", "checks: {} # { notOversold", 1))
	s.Put("events", "e1", `{"capacity":3}`)
	s.Put("orders", "o1", `{"event":"e1","quantity":5}`)
	s.Put("orders", "o2", `{"event":"e1","quantity":1}`)
	r := s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/_model", ticketing, "Content-Type", "application/yaml")
	for _, text := range []string{"events/e1 notOversold", "No seat is left", "allowMisfits=true"} {
		if !strings.Contains(string(r.Body), text) {
			t.Errorf("the model is refused with %s, without %q", r.Body, text)
		}
	}
	if r := s.Want(http.StatusOK, http.MethodPut, "/v1/_model?dryRun=true", ticketing, "Content-Type", "application/yaml"); !strings.Contains(string(r.Body), `"misfits":[{"collection":"events","documents":1,"first":[{"document":"events/e1"`) {
		t.Errorf("the preview is %s", r.Body)
	}
	s.Want(http.StatusOK, http.MethodPut, "/v1/_model?allowMisfits=true", ticketing, "Content-Type", "application/yaml")
	s.Put("orders", "o3", `{"event":"e1","quantity":1}`) // it is false, and stays so
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/orders/o1", "")
	s.WantDoc("events", "e1", `{"id":"e1","capacity":3,"left":1,"sold":2}`)
	wantCheckFailed(t, s, http.MethodPut, "/v1/orders/o4", `{"event":"e1","quantity":2}`, "events/e1 notOversold")
	s.Want(http.StatusOK, http.MethodPut, "/v1/_model?allowRemoval=true", "collections: {events: {}}", "Content-Type", "application/yaml")
	s.Put("orders", "o4", `{"event":"e1","quantity":20}`)
	s.Verify()
}

// buy sends an order of one seat for each buyer at once, and returns how many were taken and how many were refused by the check.
func buy(t *testing.T, nodes []*harness.Store, buyers int) (taken, refused int) {
	t.Helper()
	var sold, full atomic.Int32
	var all sync.WaitGroup
	for i := range buyers {
		all.Go(func() {
			var headers []string
			if i%3 > 0 { // as clients do
				headers = []string{"Idempotency-Key", fmt.Sprintf("%q", fmt.Sprint("buyer", i))}
			}
			r, err := nodes[i%len(nodes)].Do(http.MethodPut, fmt.Sprintf("/v1/orders/b%d", i), []byte(`{"event":"e1","quantity":1}`), headers...)
			switch {
			case err != nil:
				t.Error(err)
			case r.Status == http.StatusCreated:
				sold.Add(1)
			case r.Status == http.StatusUnprocessableEntity && strings.Contains(string(r.Body), "events/e1 notOversold"):
				full.Add(1)
			default:
				t.Errorf("%d %s", r.Status, r.Body)
			}
		})
	}
	all.Wait()
	return int(sold.Load()), int(full.Load())
}

// TestSixtyBuyers: sixty buyers ask once each for forty seats, on one, two and three nodes. Forty get one.
func TestSixtyBuyers(t *testing.T) {
	suite.Parallel(t)
	for count := 1; count <= 3; count++ {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			nodes := []*harness.Store{}
			if count == 1 {
				nodes = append(nodes, harness.OpenTemp(t, ticketing))
			} else {
				url := natsserver.Start(t, 1)[0]
				for range count {
					n := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
					defer n.Close()
					nodes = append(nodes, n)
				}
				nodes[0].Model(ticketing)
			}
			nodes[0].Put("events", "e1", `{"capacity":40}`)
			for _, n := range nodes {
				n.CatchUp()
			}
			if taken, refused := buy(t, nodes, 60); taken != 40 || refused != 20 {
				t.Errorf("%d of 60 buyers got one of 40 seats, and %d were told that there is none", taken, refused)
			}
			nodes[0].CatchUp()
			nodes[0].WantDoc("events", "e1", `{"id":"e1","capacity":40,"left":0,"sold":40}`)
			nodes[0].Verify()
		})
	}
}

// TestChecksOfManyDocuments: a write that changes more than 1,000 documents which checks look at is refused, as is one that brings more messages
// than are stored at once.
func TestChecksOfManyDocuments(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {plans: {}, users: {relations: {plan: {path: plan, to: plans}}, derive: {most: {copy: plan, value: doc.most}}, checks: {quota: {that: doc.used <= doc.most}}}}}`)
	s.Put("plans", "p", `{"most":9}`)
	var lines strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&lines, `{"collection":"users","doc":{"id":"u%d","plan":"p","used":5}}`+"\n", i)
	}
	if r := s.Want(http.StatusOK, http.MethodPost, "/v1/_import", lines.String(), "Content-Type", "application/x-ndjson"); !strings.Contains(string(r.Body), `"written":1001`) {
		t.Fatalf("the import says %s", r.Body)
	}
	if r := s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/plans/p", `{"most":8}`); !strings.Contains(string(r.Body), "more than 1000 documents") {
		t.Errorf("the refusal is %s", r.Body)
	}
	for i := range 2 {
		s.Want(http.StatusNoContent, http.MethodDelete, fmt.Sprintf("/v1/users/u%d", i), "")
	}
	if r := s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/plans/p", `{"most":8}`); !strings.Contains(string(r.Body), "more messages than are stored at once") { // 999, the plan's own, and the write
		t.Errorf("the refusal is %s", r.Body)
	}
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/users/u2", "")
	wantCheckFailed(t, s, http.MethodPut, "/v1/plans/p", `{"most":4}`, "users/u", "quota")
	s.Want(http.StatusNoContent, http.MethodPut, "/v1/plans/p", `{"most":8}`)
	wantCheckFailed(t, s, http.MethodPut, "/v1/users/new", `{"plan":"p","used":9}`, "users/new quota")
	s.Verify()
}

// TestLargeRehearsals: a write whose rehearsal would take more than 64 MiB is refused.
func TestLargeRehearsals(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {plans: {derive: {users: {count: users.plan}}, checks: {many: {that: doc.users < doc.most}}}, users: {relations: {plan: {path: plan, to: plans}}, derive: {text: {copy: plan, value: doc.text}}}}}`)
	s.Put("plans", "p", `{"text":"short"}`)
	var lines strings.Builder
	for i := range 80 {
		fmt.Fprintf(&lines, `{"collection":"users","doc":{"id":"u%d","plan":"p"}}`+"\n", i)
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import", lines.String(), "Content-Type", "application/x-ndjson")
	long := fmt.Sprintf(`{"text":%q}`, strings.Repeat("long", 250_000))
	if r := s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/plans/p", long); !strings.Contains(string(r.Body), "64 MiB") {
		t.Errorf("the refusal is %.300s", r.Body)
	}
	s.Verify()
}

// TestChecksTellNoSecrets: whoever may not read a document is told that a check of another one is broken, and no more.
func TestChecksTellNoSecrets(t *testing.T) {
	s := harness.OpenTemp(t, strings.NewReplacer("sum: orders.event,", "sum: orders.event, publish: true,", "doc.sold }", "doc.sold, publish: true }", "  orders:\n", "  orders:\n    access: { read: [seller], write: [seller] }\n").Replace(ticketing))
	s.Put("events", "e1", `{"capacity":1}`)
	s.CloseHouse()
	seller := s.As("seller")
	r := seller.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/orders/o", `{"event":"e1","quantity":2}`)
	if text := string(r.Body); strings.Contains(text, "events/") || strings.Contains(text, "notOversold") || !strings.Contains(text, "check-failed") || !strings.Contains(text, "a check of another document") {
		t.Errorf("a seller is told %s", text)
	}
	if r := seller.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/orders/o", `{"quantity":0}`); !strings.Contains(string(r.Body), "orders/o some") {
		t.Errorf("a seller is told %s", r.Body)
	}
}

// TestChecksNeedAFold: under a version of the fold that knows no checks a model with one is refused, and changes nothing.
func TestChecksNeedAFold(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), KeepFold: true})
	defer s.Close()
	s.Model(`collections: {events: {}}`)
	if r := s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/_model", ticketing, "Content-Type", "application/yaml"); !strings.Contains(string(r.Body), "fanfold upgrade") {
		t.Errorf("the refusal is %s", r.Body)
	}
	s.SetFold(9)
	s.Model(ticketing)
	wantCheckFailed(t, s, http.MethodPut, "/v1/orders/o", `{"quantity":0}`)
}

// TestChecksAreExported: an export comes back whole into a new store, with a document that breaks a check, and the checks count there.
func TestChecksAreExported(t *testing.T) {
	s := harness.OpenTemp(t, strings.Replace(ticketing, "checks: { notOversold", "checks: {} # { notOversold", 1))
	s.Put("events", "e1", `{"capacity":1}`)
	s.Put("events", "e2", `{"capacity":1}`)
	s.Put("orders", "o1", `{"event":"e1","quantity":2}`)
	s.Want(http.StatusOK, http.MethodPut, "/v1/_model?allowMisfits=true", ticketing, "Content-Type", "application/yaml")
	lines := s.Want(http.StatusOK, http.MethodGet, "/v1/_export", "").Body
	other := harness.OpenTemp(t, "")
	if r := other.Want(http.StatusOK, http.MethodPost, "/v1/_import", string(lines), "Content-Type", "application/x-ndjson"); !strings.Contains(string(r.Body), `"refused":0,"written":3`) {
		t.Fatalf("the import says %s of %s", r.Body, lines)
	}
	other.WantDoc("events", "e1", `{"id":"e1","capacity":1,"left":-1,"sold":2}`)
	wantCheckFailed(t, other, http.MethodPut, "/v1/orders/o2", `{"event":"e2","quantity":2}`, "events/e2 notOversold")
	other.Put("orders", "o2", `{"event":"e2","quantity":1}`)
}

// TestFailingChecks: a check that fails, or takes more work than it may, refuses nothing, and is counted in _status and the metrics.
func TestFailingChecks(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {orders: {checks: {none: {that: "!doc.lines.exists(x, doc.lines.exists(y, x + y < 0))"}, ratio: {that: doc.a / doc.b > 1}, small: {that: doc.a < 10}}}}}`)
	s.Put("orders", "a", `{"a":1}`) // without a value, which is no failure
	if errs := s.Node.Projector.Status().RuleErrors; len(errs) != 0 {
		t.Errorf("a check without a value is counted: %+v", errs)
	}
	lines := "[" + strings.Repeat("1,", 1999) + "1]"
	s.Put("orders", "b", `{"lines":`+lines+`}`)
	s.Put("orders", "c", `{"a":1,"b":0}`)
	wantCheckFailed(t, s, http.MethodPut, "/v1/orders/d", `{"a":10,"b":0}`, "orders/d small")
	errs := s.Node.Projector.Status().RuleErrors
	if len(errs) != 2 || errs[0].Rule != "orders.checks.none" || errs[0].Document != "orders/b" || errs[0].Count < 1 || errs[1].Rule != "orders.checks.ratio" || errs[1].Count < 2 {
		t.Errorf("the failures are %+v", errs)
	}
	if metrics := string(s.Want(http.StatusOK, http.MethodGet, "/metrics", "").Body); strings.Contains(metrics, "fanfold_rule_errors 0") {
		t.Error("the metrics count no failure")
	}
	s.Verify()
}
