// Package natsserver runs real NATS servers, one or three, in the test's process.
package natsserver

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
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
	errors  []serverErrors
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
	return startOnFreePorts(t, func() []*server.Options {
		ports, opts := FreePorts(t, 2*nodes), make([]*server.Options, nodes)
		routes := make([]*url.URL, nodes)
		for i := range routes {
			routes[i] = &url.URL{Scheme: "nats-route", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[nodes+i]))}
		}
		for i := range opts {
			opts[i] = plainOptions(t, fmt.Sprintf("n%d", i), ports[i])
			opts[i].SyncInterval, opts[i].SyncAlways = time.Minute, sync
			if nodes > 1 {
				opts[i].Cluster = server.ClusterOpts{Name: clusterName(ports), Host: "127.0.0.1", Port: ports[nodes+i]}
				opts[i].Routes = routes
			}
		}
		return opts
	})
}

// StartWith runs one server on a free port with options that set changes, and returns its client URL. It ends with the test.
func StartWith(t testing.TB, set func(o *server.Options)) string {
	t.Helper()
	return startOnFreePorts(t, func() []*server.Options {
		o := plainOptions(t, "n0", FreePorts(t, 1)[0])
		o.AuthTimeout = 30 // seconds in which a client must have shown who it is; a node does not try again at its start
		set(o)
		return []*server.Options{o}
	}).URLs()[0]
}

// plainOptions returns the options of a server with a directory of its own.
func plainOptions(t testing.TB, name string, port int) *server.Options {
	return &server.Options{
		ServerName: name, Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: t.TempDir(),
		JetStreamMaxStore: 1 << 40, JetStreamMaxMemory: 64 << 20, MaxPayload: 8 << 20, NoSigs: true, NoLog: true,
	}
}

// maxStarts is how often servers are started on other ports, where a program that is no test has taken one meanwhile.
const maxStarts = 5

// startOnFreePorts runs servers with options, until the test ends. It asks for other ones where a port is taken.
func startOnFreePorts(t testing.TB, options func() []*server.Options) *Cluster {
	t.Helper()
	for tries := 1; ; tries++ {
		c := newCluster(t, options())
		err := c.start()
		if err == nil {
			for i := range c.opts {
				t.Cleanup(func() { c.Stop(i) })
			}
			return c
		}
		for i := range c.opts {
			c.Stop(i)
		}
		if tries == maxStarts || !strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) {
			t.Fatalf("the NATS servers did not become ready: %v", err)
		}
	}
}

func newCluster(t testing.TB, opts []*server.Options) *Cluster {
	return &Cluster{t: t, opts: opts, servers: make([]*server.Server, len(opts)), errors: make([]serverErrors, len(opts))}
}

// start starts the servers and blocks until they take connections, and can make streams. The error says what the servers said.
func (c *Cluster) start() error {
	for i := range c.opts {
		c.Restart(i)
	}
	for i, s := range c.servers {
		if s == nil || !c.Await(func() bool { return c.errors[i].said() != "" || s.ReadyForConnections(time.Millisecond) }) || !s.ReadyForConnections(time.Millisecond) {
			return fmt.Errorf("server %d says %q", i, c.errors[i].said())
		}
	}
	if len(c.servers) > 1 {
		c.waitForLeader()
	}
	return nil
}

// serverErrors has the errors that a server tells.
type serverErrors struct {
	mu   sync.Mutex
	text []string
}

// said returns the errors so far.
func (e *serverErrors) said() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.text, "; ")
}

// Noticef, Warnf, Debugf, Tracef, Errorf and Fatalf make it a server.Logger.
func (e *serverErrors) Noticef(string, ...any) {}

func (e *serverErrors) Warnf(string, ...any) {}

func (e *serverErrors) Debugf(string, ...any) {}

func (e *serverErrors) Tracef(string, ...any) {}

func (e *serverErrors) Errorf(string, ...any) {}

func (e *serverErrors) Fatalf(format string, v ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text = append(e.text, fmt.Sprintf(format, v...))
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
	s.SetLoggerV2(&c.errors[i], false, false, false)
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
