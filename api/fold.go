package api

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/writer"
)

// maxFoldVersion is the greatest version that can be asked for: as much as an event takes.
const maxFoldVersion = 1<<31 - 1

// putFold answers PUT /v1/_fold: it sets the version of the fold for all nodes.
func (ms *models) putFold(c echo.Context) error {
	req, err := ms.readUpgrade(c)
	if err != nil {
		return err
	}
	req.By = rightsOf(c)
	limit, err := ms.fresh.timeout(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	leave, err := enter(c, ms.budget, admission.Previews, admission.Applicant{})
	if err != nil {
		return err
	}
	result, err := ms.writer.Upgrade(ctx, req)
	leave()
	if err != nil {
		return err
	}
	answer := wire.FoldChange{Version: req.Version}
	if result.Preview != nil {
		answer.Changes = result.Preview.Changes
	}
	return ms.answerUpgrade(c, result, answer, limit)
}

// readUpgrade reads the parameters and the body of a request for another version of the fold. Errors are Invalid,
// UnsupportedMedia, TooLarge and TooSlow.
func (ms *models) readUpgrade(c echo.Context) (req writer.UpgradeRequest, err error) {
	if err := parameters(c, "background"); err != nil {
		return req, err
	}
	if req.Background, err = background(c); err != nil {
		return req, err
	}
	var asked wire.FoldBody
	if err := readObject(c, &asked); err != nil {
		return req, err
	}
	if req.Version = asked.Version; req.Version < 1 || req.Version > maxFoldVersion {
		return req, fanfold.Errorf(fanfold.Invalid, "member \"version\" must be a number from 1 to %d: the version of the fold to set; GET /v1/_status has the newest in foldVersion", maxFoldVersion)
	}
	return req, nil
}

// answerUpgrade waits until the version is in force here, for limit at most. If that takes longer, the answer says where
// it can be watched.
func (ms *models) answerUpgrade(c echo.Context, result writer.ModelResult, answer wire.FoldChange, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), limit)
	defer cancel()
	h, applied := c.Response().Header(), result.Applied
	if result.Proposed != 0 {
		var err error
		if applied, err = ms.writer.WaitForModel(ctx, result.Proposed); fanfold.CodeOf(err) == fanfold.Unprocessable {
			return err
		} else if err != nil {
			applied = 0
		}
	}
	if max(applied, result.Proposed) == applied && ms.folded.Wait(ctx, applied) == nil {
		h.Set(headerPosition, ms.positions.markEvent(applied).String())
		return c.JSON(http.StatusOK, answer)
	}
	h.Set("Location", statusPath)
	h.Set(headerPosition, ms.positions.markEvent(max(applied, result.Proposed)).String())
	return c.JSON(http.StatusAccepted, answer)
}
