package history_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// placesModel lets no event sell more places than it has.
const placesModel = `
collections:
  events:
    derive: { sold: { sum: orders.event, of: "lines[].n" }, left: { value: doc.capacity - doc.sold } }
    checks: { notOversold: { that: doc.left >= 0 } }
  orders: { relations: { event: { path: event, to: events } } }
`

// An event and its orders are a group, whose history is checked by itself.
const (
	placesOrders = 3
	placesEvent  = placesOrders // as a document of its group
	placesOps    = 36           // that a group gets
	placesBuyers = 6
)

// placesAct is what an operation does to one document of its group.
type placesAct struct {
	op  string // put, add, delete, read
	doc int
	n   int // places
}

// placesInput is an operation, a transaction where there are several acts.
type placesInput struct {
	group int
	acts  []placesAct
}

// placesOutput is how an operation ended, and what was read.
type placesOutput struct {
	kind string // done, check-failed, absent, unknown
	read placesState
}

// placesState has how many places an event has, and each order. A document that is absent has fewer than 0.
type placesState [placesOrders + 1]int

// sold returns how many places are sold.
func (s placesState) sold() (n int) {
	for _, places := range s[:placesOrders] {
		n += max(places, 0)
	}
	return n
}

// after returns the state after an operation, and how that ends.
func (s placesState) after(acts []placesAct) (after placesState, kind string) {
	after = s
	for _, a := range acts {
		if a.op != "put" && after[a.doc] < 0 {
			return s, "absent"
		}
		switch a.op {
		case "put":
			after[a.doc] = a.n
		case "add":
			after[a.doc] += a.n
		case "delete":
			after[a.doc] = -1
		}
	}
	if after[placesEvent] >= 0 && after.sold() > after[placesEvent] {
		return s, "check-failed" // no state breaks the check, so none may
	}
	return after, "done"
}

// places checks a history. A write that would break the check is refused, and no other one is.
var places = porcupine.Model{
	Partition: func(history []porcupine.Operation) (groups [][]porcupine.Operation) {
		at := map[int]int{}
		for _, op := range history {
			group := op.Input.(placesInput).group
			if _, known := at[group]; !known {
				at[group], groups = len(groups), append(groups, nil)
			}
			groups[at[group]] = append(groups[at[group]], op)
		}
		return groups
	},
	Init: func() any { return placesState{-1, -1, -1, -1} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(placesState), input.(placesInput), output.(placesOutput)
		after, kind := s.after(in.acts)
		switch {
		case out.kind == "unknown":
			return true, after
		case in.acts[0].op == "read" && kind == "done":
			return out.kind == "done" && out.read[placesEvent] == s[placesEvent] && out.read[0] == s.sold(), s
		}
		return out.kind == kind, after
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// placesBuyer is one client.
type placesBuyer struct {
	t       *testing.T
	c       *placesCluster
	at, n   int
	rand    *rand.Rand
	history []porcupine.Operation
}

// choose returns a random operation on a group.
func (b *placesBuyer) choose(group int) placesInput {
	in := placesInput{group: group}
	for range 1 + b.rand.IntN(4)/3 {
		a := placesAct{[]string{"put", "put", "put", "put", "put", "add", "add", "delete"}[b.rand.IntN(8)], b.rand.IntN(placesOrders + 1), 1 + b.rand.IntN(3)}
		if a.doc == placesEvent {
			a.n += 2
		}
		if len(in.acts) == 0 || in.acts[0].doc != a.doc {
			in.acts = append(in.acts, a)
		}
	}
	if b.rand.IntN(5) == 0 {
		in.acts = []placesAct{{op: "read", doc: placesEvent}}
	}
	return in
}

// request returns the request of an operation.
func (in placesInput) request() (method, path, body, kind string) {
	var ops []string
	for _, a := range in.acts {
		collection, id, whole := "orders", fmt.Sprintf("g%d-%d", in.group, a.doc), fmt.Sprintf(`{"event":"g%d","lines":[{"n":%d}]}`, in.group, a.n)
		patch := fmt.Sprintf(`[{"op":"increment","path":"/lines/0/n","value":%d}]`, a.n)
		if a.doc == placesEvent {
			collection, id, whole = "events", fmt.Sprint("g", in.group), fmt.Sprintf(`{"capacity":%d}`, a.n)
			patch = fmt.Sprintf(`[{"op":"increment","path":"/capacity","value":%d}]`, a.n)
		}
		path = "/v1/" + collection + "/" + id
		op := fmt.Sprintf(`{"op":%q,"collection":%q,"id":%q`, map[string]string{"add": "patch"}[a.op]+strings.ReplaceAll(a.op, "add", ""), collection, id)
		switch a.op {
		case "read":
			return http.MethodGet, path + "?consistency=strong", "", ""
		case "put":
			method, body, kind, op = http.MethodPut, whole, "application/json", op+`,"body":`+whole
		case "add":
			method, body, kind, op = http.MethodPatch, patch, "application/json-patch+json", op+`,"patch":`+patch
		default:
			method, body, kind = http.MethodDelete, "", ""
		}
		ops = append(ops, op+"}")
	}
	if len(ops) > 1 {
		return http.MethodPost, "/v1/_transactions", `{"operations":[` + strings.Join(ops, ",") + `]}`, "application/json"
	}
	return method, path, body, kind
}

// do sends an operation, at any node, and notes how it ended. With a key it is sent until that is known.
func (b *placesBuyer) do(in placesInput, keyed bool) {
	method, path, body, kind := in.request()
	headers := []string{"Fanfold-Timeout", "20"}
	if kind != "" {
		headers = append(headers, "Content-Type", kind)
	}
	if keyed && method != http.MethodGet {
		b.n++
		headers = append(headers, "Idempotency-Key", fmt.Sprintf("b%d-%d", b.at, b.n))
	}
	call := time.Since(b.c.began)
	for try := b.at; try < b.at+10_000; try++ {
		r, err := b.c.nodes[try%len(b.c.nodes)].Load().Do(method, path, []byte(body), headers...)
		out := placesOutput{kind: "unknown"}
		switch {
		case errors.Is(err, syscall.ECONNREFUSED), err == nil && r.Status == http.StatusServiceUnavailable && r.Problem() != "urn:fanfold:problem:outcome-unknown":
			time.Sleep(time.Millisecond) // nothing was done, and the node comes back
			continue
		case err != nil, r.Status >= 500:
			if keyed || method == http.MethodGet {
				continue
			}
		case r.Status == http.StatusNotFound:
			out.kind = "absent"
		case r.Problem() == "urn:fanfold:problem:check-failed":
			out.kind = "check-failed"
		case r.Status < 300:
			out = placesOutput{kind: "done", read: placesRead(b.t, method, r)}
		default:
			b.t.Errorf("%s %s %s: %d %s", method, path, body, r.Status, r.Body)
			return
		}
		end := time.Since(b.c.began)
		if out.kind == "unknown" {
			end = 1 << 60
		}
		b.history = append(b.history, porcupine.Operation{ClientId: b.at, Input: in, Output: out, Call: int64(call), Return: int64(end)})
		return
	}
	b.t.Errorf("%s %s is never answered", method, path)
}

// placesRead returns what a read tells: the event's places, and in the first order's place how many are sold.
func placesRead(t *testing.T, method string, r *harness.Response) (s placesState) {
	var doc struct{ Capacity, Sold int }
	if method == http.MethodGet {
		if err := json.Unmarshal(r.Body, &doc); err != nil {
			t.Errorf("%v: %s", err, r.Body)
		}
	}
	s[0], s[placesEvent] = doc.Sold, doc.Capacity
	return s
}

// placesCluster are the nodes of one log.
type placesCluster struct {
	t     *testing.T
	began time.Time
	args  [][]string
	nodes []atomic.Pointer[harness.Process]
	ops   atomic.Int64
}

// newPlacesCluster starts some processes on one log with a model: an embedded log where there is one process.
func newPlacesCluster(t *testing.T, count int, model string) *placesCluster {
	c := &placesCluster{t: t, began: time.Now(), args: make([][]string, count), nodes: make([]atomic.Pointer[harness.Process], count)}
	url := ""
	if count > 1 {
		url = natsserver.Start(t, 1)[0]
	}
	for i := range c.nodes {
		if c.args[i] = []string{"--data", t.TempDir()}; url != "" {
			c.args[i] = append(c.args[i], "--nats", url)
		}
		c.nodes[i].Store(harness.StartProcess(t, c.args[i]...))
	}
	made := c.nodes[0].Load().Model(model).Header.Get("Fanfold-Position")
	for i := range c.nodes {
		c.nodes[i].Load().Want(http.StatusOK, http.MethodGet, "/v1/_model", "", "Fanfold-Min-Position", made)
	}
	return c
}

// killEvery kills one node after the other, each time that so many operations more are done, and starts it again.
func (c *placesCluster) killEvery(ops, most int64, rng *rand.Rand) (kills int) {
	for next := ops; next < most; next += ops {
		for c.ops.Load() < next && !c.t.Failed() {
			time.Sleep(time.Millisecond)
		}
		node := rng.IntN(len(c.nodes))
		c.nodes[node].Load().Signal(syscall.SIGKILL)
		c.nodes[node].Store(harness.StartProcess(c.t, c.args[node]...))
		kills++
	}
	return kills
}

// TestLinearizableChecks: buyers order, cancel and change orders and capacities on one, two and three processes, which are killed meanwhile. All
// that they did can be put in an order in which no event ever sold more places than it has. Each refused write would have done so there.
func TestLinearizableChecks(t *testing.T) {
	suite.Parallel(t)
	for count := 1; count <= 3; count++ {
		t.Run(strconv.Itoa(count), func(t *testing.T) {
			c, rng := newPlacesCluster(t, count, placesModel), rand.New(rand.NewPCG(uint64(count), 0))
			most := int64(suite.Amount(400, 3000))
			buyers := make([]*placesBuyer, placesBuyers)
			var wg sync.WaitGroup
			for i := range buyers {
				b := &placesBuyer{t: t, c: c, at: i, rand: rand.New(rand.NewPCG(uint64(count), uint64(i)+1))}
				buyers[i] = b
				wg.Go(func() {
					for n := c.ops.Add(1); n < most && !t.Failed(); n = c.ops.Add(1) {
						b.do(b.choose(int(n)/placesOps), b.rand.IntN(2) == 0)
					}
				})
			}
			kills := c.killEvery(min(most/3, 400), most, rng)
			wg.Wait()
			for group := range int(most)/placesOps + 1 {
				buyers[0].do(placesInput{group, []placesAct{{op: "read", doc: placesEvent}}}, true)
			}
			c.requireLinear(buyers, kills)
		})
	}
}

// requireLinear fails the test unless the buyers' history is linearizable, with writes of each outcome.
func (c *placesCluster) requireLinear(buyers []*placesBuyer, kills int) {
	c.t.Helper()
	var history []porcupine.Operation
	ends := map[string]int{}
	for _, b := range buyers {
		history = append(history, b.history...)
		for _, op := range b.history {
			ends[op.Output.(placesOutput).kind]++
		}
	}
	c.t.Logf("%d operations, %d kills, %v", len(history), kills, ends)
	suite.Done(int64(len(history)), "operations of linearizable histories with checks")
	if ends["check-failed"] == 0 || ends["absent"] == 0 || kills == 0 {
		c.t.Errorf("operations ended so: %v, with %d kills", ends, kills)
	}
	for _, group := range places.Partition(history) {
		if result := porcupine.CheckOperationsTimeout(places, group, time.Minute); result != porcupine.Ok {
			slices.SortFunc(group, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
			for _, op := range group {
				c.t.Logf("%v to %v, buyer %d: %s", time.Duration(op.Call), time.Duration(op.Return), op.ClientId, places.DescribeOperation(op.Input, op.Output))
			}
			c.t.Fatalf("the history is not linearizable: %s", result)
		}
	}
	for i := range c.nodes {
		c.nodes[i].Load().Verify(c.t)
	}
}
