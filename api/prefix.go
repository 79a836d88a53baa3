package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// prefix is a path that a proxy puts before the paths of the API, such as /store; "" for none. A proxy may take it away or not: requests
// with it and without it are answered alike. Whatever leads to a place of the API has it.
type prefix string

// maxPrefix bounds a prefix, in bytes.
const maxPrefix = 255

// ownNames are the first names of the API's own paths, with which no prefix begins: a path tells whether it has one.
var ownNames = []string{"v1", strings.Trim(consolePath, "/"), "healthz", "readyz", "metrics", "openapi.json"}

// CheckPrefix returns an Invalid unless a text is "" or a prefix such as /store.
func CheckPrefix(text string) error {
	if text == "" {
		return nil
	}
	names := strings.Split(text, "/")
	bad := func(name string) bool {
		return name == "" || name == "." || name == ".." || url.PathEscape(name) != name || strings.ContainsAny(name, "$&+=:@")
	}
	if len(text) > maxPrefix || names[0] != "" || len(names) < 2 || slices.ContainsFunc(names[1:], bad) || slices.Contains(ownNames, names[1]) {
		return fanfold.Errorf(fanfold.Invalid, "--base-path %.300q is not a path such as /store: begin with / and end with a name, in letters, digits, -, ., _ and ~, of %d bytes at most, and not with a path of the API", text, maxPrefix)
	}
	return nil
}

// of returns a place of the API as clients ask for it. It leaves other places, and those that have the prefix.
func (p prefix) of(place string) string {
	if !strings.HasPrefix(place, "/") || strings.HasPrefix(place, string(p)+"/") {
		return place
	}
	return string(p) + place
}

// place returns a handler whose answers name places of the API in Location as clients ask for them.
func (p prefix) place(next echo.HandlerFunc) echo.HandlerFunc {
	if p == "" {
		return next
	}
	return func(c echo.Context) error {
		h := c.Response().Header()
		c.Response().Before(func() {
			if at := h.Get("Location"); at != "" {
				h.Set("Location", p.of(at))
			}
		})
		return next(c)
	}
}

// strip returns a handler that takes the prefix from the requests that have it. The first page is at the prefix with a slash after it, for
// its links are relative.
func (p prefix) strip(next http.Handler) http.Handler {
	if p == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == string(p) {
			to := url.URL{Path: string(p) + "/", RawQuery: r.URL.RawQuery}
			http.Redirect(w, r, to.String(), http.StatusPermanentRedirect)
			return
		}
		path, found := strings.CutPrefix(r.URL.Path, string(p)+"/")
		raw, rawFound := strings.CutPrefix(r.URL.RawPath, string(p)+"/")
		if !found || r.URL.RawPath != "" && !rawFound {
			next.ServeHTTP(w, r)
			return
		}
		below, target := *r, *r.URL
		if target.Path = "/" + path; rawFound {
			target.RawPath = "/" + raw
		}
		below.URL = &target
		next.ServeHTTP(w, &below)
	})
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

// takesPart tells whether a part of a route's path, a name or a parameter, takes a part of a request's path.
func takesPart(have, part string) bool {
	if have == ":collection" {
		return !isOwn([]string{part})
	}
	return have == part || strings.HasPrefix(have, ":") && part != ""
}
