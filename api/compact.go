package api

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
)

// Compactor lets the store begin later.
type Compactor interface {
	// PlanCompaction tells what a compaction up to a moment, which the node has reached, would take away. Errors are Conflict,
	// PositionGone and Unavailable.
	PlanCompaction(ctx context.Context, before fanfold.Moment) (*wire.CompactPlan, error)
	// Compact begins one, and returns what goes; a plan that is Done begins nothing. by names who asked, "" where nobody knows. It returns
	// the errors of PlanCompaction. Conflict is also for a log that cannot be cut, while other work is under way, and for groups that have
	// not acknowledged what goes, unless force says so.
	Compact(ctx context.Context, before fanfold.Moment, force bool, by string) (*wire.CompactPlan, error)
	// Compaction tells how far the compaction is that runs on this node, or ran last; nil for none.
	Compaction() *wire.Compaction
}

// compactPath is the path of the compaction that runs, or ran last.
const compactPath = "/v1/_compact"

// maxCompactBody bounds the body of a request for a compaction, in bytes.
const maxCompactBody = 1 << 10

// compactions answers requests about where the store begins.
type compactions struct {
	compactor Compactor
	documents *documents // awaits moments
	logger    *slog.Logger
}

// compact answers POST /v1/_compact: 202 for one that has begun, 200 for a plan, and where the store begins there already.
func (s *compactions) compact(c echo.Context) error {
	if err := readParameters(c); err != nil {
		return err
	}
	var asked wire.CompactBody
	if err := readObjectAs(c, &asked, object{media: []string{jsonType}, size: maxCompactBody}); err != nil {
		return err
	}
	if asked.Before == "" {
		return fanfold.Errorf(fanfold.Invalid, `member "before" is missing: a position or an RFC 3339 time`)
	}
	m, err := s.documents.fresh.parseMoment("before", asked.Before)
	if err != nil {
		return err
	}
	if err := s.documents.awaitMoments(c, m); err != nil {
		return err
	}
	if asked.DryRun {
		plan, err := s.compactor.PlanCompaction(c.Request().Context(), m.Moment)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, plan)
	}
	return s.begin(c, m, asked.Force)
}

// begin begins a compaction. The log says who asked for it, whatever comes of it.
func (s *compactions) begin(c echo.Context, m moment, force bool) error {
	rights := rightsOf(c)
	plan, err := s.compactor.Compact(c.Request().Context(), m.Moment, force, rights.Actor())
	s.logger.Info("a compaction was asked for", "before", m.text, "force", force, "by", rights.String(), "refused", fanfold.CodeOf(err))
	switch {
	case err != nil:
		return err
	case plan.Done:
		return c.JSON(http.StatusOK, plan)
	}
	c.Response().Header().Set("Location", compactPath)
	return c.JSON(http.StatusAccepted, plan)
}

// compaction answers GET /v1/_compact.
func (s *compactions) compaction(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	report := s.compactor.Compaction()
	if report == nil {
		return fanfold.Errorf(fanfold.NotFound, "no compaction has run on this node since its start: history in GET /v1/_status says where the store begins")
	}
	return c.JSON(http.StatusOK, report)
}
