package faults_test

import (
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestCompactWhileLogRestarts: the log's server is started again once its files lose what is erased. A compaction that is asked for meanwhile is planned all
// the same.
func TestCompactWhileLogRestarts(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: quickPurge})
	defer func() { s.Close() }()
	for range 3 {
		s.Put("customers", "ann", `{"name":"a name"}`)
		s.CatchUp()
		before := fmt.Sprintf(`{"before":"%d","dryRun":true}`, s.Node.Store.Applied.Seq())
		done := make(chan struct{})
		var asking sync.WaitGroup
		for range 4 {
			asking.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					r, err := s.Do(http.MethodPost, "/v1/_compact", []byte(before), "Content-Type", "application/json")
					if err != nil || r.Status != http.StatusOK && r.Status != http.StatusConflict {
						t.Errorf("%v, %d %s", err, r.Status, r.Body)
						return
					}
				}
			})
		}
		r := s.Want(http.StatusAccepted, http.MethodPost, "/v1/customers/ann/_erase", "{}", "Content-Type", "application/json")
		s.Erased(r.Header.Get("Location"))
		close(done)
		asking.Wait()
	}
}

// TestCutOffCompaction: a compaction that was accepted goes on after a kill, whatever it was doing, and says so.
func TestCutOffCompaction(t *testing.T) {
	dir := t.TempDir()
	for range suite.Amount(4, 16) {
		p := harness.StartProcess(t, "--data", dir, "--durability", "always")
		for n := range 30 {
			p.Put("shelves", fmt.Sprint("s", n%7), fmt.Sprintf(`{"n":%d}`, n))
		}
		at, err := fanfold.ParsePosition(compactToNow(t, p))
		if err != nil {
			t.Fatal(err)
		}
		p.Signal(syscall.SIGKILL)
		p = harness.StartProcess(t, "--data", dir, "--durability", "always")
		harness.Await(t, "the store to begin where it was to", time.Minute, func() bool {
			var status struct {
				History struct {
					Oldest     string
					Compaction *struct {
						Running      bool
						Phase, Error string
					}
				}
			}
			harness.Decode(t, p.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body, &status)
			oldest, err := fanfold.ParsePosition(status.History.Oldest)
			if err != nil {
				t.Fatal(err)
			}
			if c := status.History.Compaction; oldest < at && (c == nil || c.Error != "") {
				t.Fatalf("nobody knows of the compaction: %+v", status.History)
			}
			return oldest >= at
		})
		p.Stop(t)
	}
}
