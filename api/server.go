// Package api serves the store over HTTP: routes, bodies, headers, answers, errors, and how many requests are let in at a
// time. Package writer decides about writes; reads come from the read model.
package api

import (
	"context"
	_ "embed"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed/group"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/sending"
	"github.com/fanfold/fanfold/internal/tracing"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

// Listing tells which collections there are: those that the model declares, and those that hold or ever held a document.
type Listing interface {
	// HasCollection tells whether a collection is one of them.
	HasCollection(name string) (bool, error)
	// CollectionsBehind returns up to limit of them, by name, from behind the name after, and whether others follow.
	CollectionsBehind(after string, limit int) (list []model.CollectionCount, more bool, err error)
}

// Lists reads documents in lists.
type Lists interface {
	// EachListed calls fn with up to limit documents of a collection, by id, from behind the id after, until fn returns
	// false. more tells whether others follow.
	EachListed(collection, after string, limit int, view fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (more bool, err error)
	// EachReferring calls fn with up to limit documents that refer to target, in order of creation, from behind the number
	// after, until fn returns false. more tells whether others follow.
	EachReferring(relation, target string, after int64, limit int, view fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (more bool, err error)
	// EachOnPage calls fn with the documents on one of target's fixed pages, until fn returns false. It calls begin first,
	// with the page's number and how many pages there are, and ends with its error.
	EachOnPage(p model.PageQuery, begin func(page, pages int64) error, fn func(doc *fanfold.Document) (bool, error)) error
}

// Snapshot reads one consistent prefix of the log.
type Snapshot interface {
	Listing
	Lists
	// At returns the position at which the prefix ends.
	At() fanfold.Position
	// GetWithin returns one document, nil where there is none, and how many bytes its body has. A body of more than
	// maxBytes is not read, and nil.
	GetWithin(key fanfold.Key, view fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error)
}

// Reader reads documents.
type Reader interface {
	// Get returns one document, nil where there is none, and the position it was read at.
	Get(key fanfold.Key, view fanfold.View) (*fanfold.Document, fanfold.Position, error)
	// Read calls fn with a snapshot that is valid until fn returns.
	Read(fn func(s Snapshot) error) error
	// Scan opens a snapshot that may be read for long, until ctx ends. The caller closes it.
	Scan(ctx context.Context) (Scan, error)
}

// Folded knows what this node has folded.
type Folded interface {
	// Wait blocks until seq is folded. The error is ctx's, or Unavailable where the projector has stopped.
	Wait(ctx context.Context, seq uint64) error
	// Applied returns the sequence of the last event folded.
	Applied() uint64
	// Outcome returns what a recently folded event did to its document, and how many derived changes it caused. ok is
	// false for older events.
	Outcome(seq uint64) (op fanfold.Op, derived int64, ok bool)
	// Outcomes returns the direct changes of count folded events from first on, nil for an event without one. derived
	// counts the derived changes that they and the rest of their transaction caused.
	Outcomes(first uint64, count int) (changes []*fanfold.Change, derived int64, err error)
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
	// Fence returns a sequence that no event acknowledged before the call is behind.
	Fence(ctx context.Context) (uint64, error)
}

// Inspector answers questions about the read model.
type Inspector interface {
	// Lineage reports where a document's derived values come from and which documents carry copies of it. The report is
	// marshalled as JSON. The error is NotFound, or ctx's.
	Lineage(ctx context.Context, key fanfold.Key) (report any, err error)
	// Verify recomputes every derived value and reports what is wrong.
	Verify(ctx context.Context, progress fanfold.Progress) (report Report, err error)
}

// Report is what came of work. It is marshalled as JSON.
type Report interface {
	// Summary returns the report in a few numbers, as _status tells it.
	Summary() any
}

// Operator controls the node.
type Operator interface {
	// Replay starts a replay, and does not wait for its end. The error is Conflict where one is running.
	Replay() error
	// VerifyLog reads the whole log and compares it with what was folded from it.
	VerifyLog(ctx context.Context, progress fanfold.Progress) (report Report, err error)
	// Status reports the state of the node, and returns the reason where it is not ready, nil otherwise. The report is
	// marshalled as JSON.
	Status() (report any, stopped error)
}

// Feed serves the change feed.
type Feed interface {
	// ServeHTTP answers a request, and returns when the answer has ended. An error is to be answered as a problem.
	ServeHTTP(w http.ResponseWriter, r *http.Request) error
}

// Dependencies holds the parts that a Server works with.
type Dependencies struct {
	Writer    *writer.Writer
	Fencer    Fencer
	Reader    Reader
	Folded    Folded
	Models    Models
	Inspector Inspector
	Operator  Operator
	Feed      Feed
	Groups    *group.Groups
	Cluster   Cluster
	Lag       Lag
}

// Options configure a Server. Zero values stand for the defaults.
type Options struct {
	Timeout     time.Duration // how long a write or read waits for the fold; default 5 s
	MaxInFlight int64         // how many bytes of writes' bodies are in memory at a time, a quarter of them for small ones; default 64 MiB
	// Sending is the budget from which what is being sent is taken, which other parts of the node may share; default one of
	// MaxSending bytes, or of 256 MiB.
	Sending    *sending.Budget
	MaxSending int64
	MaxWaiting int64         // how many writes wait for room in it, of small and of large ones each; default 4096
	Admission  time.Duration // how long a request waits for room or for a slot; default 5 s
	HeaderTime time.Duration // in which a request's headers must arrive; default 10 s
	BodyGrace  time.Duration // how long its body may pause, also before its first byte; default 10 s
	// Hosts are names by which the API may be called besides localhost and addresses, AnyHost lets it be called by any
	// name. Origins are web origins, such as https://app.example, whose pages may read and write besides the API's own; *
	// lets pages of every origin read. CheckOrigins checks them.
	Hosts, Origins []string
	AnyHost        bool
	SpoolDir       string          // holds exports until their clients have read them; default os.TempDir()
	Version        string          // of the program, as GET / tells it
	Issuer         fanfold.Issuer  // gives out positions; the fold version that it knows of an event is a part of every ETag
	Metrics        http.Handler    // answers GET /metrics; nil for none
	Tracer         *tracing.Tracer // makes the spans of requests; nil for none
	// PreviewTime bounds how long the documents that a model concerns are looked at while its client waits; default 1 min.
	PreviewTime time.Duration
	Answered    func(Answer) // is told of every request that has ended; it must not block. nil for nobody
	// ShutdownDelay is how long a server serves on once it is to end, so that whoever distributes requests has seen that it
	// is not ready; default none. ShutdownTimeout bounds what comes then, the node's part included; default 10 s.
	ShutdownDelay, ShutdownTimeout time.Duration
	SlowRequest                    time.Duration // a request that takes as long is logged, unless it is one that lasts, as a feed, an import or a verification; default 5 s
	Logger                         *slog.Logger  // default slog.Default()
}

// DefaultShutdownTimeout is the default of Options.ShutdownTimeout.
const DefaultShutdownTimeout = 10 * time.Second

// setDefaults replaces zero values by their defaults.
func (o *Options) setDefaults() {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = 64 << 20
	}
	if o.Sending == nil {
		o.Sending = sending.NewBudget(o.MaxSending)
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
	Dependencies
	opt  Options
	echo *echo.Echo

	running  *running // around echo
	observer *observer
	own      ownRoutes

	room *room // for bodies in memory

	previews, imports, replicaChanges, verifies *slots

	jobs *jobs
}

// Bounds of how many requests of a kind run at a time.
const (
	maxImports       = 4
	maxExports       = 4
	maxPreviews      = 4
	maxVerifications = 1
)

// New returns a server. Run serves it on a listener; Handler is for callers with a server of their own.
func New(parts Dependencies, opt Options) *Server {
	opt.setDefaults()
	s := &Server{Dependencies: parts, opt: opt, echo: echo.New(), room: newRoom(opt.MaxInFlight)}
	handler, err := compressed(s.echo)
	if err != nil {
		panic(err) // the options are constants
	}
	s.running = &running{handler: handler, none: make(chan struct{}, 1)}
	s.previews, s.imports, s.replicaChanges = newSlots(maxPreviews, opt.Admission), newSlots(maxImports, opt.Admission), newSlots(1, opt.Admission)
	s.verifies, s.jobs = newSlots(maxVerifications, opt.Admission), newJobs()
	s.echo.HideBanner, s.echo.HidePort = true, true
	s.echo.HTTPErrorHandler, s.echo.JSONSerializer = s.fail, lengthSerializer{}
	recovered := middleware.RecoverWithConfig(middleware.RecoverConfig{DisableErrorHandler: true, LogErrorFunc: func(_ echo.Context, err error, stack []byte) error {
		s.opt.Logger.Error("a handler panicked", "err", err, "stack", string(stack))
		return err
	}})
	s.routes()
	s.observer = newObserver(&s.opt, s.echo.Routes())
	s.own = newOwnRoutes(s.echo.Routes())
	s.echo.Use(composed(s.observed, recovered, s.checkHost, s.shared(), s.checkOrigin(), s.checkRoute, s.limitBodyTime))
	return s
}

// composed returns a middleware that is others, the first of them outermost. Echo would compose them for every request anew.
func composed(others ...echo.MiddlewareFunc) echo.MiddlewareFunc {
	chain := func(c echo.Context) error { return c.Handler()(c) } // that of the route, which is found before
	for _, m := range slices.Backward(others) {
		chain = m(chain)
	}
	return func(echo.HandlerFunc) echo.HandlerFunc { return chain }
}

// openAPI holds the description of the API, as GET /openapi.json answers it.
//
//go:embed openapi.json
var openAPI []byte

// routes registers every route.
func (s *Server) routes() {
	e := s.echo
	plain := without(append([]string{headerIdempotencyKey}, conditionHeaders...)...)
	s.reads("/v1/_changes", func(c echo.Context) error { return s.Feed.ServeHTTP(c.Response(), c.Request()) })
	s.groupRoutes(plain)
	s.clusterRoutes(plain)
	s.reads("/v1/_model", s.getModel)
	changesModel := func(h echo.HandlerFunc) echo.HandlerFunc {
		return without(headerIdempotencyKey)(withoutAnswerTime(s.admitted(h)))
	}
	e.PUT("/v1/_model", changesModel(s.putModel))
	e.PATCH("/v1/_model", changesModel(s.patchModel))
	e.PUT("/v1/_model/:collection", changesModel(s.putCollection))
	e.PUT("/v1/_fold", withoutAnswerTime(plain(s.admitted(s.putFold))))
	s.reads("/v1/_model/_pending", s.getPending)
	e.DELETE("/v1/_model/_pending", plain(s.deletePending))
	s.reads("/v1/_status", s.status)
	e.POST("/v1/_replay", withoutAnswerTime(plain(commanded(s.replay))))
	e.POST("/v1/_verify", withoutAnswerTime(plain(commanded(s.verify))))
	s.reads("/v1/_work/:work", s.getWork)
	e.DELETE("/v1/_work/:work", plain(s.deleteWork))
	e.POST("/v1/_import", without(conditionHeaders...)(s.importLines))
	s.reads("/v1/_import", s.getImport)
	s.reads("/v1/_export", s.limited(maxExports, s.export))
	e.POST("/v1/_transactions", without(conditionHeaders...)(s.admitted(s.transact)))
	e.POST("/v1/:collection", s.admitted(s.create))
	s.reads("/", s.front)
	s.reads("/v1", s.collections)
	s.reads("/v1/:collection", s.list)
	s.reads("/v1/:collection/:id", s.get)
	e.PUT("/v1/:collection/:id", s.admitted(s.put))
	e.PATCH("/v1/:collection/:id", s.admitted(s.patch))
	e.DELETE("/v1/:collection/:id", s.admitted(s.delete))
	s.reads("/v1/:collection/:id/_lineage", s.lineage)
	s.reads("/v1/:collection/:id/:child", s.children)
	health := func(c echo.Context) error { return c.JSONBlob(http.StatusOK, []byte(`{"status":"ok"}`)) }
	s.reads("/healthz", health)
	s.reads("/readyz", s.ready)
	s.reads("/openapi.json", func(c echo.Context) error { return sendText(c, http.StatusOK, echo.MIMEApplicationJSON, openAPI) })
	if s.opt.Metrics != nil {
		s.reads("/metrics", whole(s.opt.Metrics))
	}
}

// reads registers a route for GET and HEAD. Both are answered alike: of an answer to HEAD, net/http sends the headers alone.
func (s *Server) reads(path string, handle echo.HandlerFunc) {
	s.echo.GET(path, handle)
	s.echo.HEAD(path, handle)
}

// Handler returns the API as a handler.
func (s *Server) Handler() http.Handler { return s.running }

// Routes lists every route as "METHOD /path", with a colon before each parameter of the path.
func (s *Server) Routes() []string {
	var out []string
	for _, r := range s.echo.Routes() {
		if r.Method != echo.RouteNotFound {
			out = append(out, r.Method+" "+r.Path)
		}
	}
	return out
}

// ready answers GET and HEAD /readyz.
func (s *Server) ready(c echo.Context) error {
	if _, stopped := s.Operator.Status(); stopped != nil {
		return stopped
	}
	return c.JSONBlob(http.StatusOK, []byte(`{"status":"ready"}`))
}

// status answers GET /v1/_status.
func (s *Server) status(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	report, _ := s.Operator.Status()
	return c.JSON(http.StatusOK, report)
}

// replay answers POST /v1/_replay.
func (s *Server) replay(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	if err := s.Operator.Replay(); err != nil {
		return err
	}
	report, _ := s.Operator.Status()
	return c.JSON(http.StatusAccepted, report)
}

// verify answers POST /v1/_verify: of the read model, or of the log.
func (s *Server) verify(c echo.Context) error {
	if err := parameters(c, "log"); err != nil {
		return err
	}
	ofLog, err := params.Bool(c.QueryParams(), "log")
	if err != nil {
		return err
	}
	kind, check := workVerify, s.Inspector.Verify
	if ofLog {
		kind, check = workVerifyLog, s.Operator.VerifyLog
	}
	leave, err := s.verifies.enter(c.Request().Context())
	if err != nil {
		return err
	}
	return s.answerWork(c, kind, leave, func(ctx context.Context, progress fanfold.Progress) (*reply, error) {
		report, err := check(ctx, progress)
		if err != nil {
			return nil, err
		}
		return &reply{status: http.StatusOK, body: report, summary: report.Summary()}, nil
	})
}
