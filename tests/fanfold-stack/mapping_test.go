package main

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// TestMapping: addresses, names with ports and paths are mapped wherever they stand, and nothing that only looks like them.
func TestMapping(t *testing.T) {
	m := mapping{address: "127.9.9.2", dns: "127.9.9.1:999", hosts: map[string]string{"nats-1": "127.9.9.3", "balancer": "127.9.9.4"},
		paths: map[string]string{"/data": "/tmp/d", "/etc/nats/nats.conf": "/tmp/c", "/prometheus": "/tmp/p", "/etc/prometheus/alerts.yml": "/tmp/a"}}
	for text, want := range map[string]string{
		"--listen=0.0.0.0:8080":                    "--listen=127.9.9.2:8080",
		"http://127.0.0.1:8222/healthz":            "http://127.9.9.2:8222/healthz",
		"nameserver engine 127.0.0.11:53":          "nameserver engine 127.9.9.1:999",
		"10.0.0.0:1":                               "10.0.0.0:1",
		"--nats=nats://nats-1:4222,nats://b:4222":  "--nats=nats://127.9.9.3:4222,nats://b:4222",
		`targets: ["balancer:8404"]`:               `targets: ["127.9.9.4:8404"]`,
		"nats-1":                                   "nats-1",
		"my-nats-1:4222":                           "my-nats-1:4222",
		"/data":                                    "/tmp/d",
		"store_dir: /data\n":                       "store_dir: /tmp/d\n",
		"/database /var/data":                      "/database /var/data",
		"/data/wal":                                "/tmp/d/wal",
		"/etc/nats/nats.conf":                      "/tmp/c",
		"--storage.tsdb.path=/prometheus":          "--storage.tsdb.path=/tmp/p",
		"rule_files: [/etc/prometheus/alerts.yml]": "rule_files: [/tmp/a]",
	} {
		if got := m.text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestPrometheusFindsNodesByFiles: what is asked of DNS in a container is read from a file by a process; the rest stays.
func TestPrometheusFindsNodesByFiles(t *testing.T) {
	got, err := prometheus(read(t, root+"/deploy/prometheus/prometheus.yml"), func(service string, port int) string {
		if service != "fanfold" || port != 8080 {
			t.Errorf("asked for %s:%d", service, port)
		}
		return "/tmp/nodes.json"
	})
	if err != nil || strings.Contains(got, "dns_sd_configs") || !strings.Contains(got, "/tmp/nodes.json") || !strings.Contains(got, "balancer:8404") {
		t.Errorf("%v %s", err, got)
	}
}

// TestNames: a service's name has the addresses of its containers, as they are at that time, and others have none.
func TestNames(t *testing.T) {
	s, err := listenNames(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
	for _, want := range [][]netip.Addr{{netip.MustParseAddr("127.9.9.2"), netip.MustParseAddr("127.9.9.3")}, {netip.MustParseAddr("127.9.9.3")}, {}} {
		s.set("fanfold", want)
		got, err := resolver.LookupNetIP(t.Context(), "ip4", "fanfold.")
		if slices.SortFunc(got, netip.Addr.Compare); !slices.Equal(got, want) || (err == nil) != (len(want) > 0) {
			t.Errorf("fanfold has %v, %v, want %v", got, err, want)
		}
	}
	if got, err := resolver.LookupNetIP(t.Context(), "ip4", "nobody."); err == nil {
		t.Errorf("nobody has %v", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
