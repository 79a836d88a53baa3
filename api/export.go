package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/exportfile"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/view"
)

// export answers GET and HEAD /v1/_export: the model, then every document in order of creation, in lines that POST /v1/_import
// reads.
func (d *documents) export(c echo.Context) (err error) {
	if err := readParameters(c, "collections", "at"); err != nil {
		return err
	}
	collections, err := params.Collections(c.QueryParams(), "collections")
	if err != nil {
		return err
	}
	m, err := d.awaitExport(c)
	if err != nil {
		return err
	}
	if done, err := d.beginExport(c, collections, m); done || err != nil {
		return err
	}
	out, err := admission.NewSpool(d.spoolDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	ctx, cancel := context.WithCancel(c.Request().Context())
	written := make(chan struct{})
	defer func() { <-written }()
	defer cancel()
	scan, err := d.sourceOf(ctx, d.open(c), m)
	if err != nil {
		close(written)
		return err
	}
	if err := scan.CheckExport(collections); err != nil {
		close(written)
		return errors.Join(err, scan.Close())
	}
	h := c.Response().Header()
	h.Set("Content-Type", ndjsonType)
	h.Set(headerPosition, d.positions.mark(scan.At()).String())
	go func() {
		defer close(written)
		out.Finish(writeAndClose(ctx, scan, out, collections))
	}()
	if err := sendSpooled(ctx, c, out); err != nil {
		cut(ctx, d.logger, "an export", err)
	}
	return nil
}

// awaitExport reads the parameter at, nil for none, and waits until the node has reached what is to be exported.
func (d *documents) awaitExport(c echo.Context) (*moment, error) {
	if !c.QueryParams().Has("at") {
		return nil, d.fresh.await(c)
	}
	m, err := d.fresh.parseMoment("at", c.QueryParam("at"))
	if err != nil {
		return nil, err
	}
	return &m, d.awaitState(c, m)
}

// beginExport checks that the collections are there, and answers HEAD, which needs no lines. done says that it has answered.
// The error is UnknownCollection.
func (d *documents) beginExport(c echo.Context, collections []string, m *moment) (done bool, err error) {
	var at fanfold.Position
	if err := d.open(c).Read(func(snap *view.Prefix) error {
		if at = snap.At(); m != nil {
			if at, err = d.resolve(snap, *m); err != nil {
				return err
			}
		}
		for _, name := range collections {
			if err := checkCollection(snap, name); err != nil {
				return err
			}
		}
		return nil
	}); err != nil || c.Request().Method != http.MethodHead {
		return false, err
	}
	h := c.Response().Header()
	h.Set("Content-Type", ndjsonType)
	h.Set(headerPosition, d.positions.mark(at).String())
	return true, c.NoContent(http.StatusOK)
}

// writeAndClose writes an export of a scan, and closes the scan. The error is exportfile.Write's, or Internal where that panicked.
func writeAndClose(ctx context.Context, scan exportSource, out *admission.Spool, collections []string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fanfold.Errorf(fanfold.Internal, "the export panicked: %v", p)
		}
		err = errors.Join(err, scan.Close())
	}()
	return exportfile.Write(ctx, scan, out, collections)
}
