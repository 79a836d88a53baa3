package tests

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// The linearizability test: documents come in groups of three, and a group's history is checked
// by itself. Every write has a value of its own, so a condition on a revision is one on a value.
const (
	groupDocs = 3
	groupOps  = 48
	writers   = 8

	faultEvery = 200 // operations between the end of a fault and the next
)

// act is what an operation does to one document of its group.
type act struct {
	Op     string // create, put, patch, delete, check, get
	Doc    int
	Value  string // written
	Expect string // If-Match: the value of that revision; "" for none
}

type linearInput struct {
	Group int
	Acts  []act
}

type outcomeKind int

const (
	wasDone    outcomeKind = iota
	wasRefused             // by a condition
	wasUnknown
)

type linearOutput struct {
	Kind  outcomeKind
	Value string // read; "" where there is no document
}

type linearState [groupDocs]string

// allowed tells whether the act's condition holds.
func (s linearState) allowed(a act) bool {
	v := s[a.Doc]
	switch {
	case a.Expect != "":
		return v == a.Expect
	case a.Op == "create":
		return v == ""
	case a.Op == "patch" || a.Op == "delete":
		return v != ""
	}
	return true
}

func (s linearState) apply(acts []act) (linearState, bool) {
	for _, a := range acts {
		if !s.allowed(a) {
			return s, false
		}
	}
	for _, a := range acts {
		switch a.Op {
		case "delete":
			s[a.Doc] = ""
		case "create", "put", "patch":
			s[a.Doc] = a.Value
		}
	}
	return s, true
}

var linearModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		groups := map[int][]porcupine.Operation{}
		for _, op := range history {
			g := op.Input.(linearInput).Group
			groups[g] = append(groups[g], op)
		}
		var out [][]porcupine.Operation
		for _, g := range groups {
			out = append(out, g)
		}
		return out
	},
	Init: func() any { return linearState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(linearState), input.(linearInput), output.(linearOutput)
		if in.Acts[0].Op == "get" {
			return s[in.Acts[0].Doc] == out.Value, s
		}
		next, done := s.apply(in.Acts)
		switch out.Kind {
		case wasDone:
			return done, next
		case wasRefused:
			return !done, s
		default: // it may come at any time, also never: then it stands at the end
			return true, next
		}
	},
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%+v -> %+v", input.(linearInput).Acts, output.(linearOutput))
	},
}

// TestLinearizable runs writers on two nodes over a cluster of three NATS servers, while the
// stream's leader and others are stopped and restarted and connections are cut. Under -soak it does so again and
// again, each time with other operations and faults.
func TestLinearizable(t *testing.T) {
	const most = 5 * time.Minute // the check of one history takes memory
	short := amount(15*time.Second, 25*time.Second)
	if raceDetector {
		short = 15 * time.Second
	}
	s := begin(t, shareLinear)
	for n := 0; s.goesOn(n, 1) && !t.Failed(); n++ {
		long, seed := short, uint64(1)
		if s.long > 0 {
			long, seed = min(most, s.left()), rand.Uint64()
		}
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { requireLinearizable(t, long, seed) })
	}
}

// requireLinearizable is one history of TestLinearizable.
func requireLinearizable(t *testing.T, long time.Duration, seed uint64) {
	cluster := natsserver.StartCluster(t, 3, false)
	urls := strings.Join(cluster.URLs(), ",")
	nodes := make([]*harness.Store, 2)
	for i := range nodes {
		nodes[i] = harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: urls, Replicas: 3})
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
	clients := make([]*linearClient, writers)
	var wg sync.WaitGroup
	for i := range clients {
		l := &linearClient{t: t, c: nodes[i%2].Client, worker: i, rng: rand.New(rand.NewPCG(seed, uint64(i)+1)), began: began, tags: map[string]string{}}
		clients[i] = l
		wg.Go(func() {
			at := -1
			for time.Since(began) < long {
				group := int(ops.Add(1)) / groupOps
				if group != at {
					at, l.last = group, [groupDocs]string{}
				}
				l.step(group)
			}
		})
	}
	wg.Wait()
	stop.Store(true)
	background.Wait()
	var history []porcupine.Operation
	unknown := 0
	for _, l := range clients {
		history, unknown = append(history, l.history...), unknown+l.unknown
	}
	groups := int(ops.Load())/groupOps + 1
	history = append(history, readAllGroups(t, nodes[0].Client, began, groups)...)
	t.Logf("%d operations in %d groups, %d of unknown outcome, %d faults, %v", len(history), groups, unknown, faults.Load(), time.Since(began).Round(time.Second))
	done(int64(len(history)), "operations of linearizable histories")
	done(faults.Load(), "faults of the cluster meanwhile")
	switch result, info := porcupine.CheckOperationsVerbose(linearModel, history, 5*time.Minute); result {
	case porcupine.Illegal:
		path := "linearizability.html"
		_ = porcupine.VisualizePath(linearModel, info, path) // for whoever looks into it
		t.Fatalf("the history is not linearizable: see tests/%s", path)
	case porcupine.Unknown:
		t.Fatal("the check took too long")
	}
	for _, n := range nodes {
		n.Verify()
	}
	nodes[0].WantSameDigest(nodes[1])
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

// readAllGroups reads every document at the end: nothing acknowledged may be lost.
func readAllGroups(t *testing.T, c *harness.Client, began time.Time, groups int) (history []porcupine.Operation) {
	t.Helper()
	for g := range groups {
		for doc := range groupDocs {
			call := time.Since(began)
			r, err := c.Do(http.MethodGet, harness.Path("docs", docID(g, doc))+"?consistency=strong", nil, "Fanfold-Timeout", "30")
			var d struct{ V string }
			switch {
			case err != nil || r.Status != http.StatusOK && r.Status != http.StatusNotFound:
				t.Fatalf("reading at the end: %v %+v", err, r)
			case r.Status == http.StatusOK:
				if err := json.Unmarshal(r.Body, &d); err != nil {
					t.Fatal(err)
				}
			}
			history = append(history, porcupine.Operation{ClientId: writers, Input: linearInput{Group: g, Acts: []act{{Op: "get", Doc: doc}}},
				Output: linearOutput{Value: d.V}, Call: int64(call), Return: int64(time.Since(began))})
		}
	}
	return history
}
