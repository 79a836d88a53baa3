package cluster_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// plainSales is what every version of the fold knows. Version 9 computes other amounts, and the version after it other names.
const plainSales = `
collections:
  buyers: {}
  events: { derive: { orders: { count: orders.event } } }
  orders:
    relations: { event: { path: event, to: events }, buyer: { path: buyer, to: buyers } }
    derive: { amount: { value: doc.price * doc.quantity }, name: { copy: buyer, value: doc.name } }
`

// wholeSales has in addition what version 9 brought.
const wholeSales = `
collections:
  buyers: {}
  events:
    derive: { orders: { count: orders.event }, sold: { sum: orders.event, of: "lines[].quantity" }, left: { value: doc.capacity - doc.sold } }
    checks: { notOversold: { that: doc.left >= 0 } }
  orders:
    relations: { event: { path: event, to: events }, buyer: { path: buyer, to: buyers } }
    sequences: { number: { per: doc.event, start: 1000, format: "{per}-{n:6}" }, serial: {} }
    derive:
      amount: { value: doc.price * doc.quantity }
      name: { copy: buyer, value: doc.name }
      "lines[].amount": { value: element.price * element.quantity }
      total: { sum: "lines[].amount" }
      madeAt: { value: meta.createdAt }
`

// broughtByNine are models with one of these declarations each.
var broughtByNine = []string{
	wholeSales,
	`collections: {orders: {derive: {"lines[].amount": {value: element.price}}}}`,
	`collections: {orders: {derive: {total: {sum: "lines[].quantity"}}}}`,
	`collections: {events: {derive: {sold: {sum: orders.event, of: "lines[].quantity"}}}, orders: {relations: {event: {path: event, to: events}}}}`,
	`collections: {orders: {derive: {madeAt: {value: meta.createdAt}}}}`,
	`collections: {orders: {checks: {some: {that: doc.quantity > 0}}}}`,
	`collections: {orders: {sequences: {serial: {}}}}`,
	`collections: {Orders: {}}`,
}

// sales is a cluster of two nodes that sell places, while they are replaced.
type sales struct {
	rolling

	whole   atomic.Bool // wholeSales is in force
	refused atomic.Int64
	limit   atomic.Int64 // so many writes are made before the load waits
}

// more waits until so many writes more are acknowledged, and lets as many again come while a node is replaced.
func (s *sales) more(writes int64) {
	s.t.Helper()
	s.limit.Store(s.written.Load() + 2*writes)
	s.rolling.more(writes)
}

// sell orders places at one node and then the other, until it is told to stop. An order that nobody answers is sent again under its key.
func (s *sales) sell(buyer int) {
	for i := 0; !s.stop.Load(); i++ {
		for s.written.Load() >= s.limit.Load() && !s.stop.Load() {
			time.Sleep(time.Millisecond)
		}
		event := "free" // many are sold before there is a check
		if s.whole.Load() {
			event = fmt.Sprintf("e%d", i%3)
		}
		method, path, body := http.MethodPost, "/v1/orders", fmt.Sprintf(`{"id":"o%d-%d","event":%q,"buyer":"b%d","price":29.90,"quantity":3,"lines":[{"price":0.1,"quantity":1},{"price":0.2,"quantity":%d}]}`, buyer, i, event, buyer, i%2)
		switch i % 8 {
		case 5:
			method, path, body = http.MethodPut, fmt.Sprint("/v1/buyers/b", buyer), fmt.Sprintf(`{"name":"N%d  "}`, i%5)
		case 6:
			method, path, body = http.MethodPatch, fmt.Sprintf("/v1/events/e%d", i%3), `[{"op":"increment","path":"/capacity","value":1}]`
		case 7:
			method, path, body = http.MethodDelete, fmt.Sprintf("/v1/orders/o%d-%d", buyer, i-7), ""
		}
		s.send(buyer, method, path, body, fmt.Sprintf("%d-%d", buyer, i))
	}
}

// send sends a request to one node after the other until one answers it.
func (s *sales) send(first int, method, path, body, key string) {
	kind := "application/json"
	if method == http.MethodPatch {
		kind = "application/json-patch+json"
	}
	for n := first; ; n++ {
		r, err := s.nodes[n%2].Load().Do(method, path, []byte(body), "Idempotency-Key", key, "Content-Type", kind)
		switch {
		case err != nil || r.Status >= 500: // it is being replaced
			if s.t.Failed() {
				return
			}
			time.Sleep(time.Millisecond)
			continue
		case r.Status < 300:
			s.written.Add(1)
		case r.Status == http.StatusUnprocessableEntity && s.whole.Load() && strings.Contains(string(r.Body), " notOversold"):
			s.refused.Add(1)
		case r.Status == http.StatusNotFound && method == http.MethodDelete: // the order was refused
		default:
			s.t.Errorf("%s %s %s: %d %s", method, path, body, r.Status, r.Body)
		}
		return
	}
}

// replace replaces a node by one that runs another program.
func (s *sales) replace(node int, build func() (string, error)) {
	s.t.Helper()
	if p := s.nodes[node].Load(); p != nil {
		p.Signal(syscall.SIGTERM)
	}
	s.nodes[node].Store(serveWith(s.t, build, "--data", s.dirs[node], "--nats", s.nats))
}

// upgrade asks a node for the newest version of the fold, and returns what the command says.
func (s *sales) upgrade(node int) string {
	s.t.Helper()
	path, err := nextProgram()
	if err != nil {
		s.t.Fatal(err)
	}
	out, _ := exec.Command(path, "upgrade", "--server", s.nodes[node].Load().URL).CombinedOutput()
	return string(out)
}

// wantUpgraded upgrades, and waits until both nodes fold by the version.
func (s *sales) wantUpgraded(version int) {
	s.t.Helper()
	if out := s.upgrade(0); !strings.Contains(out, fmt.Sprintf("version %d of the fold is in force", version)) {
		s.t.Fatalf("upgrade: %s", out)
	}
	s.inForce(0, version)
	s.inForce(1, version)
	s.more(30)
}

// wantRefused fails the test unless a node refuses each declaration that version 8 of the fold does not know, and says what to do.
func (s *sales) wantRefused(node int) {
	s.t.Helper()
	for _, model := range broughtByNine {
		for _, query := range []string{"", "&dryRun=true"} {
			r, err := s.nodes[node].Load().Do(http.MethodPut, "/v1/_model?allowRemoval=true"+query, []byte(model), "Content-Type", harness.YAMLType)
			if err != nil || r.Status != http.StatusConflict && r.Status != http.StatusUnprocessableEntity || !strings.Contains(string(r.Body), "upgrade") {
				s.t.Errorf("under version 8 node %d says of %s: %v, %+v", node, model, err, r)
			}
		}
	}
}

// TestRollingUpgradeOfLogic: a cluster goes from version 8 of the fold to 9, and on to the next one, its nodes replaced one after the other under load.
// Version 9 brought declarations, which are refused until it is in force. No node changes to it beside one that does not know it. Then arrays, checks and
// sequences are used. No two nodes tell something else of one position. No check is broken, and no number is left out or given twice.
// A program of the fold before stops at the change, and shows what was before.
func TestRollingUpgradeOfLogic(t *testing.T) {
	suite.Parallel(t)
	s := &sales{rolling: rolling{t: t, nats: natsserver.Start(t, 1)[0], truths: map[string]truth{}}}
	for _, build := range []func() (string, error){priorProgram, harness.Program, nextProgram} {
		if _, err := build(); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 2 {
		s.dirs[n] = t.TempDir()
		s.replace(n, priorProgram)
	}
	first := s.nodes[0].Load()
	first.Model(plainSales)
	first.Put("events", "free", `{"capacity":1000000}`)
	for i := range 3 {
		first.Put("events", fmt.Sprint("e", i), `{"capacity":20}`)
	}
	var load, followers sync.WaitGroup
	for buyer := range 4 {
		load.Go(func() { s.sell(buyer) })
	}
	for n := range 2 {
		followers.Go(func() { s.follow(n) })
	}
	defer func() {
		s.stop.Store(true)
		load.Wait()
		followers.Wait()
	}()
	s.fromEightToNine()
	s.fromNineToNext()
	s.stop.Store(true)
	load.Wait()
	followers.Wait()
	if s.refused.Load() == 0 || s.shared < 200 {
		t.Errorf("%d orders were refused, and %d things told by both nodes", s.refused.Load(), s.shared)
	}
	t.Logf("%d writes, %d orders refused, %d things told by both nodes", s.written.Load(), s.refused.Load(), s.shared)
	s.wantNumbers(s.nodes[1].Load().Want(http.StatusOK, http.MethodGet, "/v1/_changes?since=0&mode=all&include_docs=true&limit=100000", "").Body)
	nodes := []*harness.Process{s.nodes[0].Load(), s.nodes[1].Load()}
	position := nodes[0].Put("buyers", "end", `{}`).Header.Get("Fanfold-Position")
	nodes[1].Want(http.StatusOK, http.MethodGet, "/v1/buyers", "", "Fanfold-Min-Position", position, "Fanfold-Timeout", "60")
	requireSameFiles(t, nodes, s.dirs[:2])
}

// fromEightToNine replaces one node after the other, changes the version, and applies the whole model.
func (s *sales) fromEightToNine() {
	s.t.Helper()
	s.more(30)
	s.replace(0, harness.Program)
	s.more(30)
	if v := foldStatus(s.t, s.nodes[0].Load().Client).FoldVersion; v.Version != fold.OldestVersion || v.Newest != oldVersion {
		s.t.Errorf("beside an old node the new one has %+v", v)
	}
	s.wantRefused(0)
	s.wantRefused(1)
	if out := s.upgrade(0); !strings.Contains(out, "not known to every live node") {
		s.t.Errorf("beside an old node upgrade says %s", out)
	}
	s.wantAmount(0, "89.69999999999999")
	s.replace(1, harness.Program)
	s.more(30)
	s.wantRefused(1)
	s.wantUpgraded(oldVersion)
	s.wantAmount(1, "89.70")
	position := s.nodes[0].Load().Model(wholeSales).Header.Get("Fanfold-Position")
	s.nodes[1].Load().Want(http.StatusOK, http.MethodGet, "/v1/orders", "", "Fanfold-Min-Position", position, "Fanfold-Timeout", "60")
	s.whole.Store(true)
	s.more(40)

	dir := s.t.TempDir()
	prior := serveWith(s.t, priorProgram, "--data", dir, "--nats", s.nats)
	s.stopsAt(prior, oldVersion)
	prior.Signal(syscall.SIGTERM)
}

// wantAmount fails the test unless a node shows an order's amount as a version of the fold makes it.
func (s *sales) wantAmount(node int, amount string) {
	s.t.Helper()
	s.nodes[node].Load().Put("orders", "amount", fmt.Sprintf(`{"event":"free","buyer":"%d","price":29.90,"quantity":3}`, node))
	if r := s.nodes[node].Load().Want(http.StatusOK, http.MethodGet, "/v1/orders/amount?consistency=strong", ""); !strings.Contains(string(r.Body), `"amount":`+amount+`}`) {
		s.t.Errorf("node %d shows %s, want the amount %s", node, r.Body, amount)
	}
}

// stopsAt waits until a program stops at the event that sets a version which it does not know. It shows what was before, and takes no write.
func (s *sales) stopsAt(p *harness.Process, version int) {
	s.t.Helper()
	st := foldStatus(s.t, p.Client)
	for begin := time.Now(); st.Stopped == nil || !strings.Contains(st.Stopped.Reason, fmt.Sprintf("version %d", version)); st = foldStatus(s.t, p.Client) {
		if time.Since(begin) > suite.Deadline(time.Minute) {
			s.t.Fatalf("the old program does not stop: %+v", st)
		}
	}
	p.Want(http.StatusServiceUnavailable, http.MethodGet, "/readyz", "")
	p.Want(http.StatusServiceUnavailable, http.MethodPut, "/v1/orders/old", `{"event":"e0"}`)
	if r := p.Want(http.StatusOK, http.MethodGet, "/v1/events/free", ""); !strings.Contains(string(r.Body), `"orders":`) || strings.Contains(string(r.Body), `"sold":`) {
		s.t.Errorf("the old program shows %s", r.Body)
	}
}

// fromNineToNext does the same with the version after, and with everything in the model.
func (s *sales) fromNineToNext() {
	s.t.Helper()
	s.replace(1, nextProgram)
	s.more(40)
	if out := s.upgrade(1); !strings.Contains(out, "not known to every live node") {
		s.t.Errorf("beside an old node upgrade says %s", out)
	}
	s.replace(0, nextProgram)
	s.more(40)
	s.wantUpgraded(nextVersion)
}

// wantNumbers fails the test unless each order of the feed has the number after the one before, and no event has sold too many places.
func (s *sales) wantNumbers(feed []byte) {
	s.t.Helper()
	var rows struct {
		Results []struct {
			Op, Collection string
			Within         bool
			Doc            struct {
				Event, Number string
				Serial, Left  int
			}
		}
	}
	harness.Decode(s.t, feed, &rows)
	last, serial := map[string]int{}, 0
	for _, row := range rows.Results {
		if row.Doc.Left < 0 && !row.Within {
			s.t.Errorf("too many places are sold: %+v", row)
		}
		if row.Op != "create" || row.Doc.Serial == 0 {
			continue
		}
		serial++
		last[row.Doc.Event] = max(last[row.Doc.Event]+1, 1000)
		if number := fmt.Sprintf("%s-%06d", row.Doc.Event, last[row.Doc.Event]); row.Doc.Number != number || row.Doc.Serial != serial {
			s.t.Fatalf("an order has the numbers of %+v, want %s and %d", row, number, serial)
		}
	}
	if serial < 30 {
		s.t.Errorf("%d orders have numbers", serial)
	}
}
