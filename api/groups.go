package api

import (
	"encoding"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed/group"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/writer"
)

// maxGroupBody bounds the body of a request about groups, in bytes.
const maxGroupBody = 32 << 10

// groupDepth bounds how deep such a body nests.
const groupDepth = 4

// groupRoutes registers the routes of consumer groups. plain makes a handler refuse headers that it does not go by.
func (s *Server) groupRoutes(plain echo.MiddlewareFunc) {
	e := s.echo
	body := func(h echo.HandlerFunc) echo.HandlerFunc { return plain(s.admitted(h)) }
	s.reads("/v1/_groups", s.listGroups)
	s.reads("/v1/_groups/:name", s.getGroup)
	e.PUT("/v1/_groups/:name", body(s.putGroup))
	e.DELETE("/v1/_groups/:name", plain(s.deleteGroup))
	s.reads("/v1/_groups/:name/_changes", s.groupChanges)
	e.POST("/v1/_groups/:name/_lease", body(s.lease))
	e.POST("/v1/_groups/:name/_ack", body(s.ack))
	e.POST("/v1/_groups/:name/_nack", body(s.nack))
	e.POST("/v1/_groups/:name/_release", body(s.releaseLeases))
	e.POST("/v1/_groups/:name/_reset", body(s.resetGroup))
	s.reads("/v1/_groups/:name/_parked", s.listParked)
	e.POST("/v1/_groups/:name/_parked/:batch/_retry", plain(commanded(s.retryParked)))
	e.DELETE("/v1/_groups/:name/_parked/:batch", plain(s.dropParked))
}

// groupOf returns the group's name in the path of a request without parameters. The error is Invalid.
func groupOf(c echo.Context) (string, error) {
	if err := parameters(c); err != nil {
		return "", err
	}
	return param(c, "name")
}

// readObject reads a body that is a JSON object with no other members than those given, into a struct that has them. Errors
// are those of readAny, and Invalid.
func (s *Server) readObject(c echo.Context, into any, members ...string) error {
	body, _, err := s.readAny(c, maxGroupBody, jsonType)
	if err != nil {
		return err
	}
	if err := writer.CheckDepth(body, groupDepth); err != nil {
		return err
	}
	t := jsondoc.MustParse(body)
	if t.Kind(jsondoc.Root) != jsondoc.Object {
		return fanfold.Errorf(fanfold.Invalid, "the body must be a JSON object")
	}
	for m := t.First(jsondoc.Root); m != jsondoc.None; m = t.Next(m) {
		switch name := t.Key(m); {
		case !slices.Contains(members, name):
			return fanfold.Errorf(fanfold.Invalid, "unknown member %q: this takes %s", clipText(name), strings.Join(members, ", "))
		case t.Kind(m) == jsondoc.Null:
			return fanfold.Errorf(fanfold.Invalid, "member %q is null: give it a value, or leave it out", name)
		}
	}
	err = json.Unmarshal(body, into)
	var known *fanfold.Error
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped):
		return fanfold.Wrap(err, fanfold.Invalid, "member %q has a %s where it wants %s", strings.ToLower(mistyped.Field), mistyped.Value, wanted(mistyped.Type))
	case err != nil && !errors.As(err, &known):
		return fanfold.Wrap(err, fanfold.Invalid, "the body is not as it should be")
	}
	return err
}

// wanted says which JSON a type takes.
func wanted(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.String || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return "a text"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Int:
		return "a whole number"
	}
	return "a list of texts"
}

// clipText returns at most 80 bytes of a text, for a message.
func clipText(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// given returns a member's value, the zero value where it is absent, and instead of a zero value wrong, which is none that is
// taken.
func given[T comparable](member *T, wrong T) T {
	var zero T
	switch {
	case member == nil:
		return zero
	case *member == zero:
		return wrong
	}
	return *member
}

// listGroups answers GET /v1/_groups.
func (s *Server) listGroups(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	list, err := s.Groups.List(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"groups": list})
}

// getGroup answers GET /v1/_groups/{name}.
func (s *Server) getGroup(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	d, err := s.Groups.Describe(c.Request().Context(), name)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}

// putGroup answers PUT /v1/_groups/{name}.
func (s *Server) putGroup(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	var in struct {
		Partitions, MaxAttempts                      *int
		Since, Mode, View, Derived, Cascades, Filter *string
		Collections                                  []string
		Lease                                        *group.Duration
	}
	if err := s.readObject(c, &in, "partitions", "since", "mode", "view", "derived", "cascades", "collections", "filter", "lease", "maxAttempts"); err != nil {
		return err
	}
	settings := group.Settings{Partitions: given(in.Partitions, -1), Since: given(in.Since, "?"), Mode: given(in.Mode, "?"),
		View: given(in.View, "?"), Derived: given(in.Derived, "?"), Cascades: given(in.Cascades, "?"), Filter: given(in.Filter, ""), Collections: in.Collections, Lease: given(in.Lease, -1), MaxAttempts: given(in.MaxAttempts, -1)}
	created, err := s.Groups.Put(c.Request().Context(), name, settings)
	switch {
	case err != nil:
		return err
	case created:
		return c.NoContent(http.StatusCreated)
	}
	return c.NoContent(http.StatusNoContent)
}

// done answers a request that has no answer of its own.
func done(c echo.Context, err error) error {
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// deleteGroup answers DELETE /v1/_groups/{name}.
func (s *Server) deleteGroup(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	return done(c, s.Groups.Delete(c.Request().Context(), name))
}

// groupChanges answers GET /v1/_groups/{name}/_changes.
func (s *Server) groupChanges(c echo.Context) error {
	name, err := param(c, "name")
	if err != nil {
		return err
	}
	return s.Groups.ServeChanges(c.Response(), c.Request(), name)
}

// lease answers POST /v1/_groups/{name}/_lease.
func (s *Server) lease(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	var in struct {
		Member string
		Max    *int
	}
	if err := s.readObject(c, &in, "member", "max"); err != nil {
		return err
	}
	leases, err := s.Groups.Lease(c.Request().Context(), name, in.Member, given(in.Max, -1))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"leases": leases})
}

// batchMembers is what names a batch in a body.
type batchMembers struct {
	Partition *int
	Token     string
	Position  string
	Error     string
}

// batch returns the batch that a body names. The error is Invalid.
func (b *batchMembers) batch() (group.Batch, error) {
	if b.Partition == nil || b.Token == "" || b.Position == "" {
		return group.Batch{}, fanfold.Errorf(fanfold.Invalid, `a batch is {"partition":3,"token":"...","position":"..."}`)
	}
	return group.Batch{Partition: *b.Partition, Token: b.Token, Position: b.Position}, nil
}

// ack answers POST /v1/_groups/{name}/_ack.
func (s *Server) ack(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	var in batchMembers
	if err := s.readObject(c, &in, "partition", "token", "position"); err != nil {
		return err
	}
	b, err := in.batch()
	if err != nil {
		return err
	}
	return done(c, s.Groups.Ack(c.Request().Context(), name, b))
}

// nack answers POST /v1/_groups/{name}/_nack.
func (s *Server) nack(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	var in batchMembers
	if err := s.readObject(c, &in, "partition", "token", "position", "error"); err != nil {
		return err
	}
	b, err := in.batch()
	if err != nil {
		return err
	}
	return done(c, s.Groups.Nack(c.Request().Context(), name, b, in.Error))
}

// releaseLeases answers POST /v1/_groups/{name}/_release: of all leases of a member, of one, or of that with a token.
func (s *Server) releaseLeases(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	var in struct {
		Member, Token string
		Partition     *int
	}
	if err := s.readObject(c, &in, "member", "partition", "token"); err != nil {
		return err
	}
	ctx := c.Request().Context()
	switch {
	case in.Partition != nil && in.Token != "":
		err = s.Groups.Release(ctx, name, *in.Partition, in.Token)
	case in.Partition != nil && in.Member != "":
		err = s.Groups.LeaveOne(ctx, name, *in.Partition, in.Member)
	case in.Partition == nil && in.Token == "" && in.Member != "":
		err = s.Groups.Leave(ctx, name, in.Member)
	default:
		err = fanfold.Errorf(fanfold.Invalid, `release takes {"member":"m1"} for all its leases, or {"partition":3} with the token or the member for one`)
	}
	return done(c, err)
}

// resetGroup answers POST /v1/_groups/{name}/_reset.
func (s *Server) resetGroup(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	var in struct {
		To    string
		Force bool
	}
	if err := s.readObject(c, &in, "to", "force"); err != nil {
		return err
	}
	if in.To == "" {
		return fanfold.Errorf(fanfold.Invalid, `a reset needs {"to":"..."}: a position, 0, now or an RFC 3339 time`)
	}
	return done(c, s.Groups.Reset(c.Request().Context(), name, in.To, in.Force))
}

// listParked answers GET /v1/_groups/{name}/_parked.
func (s *Server) listParked(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	list, err := s.Groups.Parked(c.Request().Context(), name)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"parked": list})
}

// retryParked answers POST /v1/_groups/{name}/_parked/{batch}/_retry.
func (s *Server) retryParked(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	return done(c, s.Groups.Retry(c.Request().Context(), name, c.Param("batch")))
}

// dropParked answers DELETE /v1/_groups/{name}/_parked/{batch}.
func (s *Server) dropParked(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	return done(c, s.Groups.DropParked(c.Request().Context(), name, c.Param("batch")))
}
