// Package natsserver runs real NATS servers, one or three, in the test's process.
package natsserver

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Start runs one server or a cluster of three on free ports of the loopback interface, and
// returns their client URLs. They end with the test.
func Start(t testing.TB, nodes int) []string {
	t.Helper()
	servers, urls := make([]*server.Server, nodes), make([]string, nodes)
	routes := freeRoutes(t, nodes)
	for i := range servers {
		opts := &server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
			JetStreamMaxStore: 1 << 40, JetStreamMaxMemory: 64 << 20, MaxPayload: 8 << 20, NoSigs: true, NoLog: true, SyncInterval: time.Minute,
		}
		if nodes > 1 {
			port, err := strconv.Atoi(routes[i].Port())
			if err != nil {
				t.Fatal(err)
			}
			opts.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port}
			opts.Routes = routes
		}
		s, err := server.NewServer(opts)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		servers[i] = s
	}
	for i, s := range servers {
		if !s.ReadyForConnections(20 * time.Second) {
			t.Fatal("the NATS server did not become ready")
		}
		urls[i] = s.ClientURL()
	}
	if nodes > 1 {
		waitForLeader(t, servers)
	}
	return urls
}

// freeRoutes are cluster addresses on ports that were free a moment ago.
func freeRoutes(t testing.TB, n int) []*url.URL {
	t.Helper()
	routes := make([]*url.URL, n)
	for i := range routes {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		routes[i] = &url.URL{Scheme: "nats-route", Host: l.Addr().String()}
		defer l.Close()
	}
	return routes
}

// waitForLeader blocks until the cluster can make streams.
func waitForLeader(t testing.TB, servers []*server.Server) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(60 * time.Second)
	for {
		for _, s := range servers {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(servers) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("the cluster has no leader")
		}
	}
}
