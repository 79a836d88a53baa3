package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/writer"
)

// wantNoName wants a request to be refused because of the name of its collection, which the refusal tells of.
func wantNoName(t *testing.T, s *harness.Store, method, path, body, tells string, headers ...string) {
	t.Helper()
	r := s.Want(http.StatusNotFound, method, path, body, headers...)
	if text := string(r.Body); !strings.Contains(text, string(fanfold.UnknownCollection)) || !strings.Contains(text, tells) {
		t.Errorf("%s %s is answered %s, want %q in it", method, path, text, tells)
	}
}

// TestNamesWithCapitals: a declared collection may have capitals, in all that there is. Names that differ from one that is declared by case
// alone are refused, by each way of writing.
func TestNamesWithCapitals(t *testing.T) {
	s := harness.OpenTemp(t, `collections:
  Customers: {derive: {orders: {count: salesOrders.customer}}}
  salesOrders:
    relations: {customer: {path: customer, to: Customers, strict: true, onDelete: cascade}}
    derive: {customerName: {copy: customer, value: doc.name, publish: true}}
    unique: [number]
    indexes: {byNumber: [number]}
    sequences: {serial: {}}
    access: {read: [everyone], write: [write]}
`)
	s.Put("Customers", "c1", `{"name":"Ada"}`)
	s.Put("salesOrders", "o1", `{"customer":"c1","number":7}`)
	s.Want(http.StatusConflict, http.MethodPut, "/v1/salesOrders/o2", `{"customer":"c1","number":7}`)
	for path, want := range map[string]string{
		"/v1/salesOrders/o1": `"customerName":"Ada"`, "/v1/Customers/c1": `"orders":1`, "/v1/salesOrders?filter=doc.number==7": `"id":"o1"`,
		"/v1/Customers/c1/salesOrders": `"id":"o1"`, "/v1": `"name":"salesOrders","documents":1,"declared":true`, "/v1/_changes?collections=salesOrders": `"collection":"salesOrders"`,
		"/v1/salesOrders/o1/_lineage": `Customers`,
	} {
		if r := s.Want(http.StatusOK, http.MethodGet, path, ""); !strings.Contains(string(r.Body), want) {
			t.Errorf("%s is %s, want %q in it", path, r.Body, want)
		}
	}
	const line = "application/x-ndjson"
	wantNoName(t, s, http.MethodPut, "/v1/customers/c2", `{}`, `the model declares \"Customers\"`)
	wantNoName(t, s, http.MethodPost, "/v1/SALESORDERS", `{}`, `the model declares \"salesOrders\"`)
	wantNoName(t, s, http.MethodPatch, "/v1/customers/c1", `{}`, `the model declares \"Customers\"`, "Content-Type", "application/merge-patch+json")
	wantNoName(t, s, http.MethodPut, "/v1/Invoices/1", `{}`, `as Invoices: {}`)
	wantNoName(t, s, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"put","collection":"notes","id":"1","body":{}},{"op":"put","collection":"customers","id":"1","body":{}}]}`, `the model declares \"Customers\"`)
	for _, collection := range []string{"customers", "Invoices"} {
		r := s.Want(http.StatusOK, http.MethodPost, "/v1/_import", fmt.Sprintf(`{"collection":%q,"doc":{"id":"1"}}`+"\n", collection), "Content-Type", line)
		if !strings.Contains(string(r.Body), `"refused":1`) {
			t.Errorf("an import of %s is answered %s", collection, r.Body)
		}
	}
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/notes", "")
	lines := s.Want(http.StatusOK, http.MethodGet, "/v1/_export", "").Body
	other := harness.OpenTemp(t, "")
	if r := other.Want(http.StatusOK, http.MethodPost, "/v1/_import?restore=true", string(lines), "Content-Type", line); !strings.Contains(string(r.Body), `"refused":0`) {
		t.Errorf("the import of %s is answered %s", lines, r.Body)
	}
	other.Want(http.StatusOK, http.MethodGet, "/v1/salesOrders/o1", "")
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/Customers/c1", "")
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/salesOrders/o1", "")
}

// TestNamesComeAndGo: a model cannot take a name with capitals away while the collection holds documents, nor declare one while another
// collection that differs by case alone does. It can once they are deleted, at once and prepared.
func TestNamesComeAndGo(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer func() { s.Close() }()
	s.Model("collections: {notes: {}}")
	s.Put("orders", "1", `{}`)
	refused := func(model, tells string) {
		t.Helper()
		for _, query := range []string{"", "&background=true"} {
			r := s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/_model?allowRemoval=true"+query, model, "Content-Type", "application/yaml")
			if !strings.Contains(string(r.Body), tells) {
				t.Errorf("%s is answered %s, want %q in it", model, r.Body, tells)
			}
		}
	}
	applied := func(model string) {
		t.Helper()
		s.Want(http.StatusOK, http.MethodPut, "/v1/_model?allowRemoval=true", model, "Content-Type", "application/yaml")
	}
	refused("collections: {notes: {}, Orders: {}}", "orders holds documents: the model declares Orders")
	if r := s.Want(http.StatusBadRequest, http.MethodPut, "/v1/_model", "collections: {orders: {}, Orders: {}}", "Content-Type", "application/yaml"); !strings.Contains(string(r.Body), "by case alone") {
		t.Errorf("two names are answered %s", r.Body)
	}
	s.Delete("orders", "1")
	applied("collections: {notes: {}, Orders: {}}")
	s.Put("Orders", "1", `{}`)
	wantNoName(t, s, http.MethodPut, "/v1/orders/1", `{}`, `the model declares \"Orders\"`)
	refused("collections: {notes: {}}", "Orders holds documents: the model does not declare it")
	refused("collections: {notes: {}, orders: {}}", "Orders holds documents: the model declares orders")
	refused("collections: {notes: {}, ORDERS: {}}", "Orders holds documents: the model declares ORDERS")
	s.Delete("Orders", "1")
	seq := s.Propose("collections: {notes: {}, orders: {}}")
	s.Activated(seq)
	s.Put("orders", "1", `{}`)
	wantNoName(t, s, http.MethodPut, "/v1/Orders/1", `{}`, `the model declares \"orders\"`)
	s.Verify()
	s = s.Reopen()
	wantNoName(t, s, http.MethodPut, "/v1/Orders/1", `{}`, `the model declares \"orders\"`)
}

// TestNamesWrittenMeanwhile: a model that is prepared is withdrawn where a document was written meanwhile in a collection that differs from a
// new name by case alone.
func TestNamesWrittenMeanwhile(t *testing.T) {
	hold := harness.NewActivationHold()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Writer: writer.Options{BeforeActivate: hold.Wait}})
	defer s.Close()
	s.Model("collections: {notes: {}}")
	s.Propose("collections: {notes: {}, Orders: {}}")
	s.Prepared()
	s.Put("orders", "1", `{}`)
	hold.Release()
	harness.Await(t, "the model's end", time.Minute, func() bool {
		return !strings.Contains(string(s.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body), `"preparing":{`)
	})
	s.Put("orders", "2", `{}`)
	wantNoName(t, s, http.MethodPut, "/v1/Orders/1", `{}`, `as Orders: {}`)
}

// TestNamesNeedAFold: under a version of the fold whose programs stop at names with capitals a model with one is refused, and so is
// what an import brings.
func TestNamesNeedAFold(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), KeepFold: true})
	defer s.Close()
	s.Model("collections: {orders: {}}")
	const names = `{"collections":{"Notes":{},"orders":{}}}`
	if r := s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/_model", names); !strings.Contains(string(r.Body), "fanfold upgrade") {
		t.Errorf("the refusal is %s", r.Body)
	}
	if r := s.Want(http.StatusOK, http.MethodPost, "/v1/_import", `{"model":`+names+"}\n", "Content-Type", "application/x-ndjson"); !strings.Contains(string(r.Body), "fanfold upgrade") {
		t.Errorf("the import is answered %s", r.Body)
	}
	wantNoName(t, s, http.MethodPut, "/v1/Notes/1", `{}`, `as Notes: {}`)
	s.SetFold(9)
	s.Model(names)
	s.Put("Notes", "1", `{}`)
}
