package api

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/fanfold/fanfold"
)

// A page in somebody's browser reaches the API of a node on the same machine as its owner does. A browser says where the
// page came from, and so the page is kept out. Origin and Sec-Fetch-Site say it for whatever is no simple read (Fetch
// Standard, 3.2; Fetch Metadata), Host for a name that was made to lead here. Other clients send neither Origin nor
// Sec-Fetch-Site, and are not asked for them.

// anyOrigin stands in Options.Origins for every origin.
const anyOrigin = "*"

// Bounds of Options.Origins.
const (
	maxOrigins   = 100
	maxOriginLen = 255 // bytes
)

// CheckOrigins returns an Invalid error unless all origins are such as https://app.example or http://localhost:3000, or *.
func CheckOrigins(origins []string) error {
	if len(origins) > maxOrigins {
		return fanfold.Errorf(fanfold.Invalid, "--cors-origin: %d origins are given, %d is the most", len(origins), maxOrigins)
	}
	for _, o := range origins {
		u, err := url.Parse(o)
		if o != anyOrigin && (err != nil || len(o) > maxOriginLen || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Contains(o, "*") || !isASCII(o) || !isPort(u) || o != u.Scheme+"://"+strings.ToLower(u.Host)) {
			return fanfold.Errorf(fanfold.Invalid, "--cors-origin %.300q is not an origin as browsers write it, such as https://app.example or http://localhost:3000 (no path, in small letters), nor *", o)
		}
	}
	return nil
}

// isASCII tells whether all bytes of a text are ASCII: browsers write other names of hosts in Punycode.
func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// isPort tells whether a URL's port is one that a browser writes: none where it is the scheme's own.
func isPort(u *url.URL) bool {
	text := u.Port()
	if text == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(text, 10, 16)
	own := u.Scheme == "http" && n == 80 || u.Scheme == "https" && n == 443
	return err == nil && n > 0 && !own && text == strconv.FormatUint(n, 10)
}

// checkHost refuses requests under a name that is not the node's: a page's own name that DNS was made to answer with the
// loopback address, for one. An address is no name that could lead elsewhere, and HTTP/1.0 needs no Host.
func (s *Server) checkHost(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.opt.AnyHost || c.Request().Host == "" {
			return next(c)
		}
		host := hostname(c.Request().Host)
		if !strings.EqualFold(host, "localhost") && net.ParseIP(host) == nil && !slices.ContainsFunc(s.opt.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
			return fanfold.Errorf(fanfold.Forbidden, "this node is not called %.300q: use the address that it listens on, or start it with --host %.300s", host, host)
		}
		return next(c)
	}
}

// checkOrigin returns a handler that refuses writes by pages of other origins than Options.Origins names, and their
// WebSockets, which a browser lets them read, unless every origin may read.
func (s *Server) checkOrigin() echo.MiddlewareFunc {
	protection := http.NewCrossOriginProtection()
	for _, o := range s.opt.Origins {
		if o != anyOrigin {
			_ = protection.AddTrustedOrigin(o) // checked by CheckOrigins; what is no origin is not trusted
		}
	}
	all := slices.Contains(s.opt.Origins, anyOrigin)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			for _, name := range []string{"Origin", "Sec-Fetch-Site"} { // of several, one might be let in for another
				if _, err := header(r, name); err != nil {
					return err
				}
			}
			if isRead(r) {
				if all || !isHandshake(r) {
					return next(c)
				}
				handshake := *r
				handshake.Method = http.MethodPost // to be checked as a write is
				r = &handshake
			}
			if protection.Check(r) == nil {
				return next(c)
			}
			origin := r.Header.Get("Origin")
			if origin == "" || origin == "null" {
				return fanfold.Errorf(fanfold.Forbidden, "a page that does not say where it comes from may not write here, nor open a WebSocket")
			}
			return fanfold.Errorf(fanfold.Forbidden, "pages of %.300s may not write here, nor open a WebSocket: start the node with --cors-origin %.300s if they should", origin, origin)
		}
	}
}

// isRead tells whether a request changes nothing: by its method, or because it is a query.
func isRead(r *http.Request) bool {
	return r.Method == http.MethodPost && isQueryPath(r.URL.Path) || r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
}

// isQueryPath tells whether a path belongs to queries of a collection.
func isQueryPath(path string) bool {
	below, found := strings.CutPrefix(path, "/v1/")
	collection, query := strings.CutSuffix(below, "/_query")
	return found && query && collection != "" && !strings.Contains(collection, "/")
}

// The headers that pages of other origins may send besides those that need no asking, and may see of an answer besides its body.
var (
	corsHeaders = []string{"Accept", "Content-Type", "Content-Encoding", "If-Match", "If-None-Match", "Prefer", "Authorization", headerIdempotencyKey, "Last-Event-ID",
		headerMinPosition, headerTimeout, headerRequestID, "Traceparent", "Tracestate"}
	corsExposed = []string{headerUnknown, "ETag", "Last-Modified", "Location", "Preference-Applied", "Retry-After", headerRequestID,
		headerPosition, headerRevision, headerDerived, headerDropped}
	corsReads  = []string{http.MethodGet, http.MethodHead}
	corsQuery  = append([]string{http.MethodPost}, corsReads...)
	corsWrites = append([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, corsReads...)
)

// corsTime is how long a browser may remember what it was told, in seconds.
const corsTime = 600

// shared returns a handler that lets pages of other origins read answers (Fetch Standard, CORS protocol). Origins named in
// Options.Origins may write too; * lets pages of all origins read. A page sends a key by itself, in Authorization; credentials that a
// browser keeps are not asked for. Without Options.Origins no answer says anything of it.
func (s *Server) shared() echo.MiddlewareFunc {
	if len(s.opt.Origins) == 0 {
		return func(next echo.HandlerFunc) echo.HandlerFunc { return next }
	}
	named := func(origin string) bool { return origin != anyOrigin && slices.Contains(s.opt.Origins, origin) }
	config := middleware.CORSConfig{AllowHeaders: corsHeaders, ExposeHeaders: corsExposed, MaxAge: corsTime}
	config.AllowMethods = corsWrites
	config.AllowOriginFunc = func(origin string) (bool, error) { return named(origin), nil }
	writing := middleware.CORSWithConfig(config)
	config.AllowMethods, config.AllowOriginFunc, config.AllowOrigins = corsReads, nil, []string{anyOrigin}
	reading := middleware.CORSWithConfig(config)
	config.AllowMethods = corsQuery
	querying := middleware.CORSWithConfig(config)
	all := slices.Contains(s.opt.Origins, anyOrigin)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		toNamed, toAll, toQuery := writing(next), reading(next), querying(next)
		return func(c echo.Context) error {
			if all && !named(c.Request().Header.Get("Origin")) {
				if isQueryPath(c.Request().URL.Path) {
					return toQuery(c)
				}
				return toAll(c)
			}
			return toNamed(c)
		}
	}
}

// commanded lets a command without a body in only as application/json, which a page of another origin cannot send
// without asking first (Fetch Standard, CORS-safelisted request headers).
func commanded(handle echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if _, err := mediaType(c, jsonType); err != nil {
			return err
		}
		return handle(c)
	}
}

// hostname returns a Host header without its port, brackets and the dot at the end of a full name.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.Trim(host, "[]"), ".")
}
