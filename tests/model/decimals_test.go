package model_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/tests/harness"
)

// orders is a model of orders with totals.
const orders = `
collections:
  orders:
    derive:
      amount: { value: doc.price * doc.quantity }
      net:    { value: "round(doc.amount / 1.19, 2)" }
      sums:   { value: "doc.lines.map(l, l.price * l.quantity).sum()" }
    relations: { customer: { path: customer, to: customers } }
  customers:
    derive:
      spent: { sum: orders.customer, of: amount }
      large: { count: orders.customer, where: doc.price + doc.tax == 0.3 }
`

// TestMoney: rules compute with exact decimals, and what they give has the scale of what it is made of.
func TestMoney(t *testing.T) {
	s := harness.OpenTemp(t, orders)
	s.Put("orders", "1", `{"price":29.90,"quantity":3,"customer":"c","lines":[{"price":0.10,"quantity":1},{"price":0.20,"quantity":1}]}`)
	s.WantDoc("orders", "1", `{"id":"1","price":29.90,"quantity":3,"customer":"c","lines":[{"price":0.10,"quantity":1},{"price":0.20,"quantity":1}],"amount":89.70,"net":75.38,"sums":0.30}`)
	s.Put("orders", "2", `{"price":0.1,"tax":0.2,"quantity":9007199254740993,"customer":"c"}`)
	s.Put("customers", "c", `{}`)
	s.WantDoc("customers", "c", `{"id":"c","large":1,"spent":900719925474189}`)
	r := s.Want(http.StatusOK, "GET", "/v1/orders?filter="+url.QueryEscape("doc.price * doc.quantity == 89.7 && doc.price / 3 > 9.9666666666666666")+"&fields=amount", "")
	if !strings.Contains(string(r.Body), `"amount":89.70`) {
		t.Errorf("the list is %s", r.Body)
	}
	s.Verify()
}

// TestDecimalsComeWithTheirVersion: what the version of the fold before made of numbers stays until the log says that the next one is in force. Then
// it changes once, by derived changes.
func TestDecimalsComeWithTheirVersion(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), KeepFold: true})
	defer func() { s.Close() }()
	s.Model(orders)
	s.Put("orders", "1", `{"price":29.90,"quantity":3,"customer":"c","tax":0}`)
	s.Put("orders", "2", `{"price":0.1,"tax":0.2,"quantity":1,"customer":"c"}`)
	s.Put("customers", "c", `{}`)
	s.WantDoc("orders", "1", `{"id":"1","price":29.90,"quantity":3,"customer":"c","tax":0,"amount":89.69999999999999,"net":75.38}`)
	s.WantDoc("customers", "c", `{"id":"c","large":0,"spent":89.79999999999999}`)
	before, _ := s.Changes("mode=all")
	s.SetFold(fold.LatestVersion)
	s.WantDoc("orders", "1", `{"id":"1","price":29.90,"quantity":3,"customer":"c","tax":0,"amount":89.70,"net":75.38}`)
	s.WantDoc("customers", "c", `{"id":"c","large":1,"spent":89.8}`)
	after, _ := s.Changes("mode=all")
	for _, row := range after[len(before):] {
		if row.Op != "derive" {
			t.Errorf("a row of the change is %+v", row)
		}
	}
	if len(after) != len(before)+2 {
		t.Errorf("%d documents changed: %v", len(after)-len(before), after[len(before):])
	}
	digest := s.Digest()
	s.Replay()
	if s.Digest() != digest {
		t.Error("a replay gives other rows")
	}
	s.Verify()
}

// TestFirstModelBringsTheNewestVersion: a new store has the newest version of the fold, without an event of its own for that.
func TestFirstModelBringsTheNewestVersion(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {}")
	r := s.Want(http.StatusOK, "GET", "/v1/_status", "")
	if want := fmt.Sprintf(`"foldVersion":{"version":%d,"newest":%d}`, fold.LatestVersion, fold.LatestVersion); !strings.Contains(string(r.Body), want) {
		t.Errorf("the status is %s, want %s", r.Body, want)
	}
	if seq := s.Put("a", "1", "{}").Header.Get("Fanfold-Position"); !strings.HasPrefix(seq, "2") {
		t.Errorf("the first document has the position %s", seq)
	}
}
