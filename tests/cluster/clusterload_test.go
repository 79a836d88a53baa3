package cluster_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/consumer"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/linear"
	"github.com/fanfold/fanfold/tests/suite"
)

// clusterLoad is the load on the nodes of a cluster in which faults happen. It has clients whose history is checked, writers whose
// acknowledged writes are counted, a follower of the feed and a consumer group, each at any node.
type clusterLoad struct {
	t                  *testing.T
	nodes              []*clusterNode
	began              time.Time
	stop               atomic.Bool // of those who write
	end                atomic.Bool // of those who follow
	writing, following sync.WaitGroup

	ops     atomic.Int64
	clients []*linear.Client

	mu      sync.Mutex
	acked   []string // ids of books that were created
	last    time.Time
	longest time.Duration // without an acknowledged write
	tried   int
	refused int // writes that were told that nothing was written
	unsure  int // of unknown outcome

	members []*consumer.Member
	fed     []string // positions that the feed gave, in order
	group   *consumer.Collector
}

// The number of each kind of client.
const (
	loadClients = 3
	loadWriters = 12
	loadMembers = 2
	loadLease   = 5 * consumer.Lease // in which members get something done on a busy machine too
)

// startLoad puts the load on the nodes, whose cluster is whole.
func startLoad(t *testing.T, nodes []*clusterNode) *clusterLoad {
	t.Helper()
	l := &clusterLoad{t: t, nodes: nodes, began: time.Now(), last: time.Now(),
		group: &consumer.Collector{Last: map[string]fanfold.Position{}, Times: map[string]int{}, Members: map[string]bool{}}}
	c := nodes[0].client.Load()
	c.Model(harness.CrashModel)
	c.Want(http.StatusCreated, "PUT", consumer.Group, fmt.Sprintf(`{"partitions":%d,"lease":"%v"}`, consumer.Partitions, loadLease))
	target := httptest.NewServer(l.group)
	t.Cleanup(target.Close)
	for i := range loadClients {
		c := &linear.Client{T: t, Worker: i, Rand: rand.New(rand.NewPCG(rand.Uint64(), 0)), Began: l.began, Tags: map[string]string{}}
		l.clients = append(l.clients, c)
		l.writing.Go(func() { l.check(c, nodes[i%len(nodes)]) })
	}
	for i := range loadWriters {
		l.writing.Go(func() {
			for n := 0; !l.stop.Load(); n++ {
				l.write(nodes[i%len(nodes)], fmt.Sprintf("%d-%d", i, n), n)
			}
		})
	}
	for i := range loadMembers {
		m := &consumer.Member{Name: fmt.Sprint("m", i), Report: target.URL, HTTP: http.Client{Timeout: 10 * time.Second}}
		l.members = append(l.members, m)
		l.following.Go(func() { l.consume(m) })
	}
	l.following.Go(l.follow)
	return l
}

// at returns a client of any node.
func (l *clusterLoad) at() *harness.Client { return l.nodes[rand.IntN(len(l.nodes))].client.Load() }

// check does operations at a node whose history is checked.
func (l *clusterLoad) check(c *linear.Client, n *clusterNode) {
	for at := -1; !l.stop.Load(); {
		group := int(l.ops.Add(1)) / linear.GroupOps
		if group != at {
			at, c.Last = group, [linear.GroupDocs]string{}
		}
		c.HTTP = n.client.Load()
		c.Step(group)
	}
}

// write creates a book at a node, and now and then renames an author, of whose name many books have a copy.
func (l *clusterLoad) write(at *clusterNode, id string, n int) {
	method, path, body := "POST", "/v1/books", fmt.Sprintf(`{"id":%q,"stars":%d,"authors":[{"id":"a%d"}]}`, id, n%5, n%100)
	if n%20 == 0 {
		method, path, body = "PUT", harness.Path("authors", fmt.Sprintf("a%d", n%100)), fmt.Sprintf(`{"name":"N%s"}`, id)
	}
	r, err := at.client.Load().Do(method, path, []byte(body), "Fanfold-Timeout", "1")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tried++
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		l.refused++
	case err != nil, r.Problem() == "urn:fanfold:problem:outcome-unknown":
		l.unsure++
	case r.Status < 300:
		now := time.Now()
		l.longest, l.last = max(l.longest, now.Sub(l.last)), now
		if method == "POST" {
			l.acked = append(l.acked, id)
		}
	case r.Status == http.StatusServiceUnavailable, r.Status == http.StatusGatewayTimeout:
		l.refused++
	default:
		l.t.Errorf("%s %s: %d %s", method, path, r.Status, r.Body)
	}
}

// written returns how many books were created.
func (l *clusterLoad) written() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// follow reads the feed at any node, each time from where the last answer ended.
func (l *clusterLoad) follow() {
	for since := "0"; ; {
		ended := l.end.Load()
		rows, last, ok := l.changes(since, "&feed=longpoll&timeout=300")
		switch {
		case !ok:
			continue
		case ended && len(rows) == 0:
			return
		}
		l.fed, since = append(l.fed, rows...), last
	}
}

// changes reads a page of the feed, and returns the positions of its changes and where it ended, or that it could not be read.
func (l *clusterLoad) changes(since, query string) (rows []string, last string, ok bool) {
	r, err := l.at().Do("GET", "/v1/_changes?mode=all&since="+since+query, nil, "Fanfold-Timeout", "1")
	if err != nil || r.Status != http.StatusOK {
		return nil, "", false
	}
	var page struct {
		Results []struct{ Seq string }
		LastSeq string `json:"last_seq"`
	}
	if err := json.Unmarshal(r.Body, &page); err != nil {
		l.t.Errorf("%v in %s", err, r.Body)
	}
	for _, row := range page.Results {
		rows = append(rows, row.Seq)
	}
	return rows, page.LastSeq, true
}

// consume is a member of the group.
func (l *clusterLoad) consume(m *consumer.Member) {
	for !l.end.Load() {
		m.Nodes = nil
		for _, n := range l.nodes {
			m.Nodes = append(m.Nodes, n.client.Load().URL)
		}
		if time.Since(m.Asked) > loadLease/4 || len(m.Leases) == 0 {
			m.Lease()
		}
		idle := true
		for _, lease := range m.Leases {
			idle = !m.Handle(lease, "&limit=200") && idle
		}
		if idle && len(m.Leases) > 0 {
			m.Handle(m.Leases[rand.IntN(len(m.Leases))], "&limit=200&feed=longpoll&timeout=100")
		}
	}
}

// settle ends the writing, waits until every node, the feed and the group have everything, and ends the load.
func (l *clusterLoad) settle() {
	l.t.Helper()
	l.stop.Store(true)
	l.writing.Wait()
	for _, n := range l.nodes {
		harness.Await(l.t, "a node", time.Minute, n.ready)
		n.client.Load().Want(http.StatusOK, "GET", "/v1/books?limit=1&consistency=strong", "", "Fanfold-Timeout", "30")
	}
	l.awaitGroup()
	l.end.Store(true)
	l.following.Wait()
}

// awaitGroup waits until the group has everything. If that takes too long, it says what the members were answered last.
func (l *clusterLoad) awaitGroup() {
	l.t.Helper()
	defer func() {
		if !l.t.Failed() {
			return
		}
		for _, m := range l.members {
			l.t.Logf("member %s was answered last: %s", m.Name, m.Answers())
		}
		for i, n := range l.nodes {
			c := n.client.Load()
			l.t.Logf("node %d: %s%s", i, c.Want(http.StatusOK, "GET", consumer.Group, "").Body, c.Want(http.StatusOK, "GET", "/v1/_status", "").Body)
		}
	}()
	harness.Await(l.t, "the group's end", 4*time.Minute, func() bool {
		d := harness.DescribeGroup(l.t, l.nodes[0].client.Load(), "chaos")
		return d.Lag.Changes != nil && *d.Lag.Changes == 0
	})
}

// cancel ends the load of a test that has failed.
func (l *clusterLoad) cancel() {
	l.stop.Store(true)
	l.writing.Wait()
	l.end.Store(true)
	if !l.t.Failed() {
		l.following.Wait()
	}
}

// requireLinear fails the test where a history is not linearizable, and prints the part that is not.
func requireLinear(t *testing.T, history []porcupine.Operation) {
	t.Helper()
	for _, part := range linear.Model.Partition(history) {
		result := porcupine.CheckOperationsTimeout(linear.Model, part, 5*time.Minute)
		if result == porcupine.Ok {
			continue
		}
		t.Errorf("a part of the history with %d operations is not linearizable: %v", len(part), result)
		slices.SortFunc(part, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		for _, op := range part {
			t.Logf("client %d, %v to %v: %s", op.ClientId, time.Duration(op.Call), time.Duration(op.Return), linear.Model.DescribeOperation(op.Input, op.Output))
		}
		return
	}
}

// requireAll fails the test where something acknowledged is missing, the history is not linearizable, or the feed or the group has not
// got every change in its order.
func (l *clusterLoad) requireAll() {
	l.t.Helper()
	c := l.nodes[0].client.Load()
	books := map[string]bool{}
	rows, _ := c.Changes("since=0&mode=all")
	positions := make([]string, len(rows))
	for i, row := range rows {
		positions[i] = row.Seq
		if row.Collection == "books" {
			books[row.ID] = true
		}
	}
	for _, id := range l.acked {
		if !books[id] {
			l.t.Errorf("book %s was acknowledged, and is not there", id)
		}
	}
	if !slices.Equal(l.fed, positions) {
		l.t.Errorf("the feed gave %d changes, which are not the %d that there are", len(l.fed), len(positions))
	}
	l.group.Mu.Lock()
	missing := 0
	for _, row := range rows {
		if l.group.Times[row.Seq] == 0 {
			missing++
		}
	}
	if len(l.group.Wrong) > 0 || missing > 0 {
		l.t.Errorf("the group missed %d of %d changes, and wrong are %v", missing, len(rows), l.group.Wrong[:min(len(l.group.Wrong), 5)])
	}
	l.group.Mu.Unlock()
	var history []porcupine.Operation
	for _, c := range l.clients {
		history, l.unsure = append(history, c.History...), l.unsure+c.Unknown
	}
	history = append(history, linear.ReadAll(l.t, c, l.began, nil, int(l.ops.Load())/linear.GroupOps+1)...)
	requireLinear(l.t, history)
	suite.Done(int64(len(history)+l.tried), "operations on clusters under faults")
	fmt.Printf("%s: %d operations checked, %d writes acknowledged of %d, %d refused, %d of unknown outcome, %d changes followed; longest without an acknowledged write %v\n",
		l.t.Name(), len(history), len(l.acked), l.tried, l.refused, l.unsure, len(rows), l.longest.Round(time.Millisecond))
}
