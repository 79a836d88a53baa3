package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/wire"
)

// statusPath is where answers send whoever waits for a model.
const statusPath = "/v1/_status"

// openAPIPath is where the API is described.
const openAPIPath = "/openapi.json"

// The paths of documents, and of the one route that reads by POST.
const (
	documentPath = "/v1/:collection/:id"
	queryPath    = "/v1/:collection/_query"
)

// The paths of routes that name collections in their queries.
const (
	exportPath       = "/v1/_export"
	diffPath         = "/v1/_diff"
	changesPath      = "/v1/_changes"
	transactionsPath = "/v1/_transactions"
	functionsPath    = "/v1/_functions"
	callPath         = functionsPath + "/:name"
)

// right names what the sender of a request needs to be allowed.
type right string

// The rights.
const (
	rightOpen    right = "open"    // nothing
	rightKnown   right = "known"   // to be let in
	rightRead    right = "read"    // to read each collection that the request names
	rightWrite   right = "write"   // to write each collection that the request names
	rightAll     right = "all"     // to read every collection
	rightGroup   right = "group"   // the role of the group that the request names
	rightMaker   right = "maker"   // to have made the group that the request names, or the role admin
	rightCall    right = "call"    // to call the function that the request names
	rightMonitor right = "monitor" // the role monitor
	rightAdmin   right = "admin"   // the role admin
)

// rights lists all of them.
var rights = []right{rightOpen, rightKnown, rightRead, rightWrite, rightAll, rightGroup, rightMaker, rightCall, rightMonitor, rightAdmin}

// entry says how a request is let in. Imports, verifications, changes of the replicas and of the model wait for a slot
// besides: in their handlers, once their bodies have come or may come.
type entry int

const (
	atOnce    entry = iota
	byRoom          // waits for room for its body
	byReading       // waits for room for its body, apart from writes
	byType          // has no body, and is taken as application/json alone
	byRunning       // waits until fewer of its kind run
)

// taken says which headers of writes a route goes by. It refuses the others; a route for GET refuses If-Match, and ignores the rest.
type taken int

const (
	takesConditions taken = 1 << iota // If-Match and If-None-Match
	takesKey                          // Idempotency-Key
)

// traits say how long the answers of a route take, and what they need.
type traits int

const (
	untimed traits = 1 << iota // its answer may take any time
	lasting                    // a request takes as long as there is to do or to wait for, and is never slow
	endless                    // it is a feed, which may last for ever
	probe                      // it is asked again and again, and it is no news that it fails
	logless                    // it asks the read model alone: a server without a log answers it, too
	judged                     // it answers with those documents that may be read, where that depends on what they have
)

// route is one row of the table of routes.
type route struct {
	method string // GET stands for HEAD too
	path   string // with a colon before each parameter
	right  right
	admit  entry
	takes  taken
	traits traits
	handle echo.HandlerFunc
}

// is tells whether a route has a trait. A nil route has none.
func (r *route) is(t traits) bool { return r != nil && r.traits&t != 0 }

// writes tells whether a route may lead to events, which name the sender. A nil route does not.
func (r *route) writes() bool {
	return r != nil && r.method != http.MethodGet && (r.right == rightWrite || r.right == rightAdmin || r.right == rightCall)
}

// isOpen tells whether a request by the route needs nothing, and is told nothing of what the store has. A nil route is not open.
func (r *route) isOpen(c echo.Context) bool { return r != nil && r.right == rightOpen && !withTypes(c) }

// refused lists the headers of writes that a route refuses.
func (r *route) refused() (names []string) {
	if r.method == http.MethodGet { // nobody sends it with a read who does not mean something by it
		return []string{"If-Match"}
	}
	if r.takes&takesKey == 0 {
		names = append(names, headerIdempotencyKey)
	}
	if r.takes&takesConditions == 0 {
		names = append(names, conditionHeaders...)
	}
	return names
}

// table returns every route of the API. Nothing else says which there are.
func (s *Server) table() []route {
	ms, f, g, a := s.models, s.feed, s.groups, s.admin
	rows := []route{
		{"GET", "/", rightOpen, atOnce, 0, logless, a.front},
		{"GET", "/healthz", rightOpen, atOnce, 0, logless, healthy},
		{"GET", "/readyz", rightOpen, atOnce, 0, probe | logless, a.ready},
		{"GET", openAPIPath, rightOpen, atOnce, 0, logless, s.describer.describe}, // with types it is for those who are let in

		{"GET", "/v1/_model", rightAll, atOnce, 0, lasting | logless, ms.getModel},
		{"PUT", "/v1/_model", rightAdmin, byRoom, takesConditions, untimed | lasting, ms.putModel},
		{"PATCH", "/v1/_model", rightAdmin, byRoom, takesConditions, untimed | lasting, ms.patchModel},
		{"PUT", "/v1/_model/:collection", rightAdmin, byRoom, takesConditions, untimed | lasting, ms.putCollection},
		{"GET", "/v1/_model/_pending", rightAll, atOnce, 0, logless, ms.getPending},
		{"DELETE", "/v1/_model/_pending", rightAdmin, atOnce, 0, 0, ms.deletePending},
		{"GET", "/v1/_model/_flows", rightAdmin, atOnce, 0, logless, ms.getFlows},
		{"GET", "/v1/_model/_targets", rightAll, atOnce, 0, logless, ms.targets.get},
		{"GET", "/v1/_suggest-model", rightAdmin, atOnce, 0, untimed | lasting | logless, ms.suggest},
		{"PUT", "/v1/_fold", rightAdmin, byRoom, 0, untimed | lasting, ms.putFold},

		{"GET", changesPath, rightRead, atOnce, 0, lasting | endless | logless, f.changes},
		{"GET", "/v1/_groups", rightKnown, atOnce, 0, 0, g.listGroups},
		{"GET", "/v1/_groups/:name", rightGroup, atOnce, 0, 0, g.getGroup},
		{"PUT", "/v1/_groups/:name", rightGroup, byRoom, 0, 0, g.putGroup},
		{"DELETE", "/v1/_groups/:name", rightMaker, atOnce, 0, 0, g.deleteGroup},
		{"GET", "/v1/_groups/:name/_changes", rightGroup, atOnce, 0, lasting | endless, g.groupChanges},
		{"POST", "/v1/_groups/:name/_lease", rightGroup, byRoom, 0, lasting, g.lease},
		{"POST", "/v1/_groups/:name/_ack", rightGroup, byRoom, 0, 0, g.ack},
		{"POST", "/v1/_groups/:name/_nack", rightGroup, byRoom, 0, 0, g.nack},
		{"POST", "/v1/_groups/:name/_release", rightGroup, byRoom, 0, 0, g.releaseLeases},
		{"POST", "/v1/_groups/:name/_reset", rightAdmin, byRoom, 0, 0, g.resetGroup},
		{"POST", "/v1/_groups/:name/_rotate", rightAdmin, byRoom, 0, 0, g.rotatePush},
		{"GET", "/v1/_groups/:name/_parked", rightGroup, atOnce, 0, 0, g.listParked},
		{"POST", "/v1/_groups/:name/_parked/:batch/_retry", rightAdmin, byType, 0, 0, g.retryParked},
		{"DELETE", "/v1/_groups/:name/_parked/:batch", rightAdmin, atOnce, 0, 0, g.dropParked},

		{"GET", statusPath, rightMonitor, atOnce, 0, logless, a.status},
		{"POST", "/v1/_replay", rightAdmin, byRoom, 0, untimed, a.replay},
		{"POST", "/v1/_verify", rightAdmin, byType, 0, untimed | lasting | logless, a.verify},
		{"GET", workPath + ":work", rightAdmin, atOnce, 0, logless, a.getWork},
		{"DELETE", workPath + ":work", rightAdmin, atOnce, 0, logless, a.deleteWork},
		{"GET", "/v1/_replicas", rightMonitor, atOnce, 0, lasting, a.getReplicas},
		{"PUT", "/v1/_replicas", rightAdmin, byRoom, 0, untimed | lasting, a.putReplicas},
		{"GET", "/v1/_backup", rightAdmin, byRunning, 0, lasting, s.backups.backup},
		{"POST", "/v1/_snapshot", rightAdmin, byType, 0, untimed | lasting, a.snapshot},
		{"GET", compactPath, rightMonitor, atOnce, 0, 0, s.compactions.compaction},
		{"POST", compactPath, rightAdmin, byRoom, 0, untimed | lasting, s.compactions.compact},
	}
	rows = append(rows, s.erasures.table()...)
	if s.opt.Console != nil {
		rows = append(rows, route{"GET", "/_console", rightOpen, atOnce, 0, logless, s.toConsole},
			route{"GET", consolePath, rightOpen, atOnce, 0, logless, s.console}, route{"GET", consolePath + "*", rightOpen, atOnce, 0, logless, s.console})
	}
	if s.opt.Metrics != nil {
		rows = append(rows, route{"GET", "/metrics", rightMonitor, atOnce, 0, logless, buffered(s.opt.Metrics)})
	}
	rows = append(rows, route{"POST", "/v1/_tickets", rightKnown, byRoom, 0, logless, makeTicket(prefix(s.opt.Prefix))})
	return slices.Concat(rows, s.documents.table(), s.keys.table())
}

// table returns the routes about documents.
func (d *documents) table() []route {
	const both = takesConditions | takesKey
	return []route{
		{"GET", "/v1", rightKnown, atOnce, 0, logless, d.collections},
		{"GET", "/v1/:collection", rightRead, atOnce, 0, logless | judged, d.list},
		{"POST", "/v1/:collection", rightWrite, byRoom, both, 0, d.create},
		{"PATCH", "/v1/:collection", rightWrite, byRoom, takesKey, untimed | lasting, d.updates.patch},
		{"DELETE", "/v1/:collection", rightWrite, byRoom, takesKey, untimed | lasting, d.updates.delete},
		{"POST", queryPath, rightRead, byReading, 0, logless | judged, d.query},
		{"GET", documentPath, rightRead, atOnce, 0, logless | judged, d.get},
		{"PUT", documentPath, rightWrite, byRoom, both, 0, d.put},
		{"PATCH", documentPath, rightWrite, byRoom, both, 0, d.patch},
		{"DELETE", documentPath, rightWrite, byRoom, both, 0, d.delete},
		{"GET", "/v1/:collection/:id/_lineage", rightRead, atOnce, 0, logless | judged, d.lineage},
		{"GET", "/v1/:collection/:id/_history", rightRead, atOnce, 0, logless | judged, d.history},
		{"POST", "/v1/:collection/:id/_revert", rightWrite, byRoom, both, 0, d.revert},
		{"GET", "/v1/:collection/:id/:child", rightRead, atOnce, 0, logless | judged, d.children},
		{"POST", "/v1/_access/_explain", rightAdmin, byRoom, 0, logless, explainer{d}.explain},
		{"GET", "/v1/_sequences", rightMonitor, atOnce, 0, logless, sequences{d}.list},
		{"POST", transactionsPath, rightWrite, byRoom, takesKey, 0, d.transact},
		{"GET", functionsPath, rightKnown, atOnce, 0, logless, functions{d, d.caller}.list},
		{"POST", callPath, rightCall, byRoom, takesKey, 0, functions{d, d.caller}.call},
		{"POST", "/v1/_import", rightWrite, atOnce, takesKey, lasting, d.imports.answer}, // it says itself why it takes no key
		{"GET", "/v1/_import", rightWrite, atOnce, 0, lasting, d.imports.progress},
		{"POST", "/v1/_drift", rightAdmin, atOnce, 0, untimed | lasting | logless, drifts{d}.answer},
		{"GET", diffPath, rightRead, atOnce, 0, logless, d.diffs.answer}, // it waits for a slot by itself
		{"GET", exportPath, rightRead, byRunning, 0, lasting | logless, d.export},
	}
}

// table returns the routes about keys.
func (k *keyring) table() []route {
	return []route{
		{"GET", "/v1/_me", rightKnown, atOnce, 0, logless, me},
		{"GET", keysPath, rightAdmin, atOnce, 0, 0, k.listKeys},
		{"POST", keysPath, rightAdmin, byRoom, 0, 0, k.createKey},
		{"GET", keysPath + "/:id", rightAdmin, atOnce, 0, 0, k.getKey},
		{"PATCH", keysPath + "/:id", rightAdmin, byRoom, 0, 0, k.patchKey},
		{"DELETE", keysPath + "/:id", rightAdmin, atOnce, 0, 0, k.deleteKey},
		{"POST", keysPath + "/:id/_rotate", rightAdmin, byRoom, 0, 0, k.rotateKey},
		{"POST", "/v1/_tokens/_revoke", rightAdmin, byRoom, 0, 0, k.revokeTokens},
		{"GET", "/v1/_actors/:id", rightAdmin, atOnce, 0, 0, k.getActor},
		{"DELETE", "/v1/_actors/:id", rightAdmin, atOnce, 0, 0, k.forgetActor},
	}
}

// register gives the routes to the router. Requests with HEAD are answered as those with GET: of the answer, net/http sends
// the headers alone.
func (s *Server) register() {
	for i := range s.routes.rows {
		r := &s.routes.rows[i]
		if !slices.Contains(rights, r.right) {
			panic("the route " + r.method + " " + r.path + " has no right")
		}
		handle := s.handler(r)
		s.echo.Add(r.method, r.path, handle)
		if r.method == http.MethodGet {
			s.echo.HEAD(r.path, handle)
		}
	}
	s.admin.links = slices.DeleteFunc(slices.Clone(hyperlinks), func(l wire.Link) bool {
		return l.Href == consolePath && s.opt.Console == nil || slices.ContainsFunc(s.routes.rows, func(r route) bool { return r.path == l.Href && r.method == http.MethodGet && s.refuses(&r) })
	})
	s.admin.prefix = prefix(s.opt.Prefix)
}

// refuses tells whether the server has no log, and a route needs one.
func (s *Server) refuses(r *route) bool { return s.opt.ReadOnly != nil && !r.is(logless) }

// handler returns the handler of a route with all that goes before it.
func (s *Server) handler(r *route) echo.HandlerFunc {
	handle := r.handle
	if s.refuses(r) {
		return func(echo.Context) error { return s.opt.ReadOnly }
	}
	switch r.admit {
	case byRoom:
		handle = admitted(s.opt.Budget, admission.Writes, handle)
	case byReading:
		handle = admitted(s.opt.Budget, admission.Reads, handle)
	case byType:
		handle = commanded(handle)
	case byRunning:
		handle = exporting(s.opt.Budget, handle)
	}
	if names := r.refused(); names != nil {
		handle = without(names...)(handle)
	}
	if r.is(untimed) {
		handle = withoutAnswerTime(handle)
	}
	return s.withheld(r, handle)
}

// withheld returns the handler of a route that answers with nothing but the reason as long as what the store has is withheld. Routes that tell how the
// node stands answer as ever.
func (s *Server) withheld(r *route, next echo.HandlerFunc) echo.HandlerFunc {
	if s.opt.Withheld == nil || r.right == rightMonitor {
		return next
	}
	return func(c echo.Context) error {
		if r.isOpen(c) {
			return next(c)
		}
		if err := s.opt.Withheld(); err != nil {
			return err
		}
		return next(c)
	}
}

// resource holds the routes of one path.
type resource struct {
	path    string
	parts   []string // of the path after /v1/
	methods []string // sorted
	rows    []*route
}

// routes holds the resources by their paths, and those with names of the store's own, which begin with _, as a list. The
// router takes such a name for a collection or document if no route has it for the request's method.
type routes struct {
	rows   []route
	byPath map[string]*resource
	own    []*resource
}

// newRoutes returns the routes of a table.
func newRoutes(rows []route) *routes {
	out := &routes{rows: rows, byPath: map[string]*resource{}}
	for i := range rows {
		row := &rows[i]
		at := out.byPath[row.path]
		if at == nil {
			at = &resource{path: row.path}
			out.byPath[row.path] = at
			if below, found := strings.CutPrefix(row.path, "/v1/"); found && strings.Contains(below, "_") {
				at.parts = strings.Split(below, "/")
				out.own = append(out.own, at)
			}
		}
		at.rows = append(at.rows, row)
		at.methods = append(at.methods, row.method)
		if row.method == http.MethodGet {
			at.methods = append(at.methods, http.MethodHead)
		}
		slices.Sort(at.methods)
	}
	return out
}

// find returns the route of a request, nil where no route has its path and method.
func (rs *routes) find(c echo.Context) *route {
	at := rs.byPath[c.Path()]
	if at == nil {
		return nil
	}
	method := c.Request().Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, r := range at.rows {
		if r.method == method {
			return r
		}
	}
	return nil
}

// name returns the path of a request's route, with a colon before each parameter, and "other" where there is none.
func (rs *routes) name(c echo.Context) string {
	if path := c.Path(); rs.byPath[path] != nil {
		return path
	}
	return "other"
}

// methods returns the methods that a path with these parts takes, nil where it leads nowhere.
func (rs *routes) methods(parts []string) []string {
	for _, r := range rs.own {
		if slices.EqualFunc(r.parts, parts, takesPart) {
			return r.methods
		}
	}
	return nil
}

// Routes lists every route as "METHOD /path", with a colon before each parameter of the path.
func (s *Server) Routes() []string {
	var out []string
	for _, r := range s.routes.byPath {
		for _, method := range r.methods {
			out = append(out, method+" "+r.path)
		}
	}
	slices.Sort(out)
	return out
}

// checkPath returns NotFound for paths with names that are the store's own and lead nowhere, whatever the method, and 405
// for a method that such a path does not take.
func (rs *routes) checkPath(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		path := c.Request().URL.EscapedPath()
		below, found := strings.CutPrefix(path, "/v1/")
		if !found || !strings.Contains(path, "_") && !strings.Contains(path, "%") {
			return next(c)
		}
		parts := strings.SplitN(below, "/", maxParts)
		var methods []string
		switch {
		case isOwn(parts):
			methods = rs.methods(parts)
		case isQueryPath(path): // a document may have this id
			methods = slices.Sorted(slices.Values(slices.Concat(rs.byPath[queryPath].methods, rs.byPath[documentPath].methods)))
		default:
			return next(c)
		}
		switch method := c.Request().Method; {
		case methods == nil:
			return fanfold.Errorf(fanfold.NotFound, "no such route: names that begin with _ are the store's own; see /openapi.json")
		case method == http.MethodOptions && isQueryPath(path): // the router knows of one of its two routes
			c.Response().Header().Set("Allow", strings.Join(append([]string{method}, methods...), ", "))
			return c.NoContent(http.StatusNoContent)
		case method != http.MethodOptions && !slices.Contains(methods, method):
			c.Response().Header().Set("Allow", strings.Join(methods, ", "))
			return echo.ErrMethodNotAllowed
		}
		return next(c)
	}
}
