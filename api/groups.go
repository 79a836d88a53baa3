package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed/group"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/wire"
)

// groups answers requests about consumer groups.
type groups struct {
	groups  *group.Groups
	unknown *unknownCollections
}

// groupOf returns the group's name in the path of a request without parameters. The error is Invalid.
func groupOf(c echo.Context) (string, error) {
	if err := parameters(c); err != nil {
		return "", err
	}
	return param(c, "name")
}

// by returns the groups for the sender of a request.
func (g *groups) by(c echo.Context) *group.Groups { return g.groups.By(rightsOf(c)) }

// enter returns nil where the sender of a request has the right to the group in its path. The error is Forbidden where it has not,
// and Unavailable.
func (g *groups) enter(c echo.Context) error {
	name, err := param(c, "name")
	if err != nil {
		return err
	}
	switch c.Request().Method {
	case http.MethodPut:
		return g.by(c).CheckPut(c.Request().Context(), name)
	case http.MethodDelete:
		return group.CheckDelete(c.Request().Context(), g.by(c), name)
	}
	return g.by(c).Check(c.Request().Context(), name)
}

// listGroups answers GET /v1/_groups.
func (g *groups) listGroups(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	list, err := g.by(c).List(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, wire.GroupList{Groups: list})
}

// getGroup answers GET /v1/_groups/{name}.
func (g *groups) getGroup(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	d, err := g.by(c).Describe(c.Request().Context(), name)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}

// putGroup answers PUT /v1/_groups/{name}.
func (g *groups) putGroup(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	var in wire.GroupSettings
	if err := readObject(c, &in, "partitions", "since", "mode", "view", "derived", "cascades", "lease", "maxAttempts", "role", "push"); err != nil {
		return err
	}
	asked := in.Push != nil && in.Push.Secret == ""
	created, err := g.by(c).Put(c.Request().Context(), name, group.Settings(in))
	if err == nil {
		_, err = g.unknown.of(c, in.Collections)
	}
	switch {
	case err != nil:
		return err
	case asked && in.Push.Secret != "":
		return c.JSON(http.StatusOK, wire.PushSecret{Secret: in.Push.Secret, Created: created})
	case created:
		return c.NoContent(http.StatusCreated)
	}
	return c.NoContent(http.StatusNoContent)
}

// rotatePush answers POST /v1/_groups/{name}/_rotate.
func (g *groups) rotatePush(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	overlap, err := readOverlap(c)
	if err != nil {
		return err
	}
	secret, err := group.Rotate(c.Request().Context(), g.by(c), name, overlap)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, wire.PushSecret{Secret: secret})
}

// done answers a request that has no answer of its own.
func done(c echo.Context, err error) error {
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// deleteGroup answers DELETE /v1/_groups/{name}.
func (g *groups) deleteGroup(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	return done(c, g.by(c).Delete(c.Request().Context(), name))
}

// groupChanges answers GET /v1/_groups/{name}/_changes.
func (g *groups) groupChanges(c echo.Context) error {
	name, err := param(c, "name")
	if err != nil {
		return err
	}
	asked := group.Reading{Group: name, Token: c.QueryParam("token")}
	if asked.Partition, err = params.Int(c.QueryParams(), "partition", -1, 0, group.MaxPartitions-1); err != nil {
		return err
	}
	if asked.Partition < 0 || asked.Token == "" {
		return fanfold.Errorf(fanfold.Invalid, "the changes of a group are asked for with partition= and token=, as _lease has given them")
	}
	if asked.Query, err = groupQuery(c.Request()); err != nil {
		return err
	}
	return g.by(c).ServeChanges(c.Response(), c.Request(), asked)
}

// lease answers POST /v1/_groups/{name}/_lease.
func (g *groups) lease(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	var in wire.LeaseBody
	if err := readObject(c, &in, "max"); err != nil {
		return err
	}
	leases, err := g.by(c).Lease(c.Request().Context(), name, in.Member, in.Max)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, wire.LeaseList{Leases: leases})
}

// batchOf returns the batch that the members of a body name. The error is Invalid.
func batchOf(partition *int, token, position string) (group.Batch, error) {
	if partition == nil || token == "" || position == "" {
		return group.Batch{}, fanfold.Errorf(fanfold.Invalid, `a batch is {"partition":3,"token":"...","position":"..."}`)
	}
	return group.Batch{Partition: *partition, Token: token, Position: position}, nil
}

// ack answers POST /v1/_groups/{name}/_ack.
func (g *groups) ack(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	var in wire.AckBody
	if err := readObject(c, &in); err != nil {
		return err
	}
	b, err := batchOf(in.Partition, in.Token, in.Position)
	if err != nil {
		return err
	}
	return done(c, g.by(c).Ack(c.Request().Context(), name, b))
}

// nack answers POST /v1/_groups/{name}/_nack.
func (g *groups) nack(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	var in wire.NackBody
	if err := readObject(c, &in); err != nil {
		return err
	}
	b, err := batchOf(in.Partition, in.Token, in.Position)
	if err != nil {
		return err
	}
	return done(c, g.by(c).Nack(c.Request().Context(), name, b, in.Error))
}

// releaseLeases answers POST /v1/_groups/{name}/_release: of all leases of a member, of one, or of that with a token.
func (g *groups) releaseLeases(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	var in wire.ReleaseBody
	if err := readObject(c, &in); err != nil {
		return err
	}
	ctx := c.Request().Context()
	switch {
	case in.Partition != nil && in.Token != "":
		err = g.by(c).Release(ctx, name, *in.Partition, in.Token)
	case in.Partition != nil && in.Member != "":
		err = g.by(c).LeaveOne(ctx, name, *in.Partition, in.Member)
	case in.Partition == nil && in.Token == "" && in.Member != "":
		err = g.by(c).Leave(ctx, name, in.Member)
	default:
		err = fanfold.Errorf(fanfold.Invalid, `release takes {"member":"m1"} for all its leases, or {"partition":3} with the token or the member for one`)
	}
	return done(c, err)
}

// resetGroup answers POST /v1/_groups/{name}/_reset.
func (g *groups) resetGroup(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	var in wire.ResetBody
	if err := readObject(c, &in); err != nil {
		return err
	}
	if in.To == "" {
		return fanfold.Errorf(fanfold.Invalid, `a reset needs {"to":"..."}: a position, 0, now or an RFC 3339 time`)
	}
	return done(c, g.by(c).Reset(c.Request().Context(), name, in.To, in.Force))
}

// listParked answers GET /v1/_groups/{name}/_parked.
func (g *groups) listParked(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	list, err := g.by(c).Parked(c.Request().Context(), name)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, wire.ParkedList{Parked: list})
}

// retryParked answers POST /v1/_groups/{name}/_parked/{batch}/_retry.
func (g *groups) retryParked(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	return done(c, g.by(c).Retry(c.Request().Context(), name, c.Param("batch")))
}

// dropParked answers DELETE /v1/_groups/{name}/_parked/{batch}.
func (g *groups) dropParked(c echo.Context) error {
	name, err := groupOf(c)
	if err != nil {
		return err
	}
	return done(c, g.by(c).DropParked(c.Request().Context(), name, c.Param("batch")))
}
