package api

import (
	"context"
	_ "embed"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/api/internal/view"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
)

// admin answers requests about the node and the log: how they stand, what runs, what is to be done.
type admin struct {
	operator  Operator
	views     *view.Views
	inspector Inspector
	cluster   Cluster
	jobs      *jobs
	budget    *admission.Budget
	version   string      // of the program
	links     []wire.Link // of the first page
	prefix    prefix
}

// openAPI holds the description of the API, as GET /openapi.json answers it.
//
//go:embed openapi.json
var openAPI []byte

// describe answers GET and HEAD /openapi.json.
func describe(c echo.Context) error {
	return sendText(c, http.StatusOK, echo.MIMEApplicationJSON, openAPI)
}

// healthy answers GET and HEAD /healthz.
func healthy(c echo.Context) error {
	return c.JSONBlob(http.StatusOK, []byte(`{"status":"ok"}`))
}

// ready answers GET and HEAD /readyz. The reason is told to who may see how the node stands.
func (a *admin) ready(c echo.Context) error {
	rights := rightsOf(c)
	if !rights.IsOpen() {
		setPrivate(c.Response().Header())
	}
	if _, stopped := a.operator.Status(); stopped != nil {
		if rights.CheckRole(model.RoleMonitor) != nil {
			return fanfold.Wrap(stopped, fanfold.Unavailable, "this node is not ready; the role %s sees the reason", model.RoleMonitor)
		}
		return stopped
	}
	return c.JSONBlob(http.StatusOK, []byte(`{"status":"ready"}`))
}

// status answers GET /v1/_status.
func (a *admin) status(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	return a.showStatus(c, http.StatusOK)
}

// showStatus answers with how the node stands, as far as the sender may know it.
func (a *admin) showStatus(c echo.Context, status int) error {
	report, stopped := a.operator.Status()
	return c.JSON(status, a.views.Open(rightsOf(c)).Status(report, stopped, a.operator.GroupNeeds()))
}

// maxReplayBody bounds the body of a request for a replay, in bytes.
const maxReplayBody = 1 << 10

// replay answers POST /v1/_replay.
func (a *admin) replay(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	var body wire.ReplayBody
	if err := readObjectAs(c, &body, object{media: []string{jsonType}, size: maxReplayBody, optional: true}); err != nil {
		return err
	}
	if err := a.operator.Replay(body.Check); err != nil {
		return err
	}
	return a.showStatus(c, http.StatusAccepted)
}

// verify answers POST /v1/_verify: of the read model, or of the log.
func (a *admin) verify(c echo.Context) error {
	if err := parameters(c, "log"); err != nil {
		return err
	}
	ofLog, err := params.Bool(c.QueryParams(), "log")
	if err != nil {
		return err
	}
	kind, check := workVerify, a.verifyModel
	if ofLog {
		kind, check = workVerifyLog, a.verifyLog
	}
	leave, err := enter(c, a.budget, admission.Verifications, admission.Applicant{})
	if err != nil {
		return err
	}
	return a.jobs.answer(c, kind, leave, check)
}

// verifyModel verifies the read model. It is a worker.
func (a *admin) verifyModel(ctx context.Context, progress fanfold.Progress) (*reply, error) {
	found, err := a.inspector.Verify(ctx, progress)
	if err != nil {
		return nil, err
	}
	return &reply{status: http.StatusOK, body: found, summary: found.Summary()}, nil
}

// verifyLog verifies the log. It is a worker.
func (a *admin) verifyLog(ctx context.Context, progress fanfold.Progress) (*reply, error) {
	found, err := a.operator.VerifyLog(ctx, progress)
	if err != nil {
		return nil, err
	}
	return &reply{status: http.StatusOK, body: found, summary: found.Summary()}, nil
}

// getWork answers GET /v1/_work/{work}: how far work is that nobody waits for, and what came of it.
func (a *admin) getWork(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	j := a.jobs.find(c.Param("work"))
	if j == nil {
		return noWork(c)
	}
	return c.JSON(http.StatusOK, j.state())
}

// deleteWork answers DELETE /v1/_work/{work}: it ends work that runs, and forgets it.
func (a *admin) deleteWork(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	j := a.jobs.find(c.Param("work"))
	if j == nil {
		return noWork(c)
	}
	j.cancel()
	<-j.ended
	a.jobs.mu.Lock()
	a.jobs.list = slices.DeleteFunc(a.jobs.list, func(o *job) bool { return o == j })
	a.jobs.mu.Unlock()
	return c.NoContent(http.StatusNoContent)
}

// noWork returns the NotFound of work that this node does not know.
func noWork(c echo.Context) error {
	return fanfold.Errorf(fanfold.NotFound, "this node knows no work %.40q: it may be another node's, of before a restart, or forgotten since others of its kind have ended; GET /v1/_status has what it knows", c.Param("work"))
}
