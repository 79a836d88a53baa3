package api

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"

	"github.com/fanfold/fanfold/internal/tracing"
)

// headerRequestID names the header with a request's id, in the form in which net/http keeps it.
const headerRequestID = "X-Request-Id"

// Bounds of what is logged of requests.
const (
	maxRequestID  = 64  // bytes of an id that a client gives
	maxLoggedPath = 200 // bytes of a path
	logsPerSecond = 10
	logsAtOnce    = 50
)

// statusGone is the status under which a request counts whose client has gone before it was answered.
const statusGone = 499

// observer gives requests their ids, and says what became of them.
type observer struct {
	opt     *Options
	prefix  string        // of the ids that this process makes
	made    atomic.Uint64 // ids
	lines   *rate.Limiter // of the log
	dropped atomic.Uint64 // lines, since the last one
	routes  *routes
}

// newObserver returns an observer for the routes that are there.
func newObserver(opt *Options, routes *routes) *observer {
	return &observer{opt: opt, prefix: strings.ToLower(rand.Text()[:10]) + "-", lines: rate.NewLimiter(logsPerSecond, logsAtOnce), routes: routes}
}

// requestID returns the id that a request has: the client's, where that is short and plain, or a new one.
func (o *observer) requestID(r *http.Request) string {
	if given := r.Header[headerRequestID]; len(given) == 1 && plainID(given[0]) {
		return given[0]
	}
	var buf [32]byte
	return string(strconv.AppendUint(append(buf[:0], o.prefix...), o.made.Add(1), 36))
}

// plainID tells whether a text is short, and of letters, digits and -_.: only.
func plainID(s string) bool {
	if s == "" || len(s) > maxRequestID {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == ':':
		default:
			return false
		}
	}
	return true
}

// observed returns a handler that gives each request an id, and says what became of it to Options.Answered and, where it
// was slow, to the log.
func (s *Server) observed(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		begun := time.Now()
		c.Response().Header()[headerRequestID] = []string{s.observer.requestID(c.Request())}
		var span *tracing.Span
		if s.opt.Tracer != nil {
			var ctx context.Context
			ctx, span = s.opt.Tracer.Request(c.Request(), method(c.Request()), s.routes.name(c))
			c.SetRequest(c.Request().WithContext(ctx))
		}
		answered := false
		defer func() {
			span.Answered(s.observer.ended(c, answered, time.Since(begun)), c.Response().Header().Get(headerRequestID))
		}()
		if err := next(c); err != nil {
			c.Error(err)
		}
		answered = true
		return nil
	}
}

// ended says what became of a request, and returns its status.
func (o *observer) ended(c echo.Context, answered bool, took time.Duration) (status int) {
	status = c.Response().Status
	if !answered && !c.Response().Committed {
		status = statusGone
	}
	route := o.routes.find(c)
	if o.opt.Answered != nil {
		o.opt.Answered(Answer{Route: o.routes.name(c), Method: method(c.Request()), Status: status, Took: took, Feed: route.is(endless)})
	}
	if took >= o.opt.SlowRequest && status < http.StatusInternalServerError && !route.is(lasting) {
		o.log(c, slog.LevelWarn, "slow request", "status", status, "took", took.Round(time.Millisecond))
	}
	return status
}

// methods lists the methods that routes have.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// method returns a request's method, and "other" where no route has it.
func method(r *http.Request) string {
	for _, known := range methods {
		if known == r.Method {
			return known
		}
	}
	return "other"
}

// log writes a line about a request, unless there were many of late; how many were left out is in the next one. It has no
// parameters and no bodies, which may have what is nobody's business.
func (o *observer) log(c echo.Context, level slog.Level, message string, args ...any) {
	ctx, r := c.Request().Context(), c.Request()
	if !o.opt.Logger.Enabled(ctx, level) {
		return
	}
	if !o.lines.Allow() {
		o.dropped.Add(1)
		return
	}
	path := r.URL.Path
	if len(path) > maxLoggedPath {
		path = strings.ToValidUTF8(path[:maxLoggedPath], "") + "..."
	}
	args = append([]any{"request", c.Response().Header().Get(headerRequestID), "method", method(r), "path", path}, args...)
	if n := o.dropped.Swap(0); n > 0 {
		args = append(args, "leftOut", n)
	}
	o.opt.Logger.Log(ctx, level, message, args...)
}

// Answer says what became of a request.
type Answer struct {
	Route  string // with a colon before each parameter; "other" for none
	Method string // "other" for one that no route has
	Status int    // 499 where the client has gone before it was answered
	Took   time.Duration
	Feed   bool // it is one of a feed, which may last for ever
}
