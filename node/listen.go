package node

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/internal/connections"
)

// checkListen returns Invalid for what is not an address.
func checkListen(cfg Config) error {
	for _, a := range []struct{ flag, address, example string }{{"--listen", cfg.Listen, "127.0.0.1:8080"}, {"--nats-listen", cfg.NATSListen, "127.0.0.1:4222"}} {
		if a.address == "" && a.flag != "--listen" {
			continue
		}
		if _, _, err := net.SplitHostPort(a.address); err != nil {
			return fanfold.Wrap(err, fanfold.Invalid, "%s %q is not an address such as %s", a.flag, a.address, a.example)
		}
	}
	return nil
}

// maxHosts bounds the names by which the API may be called.
const maxHosts = 100

// checkHosts returns Invalid for names and origins that no request can have, and for a prefix that is none.
func checkHosts(cfg Config) error {
	if len(cfg.Hosts) > maxHosts {
		return fanfold.Errorf(fanfold.Invalid, "--host: %d names are given, %d is the most", len(cfg.Hosts), maxHosts)
	}
	for _, h := range cfg.Hosts {
		if h == "" || strings.ContainsAny(h, "/:*, ") {
			return fanfold.Errorf(fanfold.Invalid, "--host %.300q is not a name such as fanfold.example: leave out the scheme and the port", h)
		}
	}
	if err := api.CheckOrigins(cfg.Origins); err != nil {
		return err
	}
	return api.CheckPrefix(cfg.API.Prefix)
}

// advertisedHosts returns the name in the URL at which the node says that it is reached, none where there is none.
func advertisedHosts(advertise string) []string {
	if u, err := url.Parse(advertise); err == nil && u.Hostname() != "" {
		return []string{u.Hostname()}
	}
	return nil
}

// The bounds of the times of a shutdown.
const (
	mostShutdown  = 10 * time.Minute
	leastShutdown = time.Second
)

// checkShutdown returns Invalid for times of a shutdown that cannot be.
func checkShutdown(opt api.Options) error {
	if opt.ShutdownDelay < 0 || opt.ShutdownDelay > mostShutdown {
		return fanfold.Errorf(fanfold.Invalid, "--shutdown-delay %v is not a time of up to %v", opt.ShutdownDelay, mostShutdown)
	}
	if t := opt.ShutdownTimeout; t != 0 && (t < leastShutdown || t > mostShutdown) {
		return fanfold.Errorf(fanfold.Invalid, "--shutdown-timeout %v is not a time from %v to %v", t, leastShutdown, mostShutdown)
	}
	return nil
}

// isLoopback tells whether a host name or address is this machine's own and reached by nobody else.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// bounded returns the listener of the API on the listener of an address, which is an api.Connections. It has as many connections at a time as are
// taken, and TLS where there is a certificate. The log says where TLS does not offer HTTP/2.
func bounded(l net.Listener, cfg Config, shown *certificate) net.Listener {
	places := connections.New(l, mostConnections(cfg.MaxConnections))
	if shown == nil {
		return places
	}
	offered := cfg.API.ALPN()
	if !slices.Contains(offered, "h2") {
		cfg.Logger.Warn("HTTP/2 is not offered: clients can end a program of this version of Go by it (CVE-2026-97032); build Fanfold with the toolchain that go.mod names",
			"go", cmp.Or(cfg.API.Runtime, runtime.Version()))
	}
	return struct {
		net.Listener
		api.Connections
	}{tls.NewListener(places, shown.config(offered...)), places}
}

const (
	defaultConnections = 50_000
	otherFiles         = 1024 // that the log, the read model and everything else may have open
)

// mostConnections returns how many connections the API takes at a time. most is the number asked for, 0 for the default. It
// leaves files to be opened for the log.
func mostConnections(most int) int {
	if most <= 0 {
		most = defaultConnections
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur > uint64(most+otherFiles) {
		return most
	}
	return max(int(files.Cur)-otherFiles, int(files.Cur)/2, 1)
}
