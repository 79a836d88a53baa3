package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/writer"
)

// importPause bounds how long a client may take to read a piece of an export, or of the answer to an import.
const importPause = 30 * time.Second

// ndjsonType is the media type of imports, of their answers and of exports.
const ndjsonType = "application/x-ndjson"

// imports stores documents, a line each.
type imports struct {
	*documents

	importer Importer
}

// progress answers GET /v1/_import: how far an import has come.
func (ip *imports) progress(c echo.Context) error {
	if err := parameters(c, "id"); err != nil {
		return err
	}
	id := c.QueryParam("id")
	if err := fanfold.CheckID(id); err != nil {
		return err
	}
	p, rev, err := ip.importer.ImportProgress(c.Request().Context(), id, rightsOf(c))
	if err != nil {
		return err
	}
	if rev == 0 {
		return fanfold.Errorf(fanfold.NotFound, "there is no import %q", id)
	}
	return c.JSON(http.StatusOK, p)
}

// answer answers POST /v1/_import. If something is wrong with the request as a whole, the answer is a problem.
// Otherwise it is lines of NDJSON that report refused lines, progress and the end.
func (ip *imports) answer(c echo.Context) error {
	if c.QueryParams().Has("from") {
		return ip.answerForeign(c)
	}
	opt, err := readImportOptions(c)
	if err != nil {
		return err
	}
	zipped, err := isGzip(c)
	if err != nil {
		return err
	}
	body, err := ip.budget.Body(c.Request().Body, http.NewResponseController(c.Response()))
	if err != nil {
		return err
	}
	leave, err := enter(c, ip.budget, admission.Imports, admission.Applicant{Body: body})
	if err != nil {
		return err
	}
	defer leave()
	im, err := ip.importer.NewImport(c.Request().Context(), opt)
	if err != nil {
		return err
	}
	body.Ask()
	answer, err := ip.begin(c)
	if err != nil {
		return err
	}
	ctx, cancel := body.Context(c.Request().Context())
	defer cancel()
	err = im.Run(ctx, newLineReader(body, zipped, opt.First), answer.report)
	end := conclusion{failed: err}
	report := im.Report()
	if err == nil {
		end.late = im.WaitFolded(ctx)
	}
	ip.finish(answer, report, end)
	return nil
}

// begin begins the answer to an import, which is written while lines are read.
func (ip *imports) begin(c echo.Context) (*lineAnswer, error) {
	control := http.NewResponseController(c.Response())
	if err := admission.Supported(control.EnableFullDuplex()); err != nil {
		return nil, err
	}
	h := c.Response().Header()
	h.Set("Content-Type", ndjsonType)
	if c.Request().ProtoMajor == 1 {
		h.Set("Connection", "close") // after an import that ended early the connection has a deadline that has passed
	}
	if c.Request().Header.Get("Expect") != "" { // net/http would do so at the first read, which comes after the header
		c.Response().Writer.WriteHeader(http.StatusContinue)
	}
	c.Response().WriteHeader(http.StatusOK)
	return &lineAnswer{seen: ip.open(c), mark: ip.positions.markEvent, out: c.Response(), control: control}, nil
}

// readImportOptions reads the headers and parameters of an import. Errors are Invalid and UnsupportedMedia.
func readImportOptions(c echo.Context) (opt writer.ImportOptions, err error) {
	known, repeated, types := []string{"collection", "id", "resume", "first", "allowFanout", "allowRemoval", "restore", "from"}, "", []string{ndjsonType, "application/jsonl"}
	if c.QueryParams().Has("from") {
		known, repeated, types = append(append(known, "dryRun"), foreignParameters...), repeatedParameters, append(types, bytesType)
	}
	if _, err := params.ParseRepeated(c.Request().URL.RawQuery, repeated, known...); err != nil {
		return opt, err
	}
	if _, err := mediaType(c, types...); err != nil {
		return opt, err
	}
	if len(c.Request().Header[headerIdempotencyKey]) > 0 {
		return opt, fanfold.Errorf(fanfold.Invalid, "%s does not go with an import: give it an id and resume it", headerIdempotencyKey)
	}
	opt = writer.ImportOptions{ID: c.QueryParam("id"), Collection: c.QueryParam("collection"), First: 1, By: rightsOf(c)}
	if opt.Resume, err = params.Bool(c.QueryParams(), "resume"); err != nil {
		return opt, err
	}
	if opt.AllowFanout, err = params.Bool(c.QueryParams(), "allowFanout"); err != nil {
		return opt, err
	}
	if opt.AllowRemoval, err = params.Bool(c.QueryParams(), "allowRemoval"); err != nil {
		return opt, err
	}
	if opt.Restore, err = params.Bool(c.QueryParams(), "restore"); err != nil {
		return opt, err
	}
	if first := c.QueryParam("first"); first != "" {
		if opt.First, err = strconv.Atoi(first); err != nil || opt.First < 1 {
			return opt, fanfold.Errorf(fanfold.Invalid, "first=%s is not the number of a line", first)
		}
	}
	return opt, nil
}

// refusalOf returns the report of a line that err refused, to who has a view.
func refusalOf(seen view.View, line int, err error) wire.ImportRefusal {
	var e *fanfold.Error
	if !errors.As(err, &e) {
		e = fanfold.Errorf(fanfold.Internal, "the server made a mistake")
	}
	e = seen.Refusal(e)
	status := statusOf[e.Code]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	detail := e.Message
	for _, p := range e.Problems {
		detail += "; " + p.Path + ": " + p.Detail
	}
	out := wire.ImportRefusal{Line: line, Status: status, Type: ProblemType(e.Code), Detail: detail}
	if e.Function != nil {
		out.Trigger, out.Code = e.Function.Trigger, e.Function.Code
	}
	return out
}

// lineAnswer writes an answer of lines, to an import or an update, piece by piece.
type lineAnswer struct {
	seen    view.View
	out     io.Writer
	control *http.ResponseController
	mark    func(seq uint64) fanfold.Bookmark // gives out the position of an event
}

// report writes the refused lines of a batch, and how far the import has come.
func (a *lineAnswer) report(r writer.ImportReport) error {
	var b bytes.Buffer
	for _, refused := range r.Refusals {
		if err := encode(&b, refusalOf(a.seen, refused.Line, refused.Err)); err != nil {
			return err
		}
	}
	if err := encode(&b, wire.ImportState{Position: a.mark(r.Last), Progress: wire.ImportCounts(r.Progress)}); err != nil {
		return err
	}
	return a.send(b.Bytes())
}

// send writes a piece of the answer, for which the client has importPause.
func (a *lineAnswer) send(b []byte) error {
	if err := admission.Supported(a.control.SetWriteDeadline(time.Now().Add(importPause))); err != nil {
		return err
	}
	if _, err := a.out.Write(b); err != nil {
		return err
	}
	return a.control.Flush()
}

// conclusion says how an import or an update ended.
type conclusion struct {
	failed error // why not everything was done; nil where it was
	late   error // why what is stored is not all shown yet; nil where it is
}

// told returns what the last line says of it to who has a view: whether what is stored is shown, nil for a failure, and why not.
func (e conclusion) told(seen view.View) (folded *bool, why wire.ImportRefusal) {
	switch {
	case e.failed != nil:
		return nil, refusalOf(seen, 0, e.failed)
	case e.late != nil:
		return new(false), wire.ImportRefusal{Detail: "everything is stored, and not all of it is folded here yet: " + refusalOf(seen, 0, e.late).Detail}
	}
	return new(true), wire.ImportRefusal{}
}

// isFault tells whether the end is to be logged, for the reason that told gives: the client neither caused it nor went away.
func (e conclusion) isFault(why wire.ImportRefusal) bool {
	return why.Status >= http.StatusInternalServerError && !errors.Is(e.failed, context.Canceled)
}

// sendLast writes the last line. It panics where it cannot: an answer that was cut must not look complete.
func (a *lineAnswer) sendLast(line any) {
	b, err := json.Marshal(line)
	if err == nil {
		err = a.send(append(b, '\n'))
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// finish writes the last line, which says whether everything was read and stored, and then whether it is shown.
func (ip *imports) finish(a *lineAnswer, r writer.ImportReport, e conclusion) {
	p := r.Progress
	folded, why := e.told(a.seen)
	if e.isFault(why) {
		ip.logger.Error("an import ended early", "line", p.Line, "err", e.failed)
	}
	a.sendLast(wire.ImportSummary{Done: e.failed == nil, Line: p.Line, Written: p.Written, Refused: p.Refused, Position: a.mark(r.Last),
		Folded: folded, Status: why.Status, Type: why.Type, Detail: why.Detail})
}
