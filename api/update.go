package api

import (
	"bytes"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/bulk"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

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
	end := conclusion{failed: err}
	report := run.Report()
	if err == nil {
		end.late = run.WaitFolded(ctx)
	}
	u.finish(answer, report, end)
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
func (u *updates) begin(c echo.Context) (*lineAnswer, error) {
	c.Response().Header().Set("Content-Type", ndjsonType)
	c.Response().WriteHeader(http.StatusOK)
	a := &lineAnswer{seen: u.open(c), mark: u.positions.markEvent, out: c.Response(), control: http.NewResponseController(c.Response())}
	return a, a.control.Flush()
}

// refusedDocument returns the report of a document that was not written.
func refusedDocument(seen view.View, r writer.BulkRefusal) wire.RefusedDocument {
	told := refusalOf(seen, 0, r.Err)
	return wire.RefusedDocument{ID: r.ID, Status: told.Status, Type: told.Type, Detail: told.Detail, Large: largeOf(seen, r.Err)}
}

// largeOf returns what the reader may know of a delete that takes steps, and nothing of other refusals.
func largeOf(seen view.View, err error) wire.Large {
	of := wire.Large{Steps: errors.Is(err, writer.ErrManySteps)}
	var steps *writer.ManySteps
	if errors.As(err, &steps) && seen.TellsAbout(known(err)) {
		of.Documents, of.AtLeast = steps.Documents, steps.AtLeast
	}
	return of
}

// reportUpdate writes the refused documents of a step, and how far the update has come.
func (a *lineAnswer) reportUpdate(r bulk.Report) error {
	var b bytes.Buffer
	for _, refused := range r.Refused {
		if err := encode(&b, refusedDocument(a.seen, refused)); err != nil {
			return err
		}
	}
	if err := encode(&b, wire.UpdateState{Position: a.mark(r.Last), Progress: wire.UpdateCounts(r.Counts)}); err != nil {
		return err
	}
	return a.send(b.Bytes())
}

// finish writes the last line.
func (u *updates) finish(a *lineAnswer, r bulk.Report, e conclusion) {
	folded, why := e.told(a.seen)
	if e.isFault(why) {
		u.logger.Error("an update ended early", "written", r.Counts.Written, "err", e.failed)
	}
	a.sendLast(wire.UpdateSummary{Done: e.failed == nil, UpdateCounts: wire.UpdateCounts(r.Counts), Position: a.mark(r.Last),
		Folded: folded, Hints: r.Hints, Status: why.Status, Type: why.Type, Detail: why.Detail})
}

// maxNamed bounds how many writes, and how many refusals, a dry run of an update names.
const maxNamed = 20

// updateTrial is the answer to a dry run of an update.
type updateTrial struct {
	Matched   int                    `json:"matched" doc:"Documents that the filter matches."`
	Judged    int                    `json:"judged" doc:"Of these, the first ones by id, 1,000 at most: all else in the answer tells of them alone."`
	Written   int                    `json:"written" doc:"Documents that would be changed or deleted, of those judged: of more than 1,000 that match it does not tell how many."`
	Unchanged int                    `json:"unchanged" doc:"Documents that are so already."`
	Refused   int                    `json:"refused" doc:"Documents whose write would be refused."`
	Steps     int                    `json:"steps,omitempty" minimum:"1" doc:"Of these, those that DELETE with steps=true deletes."`
	Refusals  []wire.RefusedDocument `json:"refusals" maxItems:"20" doc:"The first 20 of them."`
	Hints     []string               `json:"hints,omitempty" maxItems:"8" schema:"{'items':{'type':'string','minLength':1}}" doc:"Members that the filter names and that none of the first 32 documents looked at has, where one has a like name: did you mean it?"`
	dryRunResult
}

// try answers a dry run.
func (u *updates) try(c echo.Context, run *bulk.Update) error {
	t, err := run.DryRun(c.Request().Context())
	if err != nil {
		return err
	}
	seen := u.open(c)
	out := updateTrial{Matched: t.Matched, Judged: t.Judged, Written: t.Counts.Written, Unchanged: t.Counts.Unchanged, Refused: t.Counts.Refused, Refusals: []wire.RefusedDocument{}, Hints: t.Hints}
	for _, refused := range t.Refused {
		if errors.Is(refused.Err, writer.ErrManySteps) {
			out.Steps++
		}
	}
	for _, refused := range t.Refused[:min(len(t.Refused), maxNamed)] {
		out.Refusals = append(out.Refusals, refusedDocument(seen, refused))
	}
	t.Writes = t.Writes[:min(len(t.Writes), maxNamed)]
	out.dryRunResult = dryRunOf(c, seen, u.positions, t.DryRun)
	return c.JSON(http.StatusOK, out)
}
