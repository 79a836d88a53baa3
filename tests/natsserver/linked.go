package natsserver

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ProcessEnv names a server's settings to a process that a test starts of itself: see RunProcess.
const ProcessEnv = "FANFOLD_TEST_NATS_SERVER"

// Linked is a cluster of three NATS servers, in this process or each in its own, whose connections among each other go through links.
type Linked struct {
	t         testing.TB
	processes bool
	settings  []setting
	links     [][]*Link // links[i][j] leads from server i to server j

	mu      sync.Mutex
	servers []*server.Server
	running []*exec.Cmd
}

// setting is what a server is started with.
type setting struct {
	Name, Cluster, Dir         string // the cluster's name is its own, so that servers of others are refused at a port that was theirs
	Port, ClusterPort, Monitor int
	Routes                     []string // addresses of the links to the others
	NeverRoute                 string   // an address at which nobody listens
	SyncAlways                 bool
}

// StartLinked runs three servers that end with the test.
func StartLinked(t testing.TB, processes, syncAlways bool) *Linked {
	t.Helper()
	c := NewLinked(t, processes, syncAlways)
	for i := range c.settings {
		c.Restart(i)
	}
	return c
}

// NewLinked is StartLinked with no server started yet.
func NewLinked(t testing.TB, processes, syncAlways bool) *Linked {
	t.Helper()
	const nodes = 3
	c := &Linked{t: t, processes: processes, servers: make([]*server.Server, nodes), running: make([]*exec.Cmd, nodes)}
	ports := FreePorts(t, 3*nodes+1)
	for i := range nodes {
		links := make([]*Link, nodes)
		s := setting{Name: fmt.Sprintf("n%d", i), Cluster: clusterName(ports), Dir: t.TempDir(), Port: ports[i], ClusterPort: ports[nodes+i], SyncAlways: syncAlways, Monitor: ports[2*nodes+i],
			NeverRoute: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[3*nodes]))}
		for j := range nodes {
			if j != i {
				links[j] = StartLink(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[nodes+j])))
				s.Routes = append(s.Routes, links[j].Addr)
			}
		}
		c.links, c.settings = append(c.links, links), append(c.settings, s)
	}
	for i := range nodes {
		t.Cleanup(func() { c.Stop(i) })
	}
	return c
}

// options returns the options of a server. The address that it tells others leads nowhere, so that they use the links.
func (s setting) options() *server.Options {
	o := &server.Options{
		ServerName: s.Name, Host: "127.0.0.1", Port: s.Port, JetStream: true, StoreDir: s.Dir, NoSigs: true, NoLog: true,
		HTTPHost: "127.0.0.1", HTTPPort: s.Monitor,
		JetStreamMaxStore: 1 << 40, JetStreamMaxMemory: 64 << 20, MaxPayload: 8 << 20, SyncInterval: time.Minute, SyncAlways: s.SyncAlways,
		Cluster: server.ClusterOpts{Name: s.Cluster, Host: "127.0.0.1", Port: s.ClusterPort, NoAdvertise: true, Advertise: s.NeverRoute},
	}
	for _, addr := range s.Routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: addr})
	}
	return o
}

// RunProcess runs a server with the settings in text until the process is ended, or the test has ended. It returns the exit code.
func RunProcess(text string) int {
	var s setting
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return 1
	}
	n, err := server.NewServer(s.options())
	if err != nil {
		return 1
	}
	n.Start()
	for tick := time.NewTicker(time.Second); os.Getppid() != 1; {
		<-tick.C
	}
	return 0
}

// Addr returns the address at which a server takes clients.
func (c *Linked) Addr(i int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(c.settings[i].Port))
}

// Restart starts a server that is stopped, on its files.
func (c *Linked) Restart(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.processes {
		text, err := json.Marshal(c.settings[i])
		if err == nil {
			c.running[i] = exec.Command(os.Args[0])
			c.running[i].Env = append(os.Environ(), ProcessEnv+"="+string(text))
			err = c.running[i].Start()
		}
		if err != nil {
			c.t.Errorf("NATS server %d: %v", i, err)
		}
		return
	}
	s, err := server.NewServer(c.settings[i].options())
	if err != nil {
		c.t.Errorf("NATS server %d: %v", i, err)
		return
	}
	s.Start()
	c.servers[i] = s
}

// Stop ends a server, if it runs, and waits for its end. A process is killed; a server in this process is shut down in order.
func (c *Linked) Stop(i int) {
	c.mu.Lock()
	s, p := c.servers[i], c.running[i]
	c.servers[i], c.running[i] = nil, nil
	c.mu.Unlock()
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
	if p != nil {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}

// Wipe removes the files of a server that is stopped.
func (c *Linked) Wipe(i int) {
	if err := os.RemoveAll(c.settings[i].Dir); err != nil {
		c.t.Errorf("NATS server %d: %v", i, err)
	}
}

// EachLink calls fn with every link from and to a server.
func (c *Linked) EachLink(i int, fn func(*Link)) {
	for j := range c.links {
		if j != i {
			fn(c.links[i][j])
			fn(c.links[j][i])
		}
	}
}

// Streams returns the last sequence of every stream that a server has, by its name, and which of them have a leader that it knows.
func (c *Linked) Streams(i int) (last map[string]uint64, led map[string]bool, err error) {
	client := http.Client{Timeout: time.Second}
	resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/jsz?accounts=1&streams=1", c.settings[i].Monitor)) //nolint:noctx // it has a timeout
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	var out server.JSInfo
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return nil, nil, err
	}
	last, led = map[string]uint64{}, map[string]bool{}
	for _, account := range out.AccountDetails {
		for _, s := range account.Streams {
			last[s.Name], led[s.Name] = s.State.LastSeq, s.Cluster != nil && s.Cluster.Leader != ""
		}
	}
	return last, led, nil
}

// AwaitWhole blocks until every server has what any of them had at the call, and every stream a leader, for limit at most. It
// returns what is missing, "" for nothing.
func (c *Linked) AwaitWhole(limit time.Duration) (missing string) {
	target := map[string]uint64{}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline, first := time.Now().Add(limit), true; ; first = false {
		missing = ""
		for i := range c.settings {
			last, led, err := c.Streams(i)
			if err != nil {
				missing = err.Error()
			}
			for name, seq := range last {
				if first {
					target[name] = max(target[name], seq)
				}
			}
			for name, seq := range target {
				if last[name] < seq || !led[name] {
					missing = fmt.Sprintf("server %d has event %d of %d of %s, a leader: %v", i, last[name], seq, name, led[name])
				}
			}
		}
		if !first && missing == "" || time.Now().After(deadline) {
			return missing
		}
		<-tick.C
	}
}

// Leading tells whether the cluster has a leader that knows all servers, so that it can make streams.
func (c *Linked) Leading() bool { return c.LeadingAmong(len(c.settings)) }

// LeadingAmong tells whether the first n servers have a leader that knows these and no others, and has heard of each.
func (c *Linked) LeadingAmong(n int) bool {
	client := http.Client{Timeout: time.Second}
	for i := range n {
		resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/jsz", c.settings[i].Monitor)) //nolint:noctx // it has a timeout
		if err != nil {
			return false
		}
		var out server.JSInfo
		err = json.NewDecoder(resp.Body).Decode(&out)
		_ = resp.Body.Close()
		if err != nil || out.Meta == nil || out.Meta.Leader == "" || out.Meta.Size != n ||
			slices.ContainsFunc(out.Meta.Replicas, func(p *server.PeerInfo) bool { return p.Offline }) {
			return false
		}
	}
	return true
}
