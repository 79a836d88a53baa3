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

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/tracing"
)

// headerRequestID names the header with a request's id, in the form in which net/http keeps it.
const headerRequestID = "X-Request-Id"

// Bounds of what is logged of requests.
const (
	maxRequestID  = 64  // bytes of an id that a client gives
	maxLoggedText = 200 // bytes of a path, and of what a refusal says
	logsPerSecond = 10
	logsAtOnce    = 50
)

// statusGone is the status under which a request counts whose client has gone before it was answered.
const statusGone = 499

// observer gives requests their ids, and says what became of them.
type observer struct {
	opt    *Options
	prefix string        // of the ids that this process makes
	made   atomic.Uint64 // ids
	routes *routes

	// Each sort of line has bounds of its own, so that many refusals hide neither what an admin does nor what fails.
	requests, refusals, admins *logBound
}

// logBound bounds how many lines of a sort the log gets.
type logBound struct {
	lines   *rate.Limiter
	dropped atomic.Uint64 // lines, since the last one
}

func newLogBound() *logBound { return &logBound{lines: rate.NewLimiter(logsPerSecond, logsAtOnce)} }

// newObserver returns an observer for the routes that are there.
func newObserver(opt *Options, routes *routes) *observer {
	return &observer{opt: opt, prefix: strings.ToLower(rand.Text()[:10]) + "-", routes: routes,
		requests: newLogBound(), refusals: newLogBound(), admins: newLogBound()}
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

// asTyped says that no browser may take an answer for another type than it names.
var asTyped = []string{"nosniff"}

// observed returns a handler that gives each request an id, and says what became of it to Options.Answered and, where it
// was slow, to the log.
func (s *Server) observed(next echo.HandlerFunc) echo.HandlerFunc {
	return func(inner echo.Context) error {
		c, begun := &requestContext{Context: inner}, time.Now()
		c.Response().Header()[headerRequestID], c.Response().Header()["X-Content-Type-Options"] = []string{s.observer.requestID(c.Request())}, asTyped
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
		o.opt.Answered(Answer{Route: o.routes.name(c), Method: method(c.Request()), Status: status, Took: took, Feed: route.is(endless), Trace: o.trace(c)})
	}
	if took >= o.opt.SlowRequest && status < http.StatusInternalServerError && !route.is(lasting) {
		o.log(c, o.requests, slog.LevelWarn, "slow request", "status", status, "took", took.Round(time.Millisecond))
	}
	o.changed(c, route, status)
	return status
}

// trace returns the id of a request's trace, "" for one that is not traced.
func (o *observer) trace(c echo.Context) string {
	if o.opt.Tracer == nil {
		return ""
	}
	return tracing.ID(c.Request().Context())
}

// changed writes a line where an admin has changed something, or tried. An open store has no admins.
func (o *observer) changed(c echo.Context, r *route, status int) {
	by := rightsOf(c)
	if r == nil || r.right != rightAdmin && r.right != rightMaker || r.method == http.MethodGet || by == nil || by.IsOpen() || status == http.StatusForbidden || status == http.StatusUnauthorized {
		return
	}
	o.log(c, o.admins, slog.LevelInfo, "an admin's request", "principal", by.String(), "route", r.path, "right", string(r.right), "status", status)
}

// refused writes a line when a right was missing, also a right that the writer asks for. by are the rights of who sent the request.
func (o *observer) refused(c echo.Context, e *fanfold.Error) {
	by, who, needs := rightsOf(c), "nobody", ""
	switch {
	case by != nil && (e.Code == fanfold.Forbidden || by.Principal == access.Anonymous && e.Code == fanfold.Unauthenticated):
		who = by.String()
	case e.Code != fanfold.Unauthenticated: // the request came from a page or by a name that is not allowed
		return
	}
	if r := o.routes.find(c); r != nil {
		needs = string(r.right)
	}
	o.log(c, o.refusals, slog.LevelWarn, "a request was refused", "principal", who, "route", o.routes.name(c), "right", needs, "status", statusOf[e.Code], "detail", shortened(e.Detail()))
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

// log writes a line about a request, unless there were many of its sort of late; how many were left out is in the next one. It has no
// parameters and no bodies, which may have what is nobody's business.
func (o *observer) log(c echo.Context, sort *logBound, level slog.Level, message string, args ...any) {
	ctx, r := c.Request().Context(), c.Request()
	if !o.opt.Logger.Enabled(ctx, level) {
		return
	}
	if !sort.lines.Allow() {
		sort.dropped.Add(1)
		return
	}
	args = append([]any{"request", c.Response().Header().Get(headerRequestID), "method", method(r), "path", shortened(r.URL.Path)}, args...)
	if n := sort.dropped.Swap(0); n > 0 {
		args = append(args, "leftOut", n)
	}
	o.opt.Logger.Log(ctx, level, message, args...)
}

// shortened returns a text, or its beginning where it is long.
func shortened(text string) string {
	if len(text) <= maxLoggedText {
		return text
	}
	return strings.ToValidUTF8(text[:maxLoggedText], "") + "..."
}

// Answer says what became of a request.
type Answer struct {
	Route  string // with a colon before each parameter; "other" for none
	Method string // "other" for one that no route has
	Status int    // 499 where the client has gone before it was answered
	Took   time.Duration
	Feed   bool   // it is one of a feed, which may last for ever
	Trace  string // the id of its trace; "" for none
}
