// Package tickets takes tickets from the URLs of requests. A browser's EventSource, WebSocket and downloads cannot send an Authorization header. So whoever may
// send one asks for a ticket, which is a parameter.
package tickets

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/fanfold/fanfold"
)

// The paths of the requests that tickets let in.
const (
	feedPath   = "/v1/_changes"
	backupPath = "/v1/_backup"
)

// isLet tells whether tickets let requests of a path in, as it stands in a URL.
func isLet(path string) bool { return path == feedPath || path == backupPath }

// ForBackup tells whether a path and query that CheckPath lets pass are of a backup.
func ForBackup(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return path == backupPath
}

// maxPath bounds the path and query that a ticket lets in, in bytes.
const maxPath = 4096

// CheckPath returns an Invalid for a path and query that no ticket lets in.
func CheckPath(path string) error {
	u, err := url.ParseRequestURI(path)
	switch {
	case len(path) > maxPath:
		return fanfold.Errorf(fanfold.Invalid, "path: a ticket is for a path and query of at most %d bytes", maxPath)
	case err != nil || strings.ContainsFunc(path, notInQuery) || u.ForceQuery || !strings.HasPrefix(path, u.EscapedPath()) || !isLet(u.EscapedPath()):
		return fanfold.Errorf(fanfold.Invalid, "path: %.200q is not the path and query of a change feed or a backup, such as %s?feed=eventsource&since=now or %s", path, feedPath, backupPath)
	}
	if _, _, n := cut(u.RawQuery); n > 0 {
		return fanfold.Errorf(fanfold.Invalid, "path: a ticket is for a path and query without a ticket")
	}
	return nil
}

// notInQuery tells whether a character stands in no path and query as browsers send them.
func notInQuery(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`#"<>`, r) }

// parameter begins the parameter of a query that has a ticket.
const parameter = "ticket="

// URL returns a path and query with a ticket; without one for "".
func URL(path, ticket string) string {
	switch {
	case ticket == "":
		return path
	case strings.Contains(path, "?"):
		return path + "&" + parameter + ticket
	}
	return path + "?" + parameter + ticket
}

// cut returns the last ticket in a query, the query without any, and how many there were.
func cut(query string) (ticket, rest string, n int) {
	var others []string
	for part := range strings.SplitSeq(query, "&") {
		if text, ok := strings.CutPrefix(part, parameter); ok {
			ticket, n = text, n+1
			continue
		}
		others = append(others, part)
	}
	return ticket, strings.Join(others, "&"), n
}

// Given is a request's ticket.
type Given struct {
	Ticket string
	Target string // the path and query of the request that it may let in, "" for none
}

// place is the place of a request's ticket in its context.
type place struct{}

// Take returns a handler that takes the ticket from a request, before next or anything that it calls sees the URL.
func Take(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, parameter) {
			r = taken(r)
		}
		next.ServeHTTP(w, r)
	})
}

// taken returns a request without the tickets of its query.
func taken(r *http.Request) *http.Request {
	ticket, rest, n := cut(r.URL.RawQuery)
	if n == 0 {
		return r
	}
	g := Given{Ticket: ticket}
	if path := r.URL.EscapedPath(); n == 1 && r.Method == http.MethodGet && isLet(path) && strings.HasSuffix(r.URL.RawQuery, parameter+ticket) {
		if g.Target = path; rest != "" {
			g.Target += "?" + rest
		}
	}
	below, target := r.WithContext(context.WithValue(r.Context(), place{}, g)), *r.URL
	target.RawQuery = rest
	below.URL, below.RequestURI = &target, target.RequestURI()
	return below
}

// Of returns the ticket that Take has taken from a request.
func Of(r *http.Request) (g Given, ok bool) {
	g, ok = r.Context().Value(place{}).(Given)
	return g, ok
}
