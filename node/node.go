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
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/sqlite"
)

// Config is what serve needs to know.
type Config struct {
	Data       string // directory
	Listen     string // HTTP address
	NATS       string // URL of an outside server; "" for the embedded one
	NATSListen string // address of the embedded server for ordinary clients; "" for none
	Model      string // file to apply at the start; "" for none
	Durability string // of the embedded server
	Replicas   int    // of the stream, where it is made on an outside server
	Logger     *slog.Logger
	API        api.Options // limits; the zero value is the default

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
	api       *api.Server
	listener  net.Listener

	background sync.WaitGroup  // replays asked for by requests
	running    context.Context // ends when the node stops
}

var (
	_ api.Appender     = (*events.Log)(nil)
	_ api.Reader       = reader{}
	_ api.Snapshot     = (*sqlite.Snapshot)(nil)
	_ api.Models       = (*models)(nil)
	_ api.Feed         = (*changefeed.Feed)(nil)
	_ changefeed.Store = feedStore{}
	_ projector.Source = source{}
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
	m := &models{node: n}
	opt := cfg.API
	opt.FoldVersion, opt.Metrics, opt.Logger = fold.FoldVersion, metrics(n), cfg.Logger
	n.api = api.New(n.Log, reader{n.Store}, m, n.feed, opt)
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

// LockDir makes the directory and takes its lock, which the system drops when the process
// ends, however it does.
func LockDir(dir string) (*os.File, error) {
	if dir == "" {
		return nil, fanfold.Errorf(fanfold.Invalid, "--data must name a directory")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot make the data directory: %v", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot write into the data directory %s: %v", dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fanfold.Wrap(err, fanfold.Unavailable, "the data directory %s is in use by another fanfold process", dir), f.Close())
	}
	return f, nil
}

// Version is the program's version, as Go's build information has it.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// API is the node's HTTP API.
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

// source reads the log for the projector.
type source struct{ *events.Log }

func (s source) Events(ctx context.Context, from uint64) (projector.Reader, error) {
	return s.Read(ctx, from)
}

// reader is the read model as the API sees it.
type reader struct{ *sqlite.Store }

func (r reader) Read(fn func(api.Snapshot) error) error {
	return r.Store.Read(func(s *sqlite.Snapshot) error { return fn(s) })
}
func (r reader) Scan() (api.Scan, error) {
	sc, err := r.Store.Scan()
	if err != nil {
		return nil, err
	}
	return scan{sc}, nil
}
func (r reader) Wait(ctx context.Context, seq uint64) error { return r.Store.Applied.Wait(ctx, seq) }
func (r reader) Applied() uint64                            { return r.Store.Applied.Seq() }
func (r reader) Outcome(seq uint64) (fanfold.Op, int64, bool) {
	return r.Store.Applied.Outcome(seq)
}

// scan is a long snapshot as the API sees it.
type scan struct{ *sqlite.Scanner }

func (s scan) Model() ([]byte, fanfold.Reserved, error) {
	m, err := s.Scanner.Model()
	return m.Source, m.Reserved, err
}

// feedStore is the read model as the change feed sees it.
type feedStore struct{ *sqlite.Store }

func (f feedStore) Changes(q fanfold.ChangeQuery) (page fanfold.ChangePage, err error) {
	err = f.Read(func(s *sqlite.Snapshot) error {
		page, err = s.Changes(q)
		return err
	})
	return page, err
}

func (f feedStore) Head() (at fanfold.Position, err error) {
	err = f.Read(func(s *sqlite.Snapshot) error { at = s.At(); return nil })
	return at, err
}

func (f feedStore) Before(t time.Time) (at fanfold.Position, err error) {
	err = f.Read(func(s *sqlite.Snapshot) error {
		at, err = s.Before(t)
		return err
	})
	return at, err
}

func (f feedStore) Changed(seq uint64) <-chan struct{}         { return f.Applied.Changed(seq) }
func (f feedStore) Wait(ctx context.Context, seq uint64) error { return f.Applied.Wait(ctx, seq) }

// models is the projector as the API sees it.
type models struct{ node *Node }

func (m *models) Model() (*fanfold.Model, uint64, fanfold.Reserved) { return m.node.Projector.Model() }

func (m *models) Preview(ctx context.Context, src []byte, apply, misfits bool) (*fanfold.Model, api.ModelPreview, error) {
	model, err := modelfile.Parse(src)
	if err != nil {
		return nil, nil, err
	}
	p, err := m.node.inspector.Preview(ctx, model)
	if err == nil && apply && len(p.Problems) > 0 {
		err = &fanfold.Error{Code: fanfold.Unprocessable, Message: "the model cannot be applied to the documents as they are; nothing was changed", Problems: p.Problems}
	}
	if err == nil && apply && !misfits && len(p.Misfits) > 0 {
		e := fanfold.Errorf(fanfold.Unprocessable, "stored documents do not fit the new schema; nothing was changed: mend them first, or send the model with allowMisfits=true, after which each has to fit when it is next written")
		for _, m := range p.Misfits {
			for _, d := range m.First {
				e.Problems = append(e.Problems, fanfold.Problem{Path: d.Document + d.Problems[0].Path, Detail: d.Problems[0].Detail})
			}
		}
		err = e
	}
	return model, p, err
}

func (m *models) Proposal() (*fanfold.Proposal, uint64) { return m.node.Projector.Proposal() }
func (m *models) Ready() <-chan struct{}                { return m.node.Projector.Ready() }
func (m *models) Broken(seq uint64) ([]fanfold.Problem, error) {
	return m.node.Projector.Objections(seq)
}
func (m *models) Settled(ctx context.Context, seq uint64) (uint64, error) {
	return m.node.Projector.Settled(ctx, seq)
}

func (m *models) DryRun(ctx context.Context, events []*fanfold.Event) (*fanfold.Fanout, error) {
	return m.node.inspector.DryRun(ctx, events)
}

func (m *models) Lineage(key fanfold.Key) (any, error) { return m.node.inspector.Lineage(key) }

func (m *models) Reaches(events []*fanfold.Event, limit int64) (bool, error) {
	return m.node.inspector.MayExceed(events, limit)
}

func (m *models) Parse(src []byte) (*fanfold.Model, error) { return modelfile.Parse(src) }

func (m *models) Verify(ctx context.Context) (any, error) { return inspect.Verify(ctx, m.node.Store) }

// Replay starts a replay that goes on after the request; its end is told by Status and the log.
func (m *models) Replay() error {
	run, err := m.node.Projector.BeginReplay()
	if err != nil {
		return err
	}
	m.node.background.Go(func() {
		err := run(m.node.running)
		m.node.cfg.Logger.Info("replay ended", "err", err)
	})
	return nil
}

// Status is the answer of GET /v1/_status.
type Status struct {
	Version    string           `json:"version"`
	Fold       string           `json:"fold"`
	Position   fanfold.Position `json:"position"`
	Model      uint64           `json:"model"` // the event that applied it
	Durability string           `json:"durability"`
	Log        string           `json:"log"` // embedded, or the outside server's URL
	LogError   string           `json:"logError,omitempty"`
	projector.Status
}

func (m *models) Status() (any, error) {
	n := m.node
	_, seq, _ := n.Projector.Model()
	s := Status{Version: Version(), Fold: fold.Fingerprint(), Model: seq, Log: "embedded", Durability: n.cfg.Durability, Status: n.Projector.Status()}
	if n.cfg.NATS != "" {
		// A client cannot see whether a server syncs before it acknowledges.
		s.Log, s.Durability = n.nc.ConnectedUrlRedacted(), "unverified"
	}
	if err := n.Log.Failing(); err != nil {
		s.LogError = err.Error()
	}
	if cp, err := n.Store.Checkpoint(); err == nil {
		s.Position = cp.At()
	}
	if s.Stopped != nil {
		return s, fanfold.Errorf(fanfold.Unavailable, "the projector has stopped at event %d: %s", s.Stopped.Seq, s.Stopped.Reason)
	}
	if !n.nc.IsConnected() {
		return s, fanfold.Errorf(fanfold.Unavailable, "the log cannot be reached")
	}
	return s, n.Log.Failing()
}
