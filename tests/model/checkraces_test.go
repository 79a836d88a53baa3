package model_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// credit is a model with a check over a sum of sums and a copied limit: five kinds of writes can break it.
const credit = `
collections:
  limits: {}
  customers:
    relations: { limit: { path: limit, to: limits } }
    derive: { most: { copy: limit, value: doc.most }, spent: { sum: orders.customer, of: total }, left: { value: doc.most - doc.spent } }
    checks: { credit: { that: doc.left >= 0, message: "No credit is left" } }
  orders:
    relations: { customer: { path: customer, to: customers } }
    derive: { total: { sum: lines.order, of: n } }
  lines:
    relations: { order: { path: order, to: orders } }
`

// TestCheckRaces: writers on one, two and three nodes make, change, move and delete everything that a check looks at, at the end of three
// chains. No event of the log leaves the check false. Whichever kind of gate is taken out of package check, or the condition of gates,
// this test fails.
func TestCheckRaces(t *testing.T) {
	suite.Concurrent(t)
	for nodes, replicas := range []int{1: embedded, 2: 1, 3: 3} {
		if nodes == 0 {
			continue
		}
		t.Run(strconv.Itoa(nodes), func(t *testing.T) {
			all := cluster(t, replicas, nodes)
			all[0].Model(credit)
			for _, n := range all {
				n.CatchUp()
			}
			seen := checkRace(t, all, suite.Amount(6, 30))
			for _, n := range all {
				n.CatchUp()
				n.WantSameDigest(all[0])
			}
			wantNeverBroken(t, all[0])
			for _, what := range []string{"PUT 201", "PUT 204", "PUT 422", "DELETE 204", "POST 200", "POST 422"} {
				if seen[what] == 0 {
					t.Errorf("%s never happened: %v", what, seen)
				}
			}
		})
	}
}

// checkRace has eight writers make rounds of steps, each on keys that all of them use, and counts the answers. Each round has keys of its own, so
// that documents come and go.
func checkRace(t *testing.T, nodes []*harness.Store, rounds int) map[string]int {
	t.Helper()
	var mu sync.Mutex
	seen := map[string]int{}
	for round := range rounds {
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(round), uint64(w)))
				for range 12 {
					method, path, body := creditStep(rng, round)
					r, err := nodes[w%len(nodes)].Do(method, path, []byte(body))
					if err != nil || r.Status >= 500 {
						t.Errorf("%s %s %s: %v %+v", method, path, body, err, r)
						return
					}
					if r.Status == http.StatusUnprocessableEntity && !strings.Contains(string(r.Body), "urn:fanfold:problem:check-failed") {
						t.Errorf("%s %s %s: %s", method, path, body, r.Body)
					}
					mu.Lock()
					seen[fmt.Sprint(method, " ", r.Status)]++
					mu.Unlock()
				}
			})
		}
		all.Wait()
	}
	return seen
}

// creditStep returns a write of one of the documents that the check depends on.
func creditStep(rng *rand.Rand, round int) (method, path, body string) {
	id := func(kind string) string { return fmt.Sprintf("%s%d-%d", kind, round, rng.IntN(2)) }
	documents := [][2]string{
		{"limits/" + id("l"), fmt.Sprintf(`{"most":%d}`, 2+rng.IntN(8))},
		{"customers/" + id("c"), fmt.Sprintf(`{"limit":%q}`, id("l"))},
		{"orders/" + id("o"), fmt.Sprintf(`{"customer":%q}`, id("c"))},
		{"lines/" + id("n"), fmt.Sprintf(`{"order":%q,"n":%d}`, id("o"), 1+rng.IntN(4))},
		{"lines/" + id("m"), fmt.Sprintf(`{"order":%q,"n":%d}`, id("o"), 1+rng.IntN(4))},
	}
	a := documents[rng.IntN(len(documents))]
	switch k := rng.IntN(10); {
	case k < 2:
		return http.MethodDelete, "/v1/" + a[0], ""
	case k < 4:
		b := documents[rng.IntN(len(documents))]
		if a[0] == b[0] {
			break
		}
		var ops []string
		for _, d := range [][2]string{a, b} {
			collection, id, _ := strings.Cut(d[0], "/")
			ops = append(ops, fmt.Sprintf(`{"op":"put","collection":%q,"id":%q,"body":%s}`, collection, id, d[1]))
		}
		return http.MethodPost, "/v1/_transactions", `{"operations":[` + strings.Join(ops, ",") + `]}`
	}
	return http.MethodPut, "/v1/" + a[0], a[1]
}

// wantNeverBroken fails the test if some event, or a transaction, has left a customer without credit. It goes by the documents as the feed has them.
func wantNeverBroken(t *testing.T, s *harness.Store) {
	t.Helper()
	var body struct {
		Results []struct {
			Seq, Tx, ID string
			Doc         struct{ Left *json.Number }
		}
	}
	r := s.Want(http.StatusOK, http.MethodGet, "/v1/_changes?since=0&mode=all&include_docs=true&collections=customers&limit=100000", "")
	if err := json.Unmarshal(r.Body, &body); err != nil || len(body.Results) == 0 {
		t.Fatal(err, string(r.Body))
	}
	for i, row := range body.Results {
		later := func() bool { // in the same event or transaction
			event, _, _ := strings.Cut(row.Seq, "-")
			return slices.ContainsFunc(body.Results[i+1:], func(o struct {
				Seq, Tx, ID string
				Doc         struct{ Left *json.Number }
			}) bool {
				return o.ID == row.ID && (strings.HasPrefix(o.Seq, event+"-") || row.Tx != "" && o.Tx == row.Tx)
			})
		}
		if row.Doc.Left != nil && strings.HasPrefix(row.Doc.Left.String(), "-") && !later() {
			t.Errorf("at %s customers/%s has %s left", row.Seq, row.ID, row.Doc.Left)
		}
	}
}

// TestCheckRacesOfReferences: a holder begins to refer to a document on one node while that document changes on another. Neither write
// reaches the other's document yet, and one of the two is refused.
func TestCheckRacesOfReferences(t *testing.T) {
	suite.Concurrent(t)
	for _, replicas := range []int{embedded, 1, 3} {
		t.Run(strconv.Itoa(replicas), func(t *testing.T) {
			nodes := cluster(t, replicas, 2)
			nodes[0].Model(credit)
			nodes[1].CatchUp()
			errs := make(chan error, 4)
			var wg sync.WaitGroup
			for lane := range cap(errs) {
				wg.Go(func() {
					for i := range suite.Amount(15, 60) {
						if err := referenceRace(nodes, fmt.Sprintf("%d-%d", lane, i)); err != nil {
							errs <- err
							return
						}
					}
				})
			}
			wg.Wait()
			close(errs)
			for err := range errs {
				t.Error(err)
			}
			nodes[0].CatchUp()
			wantNeverBroken(t, nodes[0])
		})
	}
}

// referenceRace makes a customer who has spent 5, and then moves the customer to a limit while that becomes 3.
func referenceRace(nodes []*harness.Store, id string) error {
	body := fmt.Sprintf(`{"operations":[{"op":"put","collection":"limits","id":"k%s","body":{"most":9}},{"op":"put","collection":"limits","id":"l%s","body":{"most":9}},
		{"op":"put","collection":"customers","id":"c%s","body":{"limit":"k%s"}},{"op":"put","collection":"orders","id":"o%s","body":{"customer":"c%s"}},
		{"op":"put","collection":"lines","id":"n%s","body":{"order":"o%s","n":5}}]}`, id, id, id, id, id, id, id, id)
	r, err := nodes[0].Do(http.MethodPost, "/v1/_transactions", []byte(body))
	if err != nil || r.Status != http.StatusOK {
		return fmt.Errorf("%w %+v", err, r)
	}
	nodes[1].CatchUp()
	var status [2]int
	var errs [2]error
	var wg sync.WaitGroup
	for i, w := range [][2]string{{"/v1/limits/l" + id, `{"most":3}`}, {"/v1/customers/c" + id, fmt.Sprintf(`{"limit":"l%s"}`, id)}} {
		wg.Go(func() {
			r, err := nodes[i].Do(http.MethodPut, w[0], []byte(w[1]))
			if errs[i] = err; err == nil {
				status[i] = r.Status
			}
		})
	}
	wg.Wait()
	if slices.Sort(status[:]); errs[0] != nil || errs[1] != nil || status != [2]int{http.StatusNoContent, http.StatusUnprocessableEntity} {
		return fmt.Errorf("%s: %v %v", id, status, errs)
	}
	return nil
}
