package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestManyErasures: requests that come at once, whole documents and members of the same ones, all end, and the read model is the same as a replay's.
func TestManyErasures(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer func() { s.Close() }()
	s.Model(ordersModel)
	writeOrders(s)
	const people = 25
	for i := range people {
		s.Put("customers", fmt.Sprint("p", i), fmt.Sprintf(`{"name":"%s %d","city":"%s","email":"%s%d"}`, secret, i, secret, secret, i))
		s.Put("orders", fmt.Sprint("o", i), fmt.Sprintf(`{"customer":"p%d"}`, i))
		s.Put("totals", fmt.Sprint("t", i), fmt.Sprintf(`{"order":"o%d"}`, i))
	}
	var all sync.WaitGroup
	for i := range 2 * people {
		all.Go(func() {
			path, body := fmt.Sprintf("/v1/customers/p%d/_erase", i/2), "{}"
			if i%2 == 1 {
				body = `{"members":["/name","/city"]}`
			}
			r, err := s.Do(http.MethodPost, path, []byte(body), "Content-Type", "application/json")
			if err != nil || r.Status != http.StatusAccepted && r.Status != http.StatusOK {
				t.Errorf("%s %s: %v, %d %s", path, body, err, r.Status, r.Body)
			}
		})
	}
	all.Wait()
	s.Erased(erase(s, "/v1/customers/ann/_erase", "{}"))
	s.AllErased()
	wantErased(t, s)
	for i := range people {
		for _, path := range []string{fmt.Sprintf("/v1/customers/p%d/_history", i), fmt.Sprintf("/v1/orders/o%d/_history", i), fmt.Sprintf("/v1/totals/t%d/_history", i)} {
			if body := string(s.Want(http.StatusOK, http.MethodGet, path, "").Body); strings.Contains(body, secret) {
				t.Errorf("%s has %s", path, body)
			}
		}
	}
	before := s.Digest()
	s.Replay()
	if after := s.Digest(); after != before {
		t.Errorf("a replay gives %s, and %s was there", after, before)
	}
}

// TestEraseAndWriteAgain: a document that is there again after it was erased is another one, and can be erased, too. Its unique value is free, and an
// old revision means nothing.
func TestEraseAndWriteAgain(t *testing.T) {
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer func() { s.Close() }()
	s.Model(ordersModel)
	writeOrders(s)
	old := s.Want(http.StatusOK, http.MethodGet, "/v1/customers/ann", "").Header.Get("ETag")
	key := []string{"Idempotency-Key", "the key", "Content-Type", "application/json"}
	body := `{"name":"` + secret + ` keyed","city":"x","email":"` + secret + `-keyed"}`
	s.Want(http.StatusNoContent, http.MethodPut, "/v1/customers/ann", body, key...)
	s.Erased(erase(s, "/v1/customers/ann/_erase", "{}"))
	if r, err := s.Do(http.MethodPut, "/v1/customers/ann", []byte(body), key...); err != nil || r.Status/100 != 4 || !strings.Contains(string(r.Body), "key-reused") {
		t.Errorf("a repeat is %v, %d %s", err, r.Status, r.Body)
	}
	if r, err := s.Do(http.MethodPut, "/v1/customers/ann", []byte(`{}`), "If-Match", old); err != nil || r.Status != http.StatusPreconditionFailed {
		t.Errorf("the old revision is %v, %d %s", err, r.Status, r.Body)
	}
	for round := range 2 {
		s.Put("customers", "other", fmt.Sprintf(`{"email":"%s@example.com","name":"%s"}`, secret, secret)) // it is free
		s.Want(http.StatusConflict, http.MethodPut, "/v1/customers/ann", fmt.Sprintf(`{"email":"%s@example.com"}`, secret), "Content-Type", "application/json")
		s.Erased(erase(s, "/v1/customers/other/_erase", "{}"))
		s.Put("customers", "ann", fmt.Sprintf(`{"name":"%s %d","city":"c","email":"%s@example.com"}`, secret, round, secret))
		if doc := s.Get("orders", "of-ann"); !strings.Contains(doc, secret) {
			t.Errorf("the new one is not shown: %s", doc)
		}
		s.Erased(erase(s, "/v1/customers/ann/_erase", "{}"))
		wantErased(t, s)
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/customers/ann/_erase", "{}", "Content-Type", "application/json")
	s = s.Reopen()
	wantErased(t, s)
	before := s.Digest()
	s.Replay()
	if after := s.Digest(); after != before {
		t.Errorf("a replay gives %s, and %s was there", after, before)
	}
}

// TestErasedViewsOfLateWrites: a document that is changed after its view was compared, and before the erasure is in force, has a row that says so, though the
// process ends in between.
func TestErasedViewsOfLateWrites(t *testing.T) {
	suite.Parallel(t)
	for _, ends := range []bool{false, true} {
		t.Run(fmt.Sprint("ends ", ends), func(t *testing.T) {
			var s *harness.Store
			var begun, written, ended atomic.Bool
			erased := make(chan struct{})
			s = harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) {
				if begun.Swap(true) {
					return
				}
				cfg.Steps.Erase = func(at string) error {
					if at == forget.StepCompared && !written.Swap(true) {
						s.Put("totals", "of-ann", `{"order":"of-ann","late":true}`)
						s.Put("shown", "late", `{"total":"of-ann"}`)
					}
					if at == forget.StepErased && ends {
						if !ended.Swap(true) {
							close(erased)
						}
					}
					if ended.Load() {
						return errors.New("stopped by the test")
					}
					return nil
				}
			}})
			defer func() { s.Close() }()
			s.Model(strings.Replace(ordersModel, "  totals:", `  shown:
    relations:
      total: {path: total, to: totals}
    derive:
      name: {copy: total, value: doc.name}
  totals:`, 1))
			writeOrders(s)
			location := erase(s, "/v1/customers/ann/_erase", "{}")
			if ends {
				<-erased
				s = s.Reopen()
			}
			at := s.Erased(location)
			harness.Await(t, "the late rows", time.Minute, func() bool {
				rows, _ := s.Changes("mode=all&since=" + at.String())
				told := map[string]bool{}
				for _, r := range rows {
					told[r.Collection+"/"+r.ID] = true
				}
				return told["totals/of-ann"] && told["shown/late"]
			})
		})
	}
}

// TestErasedOfTransaction: what was erased of a transaction is in no file, and a repeat of it brings nothing back.
func TestErasedOfTransaction(t *testing.T) {
	suite.Parallel(t)
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir, Sync: true})
	defer func() { s.Close() }()
	s.Model(ordersModel)
	writeOrders(s)
	tx := `{"operations":[{"op":"put","collection":"customers","id":"ann","body":{"name":"` + secret + ` tx","email":"` + secret + `tx"}},{"op":"put","collection":"customers","id":"third","body":{"name":"third"}}]}`
	r, err := s.Do(http.MethodPost, "/v1/_transactions", []byte(tx), "Idempotency-Key", "of tx", "Content-Type", "application/json")
	if err != nil || r.Status != http.StatusOK {
		t.Fatalf("%v, %d %s", err, r.Status, r.Body)
	}
	s.Erased(erase(s, "/v1/customers/ann/_erase", "{}"))
	if r, err = s.Do(http.MethodPost, "/v1/_transactions", []byte(tx), "Idempotency-Key", "of tx", "Content-Type", "application/json"); err != nil || r.Status/100 != 4 {
		t.Errorf("a repeat is %v, %d %s", err, r.Status, r.Body)
	}
	s.WantDoc("customers", "third", `{"id":"third","name":"third"}`)
	wantErased(t, s)
	s = s.Reopen()
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d.Type().IsRegular() {
			if text, _ := os.ReadFile(path); strings.Contains(string(text), secret) {
				t.Errorf("%s has it", path)
			}
		}
		return nil
	})
}

// TestEraseThousands: a request may name many documents, unless one of them never was.
func TestEraseThousands(t *testing.T) {
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer func() { s.Close() }()
	s.Model(ordersModel)
	writeOrders(s)
	const many = 3000
	var lines strings.Builder
	asked := []map[string]string{{"collection": "customers", "id": "ann"}}
	for i := range many {
		fmt.Fprintf(&lines, `{"id":"m%d","name":"%s","email":"%s%d"}`+"\n", i, secret, secret, i)
		asked = append(asked, map[string]string{"collection": "customers", "id": fmt.Sprint("m", i)})
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=customers", lines.String(), "Content-Type", "application/x-ndjson")
	body, _ := json.Marshal(map[string]any{"documents": asked})
	s.Erased(erase(s, "/v1/_erase", string(body)))
	wantErased(t, s)
	s.Want(http.StatusNotFound, http.MethodPost, "/v1/_erase", `{"documents":[{"collection":"customers","id":"m1"},{"collection":"customers","id":"never"}]}`, "Content-Type", "application/json")
}
