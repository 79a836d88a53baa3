package model_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/tests/harness"
)

// ticketing has amounts beside lines, totals over them, and sums over the lines of others.
const ticketing = `
collections:
  events:
    derive:
      sold: { sum: orders.event, of: "lines[].quantity", where: doc.status != "cancelled" }
      left: { value: doc.capacity - doc.sold }
      dearest: { max: orders.event, of: "lines[].amount" }
      cheapest: { min: orders.event, of: "lines[].price", where: element.quantity > 1 }
      mean: { avg: orders.event, of: "lines[].amount" }
  orders:
    relations: { event: { path: event, to: events }, product: { path: "lines[].product", to: products } }
    derive:
      "lines[].amount": { value: element.price * element.quantity }
      "lines[].name":   { copy: product, value: doc.name, frozen: true }
      "lines[].share":  { value: "round(element.amount / doc.total, 2)" }
      total: { sum: "lines[].amount" }
      large: { count: "lines[]", where: element.quantity > doc.bulk }
      named: { count: "lines[].name" }
      least: { min: "lines[].amount" }
      most:  { max: "lines[].amount" }
      mean:  { avg: "lines[].price" }
      taxed: { value: "doc.total * 1.19" }
    indexes: { total: [total], amount: ["lines[].amount"] }
  products: {}
`

// TestArraysOfTheDocument: values stand beside elements by their position, and totals go over them, exactly.
func TestArraysOfTheDocument(t *testing.T) {
	s := harness.OpenTemp(t, ticketing)
	s.Put("products", "p", `{"name":"Ticket"}`)
	s.Put("events", "e", `{"capacity":40}`)
	s.Put("orders", "1", `{"event":"e","status":"new","bulk":2,"lines":[{"price":29.90,"quantity":3,"product":"p"},{"price":0.30,"quantity":1,"product":"q"}]}`)
	s.WantDoc("orders", "1", `{"id":"1","event":"e","status":"new","bulk":2,"lines":[{"price":29.90,"quantity":3,"product":"p","amount":89.70,"name":"Ticket","share":1.00},{"price":0.30,"quantity":1,"product":"q","amount":0.30,"share":0.00}],"large":1,"least":0.3,"mean":15.1,"most":89.7,"named":1,"taxed":107.10,"total":90}`)
	s.WantDoc("events", "e", `{"id":"e","capacity":40,"cheapest":29.9,"dearest":89.7,"left":36,"mean":45,"sold":4}`)

	// An element comes before the others, one goes, and no name is lost.
	s.Merge("products", "p", `{"name":"Other"}`)
	s.Want(http.StatusNoContent, "PATCH", "/v1/orders/1", `[{"op":"add","path":"/lines/0","value":{"price":1,"quantity":2}},{"op":"remove","path":"/lines/2"}]`, "Content-Type", "application/json-patch+json")
	s.WantDoc("orders", "1", `{"id":"1","event":"e","status":"new","bulk":2,"lines":[{"price":1,"quantity":2,"amount":2,"share":0.02},{"price":29.90,"quantity":3,"product":"p","amount":89.70,"name":"Ticket","share":0.98}],"large":1,"least":2,"mean":15.45,"most":89.7,"named":1,"taxed":109.123,"total":91.7}`)
	s.WantDoc("events", "e", `{"id":"e","capacity":40,"cheapest":1,"dearest":89.7,"left":35,"mean":45.85,"sold":5}`)

	// A document may be sent as it was read.
	s.Put("orders", "1", string(s.Want(http.StatusOK, "GET", "/v1/orders/1", "").Body))
	s.Merge("orders", "1", `{"status":"cancelled"}`)
	s.WantDoc("events", "e", `{"id":"e","capacity":40,"cheapest":1,"dearest":89.7,"left":40,"mean":45.85,"sold":0}`)
	for index, filter := range map[string]string{"total": "doc.total > 91 && doc.total < 92", "amount": "doc.lines.exists(l, l.amount == 89.7)"} {
		if r := s.Want(http.StatusOK, "GET", "/v1/orders?filter="+url.QueryEscape(filter), ""); !strings.Contains(string(r.Body), `"id":"1"`) {
			t.Errorf("%s: the answer is %s", filter, r.Body)
		}
		if r := s.Want(http.StatusOK, "GET", "/v1/orders?explain=true&filter="+url.QueryEscape(filter), ""); !strings.Contains(string(r.Body), `"index":"`+index+`"`) {
			t.Errorf("%s: the answer is %s", filter, r.Body)
		}
	}

	// Only numbers take part.
	s.Put("orders", "2", `{"event":"e","lines":[7,{"price":"1","quantity":2},{"quantity":1e2,"price":1},{}]}`)
	s.WantDoc("orders", "2", `{"id":"2","event":"e","lines":[7,{"price":"1","quantity":2},{"quantity":1e2,"price":1,"amount":100,"share":1.00},{}],"large":0,"least":100,"mean":1,"most":100,"named":0,"taxed":119.00,"total":100}`)
	s.Put("orders", "3", `{"event":"e","lines":"none"}`)
	s.WantDoc("orders", "3", `{"id":"3","event":"e","lines":"none","large":0,"named":0,"taxed":0.00,"total":0}`)
	s.Delete("orders", "1")
	s.WantDoc("events", "e", `{"id":"e","capacity":40,"cheapest":1,"dearest":100,"left":40,"mean":100,"sold":0}`)
	s.Verify()
	digest := s.Digest()
	s.Replay()
	if s.Digest() != digest {
		t.Error("a replay gives other rows")
	}
}

// TestNestedArrays: the element is the one of the innermost array, and bare numbers are elements, too.
func TestNestedArrays(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  plans:
    derive:
      "parts[].steps[].cost": { value: element.hours * doc.rate }
      "parts[].steps[].of.share": { value: element.cost / doc.cost }
      cost:   { sum: "parts[].steps[].cost" }
      scores: { avg: "grades[][]", where: element > 0 }
      n:      { count: "grades[]" }
`)
	s.Put("plans", "1", `{"rate":0.5,"parts":[{"steps":[{"hours":1},{"hours":2}]},{"x":1},{"steps":[{"hours":5,"of":{}}]}],"grades":[[1,-1],[],[2,"x",3]]}`)
	s.WantDoc("plans", "1", `{"id":"1","rate":0.5,"parts":[{"steps":[{"hours":1,"cost":0.5,"of":{"share":0.125}},{"hours":2,"cost":1.0,"of":{"share":0.25}}]},{"x":1},{"steps":[{"hours":5,"of":{"share":0.625},"cost":2.5}]}],"grades":[[1,-1],[],[2,"x",3]],"cost":4,"n":3,"scores":2}`)
	s.Verify()
}

// TestArraysNeedTheirVersion: a model that goes through elements is refused while an older version of the fold is in force, and nothing changes.
func TestArraysNeedTheirVersion(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), KeepFold: true})
	defer func() { s.Close() }()
	s.Model("collections: {orders: {}}")
	for _, query := range []string{"", "?dryRun=true"} {
		for _, derive := range []string{`"lines[].amount": {value: element.price}`, `total: {sum: "lines[].amount"}`, `n: {max: orders.up, of: "lines[].amount"}`} {
			r := s.Want(http.StatusConflict, "PUT", "/v1/_model"+query, `collections: {orders: {relations: {up: {path: up, to: orders}}, derive: {`+derive+`}}}`, "Content-Type", "application/yaml")
			if !strings.Contains(string(r.Body), "version 9 of the fold brought, and version 8 is in force") {
				t.Errorf("%s: the answer is %s", derive, r.Body)
			}
		}
	}
	if r := s.Want(http.StatusOK, "GET", "/v1/_model", ""); strings.Contains(string(r.Body), "lines") {
		t.Errorf("the model is %s", r.Body)
	}
	s.SetFold(fold.LatestVersion)
	s.Put("orders", "1", `{"lines":[{"price":29.90},{"price":0.10}]}`)
	s.Model(`collections: {orders: {derive: {"lines[].amount": {value: element.price * 3}, total: {sum: "lines[].amount"}}}}`)
	s.WantDoc("orders", "1", `{"id":"1","lines":[{"price":29.90,"amount":89.70},{"price":0.10,"amount":0.30}],"total":90}`)
	s.Verify()
}

// TestLineageOfElements: lineage names the element that a value stands beside, why another has none, and how many a total is made of.
func TestLineageOfElements(t *testing.T) {
	s := harness.OpenTemp(t, ticketing)
	s.Put("events", "e", `{"capacity":9}`)
	s.Put("orders", "1", `{"event":"e","status":"new","bulk":2,"lines":[{"price":1},{"price":2,"quantity":3}]}`)
	lineage := string(s.Want(http.StatusOK, "GET", "/v1/orders/1/_lineage", "").Body)
	for _, want := range []string{
		`"path":"/lines/1/amount","rule":"orders.lines[].amount","kind":"value","element":"/lines/1","index":1,"sources":[{"collection":"orders","id":"1"`,
		`"path":"/lines/0/amount","rule":"orders.lines[].amount","kind":"value","element":"/lines/0","index":0,"state":"no value","reason":"there is no member \"quantity\" in /lines/0"`,
		`"path":"/total","rule":"orders.total","kind":"sum","elements":1,`,
		`"path":"/large","rule":"orders.large","kind":"count","elements":1,`,
		`{"rule":"events.sold","documents":1,"first":["e"]}`,
	} {
		if !strings.Contains(lineage, want) {
			t.Errorf("the lineage has no %s: %s", want, lineage)
		}
	}
	lineage = string(s.Want(http.StatusOK, "GET", "/v1/events/e/_lineage", "").Body)
	if want := `"path":"/sold","rule":"events.sold","kind":"sum","sources":[{"collection":"orders","id":"1"`; !strings.Contains(lineage, want) {
		t.Errorf("the lineage has no %s: %s", want, lineage)
	}
}

// TestPreviewOfElements: a dry run of a model says how many documents its rules over elements change, and which find nothing.
func TestPreviewOfElements(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {orders: {}}")
	s.Put("orders", "1", `{"lines":[{"price":1,"quantity":2}]}`)
	s.Put("orders", "2", `{"lines":[{"price":1},{"price":3,"quantity":0.5}]}`)
	model := `collections: {orders: {derive: {"lines[].amount": {value: element.price * element.quantity}, "lines[].tax": {value: element.prise * 2}, total: {sum: "lines[].amount"}, none: {max: "lines[].amont"}, odd: {count: "lines[]", where: element.kind == "x"}}}}`
	preview := string(s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", model, "Content-Type", "application/yaml").Body)
	for _, want := range []string{`"changes":2`, `"rule":"orders.lines[].amount","change":"new","documents":2`, `"rule":"orders.total","change":"new","documents":2`,
		`derive[\"lines[].tax\"].value","detail":"found no value in any of 2 documents, such as orders/1: there is no member \"prise\" in /lines/0; did you mean \"price\"?`,
		`derive[\"none\"].of","detail":"found no value in any of 2 documents, such as orders/1: there is no member \"amont\" in /lines/0; did you mean \"amount\"?`,
		`derive[\"odd\"].where","detail":"found no value in any of 2 documents, such as orders/1: there is no member \"kind\" in /lines/0`} {
		if !strings.Contains(preview, want) {
			t.Errorf("the preview has no %s: %s", want, preview)
		}
	}
	s.Model(model)
	s.WantDoc("orders", "2", `{"id":"2","lines":[{"price":1},{"price":3,"quantity":0.5,"amount":1.5}],"odd":0,"total":1.5}`)
	s.Model(`collections: {orders: {derive: {"lines[].amount": {value: element.price}, total: {max: "lines[].amount"}}}}`)
	s.WantDoc("orders", "2", `{"id":"2","lines":[{"price":1,"amount":1},{"price":3,"quantity":0.5,"amount":3}],"total":3}`)
	s.Verify()
}

// TestChecksOverArrays: a check of a document holds against writes of others whose arrays its values are made of.
func TestChecksOverArrays(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  events:
    derive:
      sold: { sum: orders.event, of: "lines[].quantity", where: doc.status != "cancelled" }
      left: { value: doc.capacity - doc.sold }
    checks: { notOversold: { that: doc.left >= 0, message: "No seat is left" } }
  orders:
    relations: { event: { path: event, to: events } }
    derive:
      "lines[].amount": { value: element.price * element.quantity }
      total: { sum: "lines[].amount" }
    checks: { cheap: { that: doc.total < 1000, message: "Too dear" } }
`)
	s.Put("events", "e", `{"capacity":4}`)
	s.Put("orders", "1", `{"event":"e","status":"new","lines":[{"price":29.90,"quantity":3}]}`)
	for body, want := range map[string]string{
		`{"event":"e","status":"new","lines":[{"price":1,"quantity":1},{"price":1,"quantity":1}]}`: "No seat is left",
		`{"status":"new","lines":[{"price":999.99,"quantity":1},{"price":0.01,"quantity":1}]}`:     "Too dear",
	} {
		if r := s.Want(http.StatusUnprocessableEntity, "PUT", "/v1/orders/2", body); !strings.Contains(string(r.Body), want) {
			t.Errorf("the answer is %s", r.Body)
		}
	}
	s.Merge("orders", "1", `{"lines":[{"price":29.90,"quantity":2}]}`)
	s.Put("orders", "2", `{"event":"e","status":"new","lines":[{"price":1,"quantity":1},{"price":1,"quantity":1}]}`)
	s.WantDoc("events", "e", `{"id":"e","capacity":4,"left":0,"sold":4}`)
	s.Verify()
}

// TestAMillionElements: the largest arrays that a document has room for are gone through, and an expression that costs too much over them has no
// value, which the status counts.
func TestAMillionElements(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  lists:
    derive:
      total: { sum: "n[]" }
      positive: { count: "n[]", where: element > 0 }
      dear: { count: "o[]", where: "doc.k.map(x, x + 1).sum() > 0" }
      "o[].v": { value: element.w }
      mean: { avg: "o[].v" }
`)
	k := "[" + strings.Repeat("1,", 5000) + "1]"
	s.Put("lists", "n", `{"n":[`+strings.Repeat("1,", 999_999)+`1]}`)
	for want, path := range map[string]string{`"total":1000000`: "lists/n", `"positive":1000000`: "lists/n"} {
		if body := string(s.Want(http.StatusOK, "GET", "/v1/"+path, "").Body); !strings.Contains(body, want) {
			t.Errorf("%s has no %s: %.200s", path, want, body)
		}
	}
	s.Put("lists", "o", `{"k":`+k+`,"o":[`+strings.Repeat(`{"w":2},`, 200_000)+`{"w":2}]}`)
	if body := string(s.Want(http.StatusOK, "GET", "/v1/lists/o", "").Body); !strings.HasSuffix(body, `,{"w":2,"v":2}],"mean":2,"positive":0,"total":0}`) {
		t.Errorf("the document ends with %s", body[len(body)-200:])
	}
	status := string(s.Want(http.StatusOK, "GET", "/v1/_status", "").Body)
	if !strings.Contains(status, `"rule":"lists.dear"`) || !strings.Contains(status, "costs too much over all elements") {
		t.Errorf("the status is %s", status)
	}
}

// TestOrdersWithLines: the model that the documentation promises, with defaults for the array that rules go through.
func TestOrdersWithLines(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  events:
    derive: { sold: { sum: orders.event, of: "lines[].quantity", where: doc.status != "cancelled" }, left: { value: doc.capacity - doc.sold } }
    checks: { notOversold: { that: doc.left >= 0, message: "No seat is left" } }
  orders:
    relations: { event: { path: event, to: events } }
    defaults:  { status: new, lines: [] }
    derive:
      "lines[].amount": { value: element.price * element.quantity }
      total:     { sum: "lines[].amount" }
`)
	s.Put("events", "e", `{"capacity":3}`)
	s.Put("orders", "1", `{"event":"e"}`)
	s.WantDoc("orders", "1", `{"id":"1","event":"e","status":"new","lines":[],"total":0}`)
	s.Want(http.StatusNoContent, "PATCH", "/v1/orders/1", `[{"op":"add","path":"/lines/-","value":{"price":29.90,"quantity":3}},{"op":"increment","path":"/lines/0/quantity","value":-1}]`, "Content-Type", "application/json-patch+json")
	s.WantDoc("orders", "1", `{"id":"1","event":"e","status":"new","lines":[{"price":29.90,"quantity":2,"amount":59.80}],"total":59.8}`)
	s.WantDoc("events", "e", `{"id":"e","capacity":3,"left":1,"sold":2}`)
	r := s.Want(http.StatusBadRequest, "PUT", "/v1/_model", `collections: {orders: {defaults: {lines: [{amount: 1}]}, derive: {"lines[].amount": {value: element.price}}}}`, "Content-Type", "application/yaml")
	if !strings.Contains(string(r.Body), "the store derives it") {
		t.Errorf("the answer is %s", r.Body)
	}
	s.Verify()
}
