// Package serving has what clients reach a node by: the address of the API, its certificate, and the profiles.
package serving

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/internal/connections"
)

// Options say how a node is reached. Config of package node says what each of them is.
type Options struct {
	Listen         string
	MaxConnections int
	DebugListen    string
	Insecure       bool
	TLSCert        string
	TLSKey         string
	API            api.Options
	Logger         *slog.Logger
}

// Front is what clients reach a node by. TLS and Close may be called for a nil one, by which nobody does.
type Front struct {
	opt         Options
	certificate *certificate // nil without TLS
	listener    net.Listener // nil until Listen
	debug       net.Listener // of the profiles; nil for none
}

// New reads the certificate of a node that is yet to listen. The error is Invalid.
func New(opt Options) (*Front, error) {
	c, err := openCertificate(opt.TLSCert, opt.TLSKey, opt.Logger)
	return &Front{opt: opt, certificate: c}, err
}

// Listen listens, and opens the profiles where they have an address. Errors are Invalid and Unavailable.
func (f *Front) Listen() error {
	l, err := listen("--listen", f.opt.Listen)
	if err != nil {
		return err
	}
	f.listener = f.bounded(l)
	return f.openDebug()
}

// Listener returns where the API listens. It is an api.Connections.
func (f *Front) Listener() net.Listener { return f.listener }

// TLS returns the settings of another listener that shows the same certificate, nil without TLS.
func (f *Front) TLS() *tls.Config {
	if f == nil || f.certificate == nil {
		return nil
	}
	return f.certificate.config()
}

// Expiring returns a function that says how long the certificate still holds, nil without TLS. It is below zero once it has ended.
func (f *Front) Expiring() func() time.Duration {
	if f.certificate == nil {
		return nil
	}
	return func() time.Duration { return time.Until(f.certificate.current.Load().Leaf.NotAfter) }
}

// URL returns the URL of the API.
func (f *Front) URL() string { return f.urlAt(f.listener.Addr().String()) }

// urlAt returns the URL of the API at an address.
func (f *Front) urlAt(address string) string {
	if f.certificate != nil {
		return "https://" + address
	}
	return "http://" + address
}

// NamedURL returns the URL of the API, with this machine's name where it listens on all addresses.
func (f *Front) NamedURL() string {
	host, port, _ := net.SplitHostPort(f.listener.Addr().String())
	name, err := os.Hostname()
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() || err != nil {
		return f.URL()
	}
	return f.urlAt(net.JoinHostPort(name, port))
}

// Run takes the certificate's files where they change, and serves the profiles, until ctx ends. It returns nil then.
func (f *Front) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return f.certificate.run(ctx) })
	g.Go(func() error { return f.serveProfiles(ctx) })
	return g.Wait()
}

// Close closes what is open.
func (f *Front) Close() {
	if f == nil {
		return
	}
	for _, l := range []net.Listener{f.listener, f.debug} {
		if l != nil {
			_ = l.Close() // closed already where the server ran
		}
	}
}

// Exposed tells whether others reach an address that was checked.
func Exposed(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return address != "" && (err != nil || !isLoopback(host))
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
func (f *Front) bounded(l net.Listener) net.Listener {
	places := connections.New(l, mostConnections(f.opt.MaxConnections))
	if f.certificate == nil {
		return places
	}
	offered := f.opt.API.ALPN()
	if !slices.Contains(offered, "h2") {
		f.opt.Logger.Warn("HTTP/2 is not offered: clients can end a program of this version of Go by it (CVE-2026-97032); build Fanfold with the toolchain that go.mod names",
			"go", cmp.Or(f.opt.API.Runtime, runtime.Version()))
	}
	return struct {
		net.Listener
		api.Connections
	}{tls.NewListener(places, f.certificate.config(offered...)), places}
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
