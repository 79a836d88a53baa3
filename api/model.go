package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/flows"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/modelguess"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

// ModelWriter decides about models.
type ModelWriter interface {
	// PutModel checks and previews a model, and stores it where it is to apply: see writer.Writer.PutModel.
	PutModel(ctx context.Context, req writer.ModelRequest) (writer.ModelResult, error)
	// WaitForModel waits until an announced model applies, and returns the event that applied it.
	WaitForModel(ctx context.Context, proposed uint64) (applied uint64, err error)
	// CancelModel withdraws the announced model for a principal. The error is writer.ErrNoProposal where there is none.
	CancelModel(ctx context.Context, by *access.Rights) (seq uint64, err error)
	// Upgrade sets the version of the fold.
	Upgrade(ctx context.Context, req writer.UpgradeRequest) (writer.ModelResult, error)
}

// models answers requests about the model and the version of the fold.
type models struct {
	writer      ModelWriter
	views       *view.Views
	models      Models
	folded      Folded
	fresh       *freshness
	positions   positions
	jobs        *jobs
	budget      *admission.Budget
	previewTime time.Duration
	targets     *targets
}

// getModel answers GET /v1/_model: the model that applies, as JSON, or as YAML where Accept asks for it.
func (ms *models) getModel(c echo.Context) error {
	if err := readParameters(c); err != nil {
		return err
	}
	if err := ms.fresh.await(c); err != nil {
		return err
	}
	at := fanfold.At(ms.folded.Applied(), 0)
	m, seq, _ := ms.models.Model()
	h := c.Response().Header()
	h.Set(headerPosition, ms.positions.mark(at).String())
	h.Set(headerRevision, strconv.FormatUint(seq, 10))
	h.Add("Vary", "Accept")
	known, tag := matches(c.Request().Header.Values("If-None-Match"), ms.positions.modelTag(seq))
	if h.Set("ETag", tag); known {
		return c.NoContent(http.StatusNotModified)
	}
	if strings.Contains(c.Request().Header.Get("Accept"), "yaml") {
		text, err := modelfile.ToYAML(m.Source)
		if err != nil {
			return err
		}
		return sendText(c, http.StatusOK, "application/yaml", text)
	}
	return sendText(c, http.StatusOK, echo.MIMEApplicationJSON, m.Source)
}

// putModel answers PUT /v1/_model: it checks and previews a model and, unless the request is a dry run, applies it.
func (ms *models) putModel(c echo.Context) error { return ms.changeModel(c, nil, modelTypes...) }

// patchModel answers PATCH /v1/_model, with a JSON merge patch of the model that applies.
func (ms *models) patchModel(c echo.Context) error {
	return ms.changeModel(c, &writer.ModelPart{}, mergePatchType)
}

// putCollection answers PUT /v1/_model/{collection}, with what the model is to say about one collection.
func (ms *models) putCollection(c echo.Context) error {
	return ms.changeModel(c, &writer.ModelPart{Collection: c.Param("collection")}, modelTypes...)
}

// changeModel checks and previews a model, whose body may be a part, and applies it unless the request is a dry run.
func (ms *models) changeModel(c echo.Context, part *writer.ModelPart, types ...string) error {
	req, err := ms.readModelRequest(c, types)
	req.Part, req.By = part, rightsOf(c)
	if err != nil {
		return err
	}
	limit, err := ms.fresh.timeout(c)
	if err != nil {
		return err
	}
	kind := workModel
	if req.DryRun {
		kind = workPreview
	}
	leave, err := enter(c, ms.budget, admission.Previews, admission.Applicant{})
	if err != nil {
		return err
	}
	change := &modelChange{models: ms, seen: ms.views.Open(rightsOf(c)), req: req, prefer: prefer(c), yaml: strings.Contains(strings.ToLower(c.Request().Header.Get("Content-Type")), "yaml"), limit: limit, leave: sync.OnceFunc(leave)}
	if !change.prefer.async {
		change.req.PreviewTime = ms.previewTime
	}
	err = ms.jobs.answer(c, kind, change.leave, change.run)
	if fanfold.CodeOf(err) == fanfold.Stale {
		_, seq, _ := ms.models.Model()
		c.Response().Header().Set("ETag", ms.positions.modelTag(seq))
	}
	return err
}

// modelChange is a change of the model, or its preview, for which a request asked.
type modelChange struct {
	models *models
	seen   view.View
	req    writer.ModelRequest
	prefer preferences
	yaml   bool // the body is YAML
	limit  time.Duration
	leave  func() // is called when the documents were looked at
}

// run makes the change. It is a worker.
func (m *modelChange) run(ctx context.Context, progress fanfold.Progress) (*reply, error) {
	req := m.req
	req.Progress = progress
	result, err := m.models.writer.PutModel(ctx, req)
	m.leave()
	if err != nil {
		if m.yaml {
			err = modelfile.Locate(err, req.Source, m.within())
		}
		return nil, err
	}
	result.Preview = m.seen.Preview(result.Preview)
	result.Preview.Position = m.models.positions.mark(result.Preview.At).String()
	switch {
	case req.DryRun:
		return &reply{status: http.StatusOK, body: result.Preview, summary: result.Preview.Summary()}, nil
	case result.Proposed != 0:
		return m.proposed(ctx, result)
	}
	return m.applied(ctx, result.Applied, result.Preview), nil
}

// within returns the path in the model of what the body declares, "" for all of it.
func (m *modelChange) within() string {
	if part := m.req.Part; part != nil && part.Collection != "" {
		return "collections." + part.Collection
	}
	return ""
}

// answer returns the answer to a model that event seq applies, or announces.
func (m *modelChange) answer(status int, seq uint64, applies bool, preview *model.Preview) *reply {
	summary := preview.Summary()
	summary.Applied, summary.Position = applies, m.models.positions.markEvent(seq).String()
	r := &reply{status: status, header: map[string]string{headerPosition: summary.Position}, body: summary}
	if applies {
		summary.Revision = seq
		r.header[headerRevision], r.header["ETag"] = strconv.FormatUint(seq, 10), m.models.positions.modelTag(seq)
	}
	r.body, r.summary = summary, summary
	if m.prefer.representation {
		r.body, r.header["Preference-Applied"] = preview, "return=representation"
	}
	return r
}

// applied waits until a model is folded, for a limited time, and returns what it did.
func (m *modelChange) applied(ctx context.Context, seq uint64, preview *model.Preview) *reply {
	status := http.StatusOK
	if err := m.models.fresh.wait(ctx, seq, m.limit); err != nil {
		status = http.StatusAccepted
	}
	return m.answer(status, seq, true, preview)
}

// proposed waits until an announced model applies, and returns what it did. If that takes longer than the request waits, the
// answer says where the preparation can be watched.
func (m *modelChange) proposed(ctx context.Context, result writer.ModelResult) (*reply, error) {
	limit := m.limit
	if m.prefer.async {
		limit = 0
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	applied, err := m.models.writer.WaitForModel(waiting, result.Proposed)
	switch {
	case err == nil:
		return m.applied(ctx, applied, result.Preview), nil
	case fanfold.CodeOf(err) == fanfold.Unprocessable:
		return nil, err
	}
	r := m.answer(http.StatusAccepted, result.Proposed, false, result.Preview)
	r.header["Location"] = statusPath
	return r, nil
}

// readModelRequest reads the headers, the parameters and the body of a PUT of a model. Errors are Invalid,
// UnsupportedMedia, TooLarge and TooSlow.
func (ms *models) readModelRequest(c echo.Context, types []string) (req writer.ModelRequest, err error) {
	if err := parameters(c, "dryRun", "allowMisfits", "allowRemoval", "background"); err != nil {
		return req, err
	}
	if req.DryRun, err = params.Bool(c.QueryParams(), "dryRun"); err != nil {
		return req, err
	}
	if req.AllowMisfits, err = params.Bool(c.QueryParams(), "allowMisfits"); err != nil {
		return req, err
	}
	if req.AllowRemoval, err = params.Bool(c.QueryParams(), "allowRemoval"); err != nil {
		return req, err
	}
	if req.Background, err = background(c); err != nil {
		return req, err
	}
	if req.Conditions, err = ms.positions.parseConditions(c.Request()); err != nil {
		return req, err
	}
	req.Source, err = ms.readModel(c, types)
	return req, err
}

// background returns whether a model is to be prepared in the background, nil where the request leaves that open. The error is
// Invalid.
func background(c echo.Context) (*bool, error) {
	const name = "background"
	asked, err := params.Bool(c.QueryParams(), name)
	if err != nil || !c.QueryParams().Has(name) {
		return nil, err
	}
	return &asked, nil
}

// getPending answers GET /v1/_model/_pending: the announced model.
func (ms *models) getPending(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	p, _ := ms.models.Proposal()
	if p == nil {
		return writer.ErrNoProposal
	}
	c.Response().Header().Set(headerRevision, strconv.FormatUint(p.Seq, 10))
	return sendText(c, http.StatusOK, echo.MIMEApplicationJSON, p.Source)
}

// getFlows answers GET /v1/_model/_flows: what the derived fields of the model that applies tell about other collections.
func (ms *models) getFlows(c echo.Context) error {
	if err := readParameters(c); err != nil {
		return err
	}
	if err := ms.fresh.await(c); err != nil {
		return err
	}
	m, seq, _ := ms.models.Model()
	c.Response().Header().Set(headerRevision, strconv.FormatUint(seq, 10))
	return sendJSON(c, ms.budget, wire.ModelFlows{Flows: flows.Of(m)})
}

// suggest answers GET /v1/_suggest-model: a model that is proposed for a sample of the documents, as YAML with the evidence in comments.
func (ms *models) suggest(c echo.Context) error {
	if err := readParameters(c); err != nil {
		return err
	}
	if err := ms.fresh.await(c); err != nil {
		return err
	}
	leave, err := enter(c, ms.budget, admission.Suggestions, admission.Applicant{})
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(c.Request().Context(), ms.previewTime)
	defer cancel()
	s := &sampler{seen: ms.views.Open(rightsOf(c)), judge: func() error { return cmp.Or(ctx.Err(), judgeAgain(c)) },
		sample: &modelguess.Sample{Documents: maxSuggestDocuments, Bytes: maxSuggestBytes}}
	err = s.run()
	var text []byte
	if err == nil {
		text, err = s.sample.Model(ctx, true)
	}
	if errors.Is(err, context.DeadlineExceeded) && c.Request().Context().Err() == nil {
		err = fanfold.Errorf(fanfold.TakesLong, "to look at a sample of the documents takes longer than %v: save an export, and give its file to fanfold model suggest", ms.previewTime.Round(time.Millisecond))
	}
	if err != nil {
		return err
	}
	c.Response().Header().Set(headerPosition, ms.positions.mark(s.at).String())
	return sendText(c, http.StatusOK, "application/yaml", text)
}

// deletePending answers DELETE /v1/_model/_pending: it withdraws the announced model, and ends what this node does in the
// background for models that are yet to be announced.
func (ms *models) deletePending(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	limit, err := ms.fresh.timeout(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	ended := ms.jobs.cancelRunning(workModel)
	seq, err := ms.writer.CancelModel(ctx, rightsOf(c))
	if ended > 0 && errors.Is(err, writer.ErrNoProposal) { // it was looked at, and not announced yet
		return c.NoContent(http.StatusNoContent)
	}
	if err != nil {
		return err
	}
	c.Response().Header().Set(headerPosition, ms.positions.markEvent(seq).String())
	if err := ms.fresh.wait(ctx, seq, limit); err != nil {
		return c.NoContent(http.StatusAccepted)
	}
	return c.NoContent(http.StatusNoContent)
}

// modelTypes lists the media types in which a model is read.
var modelTypes = []string{"application/yaml", "application/x-yaml", "text/yaml", "application/json"}

// readModel reads the body of a model. A body declared as JSON must be JSON.
func (ms *models) readModel(c echo.Context, types []string) ([]byte, error) {
	src, contentType, err := readBody(c, modelfile.MaxBytes, types...)
	if err == nil && (contentType == jsonType || contentType == mergePatchType) {
		err = writer.CheckDepth(src, fanfold.DefaultMaxDepth)
	}
	return src, err
}
