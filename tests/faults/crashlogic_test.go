package faults_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// logicModel has arrays of the document's own, checks over other documents, defaults, sequences, a function, and a trigger that changes, writes and
// refuses.
const logicModel = `
collections:
  events:
    derive: { sold: { sum: orders.event, of: "lines[].quantity", where: doc.status != "cancelled" }, left: { value: doc.capacity - doc.sold } }
    checks: { notOversold: { that: doc.left >= 0 } }
  orders:
    relations: { event: { path: event, to: events } }
    defaults: { status: new, lines: [], address.country: DE }
    sequences: { number: { per: doc.event, start: 1000, format: "{per}-{n:6}" }, serial: {} }
    derive: { "lines[].amount": { value: element.price * element.quantity }, total: { sum: "lines[].amount" } }
    indexes: { byTotal: [-total] }
  invoices:
    sequences: { number: { per: doc.event, start: 1000, format: "{per}-{n:6}" } }
    trigger: book
  books: {}
functions:
  book:
    source: |
      export default (ctx, { op, before, after }) => {
        const id = (after ?? before).id
        ctx.put("books", id, { op, times: (ctx.get("books", id)?.times ?? 0) + 1 })
        if (after?.total < 0) ctx.fail("negative")
        return after && { ...after, booked: op }
      }
  order:
    reads: [orders]
    source: |
      export default (ctx, { id, event, quantity }) => {
        const before = ctx.query("orders", { filter: "doc.event == params.event", params: { event } }).length
        ctx.create("orders", { id, event, before, lines: [{ price: 1, quantity }] })
        ctx.create("invoices", { id, event, total: quantity })
        if (quantity > 5) ctx.delete("invoices", id)
        return before
      }
`

// logicStep is a request of logicScript, and what the answer of one that is done has.
type logicStep struct{ method, path, body, kind, done string }

// logicScript has each kind of write by which documents get numbers and defaults, and checks and triggers decide. Five steps are refused, and two
// imports in part.
var logicScript = []logicStep{
	{"PUT", "/v1/_model", logicModel, harness.YAMLType, ""},
	{"PUT", "/v1/events/e", `{"capacity":6}`, "", ""},
	{"PUT", "/v1/orders/o1", `{"event":"e","lines":[{"price":29.90,"quantity":3}]}`, "", ""},
	{"PUT", "/v1/orders/o2", `{"event":"e"}`, "", ""},
	{"PUT", "/v1/invoices/i1", `{"event":"e"}`, "", ""}, // no check looks at invoices
	{"PUT", "/v1/invoices/i2", `{"event":"e"}`, "", ""},
	{"POST", "/v1/_transactions", `{"operations":[{"op":"create","collection":"orders","body":{"id":"o3","event":"e","lines":[{"price":0.1,"quantity":1},{"price":0.2,"quantity":1}]}},{"op":"create","collection":"orders","body":{"id":"o4","event":"f"}},{"op":"put","collection":"events","id":"f","body":{"capacity":2}}]}`, "", ""},
	{"PUT", "/v1/orders/o5", `{"event":"e","lines":[{"price":1,"quantity":2}]}`, "", ""}, // too many are sold
	{"PATCH", "/v1/orders/o1", `[{"op":"increment","path":"/lines/0/quantity","value":1,"max":4}]`, "application/json-patch+json", ""},
	{"PATCH", "/v1/events/e", `{"capacity":5}`, harness.MergeType, ""}, // fewer than are sold
	{"PATCH", "/v1/orders/o2?if=doc.status==%22new%22", `{"status":"paid"}`, harness.MergeType, ""},
	{"PATCH", "/v1/orders/o2?if=doc.status==%22new%22", `{"status":"sent"}`, harness.MergeType, ""}, // it is paid
	{"DELETE", "/v1/orders/o3", "", "", ""},
	{"PUT", "/v1/orders/o3", `{"event":"e","lines":null}`, "", ""},
	{"PATCH", "/v1/orders?filter=doc.event==%22e%22", `[{"op":"increment","path":"/seen","value":1}]`, "application/json-patch+json", `"done":true`},
	{"POST", "/v1/_import?collection=orders", `{"id":"o6","event":"f","lines":[{"price":5,"quantity":2}]}` + "\n" + `{"id":"o7","event":"f","lines":[{"quantity":1}]}` + "\n" + `{"id":"o8","event":"e"}`, harness.NDJSON, `"written":2`},
	{"PUT", "/v1/_model?allowRemoval=true", strings.Replace(logicModel, ", serial: {}", "", 1), harness.YAMLType, ""},
	{"PUT", "/v1/orders/o9", `{"event":"f"}`, "", ""},
	{"PUT", "/v1/_model?allowRemoval=true", strings.Replace(logicModel, "left >= 0", "left > -1", 1), harness.YAMLType, ""},
	{"PUT", "/v1/orders/o10", `{"event":"g"}`, "", ""},
	{"POST", "/v1/_functions/order", `{"id":"c1","event":"f","quantity":0}`, "", `"result":`},
	{"POST", "/v1/_functions/order", `{"id":"c2","event":"g","quantity":6}`, "", `"result":`}, // the invoice is made and deleted
	{"POST", "/v1/_functions/order", `{"id":"c3","event":"e","quantity":9}`, "", ""},          // too many are sold
	{"POST", "/v1/_functions/order", `{"id":"c4","event":"g","quantity":-1}`, "", ""},         // the trigger refuses its invoice
	{"PATCH", "/v1/invoices/i1", `{"total":3}`, harness.MergeType, ""},
	{"POST", "/v1/_transactions", `{"operations":[{"op":"delete","collection":"invoices","id":"i2"},{"op":"put","collection":"invoices","id":"i3","body":{"event":"f"}}]}`, "", ""},
	{"POST", "/v1/_import?collection=invoices", `{"id":"i4","event":"f"}` + "\n" + `{"id":"i5","event":"f","total":-1}` + "\n" + `{"id":"i6","event":"g"}`, harness.NDJSON, `"written":2`},
}

// logicRefused has the indexes of the steps of logicScript that are refused.
var logicRefused = map[int]bool{7: true, 9: true, 11: true, 22: true, 23: true}

// withoutMeta is what differs by the time and the events of a log.
var withoutMeta = regexp.MustCompile(`,"_meta":\{[^}]*\}|"position":"[^"]*",?`)

// runLogic sends the steps that chosen names, by bits. done has those that were done, and failed is the first one that neither was done
// nor refused, -1 for none. A model that is stored and not folded ends it, because the model before decides about the writes after it.
func runLogic(t *testing.T, s *harness.Store, chosen uint64) (done uint64, failed int) {
	t.Helper()
	failed = -1
	for i, st := range logicScript {
		if chosen&(1<<i) == 0 {
			continue
		}
		headers := []string{"Fanfold-Timeout", "1"}
		if st.kind != "" {
			headers = append(headers, "Content-Type", st.kind)
		}
		r, err := s.Do(st.method, st.path, []byte(st.body), headers...)
		switch {
		case err != nil:
			t.Fatalf("%s %s: %v", st.method, st.path, err)
		case r.Status < 300 && strings.Contains(string(r.Body), st.done):
			done |= 1 << i
		case failed < 0 && (r.Status >= 500 || r.Status < 300):
			failed = i
		}
		if r.Status == http.StatusAccepted && st.kind == harness.YAMLType {
			break
		}
	}
	return done, failed
}

// logicWorks makes crashes of logicScript. They share what stores without a crash hold after the same steps.
type logicWorks struct {
	mu    sync.Mutex
	ended map[uint64]string
}

// want returns what a store holds that took some steps without a crash.
func (w *logicWorks) want(t *testing.T, steps uint64) string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.ended[steps]; !known {
		s := harness.Open(t, harness.Options{Dir: t.TempDir()})
		if done, failed := runLogic(t, s, steps); done != steps || failed >= 0 {
			t.Fatalf("of the steps %b a store without a crash takes %b, and fails at %d", steps, done, failed)
		}
		w.ended[steps] = endOfLogic(t, s)
		s.Close()
	}
	return w.ended[steps]
}

// endOfLogic writes an order more, and returns what the store holds then. No event of the log has left a check false, and the numbers are those
// from the first on, in the order of the log.
func endOfLogic(t *testing.T, s *harness.Store) string {
	t.Helper()
	s.CatchUp()
	s.Put("orders", "last", `{"event":"e"}`)
	var feed struct {
		Results []struct {
			Op, Collection, Within string
			Doc                    struct {
				Event, Number string
				Left          *int
			}
		}
	}
	text := s.Want(http.StatusOK, http.MethodGet, "/v1/_changes?since=0&mode=all&include_docs=true&limit=1000", "").Body
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), `"within":true`, `"within":"yes"`)), &feed); err != nil {
		t.Fatal(err)
	}
	last := map[string]int{}
	for _, row := range feed.Results {
		if row.Doc.Left != nil && *row.Doc.Left < 0 && row.Within == "" {
			t.Errorf("a check was false: %+v", row)
		}
		if row.Op != "create" || row.Doc.Number == "" {
			continue
		}
		counter := row.Collection + " " + row.Doc.Event
		last[counter] = max(last[counter]+1, 1000)
		if want := fmt.Sprintf("%s-%06d", row.Doc.Event, last[counter]); row.Doc.Number != want {
			t.Errorf("a document of %s is given %s, want %s", row.Collection, row.Doc.Number, want)
		}
	}
	end := ""
	for _, path := range []string{"/v1/events", "/v1/invoices", "/v1/books", "/v1/orders?limit=100&sort=-total", "/v1/_sequences"} {
		r, err := s.Do(http.MethodGet, path, nil) // there may be no collection
		if err != nil {
			t.Fatal(err)
		}
		end += withoutMeta.ReplaceAllString(string(r.Body), "") + "\n"
	}
	return end
}

// crashOfLogic lets a write of SQLite be the last one that works. Afterwards the store holds what one does that took the acknowledged steps.
var crashOfLogic = crash{name: "logic", most: 12, begin: func(*testing.T) func(*testing.T, *failing) {
	w := &logicWorks{ended: map[uint64]string{}}
	return func(t *testing.T, f *failing) {
		f.arm()
		opt := harness.Options{Dir: t.TempDir(), FailWrite: f.write}
		done := uint64(0)
		s, err := harness.Start(t, opt)
		if err != nil { // struck while the file was made
			opt.FailWrite = nil
			s = harness.Open(t, opt)
		} else {
			done, _ = runLogic(t, s, 1<<len(logicScript)-1)
			s = s.Abandon()
		}
		w.requireEnd(t, s, done, f)
	}
}}

// crashOfLogicLog lets the log fail at an append, once before and once after the batch is stored, and from then on. The one write without an
// answer is there whole, with its numbers and gates, or not at all.
var crashOfLogicLog = crash{name: "logic of the log", least: 14, most: 6, begin: func(*testing.T) func(*testing.T, *failing) {
	w := &logicWorks{ended: map[uint64]string{}}
	return func(t *testing.T, f *failing) {
		for _, stored := range []bool{false, true} {
			var n atomic.Int64
			var unanswered atomic.Bool // a batch is stored, and nobody was told
			s := harness.Open(t, harness.Options{Dir: t.TempDir(), Sync: true, FailAppend: func(after bool) error {
				if !after {
					f.n.Store(n.Add(1))
				}
				k := f.k.Load()
				if n.Load() < k || n.Load() == k && after != stored {
					return nil
				}
				unanswered.Store(unanswered.Load() || after)
				return errFailed
			}})
			done, failed := runLogic(t, s, 1<<len(logicScript)-1)
			if unanswered.Load() {
				done |= 1 << failed
			}
			w.requireEnd(t, s.Abandon(), done, f)
		}
	}
}}

// requireEnd fails the test unless a store holds what one without a crash does after the same steps, also after a replay. It closes the store.
func (w *logicWorks) requireEnd(t *testing.T, s *harness.Store, steps uint64, f *failing) {
	t.Helper()
	for i := range logicScript {
		if done := steps&(1<<i) != 0; !f.struck() && done == logicRefused[i] {
			t.Errorf("step %d is done: %t", i, done)
		}
	}
	if end, want := endOfLogic(t, s), w.want(t, steps); end != want {
		t.Errorf("after the steps %b the store holds\n%s\nwithout a crash it would hold\n%s", steps, end, want)
	}
	requireReplayed(t, s)
}
