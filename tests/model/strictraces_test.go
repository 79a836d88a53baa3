package model_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/jsonvalue"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestStrictUnderConcurrency: writers, movers, deleters and re-creators never leave a reference without its target, nor one value
// twice. They are on two nodes, with one replica and with three, and on one node with an embedded log.
func TestStrictUnderConcurrency(t *testing.T) {
	suite.Concurrent(t)
	for _, replicas := range []int{embedded, 1, 3} {
		t.Run(strconv.Itoa(replicas), func(t *testing.T) {
			nodes := cluster(t, replicas, 2)
			nodes[0].Model(`
collections:
  as: {}
  cs: {}
  bs: {unique: [u], relations: {a: {path: "as[]", to: as, strict: true}, one: {path: one, to: as, strict: true, onDelete: unlink}}}
`)
			nodes[1].CatchUp()
			var mu sync.Mutex
			seen := map[string]int{}
			var wg sync.WaitGroup
			errs := make(chan error, 64)
			for w := range 8 {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(w), 7))
					for range 60 {
						what, err := strictStep(nodes[w%2], rng)
						if err != nil {
							errs <- err
							return
						}
						mu.Lock()
						seen[what]++
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			close(errs)
			for err := range errs {
				t.Fatal(err)
			}
			nodes[0].CatchUp()
			nodes[1].CatchUp()
			nodes[0].WantSameDigest(nodes[1])
			checkStrict(t, nodes[0])
			for _, what := range []string{"PUT 201", "PUT 204", "PUT 409", "PUT 422", "DELETE 204", "DELETE 409"} {
				if seen[what] == 0 {
					t.Errorf("%s never happened: %v", what, seen)
				}
			}
			t.Log(seen)
		})
	}
}

// TestStrictRaces: a holder is written on one node while its target is deleted on another, or on the same with an embedded log. Two
// documents take one value at the same moment. One of the two wins.
func TestStrictRaces(t *testing.T) {
	suite.Concurrent(t)
	for _, replicas := range []int{embedded, 1, 3} {
		t.Run(strconv.Itoa(replicas), func(t *testing.T) {
			nodes := cluster(t, replicas, 2)
			nodes[0].Model("collections: {as: {}, bs: {unique: [u, [p, q], 'lower(doc.x)'], relations: {a: {path: a, to: as, strict: true}}}}")
			nodes[1].CatchUp()
			const lanes = 4
			rounds := suite.Amount(20, 60)
			var wg sync.WaitGroup
			errs := make(chan error, lanes)
			for lane := range lanes {
				wg.Go(func() {
					for i := range rounds {
						if err := strictRace(nodes, fmt.Sprintf("%d-%d", lane, i)); err != nil {
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
		})
	}
}

// strictRace sends four writes at once: of holder id and of the delete of its target, of two
// documents with one value.
func strictRace(nodes []*harness.Store, id string) error {
	if r, err := nodes[0].Do(http.MethodPut, "/v1/as/"+id, []byte("{}")); err != nil || r.Status != http.StatusCreated {
		return fmt.Errorf("%w %+v", err, r)
	}
	one, other := fmt.Sprintf(`{"u":%q}`, id), fmt.Sprintf(`{"u":%q,"x":7}`, id)
	switch id[len(id)-1] % 3 { // a member, several together, or an expression
	case 1:
		one, other = fmt.Sprintf(`{"p":1,"q":%q}`, id), fmt.Sprintf(`{"q":%q,"p":1.0}`, id)
	case 2:
		one, other = fmt.Sprintf(`{"x":"n%s"}`, id), fmt.Sprintf(`{"x":"N%s"}`, id)
	}
	status := make([]int, 4)
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i, w := range []struct{ method, path, body string }{
		{http.MethodPut, "/v1/bs/h" + id, fmt.Sprintf(`{"a":%q}`, id)},
		{http.MethodDelete, "/v1/as/" + id, ""},
		{http.MethodPut, "/v1/bs/u" + id, one},
		{http.MethodPut, "/v1/bs/v" + id, other},
	} {
		wg.Go(func() {
			r, err := nodes[i%2].Do(w.method, w.path, []byte(w.body))
			if errs[i] = err; err == nil {
				status[i] = r.Status
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	held, deleted := status[0] == http.StatusCreated, status[1] == http.StatusNoContent
	if held == deleted || !held && status[0] != http.StatusUnprocessableEntity || !deleted && status[1] != http.StatusConflict {
		return fmt.Errorf("%s: the holder's write %d, the target's delete %d", id, status[0], status[1])
	}
	if slices.Sort(status[2:]); status[2] != http.StatusCreated || status[3] != http.StatusConflict {
		return fmt.Errorf("%s: two writes of one value: %v", id, status[2:])
	}
	return nil
}

// strictStep does something at random and tells what, and how it was answered.
func strictStep(n *harness.Store, rng *rand.Rand) (string, error) {
	id := func(most int) string { return strconv.Itoa(rng.IntN(most)) }
	method, path, body, headers := http.MethodPut, "/v1/as/"+id(4), `{}`, []string(nil)
	switch rng.IntN(10) {
	case 0, 1:
	case 2, 3:
		method, body = http.MethodDelete, ""
	case 4:
		method, path, body = http.MethodDelete, "/v1/bs/"+id(6), ""
	case 5:
		method, path, body, headers = http.MethodPatch, "/v1/bs/"+id(6), fmt.Sprintf(`{"one":%q}`, id(4)), []string{"Content-Type", harness.MergeType}
	case 6:
		method, path = http.MethodPost, "/v1/_transactions"
		others := make([]string, []int{0, 1, 20, 300}[rng.IntN(4)])
		for i := range others {
			others[i] = fmt.Sprintf(`{"op":"put","collection":"cs","id":"%d","body":{}},`, i)
		}
		body = fmt.Sprintf(`{"operations":[{"op":"put","collection":"as","id":%q,"body":{}},%s{"op":"put","collection":"bs","id":%q,"body":{"as":[%q],"u":%q}}]}`,
			id(4), strings.Join(others, ""), id(6), id(4), id(5))
	default:
		path, body = "/v1/bs/"+id(6), fmt.Sprintf(`{"as":[%q,%q],"u":%q}`, id(4), id(4), id(5))
	}
	r, err := n.Do(method, path, []byte(body), headers...)
	if err != nil {
		return "", err
	}
	if !slices.Contains([]int{200, 201, 204, 404, 409, 422}, r.Status) {
		return "", fmt.Errorf("%s %s %s: %d %s", method, path, body, r.Status, r.Body)
	}
	return fmt.Sprintf("%s %d", method, r.Status), nil
}

// checkStrict wants every reference's target to be there, and every value once.
func checkStrict(t *testing.T, s *harness.Store) {
	t.Helper()
	var all []error
	values := map[string]string{}
	listed, _ := harness.Items(t, s, "/v1/bs")
	for _, id := range listed {
		doc := jsonvalue.Parse(s.Get("bs", id))
		for _, target := range append(doc.IDs([]string{"as", "[]"}), doc.IDs([]string{"one"})...) {
			if r, err := s.Do(http.MethodGet, "/v1/as/"+target, nil); err != nil || r.Status != http.StatusOK {
				all = append(all, fmt.Errorf("bs/%s refers to as/%s, which is not there", id, target))
			}
		}
		for _, u := range doc.IDs([]string{"u"}) {
			if other := values[u]; other != "" {
				all = append(all, fmt.Errorf("bs/%s and bs/%s both have %s", id, other, u))
			}
			values[u] = id
		}
	}
	if err := errors.Join(all...); err != nil {
		t.Fatal(err)
	}
}

// TestGuardsUnderWrites: a model that makes members unique and relations strict is applied while
// documents are written that would break it: none is stored after the last look.
func TestGuardsUnderWrites(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, "collections: {as: {}, bs: {relations: {a: {path: a, to: as}}}}")
	var lines strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&lines, `{"id":"%d","u":%d}`+"\n", i, i)
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=bs", lines.String(), "Content-Type", "application/x-ndjson")
	var stop atomic.Bool
	var stored atomic.Int64
	var wg sync.WaitGroup
	var first sync.Once
	begun := make(chan struct{})
	for w := range 4 {
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				r, err := s.Do(http.MethodPut, fmt.Sprintf("/v1/bs/w%d-%d", w, i), []byte(`{"u":"same","a":"none"}`))
				if err == nil && r.Status == http.StatusCreated {
					stored.Add(1)
					first.Do(func() { close(begun) })
				}
			}
		})
	}
	<-begun
	const guarded = "collections: {as: {}, bs: {unique: [u], relations: {a: {path: a, to: as, strict: true}}}}"
	r, err := s.Do(http.MethodPut, "/v1/_model", []byte(guarded), "Content-Type", "application/yaml")
	stop.Store(true)
	wg.Wait()
	if err != nil || r.Status != http.StatusUnprocessableEntity || stored.Load() < 1 {
		t.Fatalf("%d documents break the model, which is answered %+v, %v", stored.Load(), r, err)
	}
}
