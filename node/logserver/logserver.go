// Package logserver has the server of a node's log: the embedded one or others, the connection, and which NATS clients read the log there.
package logserver

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/events/servers"
)

// minPayload is the smallest max_payload of an outside server with which a node starts, in bytes.
const minPayload = 64 << 10

// Options say which server has a node's log. Config of package node says what each of them is.
type Options struct {
	Data        string
	NATS        string // "" for the embedded server
	Credentials servers.Credentials
	NATSListen  string
	NATSAuth    string
	Durability  string
	Replicas    int
	Fsync       func(*os.File) error
	Logger      *slog.Logger

	TLS    func() *tls.Config // for NATS clients; nil for none
	Closed func() bool        // the keys say that the store is closed
}

// Server is the server of a node's log, and the connection to it.
type Server struct {
	Conn     *nats.Conn       // nil until Open
	Embedded *embedded.Server // nil for outside servers, and until Open

	opt       Options
	keys      []string    // the NKeys of NATS clients
	strangers atomic.Bool // NATS clients need none while the store is open

	undisturbed bool // see Undisturbed
	damaged     bool // StartDamaged was called
}

// New returns the server of a log that is yet to be opened.
func New(opt Options) *Server { return &Server{opt: opt} }

// check returns Invalid for options that do not fit each other.
func (s *Server) check() error {
	opt := s.opt
	switch {
	case opt.NATS == "" && opt.Replicas > 1:
		return fanfold.Errorf(fanfold.Invalid, "--replicas %d is for a log on outside servers: give their URLs by --nats", opt.Replicas)
	case opt.Replicas < 0 || opt.Replicas > servers.MaxReplicas:
		return fanfold.Errorf(fanfold.Invalid, "--replicas %d is not a number from 1 to %d, or 0 for what the servers allow", opt.Replicas, servers.MaxReplicas)
	case opt.NATS != "" && opt.NATSListen != "":
		return fanfold.Errorf(fanfold.Invalid, "--nats-listen opens the embedded server, and with --nats there is none: leave one of them out")
	case opt.NATS == "" && opt.Credentials.Any():
		return fanfold.Errorf(fanfold.Invalid, "the flags --nats-user to --nats-key are for outside servers: give their URLs by --nats")
	}
	return nil
}

// Open connects to the NATS server, which it starts where it is the embedded one, and opens the log. durable is the last event that may not
// be cut from it. Errors are Invalid and Unavailable.
func (s *Server) Open(ctx context.Context, durable uint64, log events.Options) (l *events.Log, err error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.opt.NATS == "" {
		return s.openEmbedded(ctx, durable, log)
	}
	if s.Conn, err = servers.Dial(ctx, s.opt.NATS, s.opt.Credentials, s.opt.Logger); err != nil {
		return nil, err
	}
	if limit := s.Conn.MaxPayload(); limit < minPayload {
		return nil, fanfold.Errorf(fanfold.Invalid, "the NATS server takes messages of at most %d bytes; set its max_payload to %d or more (8MB gives the full body limit)", limit, minPayload)
	}
	log.Replicas = s.opt.Replicas
	l, err = events.Open(ctx, s.Conn, log)
	if err == nil && l.Window() < events.DefaultWindow {
		return l, fanfold.Errorf(fanfold.Invalid, "the stream on %s drops duplicates for %v only, and a write could be stored twice; set its duplicate window to %v or more",
			servers.ShownURL(s.Conn.ConnectedUrl()), l.Window(), events.DefaultWindow)
	}
	return l, err
}

// openEmbedded starts the embedded server and opens its log. Before that it cuts from the log's end what a loss of power or
// a kill left there and was never durable. Errors are Invalid and Unavailable.
func (s *Server) openEmbedded(ctx context.Context, durable uint64, log events.Options) (*events.Log, error) {
	opt := embedded.Options{Dir: s.dir(), Durability: embedded.Durability(s.opt.Durability), Readers: s.readers(),
		Logger: s.opt.Logger, Fsync: s.opt.Fsync}
	if opt.Durability != embedded.Always && opt.Durability != embedded.Interval {
		return nil, fanfold.Errorf(fanfold.Invalid, "--durability %q is not one of always and interval", opt.Durability)
	}
	log.Replicas, log.Exists, s.undisturbed = 1, embedded.HasStream(opt.Dir), s.isStill()
	tails, err := embedded.CutTail(ctx, opt.Dir, durable)
	if err != nil {
		return nil, err
	}
	embedded.LogTails(s.opt.Logger, tails)
	l, err := s.start(ctx, opt, log)
	if !errors.Is(err, events.ErrLayout) {
		return l, err
	}
	s.opt.Logger.Warn("the log cannot sync the embedded server's files by itself, and the server syncs every message: writes are slower", "err", err)
	s.Conn.Close()
	if err := s.Embedded.Close(); err != nil {
		return nil, err
	}
	opt.ServerSyncs = true
	return s.start(ctx, opt, log)
}

// dir returns the directory of the embedded server.
func (s *Server) dir() string { return filepath.Join(s.opt.Data, "nats") }

// start starts the embedded server and opens its log.
func (s *Server) start(ctx context.Context, server embedded.Options, log events.Options) (*events.Log, error) {
	if err := s.connect(ctx, server); err != nil {
		return nil, err
	}
	log.Embedded = s.Embedded
	return events.Open(ctx, s.Conn, log)
}

// connect starts the embedded server and connects to it.
func (s *Server) connect(ctx context.Context, server embedded.Options) (err error) {
	if s.Embedded, err = embedded.Start(ctx, server); err == nil {
		s.forgetStill()
		s.Conn, err = s.Embedded.Connect()
	}
	return err
}

// StartDamaged starts the embedded server on files that may be damaged, and connects to it. It opens no log. The error is Unavailable.
func (s *Server) StartDamaged(ctx context.Context) error {
	s.damaged = true
	return s.connect(ctx, embedded.Options{Dir: s.dir(), Durability: embedded.Interval, Logger: s.opt.Logger})
}

// Close closes the connection, and the embedded server.
func (s *Server) Close() error {
	if s.Conn != nil {
		s.Conn.Close()
	}
	if s.Embedded == nil {
		return nil
	}
	if err := s.Embedded.Close(); err != nil || s.damaged {
		return err
	}
	s.noteStill()
	return nil
}
