package cluster_test

import (
	"log/slog"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// clusterNode is a Fanfold node of a cluster, in this process or in its own. It reaches each NATS server by a link.
type clusterNode struct {
	t         *testing.T
	dir       string
	links     []*natsserver.Link
	processes bool
	clock     atomic.Int64 // by how much its clock is wrong

	store  *harness.Store // in this process
	log    harness.LockedBuffer
	proc   *harness.Process
	client atomic.Pointer[harness.Client] // of the node as it runs now
}

// newClusterNode returns a node that is not started.
func newClusterNode(t *testing.T, cluster *natsserver.Linked, processes bool) *clusterNode {
	n := &clusterNode{t: t, dir: t.TempDir(), processes: processes}
	for i := range 3 {
		n.links = append(n.links, natsserver.StartLink(t, cluster.Addr(i)))
	}
	t.Cleanup(func() {
		n.stop()
		if t.Failed() && !processes { // a process shows what it wrote by itself
			t.Logf("a node of this process wrote:\n%s", &n.log)
		}
	})
	return n
}

// start starts the node, again and again for a minute where it does not come up, as whoever runs it would.
func (n *clusterNode) start() {
	n.t.Helper()
	urls := make([]string, len(n.links))
	for i, l := range n.links {
		urls[i] = "nats://" + l.Addr
	}
	var client *harness.Client
	if n.processes {
		path, err := harness.Program()
		if err != nil {
			n.t.Fatal(err)
		}
		n.proc = harness.StartCommand(n.t, exec.Command(path, "serve", "--listen", "127.0.0.1:0", "--data", n.dir, "--nats", strings.Join(urls, ","), "--replicas", "3"))
		client = harness.NewClient(n.t, n.proc.URL)
	} else {
		var err error
		for deadline := time.Now().Add(suite.Deadline(time.Minute)); n.store == nil; {
			n.store, err = harness.Start(n.t, harness.Options{Dir: n.dir, NATS: strings.Join(urls, ","), Replicas: 3, Logger: slog.New(slog.NewTextHandler(&n.log, nil)),
				Now: func() time.Time { return time.Now().Add(time.Duration(n.clock.Load())) }})
			if err != nil && time.Now().After(deadline) {
				n.t.Fatal(err)
			}
		}
		client = harness.NewClient(n.t, n.store.URL)
	}
	client.HTTP.Timeout = 30 * time.Second
	n.client.Store(client)
}

// stop ends the node in order, if it runs.
func (n *clusterNode) stop() {
	if n.store != nil {
		n.store.Close()
		n.store = nil
	}
	if n.proc != nil {
		n.proc.Signal(syscall.SIGTERM)
		n.proc = nil
	}
}

// kill ends the node: a process at once, one in this process in order.
func (n *clusterNode) kill() {
	if n.proc != nil {
		n.proc.Signal(syscall.SIGKILL)
		n.proc = nil
	}
	n.stop()
}

// ready tells whether the node says so.
func (n *clusterNode) ready() bool {
	r, err := n.client.Load().Do("GET", "/readyz", nil)
	return err == nil && r.Status == http.StatusOK
}

// verify fails the test where a derived value is wrong, and returns a digest of the read model. A process is ended for that.
func (n *clusterNode) verify() string {
	n.t.Helper()
	if n.store != nil {
		n.store.Verify()
		return n.store.Digest()
	}
	n.proc.Verify(n.t)
	n.stop()
	files, err := filepath.Glob(filepath.Join(n.dir, "readmodel", "*.db"))
	if err != nil || len(files) != 1 {
		n.t.Fatalf("read models %v, %v", files, err)
	}
	sum, err := harness.DigestFile(files[0])
	if err != nil {
		n.t.Fatal(err)
	}
	return sum
}
