package faults_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// stopErasureAt stops an erasure at a step, as a kill would, and starts the node again, which finishes it. The store was compacted before, or a member
// was erased.
func stopErasureAt(t *testing.T, step, before string) {
	dir := t.TempDir()
	var opened, armed, stopped atomic.Bool
	stop := make(chan struct{})
	s := harness.Open(t, harness.Options{Dir: dir, Configure: func(cfg *node.Config) {
		quickPurge(cfg)
		if opened.Swap(true) {
			return // the node that finishes it
		}
		cfg.Steps.Erase = func(at string) error {
			if armed.Load() && at == step && !stopped.Swap(true) {
				close(stop)
			}
			if stopped.Load() {
				return errors.New("stopped by the test")
			}
			return nil
		}
	}})
	defer func() { s.Close() }()
	s.Model(forgetModel)
	writeCustomer(s, "ann")
	writeCustomer(s, "bob")
	s.CatchUp()
	switch before {
	case "compacted":
		s.Compact(s.Node.Store.Applied.Seq())
		awaitPurged(t, s)
	case "erased": // its list has what the next one is to erase
		eraseDone(t, s, "/v1/customers/ann/_erase", `{"members":["/phones"]}`)
	}
	armed.Store(true)
	r, err := s.Do(http.MethodPost, "/v1/customers/ann/_erase", []byte("{}"), "Content-Type", "application/json")
	if err != nil {
		t.Fatal(err)
	}
	location := r.Header.Get("Location")
	<-stop
	s = s.Reopen()
	s.CatchUp()
	list := string(s.Want(http.StatusOK, http.MethodGet, "/v1/_erasures", "").Body)
	if number, _ := s.Node.Log.Prefix().Erasures(); step != forget.StepCollected && !strings.Contains(list, fmt.Sprint(number)) {
		t.Errorf("the erasures are %s", list)
	}
	if location == "" { // it was not taken, and is asked for again
		again := s.Want(http.StatusAccepted, http.MethodPost, "/v1/customers/ann/_erase", "{}", "Content-Type", "application/json")
		location = again.Header.Get("Location")
	}
	s.Erased(location)
	wantShownNowhere(t, s)
	s = wantForgotten(t, s, dir)
}

// wantShownNowhere fails the test where an order, a history or the feed shows what was erased, or an order does not show what stays.
func wantShownNowhere(t *testing.T, s *harness.Store) {
	t.Helper()
	for who, shown := range map[string]bool{"ann": false, "bob": true} {
		for _, path := range []string{"orders", "parcels"} {
			if doc := s.Get(path, who+"-0"); strings.Contains(doc, "mark-"+who+"-") != shown {
				t.Errorf("%s of %s are %s", path, who, doc)
			}
		}
	}
	var status struct{ History struct{ Oldest string } }
	harness.Decode(t, s.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body, &status)
	for _, path := range []string{"/v1/customers/ann/_history", "/v1/orders/ann-0/_history", "/v1/parcels/ann-0/_history", "/v1/_changes?include_docs=true&since=" + status.History.Oldest} {
		if body := string(s.Want(http.StatusOK, http.MethodGet, path, "").Body); strings.Contains(body, "mark-ann-") {
			t.Errorf("%s has %s", path, body)
		}
	}
}
