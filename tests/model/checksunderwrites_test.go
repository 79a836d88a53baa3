package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
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

// TestLinesAreJudgedByWhatIsStored: a line of an import is refused for the sake of one before it. Another node is faster, so that this one is refused,
// too. Then the other line is judged anew, and stored.
func TestLinesAreJudgedByWhatIsStored(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	var appends, at atomic.Int64 // of the importing node, and the one before which the other node writes
	var other *harness.Store
	node := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, FailAppend: func(stored bool) error {
		if !stored && appends.Add(1) == at.Load() {
			other.Put("events", "e", `{"capacity":4}`)
		}
		return nil
	}})
	defer node.Close()
	other = harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	defer other.Close()
	node.Model(`collections: {events: {derive: {sold: {sum: orders.event, of: n}}, checks: {few: {that: doc.sold <= doc.capacity}}}, orders: {unique: [code], relations: {event: {path: event, to: events}}}}`)
	node.Put("events", "e", `{"capacity":5}`)
	node.Put("events", "f", `{"capacity":5}`)
	other.CatchUp()
	two := func(event string) string {
		return harness.ImportText(t, node.Client, "collection=orders", fmt.Sprintf(`{"id":"%s5","event":"%s","n":5}`+"\n"+`{"id":"%s3","event":"%s","n":3}`, event, event, event, event))
	}
	before := appends.Load()
	if said := two("f"); !strings.Contains(said, `"refused":1,"written":1`) {
		t.Fatalf("the import says %s", said)
	}
	at.Store(2*appends.Load() - before) // the last one stores the batch
	if said := two("e"); !strings.Contains(said, `"refused":1,"written":1`) || !strings.Contains(said, `"line":1`) {
		t.Errorf("the import says %s", said)
	}
	node.WantDoc("events", "e", `{"id":"e","capacity":4,"sold":3}`)
	// here a check refuses the line that has the unique value first
	if said := harness.ImportText(t, node.Client, "collection=orders", `{"id":"u8","event":"f","n":8,"code":"u"}`+"\n"+`{"id":"u0","event":"f","n":0,"code":"u"}`); !strings.Contains(said, `"refused":1,"written":1`) {
		t.Errorf("the import says %s", said)
	}
	node.WantDoc("orders", "u0", `{"id":"u0","event":"f","n":0,"code":"u"}`)
	node.Verify()
}
