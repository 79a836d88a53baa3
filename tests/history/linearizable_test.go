package history_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/linear"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// The linearizability tests: documents come in groups of three, and a group's history is checked
// by itself. Every write has a value of its own, so a condition on a revision is one on a value. A transaction is one operation
// on several documents of its group, and so is a read of all of them.
const (
	faultEvery = 200 // operations between the end of a fault and the next
)

// TestLinearizable runs writers on two nodes over a cluster of three NATS servers, while the
// stream's leader and others are stopped and restarted and connections are cut. Under -soak it does so again and
// again, each time with other operations and faults.
func TestLinearizable(t *testing.T) {
	suite.Concurrent(t)
	const most = 5 * time.Minute // the check of one history takes memory
	s := suite.Begin(t, suite.ShareLinear)
	for n := 0; s.GoesOn(n, 1) && !t.Failed(); n++ {
		long, seed := min(most, s.Left()), rand.Uint64()
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { requireLinearizable(t, long, seed) })
	}
}

// requireLinearizable is one history of TestLinearizable.
func requireLinearizable(t *testing.T, long time.Duration, seed uint64) {
	cluster := natsserver.StartCluster(t, 3, false)
	urls := strings.Join(cluster.URLs(), ",")
	nodes := make([]*harness.Store, 2)
	for i := range nodes {
		nodes[i] = harness.Open(t, harness.Options{KeepFold: true, Dir: t.TempDir(), NATS: urls, Replicas: 3})
		defer nodes[i].Close()
	}
	began := time.Now()
	var stop atomic.Bool
	var ops, faults atomic.Int64
	var background sync.WaitGroup
	background.Go(func() {
		rng := rand.New(rand.NewPCG(seed, 0))
		for next := int64(faultEvery); !stop.Load(); next = ops.Load() + faultEvery {
			if !cluster.Await(func() bool { return stop.Load() || ops.Load() >= next }) || stop.Load() {
				continue
			}
			disturb(cluster, rng, &stop)
			faults.Add(1)
		}
	})
	wide := func(group int) int { return []int{1, 2, 20}[group%3] }
	clients := linearClients(t, seed, began, wide)
	var wg sync.WaitGroup
	for i, l := range clients {
		l.HTTP = nodes[i%2].Client
		wg.Go(func() { work(l, &ops, func() bool { return time.Since(began) < long }) })
	}
	wg.Wait()
	stop.Store(true)
	background.Wait()
	groups := int(ops.Load())/linear.GroupOps + 1
	history, unknown := historyOf(clients, linear.ReadAll(t, nodes[0].Client, began, wide, groups))
	t.Logf("%d operations in %d groups, %d of unknown outcome, %d faults, %v", len(history), groups, unknown, faults.Load(), time.Since(began).Round(time.Second))
	suite.Done(faults.Load(), "faults of the cluster meanwhile")
	requireLinear(t, history)
	for _, n := range nodes {
		n.Verify()
	}
	nodes[0].WantSameDigest(nodes[1])
}

// linearClients returns the writers of a history. The caller gives each its node.
func linearClients(t *testing.T, seed uint64, began time.Time, wide linear.Width) (clients []*linear.Client) {
	for i := range linear.Writers {
		clients = append(clients, &linear.Client{T: t, Worker: i, Rand: rand.New(rand.NewPCG(seed, uint64(i)+1)), Began: began, Tags: map[string]string{}, Wide: wide})
	}
	return clients
}

// work has a client do operations on one group after the other for as long as goesOn says.
func work(l *linear.Client, ops *atomic.Int64, goesOn func() bool) {
	for at := -1; goesOn(); {
		group := int(ops.Add(1)) / linear.GroupOps
		if group != at {
			at, l.Last = group, [linear.GroupDocs]string{}
		}
		l.Step(group)
	}
}

// historyOf returns what clients did and what was read at the end, and how many outcomes are unknown.
func historyOf(clients []*linear.Client, atEnd []porcupine.Operation) (history []porcupine.Operation, unknown int) {
	for _, l := range clients {
		history, unknown = append(history, l.History...), unknown+l.Unknown
	}
	return append(history, atEnd...), unknown
}

// requireLinear fails the test where a history is not linearizable.
func requireLinear(t *testing.T, history []porcupine.Operation) {
	t.Helper()
	suite.Done(int64(len(history)), "operations of linearizable histories")
	switch result, info := porcupine.CheckOperationsVerbose(linear.Model, history, 5*time.Minute); result {
	case porcupine.Illegal:
		const path = "linearizability.html"
		_ = porcupine.VisualizePath(linear.Model, info, path) // for whoever looks into it
		t.Fatalf("the history is not linearizable: see tests/history/%s", path)
	case porcupine.Unknown:
		t.Fatal("the check took too long")
	}
}

// disturb does one fault and waits until the cluster is whole again.
func disturb(c *natsserver.Cluster, rng *rand.Rand, stop *atomic.Bool) {
	server := rng.IntN(3)
	leader := c.Leader("fanfold")
	switch rng.IntN(4) {
	case 0:
		c.CutClients(server)
	case 1:
		if leader >= 0 {
			c.CutClients(leader)
		}
	case 2:
		c.Stop(server)
		c.Restart(server)
	default:
		if leader >= 0 {
			c.Stop(leader)
			c.AwaitLeader("fanfold")
			c.Restart(leader)
		}
	}
	c.AwaitLeader("fanfold")
	c.AwaitWhole("fanfold", stop.Load)
}
