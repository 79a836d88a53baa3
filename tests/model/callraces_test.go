package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestCallsAreSerial: beside each other, calls do what they would do one after the other. A reading that others outdate is read again.
func TestCallsAreSerial(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, `
collections:
  counters: {}
  shifts: { relations: { doctor: { path: doctor, to: doctors } } }
  doctors: {}
  invoices: { sequences: { number: {} } }
functions:
  count: { source: "export default (ctx) => { const d = ctx.get('counters', 'c') ?? { n: 0 }; return ctx.put('counters', 'c', { n: d.n + 1 }).n }" }
  leave:
    reads: [doctors]
    source: |
      export default (ctx, id) => {
        const on = ctx.query("doctors", { filter: "doc.on == true" })
        if (on.length < 2) ctx.fail("last", "somebody must stay")
        ctx.patch("doctors", id, { on: false })
      }
  add:
    reads: [shifts]
    source: |
      export default (ctx, doctor) => {
        if (ctx.query("shifts", { filter: "doc.doctor == params.d", params: { d: doctor } }).length >= 3) ctx.fail("full")
        ctx.create("shifts", { doctor })
      }
  number: { source: "export default (ctx) => ctx.create('invoices', {}).number" }
`)
	for i := range 8 {
		s.Put("doctors", fmt.Sprint("d", i), `{"on":true}`)
	}
	var numbers [400]atomic.Int32
	var counted, left, added atomic.Int32
	each := func(n int, name, arguments string, ok func(result []byte)) {
		for range n {
			r, err := s.Do(http.MethodPost, "/v1/_functions/"+name, []byte(arguments), "Fanfold-Timeout", "60")
			switch {
			case err != nil:
				t.Error(err)
			case r.Status == http.StatusOK:
				var out called
				if err := json.Unmarshal(r.Body, &out); err != nil {
					t.Error(err)
				}
				ok(out.Result)
			case r.Status == http.StatusTooManyRequests || strings.Contains(string(r.Body), "function-failed"):
			default:
				t.Errorf("%s: %d %s", name, r.Status, r.Body)
			}
		}
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { each(10, "count", "null", func([]byte) { counted.Add(1) }) })
		all.Go(func() { each(2, "leave", fmt.Sprintf(`"d%d"`, i), func([]byte) { left.Add(1) }) })
		all.Go(func() { each(2, "add", `"d1"`, func([]byte) { added.Add(1) }) })
		all.Go(func() {
			each(10, "number", "null", func(result []byte) {
				var n int
				if json.Unmarshal(result, &n) != nil || n >= len(numbers) || numbers[n].Add(1) != 1 {
					t.Errorf("the number %s came twice", result)
				}
			})
		})
	}
	all.Wait()
	s.WantDoc("counters", "c", fmt.Sprintf(`{"id":"c","n":%d}`, counted.Load()))
	var on struct{ Items []json.RawMessage }
	if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodPost, "/v1/doctors/_query", `{"filter":"doc.on == true"}`).Body, &on); err != nil || len(on.Items) == 0 {
		t.Errorf("%d doctors stay, %v; %d have left", len(on.Items), err, left.Load())
	}
	if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, "/v1/shifts", "").Body, &on); err != nil || len(on.Items) != 3 || added.Load() != 3 {
		t.Errorf("%d shifts, %v; %d were added", len(on.Items), err, added.Load())
	}
	last := 0
	for n := range numbers {
		if numbers[n].Load() > 0 {
			if n != last+1 {
				t.Errorf("number %d follows %d", n, last)
			}
			last = n
		}
	}
}

// TestImportFires: each line of an import fires its trigger, once also if the import is sent again, and a refused line leaves nothing.
func TestImportFires(t *testing.T) {
	s := openCalls(t)
	var lines strings.Builder
	for i := range 250 {
		fmt.Fprintf(&lines, `{"id":"i%03d","total":%d}`+"\n", i, i%50-1)
	}
	lines.WriteString(`{"id":"i000","total":7}` + "\n")
	for _, refused := range []int{5, 0} { // the second request tells again that there were some, and not which
		r := s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=invoices&id=one&resume=true", lines.String(), "Content-Type", "application/x-ndjson")
		if n := strings.Count(string(r.Body), `"trigger":"checkInvoice","code":"negative"`); n != refused || !strings.Contains(string(r.Body), `"written":246`) {
			t.Errorf("the answer is %s", r.Body)
		}
	}
	rows, _ := s.Changes("collections=audit&mode=all&limit=1000")
	if len(rows) != 246 {
		t.Errorf("%d lines of the audit trail", len(rows))
	}
	s.WantDoc("invoices", "i000", `{"id":"i000","total":7,"checked":"create","number":246}`)
	s.WantDoc("invoices", "i001", `{"id":"i001","total":0,"checked":"create","number":1}`)
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=invoices&restore=true", `{"id":"old","total":-5,"number":900}`+"\n", "Content-Type", "application/x-ndjson")
	s.WantDoc("invoices", "old", `{"id":"old","total":-5,"number":900}`)
}

// TestUpdatesFire: an update by query fires the triggers of the documents that it writes.
func TestUpdatesFire(t *testing.T) {
	s := openCalls(t)
	for i := range 120 {
		s.Put("stock", fmt.Sprint(i), fmt.Sprintf(`{"left":%d}`, i))
	}
	dry := s.Want(http.StatusOK, http.MethodPatch, "/v1/stock?filter=doc.left%3C200&dryRun=true", `[{"op":"increment","path":"/left","value":-10}]`, "Content-Type", "application/json-patch+json")
	if !strings.Contains(string(dry.Body), `"written":110`) || !strings.Contains(string(dry.Body), `"refused":10`) {
		t.Errorf("the dry run answers %.500s", dry.Body)
	}
	r := s.Want(http.StatusOK, http.MethodPatch, "/v1/stock?filter=doc.left%3C200", `[{"op":"increment","path":"/left","value":-10}]`, "Content-Type", "application/json-patch+json", "Idempotency-Key", "k")
	if !strings.Contains(string(r.Body), `"written":110`) || !strings.Contains(string(r.Body), `"refused":10`) {
		t.Errorf("the answer is %.500s", r.Body)
	}
	s.WantDoc("stock", "9", `{"id":"9","left":9}`)
	s.WantDoc("stock", "10", `{"id":"10","left":0}`)
	s.WantDoc("stock", "119", `{"id":"119","left":109}`)
	s.Want(http.StatusOK, http.MethodDelete, "/v1/stock?filter=doc.left%3C5", "")
}

// TestRefreshAndStepsFire: a write that takes frozen values again fires the trigger, and so does the last step of a delete. A trigger that refuses the delete does so before anything is gone.
func TestRefreshAndStepsFire(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  products: {}
  orders: { trigger: note, relations: { product: { path: product, to: products } }, derive: { price: { copy: product, value: doc.price, frozen: true } } }
  lines: { relations: { order: { path: order, to: orders, onDelete: cascade } } }
  notes: {}
functions:
  note: { source: "export default (ctx, { op, before }) => { if (before?.held && op == 'delete') ctx.fail('held'); ctx.create('notes', { op }) }" }
`)
	s.Put("products", "p", `{"price":1}`)
	s.Put("orders", "o", `{"product":"p"}`)
	s.Put("products", "p", `{"price":2}`)
	s.Want(http.StatusNoContent, http.MethodPatch, "/v1/orders/o?refresh=price", `{}`, "Content-Type", "application/merge-patch+json")
	s.WantDoc("orders", "o", `{"id":"o","product":"p","price":2}`)
	s.Put("orders", "o", `{"product":"p","held":true}`)
	var lines strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&lines, `{"id":"%d","order":"o"}`+"\n", i)
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=lines", lines.String(), "Content-Type", "application/x-ndjson")
	s.Want(http.StatusUnprocessableEntity, http.MethodDelete, "/v1/orders/o", "")
	r := s.Want(http.StatusUnprocessableEntity, http.MethodDelete, "/v1/orders/o?steps=true", "")
	if !strings.Contains(string(r.Body), `"code":"held"`) {
		t.Errorf("the refusal is %s", r.Body)
	}
	s.WantDoc("lines", "0", `{"id":"0","order":"o"}`)
	s.Put("orders", "o", `{"product":"p"}`)
	deleted := 0
	for done := false; !done; {
		var step struct {
			Done    bool
			Deleted int
		}
		if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodDelete, "/v1/orders/o?steps=true", "").Body, &step); err != nil {
			t.Fatal(err)
		}
		done, deleted = step.Done, deleted+step.Deleted
	}
	if deleted != 1201 {
		t.Errorf("%d documents were deleted", deleted)
	}
	rows, _ := s.Changes("collections=notes&mode=all&include_docs=true")
	var ops []string
	for _, row := range rows {
		var doc struct{ Op string }
		if err := json.Unmarshal(row.Doc, &doc); err != nil {
			t.Fatal(err)
		}
		ops = append(ops, doc.Op)
	}
	if got := strings.Join(ops, " "); got != "create patch replace replace delete" {
		t.Errorf("the trigger was told of %s", got)
	}
}

// TestUpdateWhoseTriggersAreOutdated: an update by query goes on although others change what its triggers read: it does not wait for the locks that it has itself.
func TestUpdateWhoseTriggersAreOutdated(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  rates: {}
  items: { trigger: rated }
functions:
  rated: { source: "export default (ctx, { after }) => after && { ...after, rate: ctx.get('rates', 'r').n }" }
`)
	s.Put("rates", "r", `{"n":0}`)
	for i := range 40 {
		s.Put("items", fmt.Sprint(i), `{}`)
	}
	done := make(chan struct{})
	var writers sync.WaitGroup
	writers.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			default:
				s.Merge("rates", "r", fmt.Sprintf(`{"n":%d}`, n))
			}
		}
	})
	for i := range 5 {
		r := s.Want(http.StatusOK, http.MethodPatch, "/v1/items?filter=true", fmt.Sprintf(`{"round":%d}`, i), "Content-Type", harness.MergeType, "Fanfold-Timeout", "60")
		if !strings.Contains(string(r.Body), `"written":40`) {
			t.Errorf("the answer is %.300s", r.Body)
		}
	}
	close(done)
	writers.Wait()
}
