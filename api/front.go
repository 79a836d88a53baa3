package api

import (
	"bytes"
	_ "embed"
	"html/template"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold/internal/wire"
)

// description says in one sentence what Fanfold is.
const description = "An event-sourced JSON document store that keeps declared copies right"

// hyperlinks lists where the first page leads, but to routes that the server refuses.
var hyperlinks = []wire.Link{
	{Rel: "collections", Href: "/v1", Title: "The collections, and how many documents each holds"},
	{Rel: "model", Href: "/v1/_model", Title: "The model: which copies exist, and how collections refer to each other"},
	{Rel: "changes", Href: "/v1/_changes", Title: "The change feed"},
	{Rel: "groups", Href: "/v1/_groups", Title: "Consumer groups of the change feed"},
	{Rel: "status", Href: "/v1/_status", Title: "How this node stands"},
	{Rel: "ready", Href: "/readyz", Title: "Whether it is ready"},
	{Rel: "metrics", Href: "/metrics", Title: "Metrics, in the format of Prometheus"},
	{Rel: "console", Href: consolePath, Title: "The console, for browsers"},
	{Rel: "openapi", Href: "/openapi.json", Title: "The description of the API (OpenAPI 3.1)"},
}

//go:embed front.html
var frontHTML string

// frontPage makes the first page for browsers.
var frontPage = template.Must(template.New("front").Funcs(template.FuncMap{"below": func(path string) string { return strings.TrimPrefix(path, "/") }}).Parse(frontHTML))

// front answers GET /: what this is, its version and where to go on; as a page where Accept prefers HTML, as browsers do.
func (a *admin) front(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	page := wire.Front{Name: "Fanfold", Description: description, Version: a.version, Links: a.links}
	h := c.Response().Header()
	h.Add("Vary", "Accept")
	h["Cache-Control"] = mustRevalidate
	accept := c.Request().Header["Accept"]
	if quality(accept, "text/html") <= quality(accept, "application/json") {
		page.Links = slices.Clone(a.links)
		for i := range page.Links {
			page.Links[i].Href = a.prefix.of(page.Links[i].Href)
		}
		return c.JSON(http.StatusOK, page)
	}
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	var text bytes.Buffer
	if err := frontPage.Execute(&text, page); err != nil {
		return err
	}
	return sendText(c, http.StatusOK, echo.MIMETextHTMLCharsetUTF8, text.Bytes())
}

// quality returns the weight, from 0 to 1, that Accept headers give to a media type (RFC 9110, 12.5.1). It is the weight
// of the most specific range that includes the type, 0 if there is none. A text that is no range is left out.
func quality(accept []string, mediaType string) float64 {
	kind, _, _ := strings.Cut(mediaType, "/")
	ranges := []string{"*/*", kind + "/*", mediaType} // the more specific, the later
	found, best := -1, 0.0
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			name, parameters, err := mime.ParseMediaType(part)
			if err != nil {
				continue
			}
			weight := 1.0
			if q, given := parameters["q"]; given {
				if weight, err = strconv.ParseFloat(q, 64); err != nil || !(weight >= 0 && weight <= 1) {
					continue
				}
			}
			if at := slices.Index(ranges, name); at > found || at >= 0 && at == found && weight > best {
				found, best = at, weight
			}
		}
	}
	return best
}

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
