package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/query"
)

// statusOf maps error codes to HTTP statuses. It is the only place that picks a status; a code that is missing is a 500.
var statusOf = map[fanfold.Code]int{
	fanfold.Invalid: http.StatusBadRequest, fanfold.NotFound: http.StatusNotFound, fanfold.Exists: http.StatusConflict,
	fanfold.Conflict: http.StatusConflict, fanfold.Restricted: http.StatusConflict, fanfold.FanoutLimit: http.StatusUnprocessableEntity, fanfold.PositionGone: http.StatusGone, fanfold.StoreChanged: http.StatusGone, fanfold.RightsChanged: http.StatusGone, fanfold.Stale: http.StatusPreconditionFailed, fanfold.ConditionFailed: http.StatusPreconditionFailed, fanfold.CheckFailed: http.StatusUnprocessableEntity,
	fanfold.TooLarge: http.StatusRequestEntityTooLarge, fanfold.UnsupportedMedia: http.StatusUnsupportedMediaType,
	fanfold.Unprocessable: http.StatusUnprocessableEntity, fanfold.Unavailable: http.StatusServiceUnavailable,
	fanfold.KeyReused: http.StatusUnprocessableEntity, fanfold.Busy: http.StatusTooManyRequests, fanfold.TooSlow: http.StatusRequestTimeout, fanfold.MethodNotAllowed: http.StatusMethodNotAllowed,
	fanfold.OutcomeUnknown: http.StatusServiceUnavailable, fanfold.Forbidden: http.StatusForbidden, fanfold.ReadOnly: http.StatusForbidden, fanfold.LogDamaged: http.StatusServiceUnavailable, fanfold.Timeout: http.StatusGatewayTimeout,
	fanfold.LeaseLost: http.StatusConflict, fanfold.ModelRemoves: http.StatusConflict,
	fanfold.CatchingUp: http.StatusServiceUnavailable, fanfold.Lagging: http.StatusServiceUnavailable,

	fanfold.UnknownCollection: http.StatusNotFound, fanfold.TakesLong: http.StatusUnprocessableEntity,
	fanfold.NeedsIndex: http.StatusUnprocessableEntity,

	fanfold.FunctionFailed: http.StatusUnprocessableEntity, fanfold.FunctionError: http.StatusUnprocessableEntity, fanfold.FunctionLimit: http.StatusUnprocessableEntity,

	fanfold.Unauthenticated: http.StatusUnauthorized, fanfold.RightsStale: http.StatusServiceUnavailable,
}

// titleOf maps error codes to the titles of problems.
var titleOf = map[fanfold.Code]string{
	fanfold.Invalid: "The request cannot be understood", fanfold.NotFound: "There is nothing here",
	fanfold.Exists: "The document exists already", fanfold.Conflict: "The request does not fit the document's state",
	fanfold.FanoutLimit:  "The write would change too many documents",
	fanfold.Restricted:   "Other documents do not let it be deleted",
	fanfold.PositionGone: "Changes behind this position are no longer kept", fanfold.StoreChanged: "The position is of another store", fanfold.RightsChanged: "The position was given under other rights",
	fanfold.Stale: "The document is at another revision", fanfold.ConditionFailed: "The document's content does not meet the condition", fanfold.CheckFailed: "The write would break a check",
	fanfold.TooLarge: "The request is too large", fanfold.UnsupportedMedia: "This content type is not read here",
	fanfold.Unprocessable: "The request breaks a rule", fanfold.Unavailable: "The store cannot answer now",
	fanfold.OutcomeUnknown: "It is not known whether the write was stored", fanfold.Timeout: "It did not happen in time",
	fanfold.KeyReused: "The key belongs to another request", fanfold.Busy: "The store is busy", fanfold.TooSlow: "The request did not arrive in time", fanfold.MethodNotAllowed: "The method is not allowed here",
	fanfold.Internal: "The server made a mistake", fanfold.Forbidden: "The request is not allowed",
	fanfold.ReadOnly:   "This server has one position, and nothing later",
	fanfold.LogDamaged: "The log lacks events", fanfold.LeaseLost: "The lease is lost",
	fanfold.ModelRemoves: "The model would take something away",
	fanfold.CatchingUp:   "The node catches up with the log", fanfold.Lagging: "The node is too far behind the log",

	fanfold.UnknownCollection: "There is no such collection", fanfold.TakesLong: "It takes longer than a client waits",
	fanfold.NeedsIndex: "The query needs an index",

	fanfold.FunctionFailed: "The function refuses", fanfold.FunctionError: "The function has a mistake", fanfold.FunctionLimit: "The function passes a bound",

	fanfold.Unauthenticated: "A key is missing or does not work", fanfold.RightsStale: "The node does not know the keys of late",
}

// ProblemType returns the type of problems with a code. It is stable.
func ProblemType(code fanfold.Code) string { return "urn:fanfold:problem:" + string(code) }

// fail answers with err as a problem. Of an Error only what anybody may see is shown; everything else is logged.
func (s *Server) fail(err error, c echo.Context) {
	if c.Response().Committed {
		return // the answer has begun
	}
	e := known(err)
	// A body that is too slow ends the request's context, as a client that has gone does.
	if ctx := c.Request().Context(); stopping(ctx) {
		c.Response().Header().Set("Connection", "close")
	} else if ctx.Err() != nil && e.Code != fanfold.TooSlow {
		panic(http.ErrAbortHandler) // the client has gone
	}
	s.observer.refused(c, e)
	view := s.views.Open(rightsOf(c))
	p := problemFor(view.Refusal(e))
	var needs *query.NeedsIndex
	if errors.As(err, &needs) {
		p.Suggest = needs.Suggest
	}
	p.Large = largeOf(view, err)
	status := p.Status
	if status == http.StatusUnauthorized {
		c.Response().Header().Set("WWW-Authenticate", `Bearer realm="fanfold"`)
	}
	if status == http.StatusTooManyRequests {
		c.Response().Header().Set("Retry-After", "1")
	}
	if status >= http.StatusInternalServerError {
		level := slog.LevelError
		if s.routes.find(c).is(probe) {
			level = slog.LevelDebug
		}
		p.Request = c.Response().Header().Get(headerRequestID)
		s.observer.log(c, s.observer.requests, level, "request failed", "status", status, "err", err)
		c.Response().Header().Set("Retry-After", "1")
	}
	h := c.Response().Header()
	h["Content-Type"] = typeProblem
	if err := c.JSON(status, p); err != nil {
		s.opt.Logger.Debug("the client did not take the answer", "err", err)
	}
}

// known returns err as an Error, and translates any other.
func known(err error) *fanfold.Error {
	var e *fanfold.Error
	if !errors.As(err, &e) {
		e = translated(err)
	}
	return e
}

// problemFor returns an error as a problem, which has what anybody may see.
func problemFor(e *fanfold.Error) wire.Problem {
	status := statusOf[e.Code]
	if status == 0 {
		return wire.Problem{Type: ProblemType(fanfold.Internal), Title: titleOf[fanfold.Internal], Status: http.StatusInternalServerError, Detail: "The details are in the server's log."}
	}
	p := wire.Problem{Type: ProblemType(e.Code), Title: titleOf[e.Code], Status: status, Detail: e.Detail(), Problems: e.Problems, Revision: e.Current, Operation: e.Operation, Line: e.Line, Column: e.Column}
	if e.Oldest != nil {
		p.Oldest = e.Oldest.String()
	}
	if f := e.Function; f != nil {
		p.FunctionFault = wire.FunctionFault{Function: f.Function, Trigger: f.Trigger, Code: f.Code, Details: f.Details, Limit: f.Limit}
	}
	return p
}

// translated returns an error of Echo or net/http as one of ours. It returns Internal for any that it does not know.
func translated(err error) *fanfold.Error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return fanfold.Errorf(fanfold.TooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	}
	if errors.Is(err, context.Canceled) { // while the client is there
		return errStopping
	}
	var he *echo.HTTPError
	if errors.As(err, &he) {
		switch he.Code {
		case http.StatusNotFound:
			return fanfold.Errorf(fanfold.NotFound, "no such route: see /openapi.json")
		case http.StatusMethodNotAllowed:
			return fanfold.Errorf(fanfold.MethodNotAllowed, "this route does not take that method: the Allow header lists those it does")
		}
	}
	return &fanfold.Error{Code: fanfold.Internal, Err: err}
}
