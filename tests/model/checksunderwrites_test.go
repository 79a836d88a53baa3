package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/suite"
)

// TestChecksUnderWrites: a model with a check comes while others write what breaks it, on two nodes, or one with an embedded log. If it is
// accepted, no document breaks it then or later; if it is refused, one does.
func TestChecksUnderWrites(t *testing.T) {
	suite.Concurrent(t)
	const without = `collections: {events: {derive: {sold: {count: orders.event}}}, orders: {relations: {event: {path: event, to: events}}}}`
	const with = `collections: {events: {derive: {sold: {count: orders.event}}, checks: {few: {that: doc.sold <= 3}}}, orders: {relations: {event: {path: event, to: events}}}}`
	for _, replicas := range []int{embedded, 1} {
		t.Run(strconv.Itoa(replicas), func(t *testing.T) {
			nodes := cluster(t, replicas, 2)
			accepted := 0
			for round := range suite.Amount(12, 60) {
				nodes[0].Want(http.StatusOK, http.MethodPut, "/v1/_model?allowRemoval=true", without, "Content-Type", "application/yaml")
				event := fmt.Sprint("e", round)
				nodes[0].Put("events", event, `{}`)
				nodes[1].CatchUp()
				var wg sync.WaitGroup
				var stored atomic.Int64
				for w := range 2 {
					wg.Go(func() {
						for i := range 1 + round%3 {
							r, err := nodes[w].Do(http.MethodPut, fmt.Sprintf("/v1/orders/%s-%d-%d", event, w, i), fmt.Appendf(nil, `{"event":%q}`, event))
							switch {
							case err == nil && r.Status == http.StatusCreated:
								stored.Add(1)
							case err != nil || r.Status != http.StatusUnprocessableEntity:
								t.Errorf("%v %+v", err, r)
							}
						}
					})
				}
				for range round % 4 {
					nodes[0].Want(http.StatusOK, http.MethodGet, "/v1/events/"+event, "") // the model comes at another moment in each round
				}
				r, err := nodes[round%2].Do(http.MethodPut, "/v1/_model", []byte(with), "Content-Type", "application/yaml")
				wg.Wait()
				if err != nil || r.Status != http.StatusOK && r.Status != http.StatusUnprocessableEntity {
					t.Fatal(err, r)
				}
				if broken := stored.Load() > 3; broken != (r.Status == http.StatusUnprocessableEntity) {
					t.Errorf("the model is answered with %d, and %d orders are stored", r.Status, stored.Load())
				}
				if r.Status == http.StatusOK {
					accepted++
					var doc struct{ Sold int }
					if err := json.Unmarshal(nodes[1].Want(http.StatusOK, http.MethodGet, "/v1/events/"+event+"?consistency=strong", "").Body, &doc); err != nil || doc.Sold != int(stored.Load()) {
						t.Errorf("%d are sold of %d: %v", doc.Sold, stored.Load(), err)
					}
				} else {
					for w := range 2 {
						for i := range 3 {
							if _, err := nodes[0].Do(http.MethodDelete, fmt.Sprintf("/v1/orders/%s-%d-%d", event, w, i), nil); err != nil {
								t.Error(err)
							}
						}
					}
				}
			}
			t.Logf("%d models were accepted", accepted)
			if accepted == 0 {
				t.Error("no model was accepted")
			}
		})
	}
}
