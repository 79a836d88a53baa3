// Package api serves the store over HTTP: routes, bodies, headers, answers, errors, and how much is let in at a time.
// Package writer decides about writes; reads come from the read model.
package api

import (
	"context"
	_ "embed"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"golang.org/x/sync/semaphore"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/writer"
)

// Snapshot reads one consistent prefix of the log.
type Snapshot interface {
	// At returns the position that it shows.
	At() fanfold.Position
	// Get returns one document, nil where there is none.
	Get(key fanfold.Key, view fanfold.View) (*fanfold.Document, error)
	// List returns up to limit documents of a collection behind the id after, by id.
	List(collection, after string, limit int, view fanfold.View) (docs []*fanfold.Document, more bool, err error)
	// Holders returns up to limit documents that refer to target, by arrival, behind the number after.
	Holders(relation, target string, after int64, limit int, view fanfold.View) (docs []*fanfold.Document, more bool, err error)
	// Page returns one of target's fixed pages of size places, from 1 on, 0 for the last, and how many there are. A page
	// behind the last is empty.
	Page(relation, target string, page int64, size int, view fanfold.View) (docs []*fanfold.Document, pages int64, err error)
}

// Reader reads documents.
type Reader interface {
	// Get returns one document, nil where there is none, and the position it was read at.
	Get(key fanfold.Key, view fanfold.View) (*fanfold.Document, fanfold.Position, error)
	// Read calls fn with a snapshot that is valid within it.
	Read(fn func(s Snapshot) error) error
	// Scan opens a snapshot that may be read for long. Close it.
	Scan() (Scan, error)
}

// Folded tells what this node has folded.
type Folded interface {
	// Wait blocks until seq is folded. The error is ctx's, or Unavailable where the projector has stopped before.
	Wait(ctx context.Context, seq uint64) error
	// Applied returns the last event folded.
	Applied() uint64
	// Outcome returns what a recently folded event did to its document, and how many derived changes it caused. ok is
	// false of older events.
	Outcome(seq uint64) (op fanfold.Op, derived int64, ok bool)
	// Outcomes returns the direct changes of count folded events from first on, each nil where there was none, and how
	// many derived changes they caused, with those of the same transaction behind them.
	Outcomes(first uint64, count int) (changes []*fanfold.Change, derived int64, err error)
}

// Models knows the model that applies and the one that is to come.
type Models interface {
	// Model returns the model that applies, the event that applied it, 0 for none, and the paths still reserved.
	Model() (m *fanfold.Model, seq uint64, reserved fanfold.Reserved)
	// Proposal returns the model that is to come, nil for none, and the last event about models.
	Proposal() (proposal *fanfold.Proposal, last uint64)
}

// Fencer orders reads behind writes.
type Fencer interface {
	// Fence returns a sequence at or behind everything acknowledged before the call.
	Fence(ctx context.Context) (uint64, error)
}

// Inspector answers questions about the read model.
type Inspector interface {
	// Lineage tells where a document's derived values come from and who carries copies of it, as JSON. The error is
	// NotFound where there is none.
	Lineage(key fanfold.Key) (report any, err error)
	// Verify recomputes every derived value and lists what is wrong, as JSON.
	Verify(ctx context.Context) (report any, err error)
}

// Operator runs the node.
type Operator interface {
	// Replay starts a replay and returns. The error is Conflict where one runs.
	Replay() error
	// Status returns how the fold stands, as JSON, and why it has stopped, nil where it has not.
	Status() (report any, stopped error)
}

// Feed serves the change feed; an error is written as a problem.
type Feed interface {
	ServeHTTP(w http.ResponseWriter, r *http.Request) error
}

// Dependencies are what a Server works with.
type Dependencies struct {
	Writer    *writer.Writer
	Fencer    Fencer
	Reader    Reader
	Folded    Folded
	Models    Models
	Inspector Inspector
	Operator  Operator
	Feed      Feed
}

// Options of a Server; the zero value works.
type Options struct {
	Timeout     time.Duration // a write's or read's wait for the fold; default 5 s
	MaxInFlight int64         // bodies of writes in memory at a time, in bytes; default 64 MiB
	MaxWaiting  int64         // writes that wait for room in it; default 4096
	Admission   time.Duration // how long they wait; default 5 s
	HeaderTime  time.Duration // for a request's headers to arrive; default 10 s
	BodyGrace   time.Duration // for its body, and 5 s a MiB besides; default 10 s
	FoldVersion int           // part of every ETag
	Metrics     http.Handler  // GET /metrics; nil for none
	Logger      *slog.Logger  // default slog.Default()
}

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
	}{{&o.Timeout, 5 * time.Second}, {&o.Admission, 5 * time.Second}, {&o.HeaderTime, 10 * time.Second}, {&o.BodyGrace, 10 * time.Second}} {
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
}

// Server is the HTTP API. Its handler may be called from many goroutines.
type Server struct {
	Dependencies
	opt  Options
	echo *echo.Echo

	room     *semaphore.Weighted // bytes of bodies that may be in memory
	waiting  atomic.Int64        // writes that wait for room
	previews *slots
}

// How many requests of a kind run at a time.
const (
	maxImports       = 4
	maxExports       = 4
	maxPreviews      = 4
	maxVerifications = 1
)

// New returns a server. Call Run, or use Handler.
func New(parts Dependencies, opt Options) *Server {
	opt.setDefaults()
	s := &Server{Dependencies: parts, opt: opt, echo: echo.New(), room: semaphore.NewWeighted(opt.MaxInFlight)}
	s.previews = newSlots(maxPreviews, opt.Admission)
	s.echo.HideBanner, s.echo.HidePort = true, true
	s.echo.HTTPErrorHandler = s.fail
	s.echo.Use(middleware.RecoverWithConfig(middleware.RecoverConfig{DisableErrorHandler: true, LogErrorFunc: func(_ echo.Context, err error, stack []byte) error {
		s.opt.Logger.Error("a handler panicked", "err", err, "stack", string(stack))
		return err
	}}))
	s.echo.Use(s.limitBodyTime)
	s.routes()
	return s
}

//go:embed openapi.json
var openAPI []byte

func (s *Server) routes() {
	e := s.echo
	document := func(h echo.HandlerFunc) echo.HandlerFunc { return s.admitted(s.Writer.MaxBody(), h) }
	e.GET("/v1/_changes", func(c echo.Context) error { return s.Feed.ServeHTTP(c.Response(), c.Request()) })
	e.GET("/v1/_model", s.getModel)
	e.PUT("/v1/_model", withoutAnswerTime(s.admitted(maxModel, s.putModel)))
	e.GET("/v1/_model/_pending", s.getPending)
	e.DELETE("/v1/_model/_pending", s.deletePending)
	e.GET("/v1/_status", s.status)
	e.POST("/v1/_replay", withoutAnswerTime(s.replay))
	e.POST("/v1/_verify", withoutAnswerTime(s.limited(maxVerifications, s.verify)))
	e.POST("/v1/_import", s.limited(maxImports, s.importLines))
	e.GET("/v1/_import", s.getImport)
	e.GET("/v1/_export", s.limited(maxExports, s.export))
	e.POST("/v1/_transactions", s.admitted(maxTransaction, s.transact))
	e.POST("/v1/:collection", document(s.create))
	e.GET("/v1/:collection", s.list)
	e.GET("/v1/:collection/:id", s.get)
	e.HEAD("/v1/:collection/:id", s.get)
	e.PUT("/v1/:collection/:id", document(s.put))
	e.PATCH("/v1/:collection/:id", document(s.patch))
	e.DELETE("/v1/:collection/:id", document(s.delete))
	e.GET("/v1/:collection/:id/_lineage", s.lineage)
	e.GET("/v1/:collection/:id/:child", s.children)
	health := func(c echo.Context) error { return c.JSONBlob(http.StatusOK, []byte(`{"status":"ok"}`)) }
	e.GET("/healthz", health)
	e.HEAD("/healthz", health)
	e.GET("/readyz", s.ready)
	e.HEAD("/readyz", s.ready)
	e.GET("/openapi.json", func(c echo.Context) error { return c.JSONBlob(http.StatusOK, openAPI) })
	if s.opt.Metrics != nil {
		e.GET("/metrics", echo.WrapHandler(s.opt.Metrics))
	}
}

// Handler is the API without a listener.
func (s *Server) Handler() http.Handler { return s.echo }

// Routes lists "METHOD /path" for every route, paths as OpenAPI writes them.
func (s *Server) Routes() []string {
	var out []string
	for _, r := range s.echo.Routes() {
		if r.Method != echo.RouteNotFound {
			out = append(out, r.Method+" "+r.Path)
		}
	}
	return out
}

// Run serves on l until ctx ends, then lets running requests finish for a moment. closeFeeds
// is called first, so that open feeds do not hold it up. It returns nil after a clean end.
func (s *Server) Run(ctx context.Context, l net.Listener, closeFeeds func()) error {
	srv := &http.Server{Handler: s.echo, ReadHeaderTimeout: s.opt.HeaderTime, WriteTimeout: answerTime, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(s.opt.Logger.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		closeFeeds()
		return err
	case <-ctx.Done():
	}
	closeFeeds()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := srv.Shutdown(last); err != nil {
		return errors.Join(err, srv.Close())
	}
	return nil
}

func (s *Server) ready(c echo.Context) error {
	if _, stopped := s.Operator.Status(); stopped != nil {
		return stopped
	}
	return c.JSONBlob(http.StatusOK, []byte(`{"status":"ready"}`))
}

func (s *Server) status(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	report, _ := s.Operator.Status()
	return c.JSON(http.StatusOK, report)
}

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

func (s *Server) verify(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	report, err := s.Inspector.Verify(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, report)
}
