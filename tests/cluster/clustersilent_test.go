package cluster_test

import (
	"encoding/json"
	"fmt"
	"net/http"
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
	for i := range nodes {
		nodes[i] = newClusterNode(t, servers, false)
		nodes[i].start()
		if at[i] = serverOf(t, nodes[i]); at[i] < 0 {
			t.Fatalf("node %d is connected to no server", i)
		}
	}
	if missing := servers.AwaitWhole(time.Minute); missing != "" {
		t.Fatal(missing)
	}
	cutOff := at[0]
	servers.EachLink(cutOff, (*natsserver.Link).Cut)
	for i, n := range nodes { // all of them, also where all were connected to that server
		harness.Await(t, fmt.Sprintf("a write at node %d", i), 3*time.Minute, func() bool {
			r, err := n.client.Load().Do("PUT", fmt.Sprintf("/v1/docs/d%d", i), []byte(`{}`))
			return err == nil && r.Status < 300
		})
		for _, other := range nodes {
			harness.Await(t, "an answer about a document of another node", 3*time.Minute, func() bool {
				r, err := other.client.Load().Do("PATCH", fmt.Sprintf("/v1/docs/d%d", i), []byte(`{"x":1}`), "Content-Type", harness.MergeType)
				if err == nil && r.Status == http.StatusNotFound {
					t.Fatalf("a document that was acknowledged is told to be missing: %s", r.Body)
				}
				return err == nil && r.Status < 300
			})
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
	harness.Await(t, "a write at the node that came to that server", 3*time.Minute, func() bool {
		r, err := n.client.Load().Do("PUT", "/v1/docs/last", []byte(`{}`))
		return err == nil && r.Status < 300
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
