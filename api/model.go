package api

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// maxModel bounds a model, in bytes.
const maxModel = 1 << 20

func modelTag(seq uint64) string { return `"` + strconv.FormatUint(seq, 10) + `"` }

// getModel answers the model that applies, as JSON, or as YAML where Accept asks for it.
func (s *Server) getModel(c echo.Context) error {
	if err := parameters(c, "consistency"); err != nil {
		return err
	}
	if err := s.freshness(c); err != nil {
		return err
	}
	at := fanfold.At(s.reader.Applied(), 0)
	m, seq, _ := s.models.Model()
	h := c.Response().Header()
	h.Set(headerPosition, at.String())
	h.Set("ETag", modelTag(seq))
	h.Set(headerRevision, strconv.FormatUint(seq, 10))
	if matches(c.Request().Header.Values("If-None-Match"), modelTag(seq)) {
		return c.NoContent(http.StatusNotModified)
	}
	if strings.Contains(c.Request().Header.Get("Accept"), "yaml") {
		text, err := yaml.JSONToYAML(m.Source)
		if err != nil {
			return err
		}
		return c.Blob(http.StatusOK, "application/yaml", text)
	}
	return c.JSONBlob(http.StatusOK, m.Source)
}

// putModel checks a model, tells what it would do, and, unless that is all that was asked for,
// applies it.
func (s *Server) putModel(c echo.Context) error {
	if err := parameters(c, "dryRun", "allowMisfits", "background"); err != nil {
		return err
	}
	dry, err := boolParam(c, "dryRun")
	if err != nil {
		return err
	}
	misfits, err := boolParam(c, "allowMisfits")
	if err != nil {
		return err
	}
	beside, err := boolParam(c, "background")
	if err != nil {
		return err
	}
	src, err := s.readModel(c)
	if err != nil {
		return err
	}
	limit, err := s.timeout(c)
	if err != nil {
		return err
	}
	proposal, last := s.models.Proposal()
	if proposal != nil && !dry {
		return s.underWay(proposal)
	}
	_, seq, _ := s.models.Model()
	cond, err := parseConditions(c.Request())
	if err != nil {
		return err
	}
	if cond.noneness && seq > 0 || cond.exists && seq == 0 || len(cond.match) > 0 && !slices.Contains(cond.match, fanfold.Revision(seq)) {
		c.Response().Header().Set("ETag", modelTag(seq))
		return &fanfold.Error{Code: fanfold.Stale, Current: fanfold.Revision(seq), Message: "the model that applies is the one of event " + strconv.FormatUint(seq, 10)}
	}
	ctx := c.Request().Context()
	m, report, err := s.models.Preview(ctx, src, !dry, misfits)
	if err != nil {
		return err
	}
	if dry {
		return c.JSON(http.StatusOK, report)
	}
	if len(m.Source) > s.log.MaxPayload()-envelopeRoom {
		return fanfold.Errorf(fanfold.TooLarge, "the model is larger than the log takes")
	}
	given := c.QueryParams().Has("background")
	if beside && len(report.Entangled()) > 0 {
		return fanfold.Errorf(fanfold.Unprocessable, "the model cannot be prepared in the background, because values that stay on their holders by %s come from documents that it changes; send it with background=false", strings.Join(report.Entangled(), ", "))
	}
	if !given {
		beside = report.Touches() > backgroundFrom && len(report.Entangled()) == 0
	}
	if beside {
		return s.propose(c, m, last, report, limit)
	}
	applied, err := s.applyModel(ctx, m, last, misfits)
	if err != nil {
		return err
	}
	return s.answerModel(c, applied, report, limit)
}

// answerModel answers a write of a model by what it did, once it is folded.
func (s *Server) answerModel(c echo.Context, applied uint64, report ModelPreview, limit time.Duration) error {
	h := c.Response().Header()
	h.Set(headerRevision, strconv.FormatUint(applied, 10))
	h.Set(headerPosition, fanfold.At(applied, 0).String())
	h.Set("ETag", modelTag(applied))
	if err := s.wait(c.Request().Context(), applied, limit); err != nil {
		return c.JSON(http.StatusAccepted, report)
	}
	return c.JSON(http.StatusOK, report)
}

// applyModel stores a model that was previewed, where last is the last event about models. Where it
// has new strict relations or unique members, no write of this node comes between the last look at
// the documents and the model's fold.
func (s *Server) applyModel(ctx context.Context, m *fanfold.Model, last uint64, misfits bool) (applied uint64, err error) {
	have, _, _ := s.models.Model()
	guards := m.AddsGuards(have)
	if guards {
		s.remodeling.Lock()
		defer s.remodeling.Unlock()
		if err := s.catchUp(ctx); err != nil {
			return 0, err
		}
		if _, _, err := s.models.Preview(ctx, m.Source, true, misfits); err != nil {
			return 0, err
		}
	}
	return s.storeModel(ctx, m.Source, last, guards)
}

// storeModel appends a model where last is the last event about models; with guards, it waits for
// the model's fold.
func (s *Server) storeModel(ctx context.Context, source []byte, last uint64, guards bool) (applied uint64, err error) {
	applied, err = s.log.Append(ctx, &fanfold.Event{Kind: fanfold.KindModel, Body: source}, fanfold.Exactly(fanfold.Revision(last)))
	if err != nil || !guards {
		return applied, err
	}
	if err := s.wait(context.WithoutCancel(ctx), applied, guardTime); err != nil {
		s.opt.Logger.Error("a model with new strict relations or unique members is stored and not folded: until it is, writes of this node are not guarded", "seq", applied, "err", err)
	}
	return applied, nil
}

// guardTime is for how long writes wait for such a model's fold.
const guardTime = time.Minute

var modelTypes = []string{"application/yaml", "application/x-yaml", "text/yaml", "application/json"}

func (s *Server) readModel(c echo.Context) ([]byte, error) {
	contentType, _, _ := strings.Cut(c.Request().Header.Get(echo.HeaderContentType), ";")
	if !slices.Contains(modelTypes, strings.ToLower(strings.TrimSpace(contentType))) {
		return nil, fanfold.Errorf(fanfold.UnsupportedMedia, "Content-Type %q is not read here: send %s", contentType, strings.Join(modelTypes, " or "))
	}
	src, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, maxModel))
	if err != nil {
		return nil, bodyError(err, maxModel)
	}
	return src, arrived(c)
}
