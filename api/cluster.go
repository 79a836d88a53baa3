package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/wire"
)

// Cluster looks after what the nodes of a log share.
type Cluster interface {
	// Replicas tells how many replicas the log and the buckets beside it have.
	Replicas(ctx context.Context) (*wire.Replicas, error)
	// SetReplicas gives them n replicas each, waits until these are current, a minute at most once the servers have taken that, and returns whether
	// they are. The report is the one of Replicas. Errors are Invalid; Conflict where there are not as many servers; and Unavailable.
	SetReplicas(ctx context.Context, n int) (report *wire.Replicas, settled bool, err error)
	// Snapshot puts a copy of the read model where new nodes find it, and waits until it is there. The report is marshalled as
	// JSON. Errors are Conflict where the log is embedded, or a snapshot is being taken; and Unavailable.
	Snapshot(ctx context.Context) (*wire.Snapshot, error)
}

// getReplicas answers GET /v1/_replicas.
func (a *admin) getReplicas(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	report, err := a.cluster.Replicas(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, report)
}

// putReplicas answers PUT /v1/_replicas: 200 once all replicas are current, 202 where some are not yet.
func (a *admin) putReplicas(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	var body wire.ReplicasBody
	if err := readObject(c, &body); err != nil {
		return err
	}
	if body.Replicas == 0 {
		return fanfold.Errorf(fanfold.Invalid, `the body needs "replicas", how many there are to be: from 1 to 5`)
	}
	leave, err := enter(c, a.budget, admission.ReplicaChanges, admission.Applicant{})
	if err != nil {
		return err
	}
	defer leave()
	report, settled, err := a.cluster.SetReplicas(c.Request().Context(), body.Replicas)
	if err != nil {
		return err
	}
	if !settled {
		return c.JSON(http.StatusAccepted, report)
	}
	return c.JSON(http.StatusOK, report)
}

// snapshot answers POST /v1/_snapshot.
func (a *admin) snapshot(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	report, err := a.cluster.Snapshot(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, report)
}
