package history_test

import (
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
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// calledModel has functions that lose an update, a doctor on call, a seat or money where they are not serialised. Each document has its group as g
// and a number as v.
const calledModel = `
collections:
  counters: {}
  accounts: {}
  shifts: { indexes: { byGroup: [g] } }
  seats: { indexes: { byGroup: [g] } }
functions:
  count:
    source: |
      export default (ctx, { g, a }) => {
        const v = (ctx.get("counters", g + "-" + a)?.v ?? 0) + 1
        ctx.put("counters", g + "-" + a, { g, v })
        return v
      }
  above:
    source: |
      export default (ctx, { g, a, b }) => {
        const [one, two] = [a, b].map(i => ctx.get("counters", g + "-" + i)?.v ?? 0)
        ctx.put("counters", g + "-" + a, { g, v: Math.max(one, two) + 1 })
        return Math.max(one, two) + 1
      }
  leave:
    reads: [shifts]
    source: |
      export default (ctx, { g, a }) => {
        const on = ctx.query("shifts", { filter: "doc.g == params.g && doc.v == 1", params: { g } })
        if (!on.some(d => d.id === g + "-" + a)) ctx.fail("off")
        if (on.length < 2) ctx.fail("alone")
        ctx.patch("shifts", g + "-" + a, { v: 0 })
        return on.length - 1
      }
  hire:
    reads: [shifts]
    source: |
      export default (ctx, { g, a }) => {
        const all = ctx.query("shifts", { filter: "doc.g == params.g", params: { g } })
        if (all.some(d => d.id === g + "-" + a)) ctx.fail("there")
        if (all.length > 1) ctx.fail("full")
        ctx.create("shifts", { id: g + "-" + a, g, v: 1 })
        return all.length + 1
      }
  sit:
    reads: [seats]
    source: |
      export default (ctx, { g }) => {
        const free = ctx.query("seats", { filter: "doc.g == params.g && doc.v == 0", params: { g }, sort: "id", limit: 1 })
        if (free.length === 0) ctx.fail("full")
        ctx.patch("seats", free[0].id, { v: 1 })
        return Number(free[0].id.split("-")[1])
      }
  transfer:
    source: |
      export default (ctx, { g, a, b, n }) => {
        const from = ctx.get("accounts", g + "-" + a)?.v ?? 10, to = ctx.get("accounts", g + "-" + b)?.v ?? 10
        if (from < n) ctx.fail("poor")
        ctx.put("accounts", g + "-" + a, { g, v: from - n })
        ctx.put("accounts", g + "-" + b, { g, v: to + n })
        return (from - n) * 100 + to + n
      }
  total:
    source: |
      export default (ctx, { g }) => [0, 1, 2].reduce((sum, i) => sum + (ctx.get("accounts", g + "-" + i)?.v ?? 10), 0)
`

// Three documents of a collection are a group, whose history is checked by itself.
const (
	calledDocs    = 3
	calledOps     = 40 // that a group gets
	calledClients = 64
	calledOpen    = 10 // what an account has that is not there yet
)

// calledInput is an operation on the documents of a group.
type calledInput struct {
	collection string
	group      int
	name       string // of a function, or put, add, delete, both or read
	a, b, n    int
}

// calledState has the number of each document; -1 for none.
type calledState [calledDocs]int

// count returns how many documents have a number that is so.
func (s calledState) count(so func(v int) bool) (n int) {
	for _, v := range s {
		if so(v) {
			n++
		}
	}
	return n
}

// money returns what an account has.
func (s calledState) money(i int) int {
	if s[i] < 0 {
		return calledOpen
	}
	return s[i]
}

// after returns the state after an operation, and how that is answered.
func (s calledState) after(in calledInput) (after calledState, answer string) {
	after = s
	on, there := s.count(func(v int) bool { return v == 1 }), s.count(func(v int) bool { return v >= 0 })
	switch in.name {
	case "count":
		after[in.a] = max(s[in.a], 0) + 1
		return after, strconv.Itoa(after[in.a])
	case "above":
		after[in.a] = max(s[in.a], s[in.b], 0) + 1
		return after, strconv.Itoa(after[in.a])
	case "leave":
		switch {
		case s[in.a] != 1:
			return s, "off"
		case on < 2:
			return s, "alone"
		}
		after[in.a] = 0
		return after, strconv.Itoa(on - 1)
	case "hire":
		switch {
		case s[in.a] >= 0:
			return s, "there"
		case there > 1:
			return s, "full"
		}
		after[in.a] = 1
		return after, strconv.Itoa(there + 1)
	case "sit":
		free := slices.Index(s[:], 0)
		if free < 0 {
			return s, "full"
		}
		after[free] = 1
		return after, strconv.Itoa(free)
	case "transfer":
		if s.money(in.a) < in.n {
			return s, "poor"
		}
		after[in.a], after[in.b] = s.money(in.a)-in.n, s.money(in.b)+in.n
		return after, strconv.Itoa(after[in.a]*100 + after[in.b])
	}
	return s.afterPlain(in)
}

// afterPlain is after for what calls no function.
func (s calledState) afterPlain(in calledInput) (after calledState, answer string) {
	after = s
	switch in.name {
	case "put":
		after[in.a] = in.n
	case "read":
		return s, fmt.Sprint(s)
	case "both": // adds to one what it takes from the other
		if s[in.a] < 0 || s[in.b] < 0 {
			return s, "absent"
		}
		if after[in.a], after[in.b] = s[in.a]-in.n, s[in.b]+in.n; after[in.a] < 0 {
			return s, "below"
		}
	default:
		if s[in.a] < 0 {
			return s, "absent"
		}
		if after[in.a] = s[in.a] + in.n; in.name == "delete" {
			after[in.a] = -1
		}
	}
	return after, "done"
}

// called checks a history: the operations can be put in an order in which each is answered as it is by itself.
var called = porcupine.Model{
	Partition: func(history []porcupine.Operation) (groups [][]porcupine.Operation) {
		at := map[string]int{}
		for _, op := range history {
			in := op.Input.(calledInput)
			group := in.collection + strconv.Itoa(in.group)
			if _, known := at[group]; !known {
				at[group], groups = len(groups), append(groups, nil)
			}
			groups[at[group]] = append(groups[at[group]], op)
		}
		return groups
	},
	Init: func() any { return calledState{-1, -1, -1} },
	Step: func(state, input, output any) (bool, any) {
		s, in := state.(calledState), input.(calledInput)
		after, answer := s.after(in)
		either := answer == "absent" && s[in.a] >= 0 && s[in.a] < in.n // where both acts of a transaction are refused, one of them is told of
		return output == "unknown" || output == answer || either && output == "below", after
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %v", input, output) },
}

// calledClient is one client of a node.
type calledClient struct {
	t       *testing.T
	node    *harness.Client
	at, n   int
	rand    *rand.Rand
	began   time.Time
	history []porcupine.Operation
	busy    int
}

// choose returns a random operation on a group.
func (c *calledClient) choose(collection string, group int) calledInput {
	in := calledInput{collection: collection, group: group, a: c.rand.IntN(calledDocs), n: c.rand.IntN(3)}
	in.b = (in.a + 1 + c.rand.IntN(calledDocs-1)) % calledDocs
	names := map[string][]string{
		"counters": {"count", "count", "above", "above", "above", "put", "add", "both", "delete", "read"},
		"accounts": {"transfer", "transfer", "transfer", "total", "both", "both", "read"},
		"shifts":   {"leave", "leave", "leave", "hire", "hire", "put", "delete", "both", "read"},
		"seats":    {"sit", "sit", "sit", "put", "put", "delete", "read"},
	}[collection]
	in.name = names[c.rand.IntN(len(names))]
	switch collection {
	case "accounts":
		in.n = 1 + c.rand.IntN(7)
	case "shifts", "seats":
		if in.n = c.rand.IntN(2); in.name == "both" || collection == "shifts" && c.rand.IntN(3) > 0 {
			in.n = 1
		}
	}
	return in
}

// calledID returns the id of a document.
func (in calledInput) id(i int) string { return fmt.Sprintf("g%d-%d", in.group, i) }

// request returns the request of an operation.
func (in calledInput) request() (method, path, body, kind string) {
	path = "/v1/" + in.collection + "/" + in.id(in.a)
	increment := func(n int) string { return fmt.Sprintf(`[{"op":"increment","path":"/v","value":%d,"min":0}]`, n) }
	switch in.name {
	case "put":
		return http.MethodPut, path, fmt.Sprintf(`{"g":"g%d","v":%d}`, in.group, in.n), "application/json"
	case "delete":
		return http.MethodDelete, path, "", ""
	case "add":
		return http.MethodPatch, path, increment(in.n), "application/json-patch+json"
	case "both":
		op := `{"op":"patch","collection":%q,"id":%q,"patch":%s}`
		return http.MethodPost, "/v1/_transactions", fmt.Sprintf(`{"operations":[`+op+","+op+"]}", in.collection, in.id(in.a), increment(-in.n), in.collection, in.id(in.b), increment(in.n)), "application/json"
	case "read":
		return http.MethodGet, fmt.Sprintf("/v1/%s?consistency=strong&ids=%s,%s,%s", in.collection, in.id(0), in.id(1), in.id(2)), "", ""
	}
	return http.MethodPost, "/v1/_functions/" + in.name, fmt.Sprintf(`{"g":"g%d","a":%d,"b":%d,"n":%d}`, in.group, in.a, in.b, in.n), "application/json"
}

// do sends an operation, and notes how it ended. With a key it is sent until that is known.
func (c *calledClient) do(in calledInput) {
	method, path, body, kind := in.request()
	headers := []string{"Fanfold-Timeout", "30"}
	if kind != "" {
		headers = append(headers, "Content-Type", kind)
	}
	keyed := method != http.MethodGet && c.rand.IntN(2) == 0
	if c.n++; keyed {
		headers = append(headers, "Idempotency-Key", fmt.Sprintf("c%d-%d", c.at, c.n))
	}
	call, answer := time.Since(c.began), "none"
	for range 20 {
		r, err := c.node.Do(method, path, []byte(body), headers...)
		if err != nil {
			c.t.Errorf("%s %s: %v", method, path, err)
			return
		}
		if now := c.answered(in, r); now != "none" || answer != "unknown" { // what was done may be refused when it is sent again, but for its key
			answer = now
		}
		if !keyed || answer != "none" && answer != "unknown" {
			break
		}
	}
	end := time.Since(c.began)
	switch {
	case answer == "none" || in.name == "read" && answer == "unknown" || in.name == "total":
		return
	case answer == "unknown":
		end = 1 << 60
	}
	c.history = append(c.history, porcupine.Operation{ClientId: c.at, Input: in, Output: answer, Call: int64(call), Return: int64(end)})
}

// answered returns how an operation is answered: as calledState.after says, unknown, or none where it was not done.
func (c *calledClient) answered(in calledInput, r *harness.Response) string {
	var told struct {
		Result, Code json.RawMessage
		Items        []struct {
			ID string
			V  int
		}
	}
	problem := strings.TrimPrefix(r.Problem(), "urn:fanfold:problem:")
	if len(r.Body) > 0 {
		if err := json.Unmarshal(r.Body, &told); err != nil {
			c.t.Errorf("%v: %s", err, r.Body)
		}
	}
	switch {
	case r.Status == http.StatusTooManyRequests:
		c.busy++
		return "none"
	case problem == "outcome-unknown" || r.Status == http.StatusAccepted:
		return "unknown"
	case r.Status == http.StatusServiceUnavailable || r.Status == http.StatusGatewayTimeout:
		return "none"
	case r.Status == http.StatusNotFound:
		return "absent"
	case problem == "function-failed":
		return strings.Trim(string(told.Code), `"`)
	case in.name == "both" && problem == "condition-failed":
		return "below"
	case r.Status >= 300:
		c.t.Errorf("%+v: %d %s", in, r.Status, r.Body)
		return "none"
	case in.name == "total" && string(told.Result) != "30":
		c.t.Errorf("the accounts have %s", told.Result)
	case in.name == "read":
		s := calledState{-1, -1, -1}
		for _, d := range told.Items {
			i, _ := strconv.Atoi(d.ID[strings.Index(d.ID, "-")+1:])
			s[i] = d.V
		}
		return fmt.Sprint(s)
	case strings.HasPrefix(in.name, "put"), in.name == "add", in.name == "delete", in.name == "both":
		return "done"
	}
	return string(told.Result)
}

// calledNodes opens two nodes on a log with so many replicas. Requests and answers of appends are lost now and then until ended is true.
func calledNodes(t *testing.T, replicas int, ended *atomic.Bool) []*harness.Store {
	t.Helper()
	urls, nodes := natsserver.Start(t, replicas), make([]*harness.Store, 2)
	var appends atomic.Int64
	for i := range nodes {
		nodes[i] = harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: urls[i%replicas], Replicas: replicas, FailAppend: func(bool) error {
			if appends.Add(1)%101 == 0 && !ended.Load() {
				return errors.New("injected fault")
			}
			return nil
		}})
		harness.AwaitReady(t, nodes[i], http.StatusOK)
		t.Cleanup(func() {
			nodes[i].Verify()
			nodes[i].Close()
		})
	}
	ended.Store(true)
	made := nodes[0].Model(calledModel).Header.Get("Fanfold-Position")
	nodes[1].Want(http.StatusOK, http.MethodGet, "/v1/seats", "", "Fanfold-Min-Position", made)
	ended.Store(false)
	return nodes
}

// TestLinearizableCalls: 64 clients on two nodes, with one and three replicas of the log, call functions beside single writes and transactions.
// All that they did can be put in an order in which each is answered so. No update is lost, no seat is sold twice, and the last doctor stays.
func TestLinearizableCalls(t *testing.T) {
	suite.Concurrent(t, "function")
	for _, replicas := range []int{1, 3} {
		t.Run(strconv.Itoa(replicas), func(t *testing.T) {
			suite.Parallel(t)
			var ended atomic.Bool
			nodes := calledNodes(t, replicas, &ended)
			clients := make([]*calledClient, calledClients)
			began, most := time.Now(), int64(suite.Amount(800, 30000))
			var ops [4]atomic.Int64
			var wg sync.WaitGroup
			for i := range clients {
				c := &calledClient{t: t, node: nodes[i%2].Client, at: i, rand: rand.New(rand.NewPCG(uint64(replicas), uint64(i))), began: began}
				clients[i] = c
				wg.Go(func() {
					kind := i / 2 % 4
					for n := ops[kind].Add(1); n < most/4 && !t.Failed(); n = ops[kind].Add(1) {
						c.do(c.choose([]string{"counters", "accounts", "shifts", "seats"}[kind], int(n)/(2*calledOps)*2+i/8%2)) // half of them on one group, half on another
					}
				})
			}
			wg.Wait()
			ended.Store(true)
			requireCalled(t, clients, nodes, most)
			t.Logf("it took %v", time.Since(began))
		})
	}
}

// requireCalled fails the test unless the clients' history is linearizable, with each outcome, and nodes have the same rows.
func requireCalled(t *testing.T, clients []*calledClient, nodes []*harness.Store, most int64) {
	t.Helper()
	for kind, collection := range []string{"counters", "accounts", "shifts", "seats"} {
		for group := range int(most/4)/calledOps + 2 {
			clients[2*kind].do(calledInput{collection: collection, group: group, name: "read"})
		}
	}
	var history []porcupine.Operation
	ends, busy := map[string]int{}, 0
	for _, c := range clients {
		history, busy = append(history, c.history...), busy+c.busy
		for _, op := range c.history {
			in, answer := op.Input.(calledInput), op.Output.(string)
			if _, err := strconv.Atoi(answer); err == nil {
				answer = "result"
			}
			ends[in.name+" "+answer]++
			if in.name == "read" {
				delete(ends, in.name+" "+answer)
			}
		}
	}
	t.Logf("%d operations, %d were too busy: %v", len(history), busy, ends)
	suite.Done(int64(len(history)), "operations of linearizable histories with calls")
	for _, end := range []string{"count result", "above result", "leave result", "leave alone", "hire result", "hire full", "sit result", "sit full", "transfer result", "transfer poor", "both done", "both below"} {
		if ends[end] == 0 {
			t.Errorf("nothing ended with %q", end)
		}
	}
	for _, group := range called.Partition(history) {
		if result := porcupine.CheckOperationsTimeout(called, group, time.Minute); result != porcupine.Ok {
			slices.SortFunc(group, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
			for _, op := range group {
				t.Logf("%v to %v, client %d: %s", time.Duration(op.Call), time.Duration(op.Return), op.ClientId, called.DescribeOperation(op.Input, op.Output))
			}
			t.Fatalf("the history is not linearizable: %s", result)
		}
	}
	nodes[0].WantSameDigest(nodes[1])
}
