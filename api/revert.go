package api

import (
	"bytes"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/writer"
)

// revert answers POST of a document's _revert: it writes the document as it was written at a position or a time. It writes nothing
// where the document is so already.
func (d *documents) revert(c echo.Context) error {
	op, err := d.addressed(c, writer.Put)
	if err != nil {
		return err
	}
	var asked wire.RevertBody
	if err := readObject(c, &asked); err != nil {
		return err
	}
	if asked.At == "" {
		return fanfold.Errorf(fanfold.Invalid, `member "at" is missing: a position or an RFC 3339 time`)
	}
	m, err := d.fresh.parseMoment("at", asked.At)
	if err != nil {
		return err
	}
	if err := d.awaitMoments(c, m); err != nil {
		return err
	}
	var current *fanfold.Document
	if err := d.open(c).Read(func(snap *view.Prefix) (err error) {
		op.Content, current, err = d.versionToWrite(snap, op.Key, m)
		return err
	}); err != nil {
		return err
	}
	op.Restores = true
	if current != nil && bytes.Equal(current.Body, op.Content) {
		return d.leaveAsItIs(c, op, []byte(asked.At))
	}
	return d.writeOne(c, op, []byte(asked.At))
}

// versionToWrite returns a document as it was written, and as it is written now, nil where it is not there. The error is NotFound where it
// was not there then.
func (d *documents) versionToWrite(snap *view.Prefix, key fanfold.Key, m moment) (written []byte, current *fanfold.Document, err error) {
	at, err := d.resolve(snap, m)
	if err != nil {
		return nil, nil, err
	}
	then, _, err := snap.AsOf(at).GetWithin(key, fanfold.Referenced, admission.MaxAnswer)
	if err != nil {
		return nil, nil, err
	}
	if then == nil {
		return nil, nil, fanfold.Errorf(fanfold.NotFound, "there was no document %s at %s: to go back to that, delete it", key, d.positions.mark(at))
	}
	current, _, err = snap.GetWithin(key, fanfold.Referenced, admission.MaxAnswer)
	return then.Body, current, err
}

// leaveAsItIs answers a revert to what is there. The conditions come first: a rehearsal of the write judges them.
func (d *documents) leaveAsItIs(c echo.Context, op *writer.Operation, body []byte) error {
	w, err := d.newWrite(c, op, body)
	if err != nil {
		return err
	}
	rehearsal := writer.Request{Intent: w.request.Intent}
	rehearsal.DryRun = true
	op.Strict = w.prefer.strict
	if err := d.writer.Prepare(c.Request().Context(), op, w.request.By); err != nil {
		return err
	}
	result, err := d.writer.Write(c.Request().Context(), op, rehearsal)
	switch {
	case err != nil:
		return d.stale(c, op.Key, err)
	case w.request.DryRun:
		return d.answerDryRun(c, result.DryRun.Nothing())
	}
	doc, at, err := d.open(c).Get(op.Key, fanfold.Embedded)
	if err != nil {
		return err
	}
	if doc != nil {
		c.Request().Header.Del("If-None-Match") // a write's condition, not a read's
		d.setDocument(c, doc, at, d.positions.etag(doc))
	}
	return c.NoContent(http.StatusNoContent)
}
