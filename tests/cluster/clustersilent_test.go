package cluster_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestNodeLeavesServerThatIsCutOff: a node that is connected to a NATS server which is cut off from the other two connects to one of
// these by itself, and takes writes. Until then it refuses nothing because of what only that server knows: a patch of a document
// that it has not heard of is not answered 404.
func TestNodeLeavesServerThatIsCutOff(t *testing.T) {
	suite.Parallel(t)
	servers := natsserver.StartLinked(t, false, false)
	harness.Await(t, "the cluster", time.Minute, servers.Leading)
	var nodes [3]*clusterNode
	var at [3]int // the server to which each node is connected
	defer showCluster(t, servers)
	for i := range nodes {
		nodes[i] = newClusterNode(t, servers, false)
		nodes[i].start()
		if at[i] = serverOf(t, nodes[i]); at[i] < 0 {
			t.Fatalf("node %d is connected to no server", i)
		}
	}
	for i, n := range nodes { // it has its lease among the nodes: what follows is about nodes that work
		harness.Await(t, fmt.Sprintf("the readiness of node %d", i), time.Minute, n.ready)
	}
	if missing := servers.AwaitWhole(time.Minute); missing != "" {
		t.Fatal(missing)
	}
	cutOff := at[0]
	servers.EachLink(cutOff, (*natsserver.Link).Cut)
	for i, n := range nodes { // all of them, also where all were connected to that server
		awaitDone(t, n, fmt.Sprintf("a write at node %d", i), "PUT", fmt.Sprintf("/v1/docs/d%d", i), `{}`)
		for _, other := range nodes {
			awaitDone(t, other, "an answer about a document of another node", "PATCH", fmt.Sprintf("/v1/docs/d%d", i), `{"x":1}`, "Content-Type", harness.MergeType)
		}
	} // A node that comes to that server later knows of more than the server has, which is no damage of the log.
	n := nodes[2]
	for j, l := range n.links {
		if j != cutOff {
			l.Cut()
		}
	}
	harness.Await(t, "the server that is cut off", time.Minute, func() bool { return serverOf(t, n) == cutOff })
	for _, l := range n.links {
		l.Mend()
	}
	awaitDone(t, n, "a write at the node that came to that server", "PUT", "/v1/docs/last", `{}`)
}

// showCluster tells of a failed test what each server has, and what this process waits for.
func showCluster(t *testing.T, servers *natsserver.Linked) {
	if !t.Failed() {
		return
	}
	for i := range 3 {
		last, led, err := servers.Streams(i)
		t.Logf("server %d has %v, with leaders %v, %v", i, last, led, err)
	}
	var waiting bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&waiting, 1)
	t.Logf("goroutines:\n%s", &waiting)
}

// awaitDone sends a node a write until it is done. The last answer is told where it never is. A document that was
// acknowledged is never told to be missing.
func awaitDone(t *testing.T, n *clusterNode, what, method, path, body string, headers ...string) {
	t.Helper()
	var last string
	defer func() {
		if t.Failed() {
			t.Logf("%s: the last answer is %s", what, last)
		}
	}()
	harness.Await(t, what, 3*time.Minute, func() bool {
		r, err := n.client.Load().Do(method, path, []byte(body), headers...)
		if err != nil {
			last = err.Error()
			return false
		}
		last = fmt.Sprintf("%d %s", r.Status, r.Body)
		if r.Status == http.StatusNotFound {
			t.Fatalf("a document that was acknowledged is told to be missing: %s", r.Body)
		}
		return r.Status < 300
	})
}

// serverOf returns the server that a node is connected to, -1 for none.
func serverOf(t *testing.T, n *clusterNode) int {
	t.Helper()
	var s struct{ Log string }
	if err := json.Unmarshal(n.client.Load().Want(http.StatusOK, "GET", "/v1/_status", "").Body, &s); err != nil {
		t.Fatal(err)
	}
	return slices.IndexFunc(n.links, func(l *natsserver.Link) bool { return strings.HasSuffix(s.Log, l.Addr) })
}
