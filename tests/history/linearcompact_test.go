package history_test

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/linear"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// exported returns all documents of a node, once it has folded everything.
func exported(s *harness.Store) string {
	s.CatchUp()
	return string(s.Want(http.StatusOK, http.MethodGet, "/v1/_export", "").Body)
}

// TestLinearizableAcrossHorizons: writers on two nodes over one NATS server go on while the store begins later again and again, and the log
// is purged. No write that was decided on what was before a horizon is lost, or overwrites another.
func TestLinearizableAcrossHorizons(t *testing.T) {
	suite.Concurrent(t)
	long := suite.Amount(10*time.Second, 25*time.Second)
	url := natsserver.Start(t, 1)[0]
	nodes := make([]*harness.Store, 2)
	for i := range nodes {
		nodes[i] = harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Configure: func(cfg *node.Config) { cfg.PurgeWait = 2 * time.Second }})
		defer nodes[i].Close()
	}
	began := time.Now()
	var ops atomic.Int64
	var purged, compactions atomic.Uint64
	var wg sync.WaitGroup
	goesOn := func() bool {
		return time.Since(began) < long || purged.Load() == 0 && time.Since(began) < suite.Deadline(time.Minute) // a busy machine may purge late
	}
	wg.Go(func() {
		for ops.Load() < linear.GroupOps && goesOn() { // a compaction of a log that is yet to be written purges nothing
			time.Sleep(time.Millisecond) // between two looks
		}
		for goesOn() {
			body := fmt.Appendf(nil, `{"before":"%d"}`, nodes[0].Node.Store.Applied.Seq())
			if _, err := nodes[0].Do(http.MethodPost, "/v1/_compact", body, "Content-Type", "application/json"); err != nil {
				t.Error(err)
				return
			}
			for goesOn() { // another compaction would put the purge off
				if s, err := nodes[0].Node.Log.State(t.Context()); err == nil && s.First-1 > purged.Load() {
					purged.Store(s.First - 1)
					compactions.Add(1)
					break
				}
				time.Sleep(20 * time.Millisecond) // between two looks
			}
		}
	})
	wide := func(group int) int { return []int{1, 2, 20}[group%3] }
	clients := linearClients(t, 1, began, wide)
	for i, l := range clients {
		l.HTTP = nodes[i%2].Client
		wg.Go(func() { work(l, &ops, goesOn) })
	}
	wg.Wait()
	groups := int(ops.Load())/linear.GroupOps + 1
	history, unknown := historyOf(clients, linear.ReadAll(t, nodes[0].Client, began, wide, groups))
	t.Logf("%s operations in %d groups, %d of unknown outcome; the log was purged up to event %d by %d compactions", strconv.Itoa(len(history)), groups, unknown, purged.Load(), compactions.Load())
	if purged.Load() == 0 {
		t.Error("the log was never purged")
	}
	requireLinear(t, history)
	for _, n := range nodes {
		n.Verify()
	}
	if a, b := exported(nodes[0]), exported(nodes[1]); a != b { // one of them may yet have rows from before the horizon
		t.Errorf("the nodes have other documents: %d and %d bytes", len(a), len(b))
	}
}
