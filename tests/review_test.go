package tests

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestGuardsUnderWrites: a model that makes members unique and relations strict is applied while
// documents are written that would break it: none is stored after the last look.
func TestGuardsUnderWrites(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {as: {}, bs: {relations: {a: {path: a, to: as}}}}")
	var lines strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&lines, `{"id":"%d","u":%d}`+"\n", i, i)
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=bs", lines.String(), "Content-Type", "application/x-ndjson")
	var stop atomic.Bool
	var stored atomic.Int64
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				r, err := s.Do(http.MethodPut, fmt.Sprintf("/v1/bs/w%d-%d", w, i), []byte(`{"u":"same","a":"none"}`))
				if err == nil && r.Status == http.StatusCreated {
					stored.Add(1)
				}
			}
		})
	}
	const guarded = "collections: {as: {}, bs: {unique: [u], relations: {a: {path: a, to: as, strict: true}}}}"
	r, err := s.Do(http.MethodPut, "/v1/_model", []byte(guarded), "Content-Type", "application/yaml")
	stop.Store(true)
	wg.Wait()
	if err != nil || r.Status != http.StatusUnprocessableEntity || stored.Load() < 2 {
		t.Fatalf("%d documents break the model, which is answered %+v, %v", stored.Load(), r, err)
	}
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

// TestFanoutLimitCountsItsOwnLinks: what a transaction links itself counts as well.
func TestFanoutLimitCountsItsOwnLinks(t *testing.T) {
	s := harness.OpenTemp(t, "fanout: {limit: 3}\ncollections: {as: {}, bs: {relations: {a: {path: a, to: as}}, derive: {n: {copy: a, value: doc.n}}}}")
	var ops []string
	for i := range 5 {
		ops = append(ops, fmt.Sprintf(`{"op":"put","collection":"bs","id":"%d","body":{"a":"x"}}`, i))
	}
	ops = append(ops, `{"op":"put","collection":"as","id":"x","body":{"n":1}}`)
	s.Want(http.StatusUnprocessableEntity, http.MethodPost, "/v1/_transactions", `{"operations":[`+strings.Join(ops, ",")+`]}`)
}

// TestDerivedChangesOfDeletes: a delete's answer counts what its whole transaction caused.
func TestDerivedChangesOfDeletes(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {as: {}, bs: {relations: {a: {path: a, to: as, onDelete: cascade}, c: {path: c, to: cs}}}, cs: {derive: {n: {count: bs.c}}}}")
	s.Put("as", "1", `{}`)
	s.Put("cs", "1", `{}`)
	s.Put("bs", "1", `{"a":1,"c":1}`)
	wantText(t, s.Want(http.StatusNoContent, http.MethodDelete, "/v1/as/1", "").Header.Get("Fanfold-Derived-Changes"), "1")
}

// TestLongUniquePath: neither a long path nor a long value is too long for the log.
func TestLongUniquePath(t *testing.T) {
	name := strings.Repeat("é", 700)
	s := harness.OpenTemp(t, "collections: {as: {unique: ['"+name+"']}}")
	s.Put("as", "1", `{"`+name+`":"`+strings.Repeat("é", 500)+`"}`)
	s.Want(http.StatusConflict, http.MethodPut, "/v1/as/2", `{"`+name+`":"`+strings.Repeat("é", 500)+`"}`)
	s.Put("as", "2", `{}`)
}

// TestManyStrictReferences: as many as can be dropped in one transaction.
func TestManyStrictReferences(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {as: {}, bs: {relations: {a: {path: 'a[]', to: as, strict: true}, b: {path: 'b[]', to: as, strict: true}}}}")
	var lines, first, second strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, `{"id":"%d"}`+"\n", i)
		list := &first
		if i >= 500 {
			list = &second
		}
		fmt.Fprintf(list, `,"%d"`, i)
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=as", lines.String(), "Content-Type", "application/x-ndjson")
	all := fmt.Sprintf(`{"id":"1","a":[%s],"b":[%s]}`, first.String()[1:], second.String()[1:])
	s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/bs/1", all)
	r := s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=bs", all+"\n"+`{"id":"2","a":["1"]}`, "Content-Type", "application/x-ndjson")
	if text := string(r.Body); !strings.Contains(text, `"line":1,"status":422`) || !strings.Contains(text, `"done":true`) {
		t.Fatalf("the import says %s", text)
	}
	s.Put("bs", "1", fmt.Sprintf(`{"a":[%s]}`, first.String()[1:]))
	s.Delete("bs", "1")
}
