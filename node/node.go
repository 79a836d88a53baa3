// Package node wires one Fanfold node together: log, projector, read model, writer, feed and API. It starts and stops
// them in order.
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
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/internal/sending"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/writer"
)

// Config configures a node.
type Config struct {
	Data   string // the directory of the node's files
	Listen string // the HTTP address
	// MaxConnections is how many connections the API has at a time; others wait to be accepted. Default 50,000, fewer
	// where the process may not open as many files.
	MaxConnections int
	Insecure       bool     // Listen may be an address that others reach, although there are no keys yet
	Hosts          []string // names by which the API may be called besides those of this machine
	Origins        []string // web origins, such as https://app.example, whose pages may write
	NATS           string   // the URL of an outside server; "" for the embedded one
	NATSListen     string   // the address at which the embedded server takes ordinary clients; "" for none
	Durability     string   // of the embedded server: always or interval
	Cache          int64    // bytes of the read model's file kept in memory; see sqlite.Options
	Replicas       int      // of the stream, where it is made on an outside server
	Logger         *slog.Logger
	Writer         writer.Options // limits of documents; zero values are the defaults
	API            api.Options    // limits of requests; zero values are the defaults

	SetOrientedFrom int                     // see projector.Options
	Fsync           func(*os.File) error    // for tests: see events.EmbeddedOptions
	FailWrite       func() error            // for tests: see sqlite.Options
	FailAppend      func(stored bool) error // for tests: see events.Options
}

// Node holds the parts of one running Fanfold.
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
	check     *logCheck
	listener  net.Listener

	startLast  uint64          // the last event that the log had at the start
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

// Open opens everything that a node runs. Call Run, which also closes it, or Close. Errors are Invalid for a
// configuration that cannot work, and Unavailable for an environment that does not let the node start.
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
	if err := checkListen(cfg); err != nil {
		return n, err
	}
	n.check = newLogCheck(n)
	if n.listener, err = net.Listen("tcp", cfg.Listen); err != nil {
		return n, fanfold.Wrap(err, fanfold.Unavailable, "cannot listen on %s: %v", cfg.Listen, err)
	}
	n.listener = netutil.LimitListener(n.listener, connections(cfg.MaxConnections))
	n.Store, err = sqlite.OpenStore(filepath.Join(cfg.Data, "readmodel"), sqlite.Options{
		Fingerprint: fold.Fingerprint(), FailWrite: cfg.FailWrite, Cache: cfg.Cache, Logger: cfg.Logger})
	if err != nil {
		return n, err
	}
	if err := n.openLog(ctx); err != nil {
		return n, err
	}
	if err := n.openProjector(ctx); err != nil {
		return n, err
	}
	n.openAPI()
	return n, nil
}

// openProjector holds the log against the read model, and opens the projector. The error is LogDamaged where the log lacks
// events that the read model shows.
func (n *Node) openProjector(ctx context.Context) error {
	last, err := n.Log.LastSeq(ctx)
	if err != nil {
		return err
	}
	n.startLast = last
	if err := n.check.begin(ctx); err != nil {
		return err
	}
	n.Projector, err = projector.New(source{n.Log}, n.Store, projector.Options{Logger: n.cfg.Logger, SetOrientedFrom: n.cfg.SetOrientedFrom})
	if err != nil {
		return err
	}
	return n.rebuildUnclean(ctx, last)
}

// The largest read model that is rebuilt where nothing says that its file is sound.
const (
	rebuildEvents  = 100_000
	rebuildChanges = 200_000
	rebuildTime    = time.Minute // a log that cannot be read to its end by then is damaged
)

// rebuildUnclean rebuilds a read model from the log whose file may have been damaged since its process was killed, unless
// that takes more than some seconds: the structure of a larger one was checked, and fanfold replay rebuilds it. Where the
// log lacks events the read model stays: it has what the log lacks. The error is ctx's.
func (n *Node) rebuildUnclean(ctx context.Context, last uint64) error {
	cp, err := n.Store.Checkpoint()
	if err != nil || !n.Store.Unclean() || n.Log.Damage() != nil {
		return err
	}
	if last > rebuildEvents || cp.Changes > rebuildChanges {
		n.cfg.Logger.Warn("the node was killed: its read model's structure is sound; fanfold replay rebuilds it, should its disk have been damaged", "events", last)
		return nil
	}
	n.cfg.Logger.Info("the node was killed, and its read model is rebuilt from the log", "events", last)
	limited, cancel := context.WithTimeout(ctx, rebuildTime)
	defer cancel()
	if err := n.Projector.ReplayTo(limited, last); err != nil {
		n.cfg.Logger.Error("the read model could not be rebuilt, and stays as it is", "err", err)
	}
	return ctx.Err()
}

// openAPI makes the writer, the feed and the API of a node whose log and read model are open.
func (n *Node) openAPI() {
	n.inspector = inspect.New(n.Store, n.Projector)
	budget := sending.NewBudget(n.cfg.API.MaxSending)
	n.feed = changefeed.New(feedStore{n.Store}, changefeed.Options{Budget: budget})
	writerOptions := n.cfg.Writer
	writerOptions.MaxEvent, writerOptions.Logger = n.Log.MaxPayload(), n.cfg.Logger
	n.writer = writer.New(writer.Dependencies{Log: n.Log, Leader: n.Log, ReadModel: writerRows{n.Store}, Models: n.Projector, Inspector: n.inspector}, writerOptions)
	apiOptions := n.cfg.API
	apiOptions.Sending, apiOptions.SpoolDir = budget, n.cfg.Data
	apiOptions.Origins, apiOptions.Hosts = n.cfg.Origins, n.cfg.Hosts
	host, _, _ := net.SplitHostPort(n.cfg.Listen) // checked by Open
	apiOptions.AnyHost = !isLoopback(host) && len(n.cfg.Hosts) == 0
	apiOptions.FoldVersion, apiOptions.Metrics, apiOptions.Logger = fold.FoldVersion, metrics(n), n.cfg.Logger
	n.api = api.New(api.Dependencies{Writer: n.writer, Fencer: n.Log, Reader: reader{n.Store}, Folded: folded{n.Store}, Models: n.Projector,
		Inspector: inspector{n.inspector, n.Store}, Operator: operator{n}, Feed: n.feed}, apiOptions)
}

// Version returns the program's version, as Go's build information has it, and "(devel)" without one.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// Writer returns the node's writer.
func (n *Node) Writer() *writer.Writer { return n.writer }

// API returns the node's HTTP API.
func (n *Node) API() *api.Server { return n.api }

// Addr returns the address on which the API listens.
func (n *Node) Addr() string { return n.listener.Addr().String() }

// URL returns the URL of the API.
func (n *Node) URL() string { return "http://" + n.Addr() }

// foldTime is how long what is being folded may take when the node stops. It is rolled back then, and folded again at the
// next start.
const foldTime = 2 * time.Second

// Run serves until ctx ends or a part fails, then stops and closes everything in order. It calls ready, which may be nil,
// in a goroutine of its own as soon as the parts are started. It returns nil after ctx has ended, else the first error.
func (n *Node) Run(ctx context.Context, ready func(ctx context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	n.running = ctx
	defer context.AfterFunc(ctx, func() { time.AfterFunc(foldTime, n.Store.Interrupt) })()
	g.Go(func() error { return n.Projector.Run(ctx) }) // nil only once ctx has ended
	g.Go(func() error { return n.writer.Run(ctx) })
	g.Go(func() error { return n.check.run(ctx) })
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
	n.writer.Close()
	n.background.Wait()
	return errors.Join(err, n.Close())
}

// Close closes what is open, users before what they use. Run calls it; call it for a node that does not
// run.
func (n *Node) Close() error {
	var errs []error
	if n.listener != nil {
		_ = n.listener.Close() // closed already where the server ran
	}
	if n.check != nil {
		n.check.close()
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
