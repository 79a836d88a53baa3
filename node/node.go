// Package node wires one Fanfold node together: log, projector, read model, feed and API, with
// their start and stop order.
package node

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/writer"
)

// Config is what serve needs to know.
type Config struct {
	Data       string // directory
	Listen     string // HTTP address
	NATS       string // URL of an outside server; "" for the embedded one
	NATSListen string // address of the embedded server for ordinary clients; "" for none
	Durability string // of the embedded server
	Replicas   int    // of the stream, where it is made on an outside server
	Logger     *slog.Logger
	Writer     writer.Options // limits of documents; the zero value is the default
	API        api.Options    // limits of requests; the zero value is the default

	SetOrientedFrom int                     // see projector.Options
	FailWrite       func() error            // for tests: see sqlite.Options
	FailAppend      func(stored bool) error // for tests: see events.Options
}

// Node is one running Fanfold: the log, the projector, the read model and the API.
type Node struct {
	Log       *events.Log
	Store     *sqlite.Store
	Projector *projector.Projector

	cfg       Config
	lock      *os.File
	embedded  *events.Embedded
	nc        *nats.Conn
	inspector *inspect.Inspector
	feed      *changefeed.Feed
	writer    *writer.Writer
	api       *api.Server
	listener  net.Listener

	background sync.WaitGroup  // replays asked for by requests
	running    context.Context // ends when the node stops
}

var (
	_ writer.Appender   = (*events.Log)(nil)
	_ writer.Leader     = (*events.Log)(nil)
	_ writer.Snapshot   = (*sqlite.Snapshot)(nil)
	_ writer.ReadModel  = writerRows{}
	_ writer.Models     = (*projector.Projector)(nil)
	_ writer.Inspector  = (*inspect.Inspector)(nil)
	_ inspect.Projector = (*projector.Projector)(nil)
	_ api.Fencer        = (*events.Log)(nil)
	_ api.Reader        = reader{}
	_ api.Folded        = folded{}
	_ api.Snapshot      = (*sqlite.Snapshot)(nil)
	_ api.Models        = (*projector.Projector)(nil)
	_ api.Inspector     = inspector{}
	_ api.Operator      = operator{}
	_ api.Feed          = (*changefeed.Feed)(nil)
	_ changefeed.Store  = feedStore{}
	_ projector.Source  = source{}
)

// Open opens everything a node runs; Close it if Run is not called.
func Open(ctx context.Context, cfg Config) (n *Node, err error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	n = &Node{cfg: cfg}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
			n = nil
		}
	}()
	if n.lock, err = LockDir(cfg.Data); err != nil {
		return n, err
	}
	if n.listener, err = net.Listen("tcp", cfg.Listen); err != nil {
		return n, fanfold.Wrap(err, fanfold.Unavailable, "cannot listen on %s: %v", cfg.Listen, err)
	}
	if err := n.openLog(ctx); err != nil {
		return n, err
	}
	n.Store, err = sqlite.OpenStore(filepath.Join(cfg.Data, "readmodel"), sqlite.Options{
		Fingerprint: fold.Fingerprint(), FailWrite: cfg.FailWrite, Logger: cfg.Logger})
	if err != nil {
		return n, err
	}
	last, err := n.Log.LastSeq(ctx)
	if err != nil {
		return n, err
	}
	if applied := n.Store.Applied.Seq(); applied > last {
		return n, fanfold.Errorf(fanfold.Invalid, "the read model in %s shows event %d, but the log ends at %d: it belongs to another log, or the log lost events; "+
			"point --data at the right directory, or remove %s to build the read model anew", cfg.Data, applied, last, filepath.Join(cfg.Data, "readmodel"))
	}
	if n.Projector, err = projector.New(source{n.Log}, n.Store, projector.Options{Logger: cfg.Logger, SetOrientedFrom: cfg.SetOrientedFrom}); err != nil {
		return n, err
	}
	n.inspector = inspect.New(n.Store, n.Projector)
	n.feed = changefeed.New(feedStore{n.Store}, changefeed.Options{})
	wopt := cfg.Writer
	wopt.MaxEvent, wopt.Logger = n.Log.MaxPayload(), cfg.Logger
	n.writer = writer.New(writer.Dependencies{Log: n.Log, Leader: n.Log, ReadModel: writerRows{n.Store}, Models: n.Projector, Inspector: n.inspector}, wopt)
	opt := cfg.API
	opt.FoldVersion, opt.Metrics, opt.Logger = fold.FoldVersion, metrics(n), cfg.Logger
	n.api = api.New(api.Dependencies{Writer: n.writer, Fencer: n.Log, Reader: reader{n.Store}, Folded: folded{n.Store}, Models: n.Projector,
		Inspector: inspector{n.inspector, n.Store}, Operator: operator{n}, Feed: n.feed}, opt)
	return n, nil
}

// minPayload is the smallest limit of an outside server that leaves room for documents, in bytes.
const minPayload = 64 << 10

func (n *Node) openLog(ctx context.Context) (err error) {
	cfg := n.cfg
	replicas := cfg.Replicas
	if cfg.NATS == "" {
		replicas = 1
		durability := events.Durability(cfg.Durability)
		if durability != events.Always && durability != events.Interval {
			return fanfold.Errorf(fanfold.Invalid, "--durability %q is not one of always and interval", cfg.Durability)
		}
		if n.embedded, err = events.StartEmbedded(filepath.Join(cfg.Data, "nats"), durability, cfg.NATSListen, cfg.Logger); err != nil {
			return err
		}
		n.nc, err = n.embedded.Connect()
	} else {
		n.nc, err = events.Connect(cfg.NATS)
	}
	if err != nil {
		return err
	}
	if most := n.nc.MaxPayload(); most < minPayload {
		return fanfold.Errorf(fanfold.Invalid, "the NATS server takes messages of at most %d bytes; set its max_payload to %d or more (8MB gives the full body limit)", most, minPayload)
	}
	n.Log, err = events.Open(ctx, n.nc, events.Options{Replicas: replicas, Logger: cfg.Logger, FailAppend: cfg.FailAppend})
	if err == nil && cfg.NATS != "" && n.Log.Window() < events.DefaultWindow {
		return fanfold.Errorf(fanfold.Invalid, "the stream on %s drops duplicates for %v only, and a write could be stored twice; set its duplicate window to %v or more",
			n.nc.ConnectedUrlRedacted(), n.Log.Window(), events.DefaultWindow)
	}
	return err
}

// Version is the program's version, as Go's build information has it.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// Writer returns what decides about the node's writes.
func (n *Node) Writer() *writer.Writer { return n.writer }

// API returns the node's HTTP API.
func (n *Node) API() *api.Server { return n.api }

// Addr is the address the API listens on.
func (n *Node) Addr() string { return n.listener.Addr().String() }

// URL is where the API is found.
func (n *Node) URL() string { return "http://" + n.Addr() }

// Run serves until ctx ends or a part fails, then stops everything in order. ready is called
// once requests are answered.
func (n *Node) Run(ctx context.Context, ready func(ctx context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	n.running = ctx
	g.Go(func() error { return n.Projector.Run(ctx) }) // nil only once ctx has ended
	g.Go(func() error { return n.writer.Run(ctx) })
	g.Go(func() error {
		err := n.api.Run(ctx, n.listener, n.feed.Close)
		if err == nil && ctx.Err() == nil {
			err = errors.New("the HTTP server ended")
		}
		return err
	})
	if ready != nil {
		g.Go(func() error { return ready(ctx) })
	}
	err := g.Wait()
	n.background.Wait()
	return errors.Join(err, n.Close())
}

// Close closes what is open, in the order in which nothing still uses what is closed.
func (n *Node) Close() error {
	var errs []error
	if n.listener != nil {
		_ = n.listener.Close() // closed already where the server ran
	}
	if n.Store != nil {
		errs = append(errs, n.Store.Close())
	}
	if n.nc != nil {
		n.nc.Close()
	}
	if n.embedded != nil {
		errs = append(errs, n.embedded.Close())
	}
	if n.lock != nil {
		errs = append(errs, n.lock.Close())
	}
	return errors.Join(errs...)
}
