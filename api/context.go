package api

import (
	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/admission"
)

// requestContext is a request's context, with what is found out about the request before its own handler. Echo keeps such values in a
// map, which would cost more than the check of the rights.
type requestContext struct {
	echo.Context
	rights  *access.Rights   // of the sender; nil for nobody
	door    *Server          // has judged them; nil where nobody has
	lease   *admission.Lease // of the room for its body; nil for a request without
	untimed bool             // its answer may take any time
}

// Error answers with an error.
func (r *requestContext) Error(err error) { r.Echo().HTTPErrorHandler(err, r) }

// judgeAgain returns nil where the sender of a request still may do what it asks for. To be called after each wait, and once the body is there: a
// key may be revoked meanwhile, and a model may close a collection. The request has the rights of now then. Errors are checkRight's.
func judgeAgain(c echo.Context) error {
	r := contextOf(c)
	if r.door == nil || r.rights == nil || r.rights.Current() {
		return nil
	}
	rights, err := r.door.judge.Authenticate(c.Request().Header["Authorization"])
	if err != nil {
		return err
	}
	r.rights = rights
	if route := r.door.routes.find(c); route != nil && !rights.IsOpen() {
		return r.door.enter(route, c, rights)
	}
	return nil
}

// contextOf returns the context that observed has given a request.
func contextOf(c echo.Context) *requestContext { return c.(*requestContext) }

// rightsOf returns the rights of a request's sender, nil for nobody.
func rightsOf(c echo.Context) *access.Rights { return contextOf(c).rights }
