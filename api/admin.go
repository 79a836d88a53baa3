package api

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/api/internal/typed"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/view"
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

// typedAPI returns the description, made ready to be told of models.
var typedAPI = sync.OnceValue(func() *typed.Description { return typed.New(openAPI) })

// openAPITag returns the ETag of the description.
var openAPITag = sync.OnceValue(func() string { return bytesTag(openAPI) })

// maxDescriptions is how many descriptions with types are made at a time: one may have millions of bytes.
const maxDescriptions = 1

// describer describes the API.
type describer struct {
	fresh  *freshness
	budget *admission.Budget
	turn   chan struct{} // has an element for each description with types that is being made
}

// withTypes tells whether a request is for the description with the types of documents, for which its sender must be let in.
func withTypes(c echo.Context) bool {
	return c.Path() == openAPIPath && c.QueryParam("model") == "true"
}

// describe answers GET and HEAD /openapi.json.
func (d *describer) describe(c echo.Context) error {
	if err := parameters(c, "model"); err != nil {
		return err
	}
	types, err := params.Bool(c.QueryParams(), "model")
	if err != nil {
		return err
	}
	c.Response().Header()["Cache-Control"] = mustRevalidate
	if types {
		return d.describeTypes(c)
	}
	if unchanged(c, openAPITag()) {
		return c.NoContent(http.StatusNotModified)
	}
	return sendText(c, http.StatusOK, echo.MIMEApplicationJSON, openAPI)
}

// describeTypes answers with the types of the documents of the model that applies, as far as the sender may know them.
func (d *describer) describeTypes(c echo.Context) error {
	if err := d.fresh.await(c); err != nil {
		return err
	}
	text, err := d.typed(c)
	if err != nil {
		return err
	}
	if unchanged(c, bytesTag(text)) {
		return c.NoContent(http.StatusNotModified)
	}
	answer, err := d.budget.Answer(c.Request().Context()).Assemble(func(a *admission.Answer) error { return addWhole(a, text) })
	if err != nil {
		return err
	}
	return sendAnswer(c, answer)
}

// typed returns the description with types, once it is the request's turn.
func (d *describer) typed(c echo.Context) ([]byte, error) {
	select {
	case d.turn <- struct{}{}:
	case <-c.Request().Context().Done():
		return nil, c.Request().Context().Err()
	}
	defer func() { <-d.turn }()
	if err := judgeAgain(c); err != nil {
		return nil, err
	}
	return typedAPI().With(rightsOf(c).Model(), knower{rightsOf(c)}), nil
}

// unchanged sets the ETag of an answer, and tells whether the client has it.
func unchanged(c echo.Context, tag string) bool {
	known, tag := matches(c.Request().Header["If-None-Match"], tag)
	c.Response().Header()[keyETag] = []string{tag}
	return known
}

// bytesTag returns an ETag that every answer with the same text has.
func bytesTag(text []byte) string {
	sum := sha256.Sum256(text)
	return fmt.Sprintf(`"%x"`, sum[:12])
}

// knower says what the sender of a request may know of a model. Those who may read the model know all of it. Others know what documents that they read,
// and refusals of writes, tell them.
type knower struct{ *access.Rights }

// Reads implements typed.Reader.
func (k knower) Reads(collection string) bool { return k.CheckSees(collection) == nil }

// Writes implements typed.Reader.
func (k knower) Writes(collection string) bool {
	return k.CheckSome(collection, model.ActCreate, model.ActUpdate) == nil
}

// Sees implements typed.Reader.
func (k knower) Sees(collection string, names []string) bool {
	return k.CheckMember("the description", collection, names) == nil
}

// Values implements typed.Reader. A reader of some documents may know none of the values that others have; a refused write names them all.
func (k knower) Values(collection string) bool {
	return k.CheckReadAll() == nil || k.CheckReadEvery(collection) == nil || k.Writes(collection)
}

// Follows implements typed.Reader.
func (k knower) Follows(relation string) bool { return k.CheckRelation(relation) == nil }

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
