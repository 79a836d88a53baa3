package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/api/internal/view"
	"github.com/fanfold/fanfold/bulk"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
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
	end := importEnd{report: im.Report(), failed: err}
	if err == nil {
		end.late = im.WaitFolded(ctx)
	}
	ip.finish(answer, end)
	return nil
}

// begin begins the answer to an import, which is written while lines are read.
func (ip *imports) begin(c echo.Context) (*importAnswer, error) {
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
	return &importAnswer{seen: ip.open(c), mark: ip.positions.markEvent, out: c.Response(), control: control}, nil
}

// readImportOptions reads the headers and parameters of an import. Errors are Invalid and UnsupportedMedia.
func readImportOptions(c echo.Context) (opt writer.ImportOptions, err error) {
	if err := parameters(c, "collection", "id", "resume", "first", "allowFanout", "allowRemoval", "restore"); err != nil {
		return opt, err
	}
	if _, err := mediaType(c, ndjsonType, "application/jsonl"); err != nil {
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
	return wire.ImportRefusal{Line: line, Status: status, Type: ProblemType(e.Code), Detail: detail}
}

// importAnswer writes the answer of an import piece by piece.
type importAnswer struct {
	seen    view.View
	out     io.Writer
	control *http.ResponseController
	mark    func(seq uint64) fanfold.Bookmark // gives out the position of an event
}

// report writes the refused lines of a batch, and how far the import has come.
func (a *importAnswer) report(r writer.ImportReport) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, refused := range r.Refusals {
		if err := enc.Encode(refusalOf(a.seen, refused.Line, refused.Err)); err != nil {
			return err
		}
	}
	if err := enc.Encode(wire.ImportState{Position: a.mark(r.Last), Progress: wire.ImportCounts(r.Progress)}); err != nil {
		return err
	}
	return a.send(b.Bytes())
}

// send writes a piece of the answer, for which the client has importPause.
func (a *importAnswer) send(b []byte) error {
	if err := admission.Supported(a.control.SetWriteDeadline(time.Now().Add(importPause))); err != nil {
		return err
	}
	if _, err := a.out.Write(b); err != nil {
		return err
	}
	return a.control.Flush()
}

// importEnd says how an import ended.
type importEnd struct {
	report writer.ImportReport
	failed error // why not everything was read and stored; nil where it was
	late   error // why what is stored is not all shown yet; nil where it is
}

// finish writes the last line, which says whether everything was read and stored, and then whether it is shown.
func (ip *imports) finish(a *importAnswer, e importEnd) {
	p := e.report.Progress
	end := wire.ImportSummary{Done: e.failed == nil, Line: p.Line, Written: p.Written, Refused: p.Refused, Position: a.mark(e.report.Last)}
	switch {
	case e.failed == nil && e.late == nil:
		end.Folded = new(true)
	case e.failed == nil:
		end.Folded = new(false)
		end.Detail = "everything is stored, and not all of it is folded here yet: " + refusalOf(a.seen, 0, e.late).Detail
	default:
		failure := refusalOf(a.seen, p.Line+1, e.failed)
		end.Status, end.Type, end.Detail = failure.Status, failure.Type, failure.Detail
		if failure.Status >= http.StatusInternalServerError && !errors.Is(e.failed, context.Canceled) {
			ip.logger.Error("an import ended early", "line", p.Line, "err", e.failed)
		}
	}
	b, err := json.Marshal(end)
	if err == nil {
		err = a.send(append(b, '\n'))
	}
	if err != nil {
		panic(http.ErrAbortHandler) // an answer that was cut must not look complete
	}
}

// updates writes the documents that a filter matches.
type updates struct {
	*documents

	bulk *writer.Writer
}

// patch answers PATCH of a collection: the documents that the filter matches are patched.
func (u *updates) patch(c echo.Context) error {
	op, err := u.operation(c, writer.Patch, "refresh")
	if err != nil {
		return err
	}
	c.Response().Header().Set("Accept-Patch", mergePatchType+", "+jsonPatchType)
	body, contentType, err := readBody(c, u.maxBody, mergePatchType, jsonPatchType)
	if err != nil {
		return err
	}
	op.Content, op.PatchType = body, fanfold.MergePatch
	if contentType == jsonPatchType {
		op.PatchType = fanfold.JSONPatch
	}
	return u.answer(c, op)
}

// delete answers DELETE of a collection: the documents that the filter matches are deleted.
func (u *updates) delete(c echo.Context) error {
	op, err := u.operation(c, writer.Delete)
	if err != nil {
		return err
	}
	return u.answer(c, op)
}

// operation reads the path and the parameters. The error is Invalid.
func (u *updates) operation(c echo.Context, kind writer.OperationKind, more ...string) (op *writer.Operation, err error) {
	op = &writer.Operation{Kind: kind}
	if op.Key.Collection, err = collectionOf(c); err != nil {
		return nil, err
	}
	if err := parameters(c, append(append([]string{"filter", "params"}, more...), writeParameters...)...); err != nil {
		return nil, err
	}
	if c.QueryParam("filter") == "" {
		return nil, fanfold.Errorf(fanfold.Invalid, "filter is missing: say which documents are meant, such as filter=doc.status == \"old\"; filter=true means all of them")
	}
	if v := c.QueryParam("refresh"); v != "" {
		op.Refresh = strings.Split(v, ",")
	}
	return op, nil
}

// answer carries out what a request asks for. If something is wrong with the request as a whole, the answer is a problem. Otherwise it is
// lines of NDJSON, as of an import; of a dry run it is JSON.
func (u *updates) answer(c echo.Context, op *writer.Operation) error {
	w, err := u.newWrite(c, op, op.Content)
	if err != nil {
		return err
	}
	r := bulk.Request{Filter: c.QueryParam("filter"), Operation: *op, Request: w.request}
	if c.QueryParams().Has("params") {
		r.Params = []byte(c.QueryParam("params"))
	}
	leave, err := enter(c, u.budget, admission.Updates, admission.Applicant{})
	if err != nil {
		return err
	}
	defer leave()
	ctx := c.Request().Context()
	r.By = rightsOf(c) // of after the wait
	run, err := bulk.Begin(ctx, bulk.Store{Writer: u.bulk, Model: u.model, Read: u.read(c), Turns: u.budget.Turns}, r)
	switch {
	case err != nil:
		return err
	case r.DryRun:
		return u.try(c, run)
	}
	answer, err := u.begin(c)
	if err != nil {
		return err
	}
	err = run.Run(ctx, answer.reportUpdate)
	end := updateEnd{Report: run.Report(), failed: err}
	if err == nil {
		end.late = run.WaitFolded(ctx)
	}
	u.finish(answer, end)
	return nil
}

// read returns what reads a prefix as the sender of a request sees it.
func (u *updates) read(c echo.Context) func(func(bulk.Snapshot) error) error {
	seen := u.open(c)
	return func(fn func(bulk.Snapshot) error) error {
		return seen.Read(func(p *view.Prefix) error { return fn(p) })
	}
}

// model returns the model that applies, and the event that applied it.
func (u *updates) model() (m *model.Model, seq uint64) {
	m, seq, _ = u.models.Model()
	return m, seq
}

// begin begins an answer that is written while documents are.
func (u *updates) begin(c echo.Context) (*importAnswer, error) {
	c.Response().Header().Set("Content-Type", ndjsonType)
	c.Response().WriteHeader(http.StatusOK)
	a := &importAnswer{seen: u.open(c), mark: u.positions.markEvent, out: c.Response(), control: http.NewResponseController(c.Response())}
	return a, a.control.Flush()
}

// refusedDocument returns the report of a document that was not written.
func refusedDocument(seen view.View, r writer.BulkRefusal) wire.RefusedDocument {
	told := refusalOf(seen, 0, r.Err)
	return wire.RefusedDocument{ID: r.ID, Status: told.Status, Type: told.Type, Detail: told.Detail}
}

// updateState is a line that says how far an update has come.
type updateState struct {
	Position fanfold.Bookmark  `json:"position"`
	Progress writer.BulkCounts `json:"progress"`
}

// reportUpdate writes the refused documents of a step, and how far the update has come.
func (a *importAnswer) reportUpdate(r bulk.Report) error {
	var b bytes.Buffer
	for _, refused := range r.Refused {
		if err := encode(&b, refusedDocument(a.seen, refused)); err != nil {
			return err
		}
	}
	if err := encode(&b, updateState{a.mark(r.Last), r.Counts}); err != nil {
		return err
	}
	return a.send(b.Bytes())
}

// updateSummary is the last line of the answer to an update.
type updateSummary struct {
	Detail string `json:"detail,omitempty"` // why not all is done, or shown
	Done   bool   `json:"done"`             // every document that matches is written or was refused
	Folded *bool  `json:"folded,omitempty"` // what is stored is shown; absent where the update failed
	writer.BulkCounts
	Position fanfold.Bookmark `json:"position"`
	Status   int              `json:"status,omitempty"` // of the failure
	Type     string           `json:"type,omitempty"`
}

// updateEnd says how an update ended.
type updateEnd struct {
	bulk.Report
	failed error // why not everything was done; nil where it was
	late   error // why what is stored is not all shown yet; nil where it is
}

// finish writes the last line.
func (u *updates) finish(a *importAnswer, e updateEnd) {
	end := updateSummary{Done: e.failed == nil, BulkCounts: e.Counts, Position: a.mark(e.Last)}
	switch {
	case e.failed == nil && e.late == nil:
		end.Folded = new(true)
	case e.failed == nil:
		end.Folded = new(false)
		end.Detail = "everything is stored, and not all of it is folded here yet: " + refusalOf(a.seen, 0, e.late).Detail
	default:
		failure := refusalOf(a.seen, 0, e.failed)
		end.Status, end.Type, end.Detail = failure.Status, failure.Type, failure.Detail
		if failure.Status >= http.StatusInternalServerError && !errors.Is(e.failed, context.Canceled) {
			u.logger.Error("an update ended early", "written", e.Counts.Written, "err", e.failed)
		}
	}
	b, err := json.Marshal(end)
	if err == nil {
		err = a.send(append(b, '\n'))
	}
	if err != nil {
		panic(http.ErrAbortHandler) // an answer that was cut must not look complete
	}
}

// maxNamed bounds how many writes, and how many refusals, a dry run of an update names.
const maxNamed = 20

// updateTrial is the answer to a dry run of an update.
type updateTrial struct {
	Matched   int                    `json:"matched" doc:"Documents that the filter matches."`
	Judged    int                    `json:"judged" doc:"Of these, the first ones by id, 1,000 at most: all else in the answer tells of them alone."`
	Written   int                    `json:"written" doc:"Documents that would be changed or deleted."`
	Unchanged int                    `json:"unchanged" doc:"Documents that are so already."`
	Refused   int                    `json:"refused" doc:"Documents whose write would be refused."`
	Refusals  []wire.RefusedDocument `json:"refusals" maxItems:"20" doc:"The first 20 of them."`
	dryRunResult
}

// try answers a dry run.
func (u *updates) try(c echo.Context, run *bulk.Update) error {
	t, err := run.DryRun(c.Request().Context())
	if err != nil {
		return err
	}
	seen := u.open(c)
	out := updateTrial{Matched: t.Matched, Judged: t.Judged, Written: t.Counts.Written, Unchanged: t.Counts.Unchanged, Refused: t.Counts.Refused, Refusals: []wire.RefusedDocument{}}
	for _, refused := range t.Refused[:min(len(t.Refused), maxNamed)] {
		out.Refusals = append(out.Refusals, refusedDocument(seen, refused))
	}
	out.dryRunResult = dryRunOf(c, seen, u.positions, &writer.DryRun{Writes: t.Writes[:min(len(t.Writes), maxNamed)], Fanout: t.Fanout})
	return c.JSON(http.StatusOK, out)
}
