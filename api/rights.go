package api

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/api/internal/tickets"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

// Judge says who sends a request, and what that principal may do: see access.Judge.
type Judge interface {
	// Authenticate returns the rights of the sender of a request with these Authorization headers. Errors are Unauthenticated,
	// Invalid and RightsStale.
	Authenticate(authorization []string) (*access.Rights, error)
	// Admit returns the rights of who asked for a ticket that lets a request in. Errors are Unauthenticated and RightsStale.
	Admit(ticket, target string, now time.Time) (*access.Rights, error)
}

// checkRight returns a handler that finds out who sends a request, and refuses it where the sender lacks the right of its route.
// It looks at the path and the query alone, so that nothing else of a refused request is read.
func (s *Server) checkRight(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		at := time.Now()
		rights, err := s.sender(c.Request(), at)
		seen(c.Request().Context(), rights)
		if err == nil {
			contextOf(c).rights, contextOf(c).door, contextOf(c).let = rights, s, at
			if rights.IsOpen() {
				return next(c)
			}
		}
		route := s.routes.find(c)
		if route.isOpen(c) || c.Request().Method == http.MethodOptions {
			return next(c)
		}
		c.Response().Before(func() {
			setPrivate(c.Response().Header())
			markPosition(c)
		})
		if err != nil {
			return err
		}
		if route != nil {
			err = s.enter(route, c, rights)
		}
		if err == nil && rights.By != "" && route.writes() {
			err = s.keys.holders.Remember(c.Request().Context(), rights.Principal)
		}
		if err == nil {
			err = next(c)
		}
		if fanfold.CodeOf(err) == fanfold.Forbidden && s.opt.Denied != nil {
			s.opt.Denied(s.routes.name(c))
		}
		return askForKey(c, err)
	}
}

// askForKey returns an Unauthenticated in place of a Forbidden where the request has no key, with which it may be let in.
func askForKey(c echo.Context, err error) error {
	var refused *fanfold.Error
	if rights := rightsOf(c); rights == nil || rights.Principal != access.Anonymous || !errors.As(err, &refused) || refused.Code != fanfold.Forbidden {
		return err
	}
	asks := *refused
	asks.Code = fanfold.Unauthenticated
	return &asks
}

// private is the Cache-Control of answers that depend on who asks.
var private = []string{"private, no-cache"}

// byAuthorization is the Vary of such answers. To append to it makes another one.
var byAuthorization = []string{"Authorization"}

// setPrivate lets caches keep an answer for its sender alone.
func setPrivate(h http.Header) {
	h["Cache-Control"] = private
	if len(h["Vary"]) == 0 {
		h["Vary"] = byAuthorization
		return
	}
	h["Vary"] = append(h["Vary"], "Authorization")
}

// markPosition marks the position of an answer about documents that rules let its sender read, as the feed's are: whoever goes on from there under other
// rights is told that.
func markPosition(c echo.Context) {
	h := c.Response().Header()
	if at := h[keyPosition]; len(at) == 1 && (c.Param("collection") != "" || c.Path() == transactionsPath || c.Path() == callPath) {
		h[keyPosition] = []string{withMark(at[0], readerMark(c))}
	}
}

// readerMark returns the mark of positions for a request's sender who has asked for documents of a collection, or written some of any; "" for none.
func readerMark(c echo.Context) string {
	var asked []string
	for _, parameter := range []string{"child", "collection"} {
		if name := c.Param(parameter); name != "" && asked == nil {
			asked = []string{name}
		}
	}
	rights := rightsOf(c)
	return fanfold.ReaderMark(rights.Key(), rights.KeyTo(asked))
}

// sender returns the rights of a request's sender, by its ticket, as of the time when it was let in, or else by its key. Errors are Judge's, and Invalid for both.
func (s *Server) sender(r *http.Request, let time.Time) (*access.Rights, error) {
	headers := r.Header["Authorization"]
	g, ok := tickets.Of(r)
	switch {
	case !ok:
		return s.judge.Authenticate(headers)
	case len(headers) > 0:
		return nil, fanfold.Errorf(fanfold.Invalid, "send either Authorization or a ticket")
	}
	rights, err := s.judge.Admit(g.Ticket, g.Target, let)
	if err == nil && rights.IsOpen() && (g.Ticket == "" || g.Target == "") { // it needs none, and still passes no parameter over
		return nil, fanfold.Errorf(fanfold.Invalid, "ticket: send one, as the last parameter of GET /v1/_changes or GET /v1/_backup")
	}
	return rights, err
}

// enter returns nil where a principal has the right of a route, as far as the path and the query tell what it is about. It
// returns Forbidden, the error of Options.ReadOnly, Invalid for a path or query that cannot be read, or Unavailable.
func (s *Server) enter(r *route, c echo.Context, rights *access.Rights) error {
	if s.refuses(r) {
		return s.opt.ReadOnly
	}
	switch r.right {
	case rightRead, rightWrite:
		return r.enterCollections(c, rights)
	case rightAll:
		return rights.CheckReadAll()
	case rightMonitor:
		return rights.CheckRole(model.RoleMonitor)
	case rightAdmin:
		return rights.CheckRole(model.RoleAdmin)
	case rightGroup, rightMaker:
		return s.groups.enter(c)
	case rightCall:
		return s.documents.caller.MayCall(rights, c.Param("name"))
	case rightOpen, rightKnown:
	}
	return nil
}

// enterCollections judges the collections in the path and the query of a request.
func (r *route) enterCollections(c echo.Context, rights *access.Rights) error {
	if c.Param("collection") != "" {
		return r.enterPath(c, rights)
	}
	if r.right == rightWrite {
		return rights.CheckWriteSome() // the writer judges each operation and each line
	}
	names, err := params.Collections(c.QueryParams(), "collections")
	if err != nil {
		return err
	}
	check := rights.CheckRead
	switch r.path {
	case changesPath:
		check = rights.CheckSees
	case diffPath:
		check = rights.CheckReadEvery
	}
	for _, name := range names {
		if err := check(name); err != nil {
			return err
		}
	}
	switch {
	case len(names) == 0 && r.path == exportPath:
		return rights.CheckReadAll()
	case r.path == diffPath:
		return rights.CheckReadSome()
	}
	return nil
}

// enterPath judges the collections in the path of a request, and those into which expand leads. Names that can be no
// collection's are the handler's to refuse.
func (r *route) enterPath(c echo.Context, rights *access.Rights) error {
	check := r.checkRead(rights)
	if r.right == rightWrite {
		check = func(name string) error { return r.enterWrite(name, rights) }
	}
	last := ""
	for _, parameter := range []string{"collection", "child"} {
		name, err := param(c, parameter)
		if err != nil {
			return err
		}
		if name == "" || fanfold.CheckCollection(name) != nil {
			continue
		}
		if err := check(name); err != nil {
			return err
		}
		last = name
	}
	if r.right == rightRead && c.Request().URL.RawQuery != "" {
		return enterExpanded(c.QueryParam("expand"), last, rights, check)
	}
	return nil
}

// enterWrite judges the collection of a request that writes, by its method. The writer judges each document about which a rule decides. An update
// by query needs the right to all of them.
func (r *route) enterWrite(collection string, rights *access.Rights) error {
	act := actsOf[r.method]
	switch {
	case r.method == http.MethodPut:
		return rights.CheckSome(collection, model.ActUpdate, model.ActCreate)
	case r.method == http.MethodPost && strings.HasSuffix(r.path, "/_revert"):
		act = model.ActUpdate
	case r.method != http.MethodPost && r.path == "/v1/:collection":
		return rights.CheckAll(act, collection)
	}
	return rights.CheckSome(collection, act)
}

// actsOf has, by the method of a request that writes, the action for which it needs a right.
var actsOf = map[string]string{http.MethodPost: model.ActCreate, http.MethodPut: model.ActUpdate, http.MethodPatch: model.ActUpdate, http.MethodDelete: model.ActDelete}

// checkRead returns what judges whether a route may show documents of a collection: all of them, or some.
func (r *route) checkRead(rights *access.Rights) func(collection string) error {
	if r.is(judged) {
		return rights.CheckSees
	}
	return rights.CheckRead
}

// enterExpanded judges the collections into which expand leads from documents of a collection. Paths that lead nowhere are the
// handler's to refuse.
func enterExpanded(text, collection string, rights *access.Rights, check func(collection string) error) error {
	for path := range strings.SplitSeq(text, ",") {
		at := collection
		for hop := range strings.SplitSeq(path, ".") {
			rel := rights.Model().Collection(at).Relation(hop)
			if rel == nil {
				break
			}
			if err := rights.CheckRelation(rel.FullName()); err != nil {
				return err
			}
			at = rel.To
			if err := check(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// requestContext is a request's context, with what is found out about the request before its own handler. Echo keeps such values in a
// map, which would cost more than the check of the rights.
type requestContext struct {
	echo.Context
	rights  *access.Rights   // of the sender; nil for nobody
	door    *Server          // has judged them; nil where nobody has
	let     time.Time        // when it let the request in
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
	rights, err := r.door.sender(c.Request(), r.let) // an answer that has begun outlasts its ticket, and not the key
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

// explainer says what somebody may do with a document.
type explainer struct{ *documents }

// maxExplainBody bounds the body of a question about access, in bytes.
const maxExplainBody = 16 << 10

// explain answers POST /v1/_access/_explain: what somebody may do with a document, and why.
func (d explainer) explain(c echo.Context) error {
	if err := readParameters(c); err != nil {
		return err
	}
	var asked wire.AccessExplainBody
	if err := readObjectAs(c, &asked, object{media: []string{jsonType}, size: maxExplainBody}); err != nil {
		return err
	}
	if asked.Auth == nil {
		asked.Auth = &wire.AccessAuth{}
	}
	who, err := keys.Settings{Sub: asked.Auth.Sub, Roles: asked.Auth.Roles, Claims: asked.Auth.Claims}.Imagined()
	if err != nil {
		return err
	}
	who.Issuer = asked.Auth.Issuer
	key := fanfold.Key{Collection: asked.Collection, ID: asked.ID}
	if err := cmp.Or(fanfold.CheckCollection(key.Collection), fanfold.CheckID(key.ID), d.fresh.await(c)); err != nil {
		return err
	}
	doc, _, err := d.open(c).Get(key, fanfold.Embedded)
	if err == nil && doc == nil {
		err = writer.Missing(key)
	}
	if err != nil {
		return err
	}
	var out wire.AccessExplained
	for act, into := range map[string]*wire.AccessVerdict{model.ActRead: &out.Read, model.ActCreate: &out.Create, model.ActUpdate: &out.Update, model.ActDelete: &out.Delete} {
		into.Allowed, into.Why = rightsOf(c).Explain(who, key.Collection, act, doc.Body)
	}
	return c.JSON(http.StatusOK, out)
}
