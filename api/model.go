package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/query"
	"github.com/fanfold/fanfold/writer"
)

// modelTag returns the ETag of the model that event seq applied.
func modelTag(seq uint64) string { return `"` + strconv.FormatUint(seq, 10) + `"` }

// getModel answers GET /v1/_model: the model that applies, as JSON, or as YAML where Accept asks for it.
func (s *Server) getModel(c echo.Context) error {
	if err := readParameters(c); err != nil {
		return err
	}
	if err := s.freshness(c); err != nil {
		return err
	}
	at := fanfold.At(s.Folded.Applied(), 0)
	m, seq, _ := s.Models.Model()
	h := c.Response().Header()
	h.Set(headerPosition, s.mark(at).String())
	h.Set(headerRevision, strconv.FormatUint(seq, 10))
	h.Add("Vary", "Accept")
	known, tag := matches(c.Request().Header.Values("If-None-Match"), modelTag(seq))
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
func (s *Server) putModel(c echo.Context) error { return s.changeModel(c, nil, modelTypes...) }

// patchModel answers PATCH /v1/_model, with a JSON merge patch of the model that applies.
func (s *Server) patchModel(c echo.Context) error {
	return s.changeModel(c, &writer.ModelPart{}, mergePatchType)
}

// putCollection answers PUT /v1/_model/{collection}, with what the model is to say about one collection.
func (s *Server) putCollection(c echo.Context) error {
	return s.changeModel(c, &writer.ModelPart{Collection: c.Param("collection")}, modelTypes...)
}

// changeModel checks and previews a model, of which the body may be a part, and applies it unless the request is a dry
// run.
func (s *Server) changeModel(c echo.Context, part *writer.ModelPart, types ...string) error {
	req, err := s.readModelRequest(c, types)
	req.Part = part
	if err != nil {
		return err
	}
	limit, err := s.timeout(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	leave, err := s.previews.enter(ctx)
	if err != nil {
		return err
	}
	result, err := s.Writer.PutModel(ctx, req)
	leave()
	if result.Preview != nil {
		result.Preview.Position = s.mark(result.Preview.Position.Position)
	}
	switch {
	case fanfold.CodeOf(err) == fanfold.Stale:
		_, seq, _ := s.Models.Model()
		c.Response().Header().Set("ETag", modelTag(seq))
		return err
	case err != nil:
		return err
	case req.DryRun:
		return c.JSON(http.StatusOK, result.Preview)
	case result.Proposed != 0:
		return s.answerProposal(c, result, limit)
	}
	return s.answerModel(c, result.Applied, result.Preview, limit)
}

// readModelRequest reads the headers, the parameters and the body of a PUT of a model. Errors are Invalid,
// UnsupportedMedia, TooLarge and TooSlow.
func (s *Server) readModelRequest(c echo.Context, types []string) (req writer.ModelRequest, err error) {
	if err := parameters(c, "dryRun", "allowMisfits", "allowRemoval", "background"); err != nil {
		return req, err
	}
	if req.DryRun, err = query.Bool(c.QueryParams(), "dryRun"); err != nil {
		return req, err
	}
	if req.AllowMisfits, err = query.Bool(c.QueryParams(), "allowMisfits"); err != nil {
		return req, err
	}
	if req.AllowRemoval, err = query.Bool(c.QueryParams(), "allowRemoval"); err != nil {
		return req, err
	}
	if req.Background, err = background(c); err != nil {
		return req, err
	}
	if req.Conditions, err = parseConditions(c.Request()); err != nil {
		return req, err
	}
	req.Source, err = s.readModel(c, types)
	return req, err
}

// background returns whether a model is to be prepared in the background, nil where the request leaves that open. The error is
// Invalid.
func background(c echo.Context) (*bool, error) {
	const name = "background"
	asked, err := query.Bool(c.QueryParams(), name)
	if err != nil || !c.QueryParams().Has(name) {
		return nil, err
	}
	return &asked, nil
}

// answerModel waits until a model is folded, for limit at most, and answers its PUT with what it did.
func (s *Server) answerModel(c echo.Context, applied uint64, preview *fanfold.ModelPreview, limit time.Duration) error {
	h := c.Response().Header()
	h.Set(headerRevision, strconv.FormatUint(applied, 10))
	h.Set(headerPosition, s.markEvent(applied).String())
	h.Set("ETag", modelTag(applied))
	if err := s.wait(c.Request().Context(), applied, limit); err != nil {
		return c.JSON(http.StatusAccepted, preview)
	}
	return c.JSON(http.StatusOK, preview)
}

// answerProposal waits until an announced model applies, and answers its PUT with what it did. Where that takes longer
// than limit the answer says where the preparation can be watched.
func (s *Server) answerProposal(c echo.Context, result writer.ModelResult, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), limit)
	defer cancel()
	applied, err := s.Writer.WaitForModel(ctx, result.Proposed)
	switch {
	case err == nil:
		return s.answerModel(c, applied, result.Preview, limit)
	case fanfold.CodeOf(err) == fanfold.Unprocessable:
		return err
	}
	h := c.Response().Header()
	h.Set("Location", "/v1/_status")
	h.Set(headerPosition, s.markEvent(result.Proposed).String())
	return c.JSON(http.StatusAccepted, result.Preview)
}

// getPending answers GET /v1/_model/_pending: the announced model.
func (s *Server) getPending(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	p, _ := s.Models.Proposal()
	if p == nil {
		return writer.ErrNoProposal
	}
	c.Response().Header().Set(headerRevision, strconv.FormatUint(p.Seq, 10))
	return sendText(c, http.StatusOK, echo.MIMEApplicationJSON, p.Source)
}

// deletePending answers DELETE /v1/_model/_pending: it withdraws the announced model.
func (s *Server) deletePending(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	limit, err := s.timeout(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	seq, err := s.Writer.CancelModel(ctx)
	if err != nil {
		return err
	}
	c.Response().Header().Set(headerPosition, s.markEvent(seq).String())
	if err := s.wait(ctx, seq, limit); err != nil {
		return c.NoContent(http.StatusAccepted)
	}
	return c.NoContent(http.StatusNoContent)
}

// modelTypes lists the media types in which a model is read.
var modelTypes = []string{"application/yaml", "application/x-yaml", "text/yaml", "application/json"}

// readModel reads the body of a model. What says that it is JSON must be.
func (s *Server) readModel(c echo.Context, types []string) ([]byte, error) {
	src, contentType, err := s.readAny(c, modelfile.MaxSource, types...)
	if err == nil && (contentType == jsonType || contentType == mergePatchType) {
		err = writer.CheckDepth(src, fanfold.DefaultMaxDepth)
	}
	return src, err
}
