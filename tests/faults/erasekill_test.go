package faults_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestStopAtEachStepOfErasure stops an erasure at each of its steps, as a kill would, and starts the node again, which finishes it.
func TestStopAtEachStepOfErasure(t *testing.T) {
	for _, step := range node.EraseSteps {
		for _, compacted := range []bool{false, true} {
			t.Run(fmt.Sprint(step, " ", compacted), func(t *testing.T) {
				suite.Parallel(t)
				stopErasureAt(t, step, compacted)
			})
		}
	}
}

// stopErasureAt does the work of TestStopAtEachStepOfErasure.
func stopErasureAt(t *testing.T, step string, compacted bool) {
	dir := t.TempDir()
	var opened, stopped atomic.Bool
	stop := make(chan struct{})
	s := harness.Open(t, harness.Options{Dir: dir, Configure: func(cfg *node.Config) {
		quickPurge(cfg)
		if opened.Swap(true) {
			return // the node that finishes it
		}
		cfg.EraseStep = func(at string) error {
			if at == step && !stopped.Swap(true) {
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
	if compacted {
		s.Compact(s.Node.Store.Applied.Seq())
		awaitPurged(t, s)
	}
	r, err := s.Do(http.MethodPost, "/v1/customers/ann/_erase", []byte("{}"), "Content-Type", "application/json")
	if err != nil {
		t.Fatal(err)
	}
	location := r.Header.Get("Location")
	<-stop
	s = s.Reopen()
	if location == "" { // it was not taken, and is asked for again
		again := s.Want(http.StatusAccepted, http.MethodPost, "/v1/customers/ann/_erase", "{}", "Content-Type", "application/json")
		location = again.Header.Get("Location")
	}
	s.Erased(location)
	s = wantForgotten(t, s, dir)
}

// erasureKills is how many times TestKillWhileErasing kills a process.
const erasureKills, longErasureKills = 8, 200

// TestKillWhileErasing kills a process with SIGKILL while it erases and takes writes, again and again on the same data. Everything
// acknowledged is there, and what was to be erased is nowhere in the end.
func TestKillWhileErasing(t *testing.T) {
	suite.PlainOnly(t, suite.OtherProcess)
	suite.Parallel(t)
	dir := t.TempDir()
	acked, kills := -1, suite.Amount(erasureKills, longErasureKills)
	for i := range kills + 1 {
		p := harness.StartProcess(t, "--data", dir, "--durability", "always")
		requireCounted(t, p, acked)
		who := fmt.Sprint("ann", i)
		p.Put("customers", who, fmt.Sprintf(`{"name":%q,"list":[%q]}`, marker(who, "name"), marker(who, "list")))
		p.Put("customers", fmt.Sprint("bob", i), fmt.Sprintf(`{"name":%q}`, marker("bob", "name")))
		location := eraseByHTTP(t, p, who)
		for end := time.Now().Add(time.Duration(rand.IntN(700)) * time.Millisecond); time.Now().Before(end); { //nolint:gosec // the moment of the kill is any
			acked++
			p.Put("shelves", "s", fmt.Sprintf(`{"n":%d}`, acked))
		}
		if i < kills {
			p.Signal(syscall.SIGKILL)
			continue
		}
		harness.Await(t, "the last erasure to be done", time.Minute, func() bool {
			var e struct{ Phase string }
			harness.Decode(t, p.Want(http.StatusOK, http.MethodGet, location, "").Body, &e)
			return e.Phase == "done"
		})
		requireSameByHTTP(t, p)
		p.Verify(t)
		p.Stop(t)
	}
	for i := range kills + 1 {
		for _, what := range []string{"name", "list"} {
			if found := filesWith(t, dir, marker(fmt.Sprint("ann", i), what)); len(found) > 0 {
				t.Errorf("%s is in %v", marker(fmt.Sprint("ann", i), what), found)
			}
		}
	}
	if len(filesWith(t, dir, marker("bob", "name"))) == 0 {
		t.Error("what others wrote is gone")
	}
}

// eraseByHTTP begins an erasure, once nothing else is under way, and returns where it can be watched.
func eraseByHTTP(t *testing.T, p *harness.Process, who string) (location string) {
	t.Helper()
	harness.Await(t, "an erasure to begin", time.Minute, func() bool {
		r, err := p.Do(http.MethodPost, "/v1/customers/"+who+"/_erase", []byte("{}"), "Content-Type", "application/json")
		if err != nil || r.Status != http.StatusAccepted && r.Status != http.StatusConflict {
			t.Fatalf("the erasure: %v %+v", err, r)
		}
		location = r.Header.Get("Location")
		return r.Status == http.StatusAccepted
	})
	return location
}
