package node

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/membership"
	"github.com/fanfold/fanfold/node/metrics"
	"github.com/fanfold/fanfold/node/serving"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/writer"
)

// ReadOnly serves a read model of one position, without a log. It writes nothing into the directory, which several may serve.
type ReadOnly struct {
	Info ReadModel

	node   *Node // it has the parts that need no log
	issuer fanfold.Issuer
	ended  error // answers what needs a log, or a later position
}

var (
	_ api.Fencer   = (*ReadOnly)(nil)
	_ api.Lag      = (*ReadOnly)(nil)
	_ api.Operator = readOnlyOperator{}
	_ api.Keys     = (*ReadOnly)(nil)
)

// OpenReadOnly opens the directory cfg.Data, which BuildReadModel has made. Of the configuration it uses what is about the API. Call
// Run, which also closes it, or Close. Errors are Invalid for a directory without a whole read model, and for a configuration that
// cannot work, and Unavailable.
func OpenReadOnly(ctx context.Context, cfg Config) (r *ReadOnly, err error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	fitMemory(&cfg)
	r = &ReadOnly{node: newNode(cfg)}
	if r.Info, err = readWholeInfo(cfg.Data); err != nil {
		return nil, err
	}
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// readWholeInfo reads what a directory says of its read model, which must be whole.
func readWholeInfo(dir string) (info ReadModel, err error) {
	info, err = readInfo(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return info, fanfold.Errorf(fanfold.Invalid, "%s holds no read model of one position: fanfold replay --to POSITION --out %s makes one", dir, dir)
	case err == nil && info.Unfinished:
		return info, fanfold.Errorf(fanfold.Invalid, "the read model in %s is unfinished, because what made it was cut: run again\n  %s", dir, info.Command)
	}
	return info, err
}

// open opens everything.
func (r *ReadOnly) open(ctx context.Context) (err error) {
	n := r.node
	if err := r.check(); err != nil {
		return err
	}
	n.Store, err = sqlite.OpenReadOnly(filepath.Join(n.cfg.Data, readModelDir), sqlite.Options{Fingerprint: fold.Fingerprint(), Cache: n.cfg.Cache, Logger: n.cfg.Logger})
	if err != nil {
		return err
	}
	if n.Projector, err = projector.New(nil, n.Store, projector.Options{Logger: n.cfg.Logger}); err != nil {
		return err
	}
	r.issuer = r.Info.issuer(n.Projector)
	r.ended = fanfold.Errorf(fanfold.ReadOnly, "this server has the read model of position %s alone, and neither a log nor what lies beside it: ask a server of the store for what is later, for groups and for keys, and send it what is to be written", r.Info.Position)
	n.Store.Applied.Stop(r.ended)
	if n.keys.Store, err = keys.Open(ctx, &noKeys{}, keys.Options{AdminFile: n.cfg.AdminKeyFile, Anonymous: n.cfg.Anonymous, Logger: n.cfg.Logger}); err != nil {
		return err
	}
	n.openJudge(n.keys)
	if err := cmp.Or(n.front.Listen(), n.openTraces(ctx)); err != nil {
		return err
	}
	r.openAPI()
	return nil
}

// check refuses what is not to be started: see Node.checkStart. Keys lie beside the log, so there are none here.
func (r *ReadOnly) check() (err error) {
	cfg := r.node.cfg
	for _, check := range []func(Config) error{checkListen, checkHosts, checkTimes, checkAdminKey} {
		if err := check(cfg); err != nil {
			return err
		}
	}
	plain := checkPlaintext(cfg)
	switch {
	case cfg.needsKey():
		return bothMissing(plain, fanfold.Errorf(fanfold.Invalid, "--listen %s can be reached by others, who may then read everything, for there are no keys beside a read model: give one by --admin-key-file FILE; or listen on 127.0.0.1, or say --insecure", cfg.Listen))
	case plain != nil:
		return plain
	case r.Info.Closed && cfg.AdminKeyFile == "" && !cfg.Insecure:
		return fanfold.Errorf(fanfold.Invalid, "the store of this read model lets nobody in without a key, and there are no keys beside a read model: give one by --admin-key-file FILE, or say --insecure to let in whoever reaches %s", cfg.Listen)
	}
	r.node.front, err = serving.New(cfg.serving())
	return err
}

// openAPI makes the feed and the API.
func (r *ReadOnly) openAPI() {
	n := r.node
	budget := n.cfg.API.NewBudget()
	n.feed = changefeed.New(feedStore{n.Store}, changefeed.Options{Budget: budget.Sending, Issuer: r.issuer, OnSent: n.onSent()})
	inspected := inspect.New(n.Store, n.Projector, r.issuer)
	opt := n.cfg.API
	opt.ReadOnly, opt.Budget, opt.Version, opt.Logger = r.ended, budget, Version(), n.cfg.Logger
	opt.Issuer, opt.Metrics, opt.Tracer = r.issuer, n.metrics.Watch(metrics.Parts{Version: Version(), Judge: n.judge, Ready: r.CaughtUp, Running: func() int64 { return n.api.Running() },
		Certificate: n.front.Expiring(), Store: n.Store, Feed: n.feed}), n.tracer
	opt.Origins, opt.Hosts = n.cfg.Origins, n.cfg.Hosts
	opt.AnyHost = serving.Exposed(n.cfg.Listen) && len(n.cfg.Hosts) == 0
	opt.Answered, opt.Denied, opt.Queried = n.metrics.Answered, n.metrics.Denied, n.metrics.Queried
	inspector := inspector{inspected, n.Store, r.issuer}
	n.writer = writer.New(writer.Dependencies{ReadModel: writerRows{n.Store, n.Projector}, Models: n.Projector, Inspector: inspected}, n.cfg.Writer) // no request reaches its log
	n.api = api.New(api.Dependencies{Writer: n.writer, Fencer: r, Folded: folded{n.Store}, Models: n.Projector,
		ViewDependencies: api.ViewDependencies{Reader: reader{n.Store}, Outcomes: folded{n.Store}, Tracer: inspector, Keys: r},
		Inspector:        inspector, Operator: readOnlyOperator{r}, Feed: n.feed, Lag: r, Judge: n.judge}, opt)
	n.metrics.CountDenied(n.api.Routes())
}

// Run serves until ctx ends or a part fails, then closes everything: see api.Server.Run. It returns nil after ctx has ended, else the
// first error.
func (r *ReadOnly) Run(ctx context.Context) error {
	n := r.node
	needed, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	g, parts := errgroup.WithContext(needed)
	serving, stop := context.WithCancel(parts)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	g.Go(func() error { return n.keys.Run(parts) })
	g.Go(func() error { return n.judge.Run(parts) })
	g.Go(func() error { return n.front.Run(parts) })
	g.Go(func() error {
		defer end()
		return n.serveAPI(serving, parts)
	})
	return errors.Join(g.Wait(), r.Close())
}

// Close closes what is open. Run calls it.
func (r *ReadOnly) Close() error { return r.node.Close() }

// URL returns the URL of the API.
func (r *ReadOnly) URL() string { return r.node.URL() }

// Fence returns a ReadOnly error: nobody here knows what was acknowledged since.
func (r *ReadOnly) Fence(context.Context) (uint64, error) { return 0, r.ended }

// CatchingUp returns nil: the read model is what it is to be.
func (r *ReadOnly) CatchingUp(context.Context) error { return nil }

// CaughtUp returns true.
func (r *ReadOnly) CaughtUp() bool { return true }

// TooFar returns a ReadOnly error, as Fence does.
func (r *ReadOnly) TooFar() error { return r.ended }

// Wait returns a ReadOnly error, as Fence does.
func (r *ReadOnly) Wait(context.Context, membership.LagBound) error { return r.ended }

// EventAt returns a ReadOnly error: there is no log to be asked.
func (r *ReadOnly) EventAt(context.Context, uint64) (*fanfold.Event, error) { return nil, r.ended }

// readOnlyOperator makes a ReadOnly an api.Operator.
type readOnlyOperator struct{ *ReadOnly }

// Replay returns a ReadOnly error.
func (o readOnlyOperator) Replay(bool) error { return o.ended }

// VerifyLog returns a ReadOnly error.
func (o readOnlyOperator) VerifyLog(context.Context, fanfold.Progress) (*wire.LogReport, error) {
	return nil, o.ended
}

// GroupNeeds returns nothing: there are no groups.
func (o readOnlyOperator) GroupNeeds() []wire.Need { return nil }

// Status reports the state, which is always ready.
func (o readOnlyOperator) Status() (wire.Status, error) {
	n := o.node
	m, seq, _ := n.Projector.Model()
	s := wire.Status{Version: Version(), FoldVersion: foldVersion(m, seq), Store: o.Info.Store, Fold: fold.Fingerprint(),
		Model: seq, Log: "none", Durability: "none", ReadOnly: true, Nodes: []wire.Node{}, Projection: n.Projector.Status(), Work: n.api.Work()}
	s.Stopped = nil
	return s, n.Store.Read(func(snap *sqlite.Snapshot) error { return n.showReadModel(&s, snap, o.issuer) })
}
