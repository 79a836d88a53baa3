package api_test

import (
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

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// ordersModel has copies of customers on orders: live ones, and those that stay.
const ordersModel = `
collections:
  customers:
    unique: [email]
  orders:
    relations:
      customer: {path: customer, to: customers, onDelete: keep}
    derive:
      customerName: {copy: customer, value: doc.name}
      billedTo: {copy: customer, value: doc.city, frozen: true}
  totals:
    relations:
      order: {path: order, to: orders}
    derive:
      name: {copy: order, value: doc.customerName}
`

// secret is what is erased.
const secret = "geheim"

// writeOrders writes a customer that is to be erased and one that stays, with orders of theirs.
func writeOrders(s *harness.Store) {
	for _, who := range []string{"ann", "bob"} {
		what := secret
		if who == "bob" {
			what = "kept"
		}
		for version := range 3 {
			s.Put("customers", who, fmt.Sprintf(`{"name":"%s name %d","city":"%s city","email":"%s@example.com"}`, what, version, what, what))
		}
		s.Put("orders", "of-"+who, fmt.Sprintf(`{"customer":%q,"n":1}`, who))
		s.Put("totals", "of-"+who, fmt.Sprintf(`{"order":"of-%s"}`, who))
	}
}

// erase asks for an erasure, and returns where it is shown.
func erase(s *harness.Store, path, body string) string {
	r := s.Want(http.StatusAccepted, http.MethodPost, path, body, "Content-Type", "application/json")
	return r.Header.Get("Location")
}

// wantErased fails the test where anything of ann is shown, or nothing of bob.
func wantErased(t *testing.T, s *harness.Store) {
	t.Helper()
	for _, key := range []string{"orders/of-%s", "totals/of-%s"} {
		for who, shown := range map[string]bool{"ann": false, "bob": true} {
			collection, id, _ := strings.Cut(fmt.Sprintf(key, who), "/")
			doc := s.Get(collection, id)
			if strings.Contains(doc, secret) || strings.Contains(doc, "kept") != shown {
				t.Errorf("%s/%s is %s", collection, id, doc)
			}
		}
	}
	var status struct{ History struct{ Oldest string } }
	harness.Decode(t, s.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body, &status)
	for _, path := range []string{"/v1/customers/ann/_history", "/v1/orders/of-ann/_history", "/v1/totals/of-ann/_history", "/v1/_changes?include_docs=true&since=" + status.History.Oldest} {
		if body := string(s.Want(http.StatusOK, http.MethodGet, path, "").Body); strings.Contains(body, secret) {
			t.Errorf("%s has %s", path, body)
		}
	}
	s.Verify()
}

// TestErase: a document is erased as a whole, and the read model is the same as a replay's.
func TestErase(t *testing.T) {
	suite.Parallel(t)
	for _, compacted := range []bool{false, true} {
		t.Run(fmt.Sprint("compacted ", compacted), func(t *testing.T) {
			dir := t.TempDir()
			s := harness.Open(t, harness.Options{Dir: dir, Configure: func(cfg *node.Config) { cfg.PurgeWait = 1 }})
			defer func() { s.Close() }()
			s.Model(ordersModel)
			writeOrders(s)
			if compacted {
				s.CatchUp()
				s.Compact(s.Node.Store.Applied.Seq())
				awaitPurged(t, s)
			}
			location := erase(s, "/v1/customers/ann/_erase", "{}")
			s.Erased(location)
			wantErased(t, s)
			before := s.Digest()
			s.Replay()
			if after := s.Digest(); after != before {
				t.Errorf("a replay gives %s, and %s was there", after, before)
			}
			left := filepath.Join(dir, "base.erased") // as of a process that was killed
			if err := os.WriteFile(left, []byte(secret), 0o600); err != nil {
				t.Fatal(err)
			}
			s = s.Reopen()
			wantErased(t, s)
			s.Erased(location)
			if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is there: %v", left, err)
			}
		})
	}
}

// TestEraseMembers: some members go from every version of a document that lives on.
func TestEraseMembers(t *testing.T) {
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer func() { s.Close() }()
	s.Model(ordersModel)
	writeOrders(s)
	s.Erased(erase(s, "/v1/_erase", `{"documents":[{"collection":"customers","id":"ann"}],"members":["/name","/city","/email"]}`))
	s.WantDoc("customers", "ann", `{"id":"ann"}`)
	wantErased(t, s)
	s = s.Reopen()
	wantErased(t, s)
}

// TestWritesGoOn: writes and reads beside an erasure are not refused, although the embedded server is started again.
func TestWritesGoOn(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer s.Close()
	s.Model(ordersModel)
	writeOrders(s)
	over := make(chan struct{})
	var writers sync.WaitGroup
	var written atomic.Int64
	for w := range 4 {
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				default:
				}
				path := fmt.Sprintf("/v1/orders/%d-%d", w, n)
				put, err := s.Do(http.MethodPut, path, []byte(`{"customer":"bob"}`), "Content-Type", "application/json")
				if err != nil || put.Status != http.StatusCreated {
					t.Errorf("PUT %s: %v %+v", path, err, put)
					return
				}
				if got, err := s.Do(http.MethodGet, path, nil); err != nil || got.Status != http.StatusOK {
					t.Errorf("GET %s: %v %+v", path, err, got)
					return
				}
				written.Add(1)
			}
		})
	}
	s.Erased(erase(s, "/v1/customers/ann/_erase", "{}"))
	close(over)
	writers.Wait()
	if written.Load() == 0 {
		t.Error("nothing was written meanwhile")
	}
	wantErased(t, s)
}

// awaitPurged waits until a compaction is over.
func awaitPurged(t *testing.T, s *harness.Store) {
	t.Helper()
	harness.Await(t, "the end of the compaction", time.Minute, func() bool {
		c := s.Node.Forget.Compactor.Compaction()
		return c == nil || !c.Running && c.Phase != "purging"
	})
}

// TestPastAfterErasure: a source of copies is erased, a document that has them, or both. No state before or after shows what was erased, and each
// has a clear answer.
func TestPastAfterErasure(t *testing.T) {
	suite.Parallel(t)
	source, holder := `{"collection":"customers","id":"ann"}`, `{"collection":"orders","id":"of-ann"}`
	for name, c := range map[string]struct{ body, erased string }{
		"source":  {`{"documents":[` + source + `]}`, secret},
		"members": {`{"documents":[` + source + `],"members":["/name","/city","/email"]}`, secret},
		"holder":  {`{"documents":[` + holder + `]}`, `"n":1`},
		"both":    {`{"documents":[` + source + `,` + holder + `]}`, secret},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Open(t, harness.Options{Dir: t.TempDir()})
			defer func() { s.Close() }()
			s.Model(ordersModel)
			writeOrders(s)
			s.Put("customers", "ann", `{"name":"`+secret+` again","city":"`+secret+`","email":"`+secret+`"}`)
			if shown := statesWith(t, s, c.erased); shown == 0 {
				t.Errorf("no state has %s before it is erased", c.erased)
			}
			s.Erased(erase(s, "/v1/_erase", c.body))
			s.Put("customers", "ann", `{"name":"new","city":"new","email":"new"}`)
			for _, when := range []string{"after the erasure", "after a start"} {
				if shown := statesWith(t, s, c.erased); shown > 0 {
					t.Errorf("%s %d states have %s", when, shown, c.erased)
				}
				s = s.Reopen()
			}
		})
	}
}

// statesWith asks for each state of a store of orders, document by document, and returns how many answers have a text.
func statesWith(t *testing.T, s *harness.Store, text string) (shown int) {
	t.Helper()
	last, lineages := s.Node.Store.Applied.Seq(), 0
	for seq := range last + 1 {
		for _, ordinal := range []int{0, 1, 2} {
			at := fmt.Sprintf("at=%d-%d", seq, ordinal)
			for _, path := range []string{"/v1/customers/ann/_lineage?", "/v1/orders/of-ann/_lineage?", "/v1/totals/of-ann/_lineage?", "/v1/customers/ann?", "/v1/orders/of-ann?",
				"/v1/totals/of-ann?", "/v1/customers/ann/orders?", "/v1/orders?ids=of-ann&", "/v1/customers?ids=ann&", "/v1/totals?ids=of-ann&"} {
				r, err := s.Do(http.MethodGet, path+at, nil)
				if err != nil {
					t.Fatal(err)
				}
				if r.Status != http.StatusOK && r.Status != http.StatusNotFound {
					t.Errorf("%s%s is %d %s", path, at, r.Status, r.Body)
				}
				if strings.Contains(string(r.Body), text) {
					shown++
				}
				if r.Status == http.StatusOK && strings.Contains(path, "_lineage") {
					lineages++
				}
			}
		}
	}
	if lineages < int(last) {
		t.Errorf("%d lineages in %d states", lineages, last)
	}
	return shown
}
