// Package natsserver runs real NATS servers, one or three, in the test's process.
package natsserver

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/fanfold/fanfold/tests/suite"
)

// Cluster is one NATS server, or three that form a cluster.
type Cluster struct {
	t    testing.TB
	opts []*server.Options

	mu      sync.Mutex
	servers []*server.Server
}

// Start runs one server or a cluster of three on free ports of the loopback interface, and
// returns their client URLs. They end with the test.
func Start(t testing.TB, nodes int) []string {
	t.Helper()
	return StartCluster(t, nodes, false).URLs()
}

// StartCluster is Start with the servers at hand. With sync they sync every write before they
// acknowledge it.
func StartCluster(t testing.TB, nodes int, sync bool) *Cluster {
	t.Helper()
	c := &Cluster{t: t, servers: make([]*server.Server, nodes), opts: make([]*server.Options, nodes)}
	ports, routes := FreePorts(t, 2*nodes), make([]*url.URL, nodes)
	for i := range routes {
		routes[i] = &url.URL{Scheme: "nats-route", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[nodes+i]))}
	}
	for i := range nodes {
		opts := &server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: ports[i], JetStream: true, StoreDir: t.TempDir(),
			JetStreamMaxStore: 1 << 40, JetStreamMaxMemory: 64 << 20, MaxPayload: 8 << 20, NoSigs: true, NoLog: true,
			SyncInterval: time.Minute, SyncAlways: sync,
		}
		if nodes > 1 {
			opts.Cluster = server.ClusterOpts{Name: clusterName(ports), Host: "127.0.0.1", Port: ports[nodes+i]}
			opts.Routes = routes
		}
		c.opts[i] = opts
		c.Restart(i)
		t.Cleanup(func() { c.Stop(i) })
	}
	for _, s := range c.servers {
		if !s.ReadyForConnections(20 * time.Second) {
			t.Fatal("the NATS server did not become ready")
		}
	}
	if nodes > 1 {
		c.waitForLeader()
	}
	return c
}

// StartWith runs one server on a free port with options that set changes, and returns its client URL. It ends with the test.
func StartWith(t testing.TB, set func(o *server.Options)) string {
	t.Helper()
	c := &Cluster{t: t, servers: make([]*server.Server, 1), opts: []*server.Options{{
		ServerName: "n0", Host: "127.0.0.1", Port: FreePorts(t, 1)[0], JetStream: true, StoreDir: t.TempDir(),
		JetStreamMaxStore: 1 << 40, JetStreamMaxMemory: 64 << 20, MaxPayload: 8 << 20, NoSigs: true, NoLog: true,
		AuthTimeout: 30, // seconds in which a client must have shown who it is; a node does not try again at its start
	}}}
	set(c.opts[0])
	c.Restart(0)
	t.Cleanup(func() { c.Stop(0) })
	if !c.servers[0].ReadyForConnections(20 * time.Second) {
		t.Fatal("the NATS server did not become ready")
	}
	return c.URLs()[0]
}

// URLs are the servers' client URLs.
func (c *Cluster) URLs() []string {
	urls := make([]string, len(c.opts))
	for i, o := range c.opts {
		urls[i] = "nats://" + net.JoinHostPort(o.Host, strconv.Itoa(o.Port))
	}
	return urls
}

// Dirs are the directories in which the servers keep what they store.
func (c *Cluster) Dirs() []string {
	dirs := make([]string, len(c.opts))
	for i, o := range c.opts {
		dirs[i] = o.StoreDir
	}
	return dirs
}

// Stop shuts a server down, if it runs, and waits for its end.
func (c *Cluster) Stop(i int) {
	c.mu.Lock()
	s := c.servers[i]
	c.servers[i] = nil
	c.mu.Unlock()
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// Restart starts a server that is stopped, on its files.
func (c *Cluster) Restart(i int) {
	s, err := server.NewServer(c.opts[i].Clone())
	if err != nil {
		c.t.Errorf("NATS server %d: %v", i, err)
		return
	}
	s.Start()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.servers[i] = s
}

// Leader is the index of the server that leads the stream, or -1.
func (c *Cluster) Leader(stream string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.servers {
		if s != nil && s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
			return i
		}
	}
	return -1
}

// clusterName returns a name for a cluster at some ports, which no other cluster has that runs now.
func clusterName(ports []int) string { return fmt.Sprintf("test-%d", ports[0]) }

// waitForLeader blocks until the cluster can make streams.
func (c *Cluster) waitForLeader() {
	c.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(suite.Deadline(60 * time.Second))
	for {
		for _, s := range c.servers {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(c.servers) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-limit:
			c.t.Fatal("the cluster has no leader")
		}
	}
}

// CutClients cuts the connections of the server's clients.
func (c *Cluster) CutClients(i int) {
	c.mu.Lock()
	s := c.servers[i]
	c.mu.Unlock()
	if s == nil {
		return
	}
	conns, err := s.Connz(&server.ConnzOptions{})
	if err != nil {
		return
	}
	for _, conn := range conns.Conns {
		_ = s.DisconnectClientByID(conn.Cid) // gone meanwhile
	}
}

// AwaitLeader blocks until the stream has a leader, a minute at most.
func (c *Cluster) AwaitLeader(stream string) {
	c.Await(func() bool { return c.Leader(stream) >= 0 })
}

// AwaitWhole blocks until every server has caught up with the stream, a minute at most, or until
// stopped says so.
func (c *Cluster) AwaitWhole(stream string, stopped func() bool) {
	c.Await(func() bool {
		if stopped() {
			return true
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range c.servers {
			if s == nil || !s.JetStreamIsCurrent() || !s.JetStreamIsStreamCurrent(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
				return false
			}
		}
		return true
	})
}

// Await blocks until done says so, a minute at most, and tells whether it did.
func (c *Cluster) Await(done func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(suite.Deadline(time.Minute))
	for !done() {
		select {
		case <-tick.C:
		case <-limit:
			return false
		}
	}
	return true
}
