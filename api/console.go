package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// consolePath is where the console's page is.
const consolePath = "/_console/"

// Console serves the files of the web console.
type Console interface {
	// ServeFile answers a GET or HEAD for a name below /_console/, the page's is empty. Errors are NotFound and Internal; nothing
	// is sent then.
	ServeFile(w http.ResponseWriter, r *http.Request, name string) error
}

// console answers with a file of the console.
func (s *Server) console(c echo.Context) error {
	return s.opt.Console.ServeFile(c.Response(), c.Request(), c.Param("*"))
}

// toConsole leads to the page of the console. The place is relative, as a proxy may have put a path before it.
func (s *Server) toConsole(c echo.Context) error {
	return c.Redirect(http.StatusPermanentRedirect, "_console/")
}
