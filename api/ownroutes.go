package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// ownRoutes knows the routes with names that are the store's own, those that begin with _. The router takes such a name for
// that of a collection or document where no route has it for the request's method.
type ownRoutes []ownRoute

// ownRoute holds one path and the methods that it takes.
type ownRoute struct {
	path    string
	parts   []string // of the path after /v1/
	methods []string // sorted
}

// newOwnRoutes returns the routes among all that have names of the store's own.
func newOwnRoutes(all []*echo.Route) (own ownRoutes) {
	for _, r := range all {
		below, found := strings.CutPrefix(r.Path, "/v1/")
		if !found || !strings.Contains(below, "_") || r.Method == echo.RouteNotFound {
			continue
		}
		i := slices.IndexFunc(own, func(o ownRoute) bool { return o.path == r.Path })
		if i < 0 {
			i, own = len(own), append(own, ownRoute{path: r.Path, parts: strings.Split(below, "/")})
		}
		own[i].methods = append(own[i].methods, r.Method)
		slices.Sort(own[i].methods)
	}
	return own
}

// methods returns the methods that a path with these parts takes, nil where it leads nowhere.
func (own ownRoutes) methods(parts []string) []string {
	for _, r := range own {
		if slices.EqualFunc(r.parts, parts, takesPart) {
			return r.methods
		}
	}
	return nil
}

// takesPart tells whether a part of a route's path, a name or a parameter, takes a part of a request's path.
func takesPart(have, part string) bool {
	if have == ":collection" {
		return !isOwn([]string{part})
	}
	return have == part || strings.HasPrefix(have, ":") && part != ""
}

// maxParts bounds the parts of a path after /v1/ that are looked at. No route has more.
const maxParts = 6

// isOwn tells whether the parts of a path have names that are the store's own, escaped or not, where no document's id stands.
func isOwn(parts []string) bool {
	begins := func(part string) bool {
		if name, err := url.PathUnescape(part); err == nil {
			part = name
		}
		return strings.HasPrefix(part, "_")
	}
	return begins(parts[0]) || len(parts) > 2 && begins(parts[2])
}

// checkRoute returns NotFound for paths with names that are the store's own and lead nowhere, whatever the method, and 405
// for a method that such a path does not take.
func (s *Server) checkRoute(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		path := c.Request().URL.EscapedPath()
		below, found := strings.CutPrefix(path, "/v1/")
		if !found || !strings.Contains(path, "_") && !strings.Contains(path, "%") {
			return next(c)
		}
		parts := strings.SplitN(below, "/", maxParts)
		if !isOwn(parts) {
			return next(c)
		}
		methods := s.own.methods(parts)
		switch {
		case methods == nil:
			return fanfold.Errorf(fanfold.NotFound, "no such route: names that begin with _ are the store's own; see /openapi.json")
		case c.Request().Method != http.MethodOptions && !slices.Contains(methods, c.Request().Method):
			c.Response().Header().Set("Allow", strings.Join(methods, ", "))
			return echo.ErrMethodNotAllowed
		}
		return next(c)
	}
}
