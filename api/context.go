package api

import (
	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold/access"
)

// requestContext is a request's context, with what is found out about the request before its own handler. Echo keeps such values in a
// map, which would cost more than the check of the rights.
type requestContext struct {
	echo.Context
	rights  *access.Rights // of the sender; nil for nobody
	lease   *lease         // of the room for its body; nil for a request without
	untimed bool           // its answer may take any time
}

// Error answers with an error.
func (r *requestContext) Error(err error) { r.Echo().HTTPErrorHandler(err, r) }

// contextOf returns the context that observed has given a request.
func contextOf(c echo.Context) *requestContext { return c.(*requestContext) }

// rightsOf returns the rights of a request's sender, nil for nobody.
func rightsOf(c echo.Context) *access.Rights { return contextOf(c).rights }
