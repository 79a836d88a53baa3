package model_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// TestExactDecimals: no binary fraction comes near an aggregate.
func TestExactDecimals(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  orders:
    derive:
      total: {sum: lines.order, of: price.amount}
      mean: {avg: lines.order, of: price.amount}
      cheapest: {min: lines.order, of: price.amount}
      dearest: {max: lines.order, of: price.amount, where: "!has(doc.kind)"}
  lines: {relations: {order: {path: order, to: orders}}}
`)
	s.Put("orders", "1", `{"id":"1"}`)
	s.WantDoc("orders", "1", `{"id":"1","total":0}`)
	s.Put("lines", "a", `{"id":"a","order":"1","price":{"amount":0.1}}`)
	s.Put("lines", "b", `{"id":"b","order":"1","price":{"amount":0.20}}`)
	s.WantDoc("orders", "1", `{"id":"1","cheapest":0.1,"dearest":0.2,"mean":0.15,"total":0.3}`)
	s.Put("lines", "c", `{"id":"c","order":"1","price":{"amount":9007199254740993},"kind":"gift"}`)
	s.WantDoc("orders", "1", `{"id":"1","cheapest":0.1,"dearest":0.2,"mean":3002399751580331.1,"total":9007199254740993.3}`)
	s.Put("lines", "d", `{"id":"d","order":"1","price":{"amount":1e-30}}`)
	s.Delete("lines", "c")
	s.Delete("lines", "a")
	s.WantDoc("orders", "1", `{"id":"1","cheapest":0.000000000000000000000000000001,"dearest":0.2,"mean":0.1,"total":0.200000000000000000000000000001}`)
	s.Merge("lines", "d", `{"price":"none"}`)
	s.Merge("lines", "b", `{"order":"2"}`)
	s.WantDoc("orders", "1", `{"id":"1","total":0}`)

	// A number too far from 1 takes no part, and _status says so.
	harness.ImportStored(s, "lines", `{"id":"b","order":"1","price":{"amount":1e5000}}`)
	s.WantDoc("orders", "1", `{"id":"1","total":0}`)
	status := jsonvalue.Parse(harness.Body(s, "/v1/_status"))
	if errs := status.All([]string{"ruleErrors", "[]", "document"}); len(errs) != 4 || jsonvalue.Unquote(errs[0].Text) != "lines/b" {
		t.Fatalf("the status is %s", status)
	}
}

// TestFrozenRefresh: a frozen copy stays until a write asks for another.
func TestFrozenRefresh(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  orders:
    relations: {customer: {path: customer, to: customers}}
    derive:
      name: {copy: customer, value: doc.name, frozen: true}
      today: {copy: customer, value: doc.name}
  customers: {}
`)
	s.Put("customers", "c", `{"id":"c","name":"Ann"}`)
	s.Put("orders", "1", `{"id":"1","customer":"c"}`)
	s.Merge("customers", "c", `{"name":"Bea"}`)
	s.WantDoc("orders", "1", `{"id":"1","customer":"c","name":"Ann","today":"Bea"}`)
	s.Merge("orders", "1", `{"paid":true}`)
	s.WantDoc("orders", "1", `{"id":"1","customer":"c","paid":true,"name":"Ann","today":"Bea"}`)
	for _, wrong := range []string{"today", "other", "name,today", "name,"} {
		s.Want(http.StatusUnprocessableEntity, http.MethodPatch, "/v1/orders/1?refresh="+wrong, "{}", "Content-Type", harness.MergeType)
	}
	s.Want(http.StatusBadRequest, http.MethodDelete, "/v1/orders/1?refresh=name", "")
	r := s.Want(http.StatusOK, http.MethodPatch, "/v1/orders/1?refresh=name", "{}", "Content-Type", harness.MergeType, "Prefer", "return=representation")
	harness.WantText(t, string(r.Body), `{"id":"1","customer":"c","paid":true,"name":"Bea","today":"Bea"}`)

	s.Merge("customers", "c", `{"name":"Cleo"}`)
	s.Want(http.StatusUnprocessableEntity, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"patch","collection":"orders","id":"1","patch":{},"refresh":["today"]}]}`)
	s.Want(http.StatusBadRequest, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"patch","collection":"orders","id":"1","patch":{},"refresh":"name"}]}`)
	s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"patch","collection":"orders","id":"1","patch":{},"refresh":["name"]}]}`)
	s.WantDoc("orders", "1", `{"id":"1","customer":"c","paid":true,"name":"Cleo","today":"Cleo"}`)

	s.Delete("customers", "c")
	s.Want(http.StatusNoContent, http.MethodPatch, "/v1/orders/1?refresh=name", "{}", "Content-Type", harness.MergeType)
	s.WantDoc("orders", "1", `{"id":"1","customer":"c","paid":true,"name":"Cleo"}`)
}

// TestSameModelThawsNothing: another way to write the same rule, or another policy of its relation,
// leaves frozen and kept values as they are.
func TestSameModelThawsNothing(t *testing.T) {
	const model = "collections: {products: {}, orders: {relations: {item: {path: item, to: products, onDelete: %s}}, derive: {price: %s}}}"
	for _, c := range []struct{ first, second, policy, want string }{
		{"{copy: item, value: doc.price, frozen: true}", "{copy: item, frozen: true, value: doc.price, takeOver: true}", "unlink", `"price":2.5`},
		{"{copy: item, value: doc.price}", "{value: doc.price, copy: item, takeOver: false}", "keep", `"price":3`},
	} {
		first := "keep"
		s := harness.OpenTemp(t, fmt.Sprintf(model, first, c.first))
		s.Put("products", "pen", `{"price":2.5}`)
		s.Put("orders", "1", `{"item":"pen"}`)
		s.Put("products", "pen", `{"price":3}`)
		if c.policy == "keep" {
			s.Delete("products", "pen")
		}
		s.Model(fmt.Sprintf(model, c.policy, c.second))
		s.WantDoc("orders", "1", `{"id":"1","item":"pen",`+c.want+`}`)
	}
}

// TestPatchBesideTakenOver patches a document that has a member which a rule took over later.
func TestPatchBesideTakenOver(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("authors", "1", `{"id":"1","name":"Ann","count":"own"}`)
	s.Model(`
collections:
  authors: {derive: {count: {count: books.author, takeOver: true}}}
  books: {relations: {author: {path: author, to: authors}}}
`)
	s.Merge("authors", "1", `{"name":"Bea"}`)
	s.WantDoc("authors", "1", `{"id":"1","name":"Bea","count":0}`)
}

// TestReleaseAtOnce removes a rule and releases its path in one model: the feed tells that the
// field went, also where another rule changes the same document.
func TestReleaseAtOnce(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  authors: {derive: {count: {count: books.author}}}
  books: {relations: {author: {path: author, to: authors}}}
`)
	s.Put("authors", "1", `{"id":"1"}`)
	_, before := s.Changes("mode=all")
	s.Model(`
collections:
  authors: {derive: {books: {ids: books.author}}, release: [count]}
  books: {relations: {author: {path: author, to: authors}}}
`)
	s.WantDoc("authors", "1", `{"id":"1","books":[]}`)
	rows, _ := s.Changes("mode=all&since=" + before)
	doc := jsonvalue.Parse(`{"id":"1","count":0}`)
	if len(rows) != 1 || !jsonvalue.ApplyPatch(doc, string(rows[0].Patch)) || doc.String() != `{"id":"1","books":[]}` {
		t.Fatalf("the changes %+v make %s", rows, doc)
	}
}
