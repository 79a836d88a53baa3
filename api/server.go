// Package api serves the store over HTTP: routes, bodies, headers, answers, errors, and how many requests are let in at a
// time. Package writer decides about writes; reads come from the read model.
package api

import (
	"context"
	_ "embed"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/api/internal/tickets"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/changefeed/group"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/tracing"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

// ViewDependencies are what the documents in answers come from: see package view.
type ViewDependencies = view.Dependencies

type (
	// Reader reads documents.
	Reader = view.Reader
	// Snapshot reads one prefix of the log.
	Snapshot = view.Snapshot
	// Scan reads one prefix for long.
	Scan = view.Scan
	// Outcomes knows what folded events did.
	Outcomes = view.Outcomes
	// Tracer finds out where derived values come from.
	Tracer = view.Tracer
	// Keys knows the documents of events.
	Keys = view.Keys
)

// Folded knows what this node has folded.
type Folded interface {
	// Wait blocks until seq is folded. The error is ctx's, or Unavailable where the projector has stopped.
	Wait(ctx context.Context, seq uint64) error
	// Applied returns the sequence of the last event folded.
	Applied() uint64
}

// Models knows the model that applies and the one that is announced.
type Models interface {
	// Model returns the model that applies, the sequence of the event that applied it, 0 for none, and the paths that are
	// still reserved.
	Model() (m *model.Model, seq uint64, reserved model.Reserved)
	// Proposal returns the announced model, nil for none, and the sequence of the last event about models.
	Proposal() (proposal *model.Proposal, last uint64)
}

// Fencer makes reads show every write that was acknowledged before them.
type Fencer interface {
	// Fence returns a sequence that no event acknowledged before the call is after.
	Fence(ctx context.Context) (uint64, error)
}

// Inspector checks the read model.
type Inspector interface {
	// Verify recomputes every derived value and reports what is wrong.
	Verify(ctx context.Context, progress fanfold.Progress) (*wire.Verified, error)
}

// Operator controls the node.
type Operator interface {
	// Replay starts a replay, and does not wait for its end. With check its read model is compared with the one that is served,
	// and removed. The error is Conflict where one is running.
	Replay(check bool) error
	// VerifyLog reads the whole log and compares it with what was folded from it.
	VerifyLog(ctx context.Context, progress fanfold.Progress) (*wire.LogReport, error)
	// Status reports the state of the node, and returns the reason where it is not ready, nil otherwise.
	Status() (status wire.Status, stopped error)
	// GroupNeeds returns what of the consumer groups needs attention, as it was a short while ago. It may block for a second.
	GroupNeeds() []wire.Need
}

// Feed serves the change feed.
type Feed interface {
	// Serve answers a request with what q asks for, and returns when the answer has ended. An error is to be answered as a
	// problem.
	Serve(w http.ResponseWriter, r *http.Request, q changefeed.Query) error
}

// Backups makes backups.
type Backups interface {
	// Backup writes a stream of the events after one, as package backup reads it, up to the position that it tells begin before it writes
	// anything. base is the event up to which the base stands that the reader has, 0 for none. It returns Invalid for an event that is yet to
	// come, LogDamaged if an event is missing, Unavailable, and the errors of ctx and begin's writer.
	Backup(ctx context.Context, after, base uint64, begin func(at fanfold.Position) io.Writer) error
}

// Dependencies holds the parts that a Server works with.
type Dependencies struct {
	Writer           *writer.Writer
	Fencer           Fencer
	ViewDependencies ViewDependencies
	Folded           Folded
	Models           Models
	Inspector        Inspector
	Operator         Operator
	Feed             Feed
	Groups           *group.Groups
	Cluster          Cluster
	Lag              Lag
	Judge            Judge
	Keys             KeyStore
	Holders          Holders // nil for a server without a log
	Backups          Backups
	Compactor        Compactor
	Eraser           Eraser
	Finder           Finder
}

// Options configure a Server. Zero values stand for the defaults.
type Options struct {
	Timeout     time.Duration // how long a write or read waits for the fold; default 5 s
	MaxInFlight int64         // how many bytes of writes' bodies are in memory at a time, a quarter of them for small ones; default 64 MiB
	MaxSending  int64         // how many bytes of answers are held at a time; default 256 MiB
	MaxWaiting  int64         // how many writes wait for room, of small and of large ones each; default 4096
	Admission   time.Duration // how long a request waits for room or for a place; default 5 s
	HeaderTime  time.Duration // in which a request's headers must arrive; default 10 s
	BodyGrace   time.Duration // how long its body may pause, also before its first byte; default 10 s
	// Budget is what the process has for requests, which other parts of the node share; default NewBudget's.
	Budget *admission.Budget
	// Hosts are names by which the API may be called besides localhost and addresses, AnyHost lets it be called by any
	// name. Origins are web origins, such as https://app.example, whose pages may read and write besides the API's own; *
	// lets pages of every origin read. CheckOrigins checks them.
	Hosts, Origins []string
	AnyHost        bool
	// Prefix is a path that a proxy puts before the API's paths, such as /store; "" for none. CheckPrefix checks it.
	Prefix string
	// ReadOnly is what a server answers that has a read model and no log, to what needs one; nil for a server with a log.
	ReadOnly error
	// Withheld returns why nothing is answered yet but how the node stands, Unavailable, nil once everything is. nil for never.
	Withheld func() error
	SpoolDir string          // holds exports until their clients have read them; default os.TempDir()
	Runtime  string          // for tests: the version of Go by which HTTP/2 is offered; default runtime.Version()
	Version  string          // of the program, as GET / tells it
	Issuer   fanfold.Issuer  // gives out positions; the fold version that it knows of an event is a part of every ETag
	Metrics  http.Handler    // answers GET /metrics; nil for none
	Console  Console         // answers below /_console/; nil for none
	Tracer   *tracing.Tracer // makes the spans of requests; nil for none
	// PreviewTime bounds how long the documents that a model concerns are looked at while its client waits; default 1 min.
	PreviewTime time.Duration
	Answered    func(Answer) // is told of every request that has ended; it must not block. nil for nobody
	// Queried is told of every query that has asked the read model, or was refused. It must not block. nil for nobody.
	Queried func(Queried)
	// Denied is told the route, as Answer has it, of every request whose sender is known and lacks a right. It must not block.
	// nil for nobody.
	Denied func(route string)
	// ShutdownDelay is how long a server serves on once it is to end, so that whoever distributes requests has seen that it
	// is not ready; default none. ShutdownTimeout bounds what comes then, the node's part included; default 10 s.
	ShutdownDelay, ShutdownTimeout time.Duration
	SlowRequest                    time.Duration // a request that takes as long is logged, unless it is one that lasts, as a feed, an import or a verification; default 5 s
	Logger                         *slog.Logger  // default slog.Default()
}

// DefaultShutdownTimeout is the default of Options.ShutdownTimeout.
const DefaultShutdownTimeout = 10 * time.Second

// NewBudget returns a budget of the sizes that the options say.
func (o Options) NewBudget() *admission.Budget {
	o.setDefaults()
	return admission.NewBudget(admission.Options{Bodies: o.MaxInFlight, Sending: o.MaxSending, MaxWaiting: o.MaxWaiting, Patience: o.Admission, Grace: o.BodyGrace})
}

// setDefaults replaces zero values by their defaults.
func (o *Options) setDefaults() {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = 64 << 20
	}
	if o.MaxWaiting == 0 {
		o.MaxWaiting = 4096
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&o.Timeout, 5 * time.Second}, {&o.Admission, 5 * time.Second}, {&o.HeaderTime, 10 * time.Second}, {&o.BodyGrace, 10 * time.Second}, {&o.SlowRequest, 5 * time.Second}, {&o.PreviewTime, time.Minute},
		{&o.ShutdownTimeout, DefaultShutdownTimeout}} {
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
}

// Server serves the HTTP API. Its handler may be called from many goroutines.
type Server struct {
	opt  Options
	echo *echo.Echo

	running  *running // around echo
	observer *observer
	routes   *routes

	judge Judge
	views *view.Views
	jobs  *jobs

	documents   *documents
	queries     *queries
	models      *models
	feed        *feed
	groups      *groups
	keys        *keyring
	admin       *admin
	describer   *describer
	backups     *backups
	compactions *compactions
	erasures    *erasures
}

// New returns a server. Run serves it on a listener; Handler is for callers with a server of their own.
func New(parts Dependencies, opt Options) *Server {
	opt.setDefaults()
	if opt.Budget == nil {
		opt.Budget = opt.NewBudget()
	}
	s := &Server{opt: opt, echo: echo.New()}
	handler, err := compressed(s.echo)
	if err != nil {
		panic(err) // the options are constants
	}
	before := prefix(opt.Prefix)
	s.running = &running{handler: before.strip(tickets.Take(handler)), none: make(chan struct{}, 1)}
	s.judge = parts.Judge
	s.views = view.New(parts.ViewDependencies)
	s.jobs = newJobs(opt.Logger, s.views, prefix(opt.Prefix))
	s.handlers(parts)
	s.echo.HideBanner, s.echo.HidePort = true, true
	s.echo.HTTPErrorHandler, s.echo.JSONSerializer = s.fail, jsonSerializer{}
	recovered := middleware.RecoverWithConfig(middleware.RecoverConfig{DisableErrorHandler: true, LogErrorFunc: func(_ echo.Context, err error, stack []byte) error {
		s.opt.Logger.Error("a handler panicked", "err", err, "stack", string(stack))
		return err
	}})
	s.routes = newRoutes(s.table())
	s.register()
	s.observer = newObserver(&s.opt, s.routes)
	s.echo.Use(composed(s.observed, before.place, recovered, s.limitSilence, s.checkHost, s.shared(), s.checkOrigin(), s.checkRight, s.routes.checkPath, s.limitTime))
	return s
}

// handlers makes the handlers of the parts, each with what it needs.
func (s *Server) handlers(parts Dependencies) {
	opt, w := &s.opt, parts.Writer
	at := positions{opt.Issuer}
	fresh := &freshness{lag: parts.Lag, fencer: parts.Fencer, folded: parts.Folded, issuer: opt.Issuer, standard: opt.Timeout, caughtUp: w.RecordCaughtUp}
	s.queries = newQueries(opt)
	s.documents = &documents{writer: w, caller: writer.Caller{Writer: w}, views: s.views, models: parts.Models, folded: parts.Folded,
		fresh: fresh, budget: opt.Budget, queries: s.queries, positions: at,
		maxBody: w.MaxBody(), maxDepth: w.MaxDepth(), spoolDir: opt.SpoolDir, logger: opt.Logger}
	s.documents.diffs, s.documents.imports = diffs{s.documents, &founds{}}, imports{s.documents, w}
	s.documents.updates = updates{s.documents, w}
	s.models = &models{writer: w, views: s.views, models: parts.Models, folded: parts.Folded, fresh: fresh, budget: opt.Budget, positions: at, jobs: s.jobs,
		previewTime: opt.PreviewTime, targets: newTargets(s.documents.open, parts.Models, parts.Folded, at, opt.Budget)}
	unknown := &unknownCollections{s.views}
	s.feed = &feed{parts.Feed, unknown}
	s.groups = &groups{groups: parts.Groups, unknown: unknown}
	s.keys = &keyring{parts.Keys, parts.Holders}
	s.backups = &backups{source: parts.Backups, fresh: fresh, positions: at, logger: opt.Logger}
	s.compactions = &compactions{compactor: parts.Compactor, documents: s.documents, logger: opt.Logger}
	s.erasures = &erasures{eraser: parts.Eraser, finder: parts.Finder, fresh: fresh, at: at, budget: opt.Budget, spoolDir: opt.SpoolDir, logger: opt.Logger}
	s.describer = &describer{fresh: fresh, budget: opt.Budget, turn: make(chan struct{}, maxDescriptions)}
	s.admin = &admin{operator: parts.Operator, views: s.views, inspector: parts.Inspector, cluster: parts.Cluster, budget: opt.Budget, jobs: s.jobs,
		version: opt.Version}
}

// composed returns a middleware that is others, the first of them outermost. Echo would compose them for every request anew.
func composed(others ...echo.MiddlewareFunc) echo.MiddlewareFunc {
	chain := func(c echo.Context) error { return c.Handler()(c) } // the route's, which is found before
	for _, m := range slices.Backward(others) {
		chain = m(chain)
	}
	return func(echo.HandlerFunc) echo.HandlerFunc { return chain }
}

// Handler returns the API as a handler.
func (s *Server) Handler() http.Handler { return s.running }

// Work returns the work that runs, and what is kept of that which nobody waited for, without the results, the newest first.
func (s *Server) Work() []wire.Work { return s.jobs.shown() }
