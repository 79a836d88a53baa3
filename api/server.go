// Package api serves the store over HTTP: writes become events, reads come from the read model.
package api

import (
	"context"
	_ "embed"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"golang.org/x/sync/semaphore"

	"github.com/fanfold/fanfold"
)

// Appender is what the API needs of the log.
type Appender interface {
	// Append returns the event's sequence once it is durable; Stale if expect is not met.
	Append(ctx context.Context, ev *fanfold.Event, expect fanfold.Expect) (uint64, error)
	// AppendAll appends all of the writes or none, as one transaction where tx is not "", and
	// returns the first one's sequence; a Stale says in Operation whose condition is not met.
	AppendAll(ctx context.Context, tx string, writes []fanfold.Write) (first uint64, err error)
	// Last is the document's last event as the log's leader knows it.
	Last(ctx context.Context, key fanfold.Key) (rev fanfold.Revision, deleted bool, err error)
	// LastLink is the sequence of the last event about strict references to target, 0 for none.
	LastLink(ctx context.Context, target fanfold.Key) (uint64, error)
	// Progress is the last event of an import: its body, and its revision, 0 for none.
	Progress(ctx context.Context, id string) (body []byte, rev fanfold.Revision, err error)
	// Fence returns a sequence at or behind everything acknowledged before the call.
	Fence(ctx context.Context) (uint64, error)
	// MaxPayload is the largest event the log takes, in bytes.
	MaxPayload() int
}

// Snapshot is one consistent prefix of the log.
type Snapshot interface {
	At() fanfold.Position
	Get(key fanfold.Key, view fanfold.View) (*fanfold.Document, error)
	List(collection, after string, limit int, view fanfold.View) (docs []*fanfold.Document, more bool, err error)
	Holders(relation, target string, after int64, limit int, view fanfold.View) (docs []*fanfold.Document, more bool, err error)
	// Tombstone is the sequence of the delete of a document that is not there, 0 for none.
	Tombstone(key fanfold.Key) (fanfold.Revision, error)
	// Claim is who has a unique value, "" for nobody, and the sequence of the last event about it.
	Claim(collection, path, value string) (holder string, seq uint64, err error)
	// Derived is how many derived changes an event caused, and those of its transaction behind it.
	Derived(seq uint64) (int64, error)
	// Paged is how many documents ever came into target's pages; Page those that have the places
	// from first on, up to size places.
	Paged(relation, target string) (int64, error)
	Page(relation, target string, first int64, size int, view fanfold.View) ([]*fanfold.Document, error)
	Change(at fanfold.Position) (*fanfold.Change, error)
	// Once is the request made under a key, nil where none is known.
	IdempotencyKey(key string) (*fanfold.IdempotencyRecord, error)
}

// Reader is what the API needs of the read model.
type Reader interface {
	// Get is one document, nil where there is none, and the position it was read at.
	Get(key fanfold.Key, view fanfold.View) (*fanfold.Document, fanfold.Position, error)
	Read(fn func(s Snapshot) error) error
	// Scan opens a snapshot that may be read for long.
	Scan() (Scan, error)
	// Wait blocks until seq is folded; Unavailable if the projector has stopped before that.
	Wait(ctx context.Context, seq uint64) error
	// Applied is the last event folded.
	Applied() uint64
	// Outcome is what a recently folded event did to its document; ok is false of older ones.
	Outcome(seq uint64) (op fanfold.Op, derived int64, ok bool)
}

// Models is what the API needs of the projector: the model, and long work on all documents.
type Models interface {
	Model() (m *fanfold.Model, seq uint64, reserved fanfold.Reserved)
	// Preview parses and checks a model and tells what applying it would do, as JSON, with the
	// checked model. With apply, what stands in the way of applying it is an error: without misfits
	// also documents that do not fit a new schema.
	Preview(ctx context.Context, src []byte, apply, misfits bool) (m *fanfold.Model, report ModelPreview, err error)
	// Proposal is the model that is to come, nil for none, and the last event about models.
	Proposal() (proposal *fanfold.Proposal, last uint64)
	// Ready has an element when this node has become ready for a model that is to come.
	Ready() <-chan struct{}
	// Broken lists what stands in the way of the model that event seq announces; Gone where this node is
	// not ready for it.
	Broken(seq uint64) ([]fanfold.Problem, error)
	// Settled waits until that model applies, and returns the event that applied it; an Unprocessable says
	// why it does not come.
	Settled(ctx context.Context, seq uint64) (applied uint64, err error)
	// DryRun tells what events would cause, were they the next ones, and changes nothing. Conflict
	// and NotFound where they do not fit the documents as they are.
	DryRun(ctx context.Context, events []*fanfold.Event) (*fanfold.Fanout, error)
	// Reaches tells whether events may cause more than limit derived changes. It may say so of
	// events that do not.
	Reaches(events []*fanfold.Event, limit int64) (bool, error)
	// Lineage tells where a document's derived values come from and who carries copies of it, as
	// JSON; NotFound where there is none.
	Lineage(key fanfold.Key) (report any, err error)
	// Parse reads a model's source.
	Parse(src []byte) (*fanfold.Model, error)
	Verify(ctx context.Context) (report any, err error)
	// Replay starts a replay and returns; Conflict where one runs.
	Replay() error
	// Status is how the fold stands, as JSON, and why it has stopped, nil where it has not.
	Status() (report any, stopped error)
}

// ModelPreview is what applying a model would do; its JSON is the answer.
type ModelPreview interface {
	Touches() int64      // documents that applying it looks at, as often as it does
	Entangled() []string // rules because of which it cannot be prepared
}

// Feed serves the change feed; an error is written as a problem.
type Feed interface {
	ServeHTTP(w http.ResponseWriter, r *http.Request) error
}

// Options of a Server; the zero value works.
type Options struct {
	MaxBody     int64         // of a document, in bytes; default 2 MiB, less where the log takes less
	MaxDepth    int           // of nesting; default 64
	Timeout     time.Duration // a write's or read's wait for the fold; default 5 s
	MaxInFlight int64         // bodies of writes in memory at a time, in bytes; default 64 MiB
	MaxWaiting  int64         // writes that wait for room in it; default 4096
	Admission   time.Duration // how long they wait; default 5 s
	// ProvenFor is for how long a node may answer for keys after it was seen to have folded
	// everything; default a minute. The log drops a second event of one key for two.
	ProvenFor  time.Duration
	HeaderTime time.Duration // for a request's headers to arrive; default 10 s
	BodyGrace  time.Duration // for its body, and 5 s a MiB besides; default 10 s
	// BeforeActivate, for tests, is called before a model that is prepared is applied.
	BeforeActivate func(ctx context.Context) error
	FoldVersion    int          // part of every ETag
	Metrics        http.Handler // GET /metrics; nil for none
	Logger         *slog.Logger // default slog.Default()
}

// Server is the HTTP API. Its handler may be called from many goroutines.
type Server struct {
	log    Appender
	reader Reader
	models Models
	feed   Feed
	opt    Options
	echo   *echo.Echo

	began   time.Time
	proven  atomic.Int64 // everything acknowledged this long after began is folded
	turns   turns
	company company
	// remodeling is held for writing while a model is applied that guards more than the one before
	remodeling sync.RWMutex
	shapes     atomic.Pointer[shapes]
	retries    atomic.Uint64
	room       *semaphore.Weighted
	waiting    atomic.Int64
	parsers    chan struct{}
}

// New makes a server; call Run, or use Handler.
func New(log Appender, reader Reader, models Models, feed Feed, opt Options) *Server {
	if opt.MaxBody == 0 {
		opt.MaxBody = fanfold.DefaultMaxBody
	}
	if most := int64(log.MaxPayload()) - envelopeRoom; opt.MaxBody > most {
		opt.MaxBody = most
	}
	if opt.MaxDepth == 0 {
		opt.MaxDepth = fanfold.DefaultMaxDepth
	}
	if opt.Timeout == 0 {
		opt.Timeout = 5 * time.Second
	}
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	if opt.MaxInFlight == 0 {
		opt.MaxInFlight = 64 << 20
	}
	if opt.MaxWaiting == 0 {
		opt.MaxWaiting = 4096
	}
	for _, d := range []struct {
		value     *time.Duration
		otherwise time.Duration
	}{{&opt.Admission, 5 * time.Second}, {&opt.ProvenFor, time.Minute}, {&opt.HeaderTime, 10 * time.Second}, {&opt.BodyGrace, 10 * time.Second}} {
		if *d.value == 0 {
			*d.value = d.otherwise
		}
	}
	s := &Server{log: log, reader: reader, models: models, feed: feed, opt: opt, echo: echo.New(),
		began: time.Now().Add(-2 * opt.ProvenFor), room: semaphore.NewWeighted(opt.MaxInFlight), parsers: make(chan struct{}, 4)}
	s.echo.HideBanner, s.echo.HidePort = true, true
	s.echo.HTTPErrorHandler = s.fail
	s.echo.Use(middleware.RecoverWithConfig(middleware.RecoverConfig{DisableErrorHandler: true, LogErrorFunc: func(_ echo.Context, err error, stack []byte) error {
		s.opt.Logger.Error("a handler panicked", "err", err, "stack", string(stack))
		return err
	}}))
	s.echo.Use(s.paced)
	s.routes()
	return s
}

// envelopeRoom is what an event has besides its body at most, in bytes.
const envelopeRoom = 1024

//go:embed openapi.json
var openAPI []byte

func (s *Server) routes() {
	e := s.echo
	document := func(h echo.HandlerFunc) echo.HandlerFunc { return s.rehearsed(s.admitted(s.opt.MaxBody, h)) }
	e.GET("/v1/_changes", func(c echo.Context) error { return s.feed.ServeHTTP(c.Response(), c.Request()) })
	e.GET("/v1/_model", s.getModel)
	e.PUT("/v1/_model", unhurried(s.admitted(maxModel, s.putModel)))
	e.GET("/v1/_model/_pending", s.getPending)
	e.DELETE("/v1/_model/_pending", s.withdraw)
	e.GET("/v1/_status", s.status)
	e.POST("/v1/_replay", unhurried(s.replay))
	e.POST("/v1/_verify", unhurried(s.verify))
	e.POST("/v1/_import", s.few(4, s.importLines))
	e.GET("/v1/_import", s.getImport)
	e.GET("/v1/_export", s.few(4, s.export))
	e.POST("/v1/_transactions", s.rehearsed(s.admitted(maxTransaction, s.transact)))
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

// now is the time since the server's own beginning.
func (s *Server) now() time.Duration { return time.Since(s.began) }

// Retries is how often a write was tried again inside because another was faster.
func (s *Server) Retries() uint64 { return s.retries.Load() }

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
	ctx, end := context.WithCancel(ctx)
	defer end()
	var activating sync.WaitGroup
	activating.Go(func() { s.activateAll(ctx) })
	defer activating.Wait()
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		closeFeeds()
		end()
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
	if _, stopped := s.models.Status(); stopped != nil {
		return stopped
	}
	return c.JSONBlob(http.StatusOK, []byte(`{"status":"ready"}`))
}

func (s *Server) status(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	report, _ := s.models.Status()
	return c.JSON(http.StatusOK, report)
}

func (s *Server) replay(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	if err := s.models.Replay(); err != nil {
		return err
	}
	report, _ := s.models.Status()
	return c.JSON(http.StatusAccepted, report)
}

func (s *Server) verify(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	report, err := s.models.Verify(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, report)
}
