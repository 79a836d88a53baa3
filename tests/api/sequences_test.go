package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// numbered is a model with a sequence for each event, and one for all orders.
const numbered = `{collections: {orders: {sequences: {number: {per: doc.event, start: 1000, format: "{per}-{n:6}"}, "meta.serial": {}}}}}`

// TestSequences: a document that is created gets the next numbers, and keeps them. Nobody else writes them, and refused writes use none.
func TestSequences(t *testing.T) {
	s := harness.OpenTemp(t, numbered)
	s.Put("orders", "a", `{"event":"e1"}`)
	s.WantDoc("orders", "a", `{"id":"a","event":"e1","meta":{"serial":1},"number":"e1-001000"}`)
	s.Put("orders", "b", `{"event":"e2","meta":{"by":"x"}}`)
	s.WantDoc("orders", "b", `{"id":"b","event":"e2","meta":{"by":"x","serial":2},"number":"e2-001000"}`)
	r := s.Want(http.StatusCreated, http.MethodPost, "/v1/orders", `{"id":"c","event":"e1"}`, "Prefer", "return=representation", "Idempotency-Key", "k1")
	if !strings.Contains(string(r.Body), `"number":"e1-001001"`) {
		t.Errorf("the representation is %s", r.Body)
	}
	s.Want(http.StatusCreated, http.MethodPost, "/v1/orders", `{"id":"c","event":"e1"}`, "Idempotency-Key", "k1")

	for _, body := range []string{`{"event":"e1","number":"e1-009999"}`, `{"event":"e1","number":null}`, `{"event":"e1","meta":{"serial":3}}`, `{}`, `{"event":true}`, `{"event":"e1","meta":7}`,
		`{"event":"` + strings.Repeat("x", 256) + `"}`} {
		s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/orders/d", body)
	}
	s.Want(http.StatusNoContent, http.MethodPut, "/v1/orders/a", `{"event":"e1","paid":true}`)
	s.WantDoc("orders", "a", `{"id":"a","event":"e1","paid":true,"meta":{"serial":1},"number":"e1-001000"}`)
	s.Want(http.StatusNoContent, http.MethodPut, "/v1/orders/a", `{"number":"e1-001000","event":"e1","meta":{"serial":1.0}}`)
	for _, body := range []string{`{"event":"e1","number":"e1-001001"}`, `{"event":"e2"}`, `{"event":"e1","meta":{"serial":2}}`, `{"event":"e1","meta":[]}`} {
		s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/orders/a", body)
	}
	s.Want(http.StatusNoContent, http.MethodPatch, "/v1/orders/a", `{"paid":false}`, "Content-Type", "application/merge-patch+json")
	for _, patch := range []string{`{"number":"e1-001000"}`, `{"number":null}`, `{"meta":null}`, `{"event":"e3"}`} {
		s.Want(http.StatusUnprocessableEntity, http.MethodPatch, "/v1/orders/a", patch, "Content-Type", "application/merge-patch+json")
	}
	for _, patch := range []string{`[{"op":"remove","path":"/meta"}]`, `[{"op":"move","from":"/number","path":"/old"}]`, `[{"op":"increment","path":"/meta/serial","value":1}]`} {
		s.Want(http.StatusUnprocessableEntity, http.MethodPatch, "/v1/orders/a", patch, "Content-Type", "application/json-patch+json")
	}

	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/orders/c", "")
	s.Put("orders", "c", `{"event":"e1"}`)
	s.WantDoc("orders", "c", `{"id":"c","event":"e1","meta":{"serial":4},"number":"e1-001002"}`)
	s.Verify()
}

// TestSequencesOfTransactions: the documents of a transaction get consecutive numbers in the order of its operations, or none.
func TestSequencesOfTransactions(t *testing.T) {
	s := harness.OpenTemp(t, numbered)
	s.Put("orders", "z", `{"event":"e1"}`)
	put := func(id string) string {
		return fmt.Sprintf(`{"op":"put","collection":"orders","id":%q,"body":{"event":"e1"}}`, id)
	}
	s.Want(http.StatusConflict, http.MethodPost, "/v1/_transactions", `{"operations":[`+put("a")+`,{"op":"create","collection":"orders","id":"z","body":{"event":"e1"}}]}`)
	s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[`+put("b")+`,`+put("z")+`,`+put("a")+`]}`)
	s.WantDoc("orders", "b", `{"id":"b","event":"e1","meta":{"serial":2},"number":"e1-001001"}`)
	s.WantDoc("orders", "z", `{"id":"z","event":"e1","meta":{"serial":1},"number":"e1-001000"}`)
	s.WantDoc("orders", "a", `{"id":"a","event":"e1","meta":{"serial":3},"number":"e1-001002"}`)
	s.Verify()
}

// TestSequenceAddedLater: a sequence numbers new documents alone, and begins above every number that stands there. One that was taken
// away goes on.
func TestSequenceAddedLater(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {orders: {}}}`)
	s.Put("orders", "old", `{"n":17}`)
	s.Put("orders", "none", `{}`)
	r := s.Want(http.StatusConflict, http.MethodPut, "/v1/_model", `{collections: {orders: {sequences: {n: {start: 17}}}}}`, "Content-Type", "application/yaml")
	if !strings.Contains(string(r.Body), "17") || !strings.Contains(string(r.Body), "orders/old") {
		t.Errorf("the refusal is %s", r.Body)
	}
	s.Model(`{collections: {orders: {sequences: {n: {start: 18}}}}}`)
	s.Put("orders", "a", `{}`)
	s.WantDoc("orders", "a", `{"id":"a","n":18}`)
	s.Want(http.StatusNoContent, http.MethodPut, "/v1/orders/old", `{"x":1}`)
	s.WantDoc("orders", "old", `{"id":"old","x":1,"n":17}`)
	s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/orders/none", `{"n":1}`)
	s.Want(http.StatusConflict, http.MethodPut, "/v1/_model", `{collections: {orders: {}}}`, "Content-Type", "application/yaml")
	s.Want(http.StatusOK, http.MethodPut, "/v1/_model?allowRemoval=true", `{collections: {orders: {}}}`, "Content-Type", "application/yaml")
	s.Put("orders", "b", `{}`)
	s.Model(`{collections: {orders: {sequences: {n: {}}}}}`)
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/orders/a", "")
	s.Put("orders", "c", `{}`)
	s.WantDoc("orders", "c", `{"id":"c","n":19}`)
	s.Verify()
}
