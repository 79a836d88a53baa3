package api

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// A page in somebody's browser reaches the API of a node on the same machine as its owner does. What keeps it out is
// that a browser says where the page came from: in Origin for whatever is no simple read (Fetch Standard, 3.2), and in
// Host for a name that was made to lead here.

// checkHost refuses requests under a name that is not the node's: a page's own name that DNS was made to answer with the
// loopback address, for one.
func (s *Server) checkHost(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.opt.AnyHost {
			return next(c)
		}
		host := hostname(c.Request().Host)
		if !isLoopbackName(host) && !slices.ContainsFunc(s.opt.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
			return fanfold.Errorf(fanfold.Forbidden, "this node is not called %q: use the address that it listens on, or start it with --host %s", host, host)
		}
		return next(c)
	}
}

// checkOrigin refuses writes by pages of other origins.
func (s *Server) checkOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		origin := r.Header.Get("Origin")
		if origin == "" || r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
			return next(c)
		}
		u, err := url.Parse(origin)
		if err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) || slices.Contains(s.opt.Origins, origin) {
			return next(c)
		}
		return fanfold.Errorf(fanfold.Forbidden, "pages of %s may not write here: start the node with --origin %s if they should", origin, origin)
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

// hostname returns a Host header without its port and brackets.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.Trim(host, "[]")
}

func isLoopbackName(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
