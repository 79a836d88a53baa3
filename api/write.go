package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/condition"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

// The media types of documents and patches.
const (
	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json"
	jsonPatchType  = "application/json-patch+json"
)

// writeParameters lists the query parameters that every write of documents takes.
var writeParameters = []string{"dryRun", "examples", "allowFanout"}

// write holds what one request asks to be written, and how it wants to be answered.
type write struct {
	op      *writer.Operation // nil of a transaction
	request writer.Request
	prefer  preferences
	limit   time.Duration // how long it waits for the fold
	begun   time.Time
}

// newWrite reads the headers and parameters that every write has. body is the request's body, which belongs to what an
// Idempotency-Key is for. op is nil for a transaction. The error is Invalid.
func (d *documents) newWrite(c echo.Context, op *writer.Operation, body []byte) (w *write, err error) {
	w = &write{op: op, prefer: prefer(c), begun: time.Now()}
	if w.limit, err = d.fresh.timeout(c); err != nil {
		return nil, err
	}
	if w.request.Key, err = idempotencyKey(c.Request(), body); err == nil {
		err = d.fresh.takesKeys(w.request.Key)
	}
	if err != nil {
		return nil, err
	}
	w.request.DryRun, w.request.By = w.prefer.dry, rightsOf(c)
	if c.Request().URL.RawQuery == "" {
		return w, nil
	}
	dry, err := params.Bool(c.QueryParams(), "dryRun")
	if err != nil {
		return nil, err
	}
	w.request.DryRun = w.request.DryRun || dry
	if w.request.Examples, err = params.Int(c.QueryParams(), "examples", 0, 0, model.MaxExamples); err != nil {
		return nil, err
	}
	if !w.request.DryRun && c.QueryParams().Has("examples") {
		return nil, fanfold.Errorf(fanfold.Invalid, "examples goes with dryRun=true: a write that is stored shows its changes in the feed")
	}
	w.request.AllowFanout, err = params.Bool(c.QueryParams(), "allowFanout")
	return w, err
}

// create answers POST of a document, whose id is in the body or is made.
func (d *documents) create(c echo.Context) error {
	collection, err := collectionOf(c)
	if err != nil {
		return err
	}
	if err := parameters(c, writeParameters...); err != nil {
		return err
	}
	cond, err := d.positions.parseConditions(c.Request())
	if err != nil {
		return err
	}
	if cond.Exists || cond.Revisions != nil || cond.Not != nil {
		return fanfold.Errorf(fanfold.Invalid, "an ETag does not go with POST, which only creates: use PUT")
	}
	body, _, err := readBody(c, d.maxBody, jsonType)
	if err != nil {
		return err
	}
	return d.writeOne(c, &writer.Operation{Kind: writer.Create, Key: fanfold.Key{Collection: collection}, Content: body}, body)
}

// put answers PUT of a document: it is created or replaced, under the request's conditions.
func (d *documents) put(c echo.Context) error {
	op, err := d.addressed(c, writer.Put, "refresh", paramIf, paramParams)
	if err != nil {
		return err
	}
	if op.Content, _, err = readBody(c, d.maxBody, jsonType); err != nil {
		return err
	}
	return d.writeOne(c, op, op.Content)
}

// patch answers PATCH of a document: the patch is applied to the referenced view, checked, and stored as it is, on the
// revision with which it was checked.
func (d *documents) patch(c echo.Context) error {
	op, err := d.addressed(c, writer.Patch, "refresh", paramIf, paramParams)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Accept-Patch", mergePatchType+", "+jsonPatchType)
	body, contentType, err := readBody(c, d.maxBody, mergePatchType, jsonPatchType)
	if err != nil {
		return err
	}
	op.Content, op.PatchType = body, fanfold.MergePatch
	if contentType == jsonPatchType {
		op.PatchType = fanfold.JSONPatch
	}
	return d.writeOne(c, op, body)
}

// delete answers DELETE of a document.
func (d *documents) delete(c echo.Context) error {
	op, err := d.addressed(c, writer.Delete, "steps", paramIf, paramParams)
	if err != nil {
		return err
	}
	steps, err := params.Bool(c.QueryParams(), "steps")
	if err != nil {
		return err
	}
	if steps {
		return d.deleteStep(c, op)
	}
	return d.writeOne(c, op, nil)
}

// writeOne makes one operation and answers it.
func (d *documents) writeOne(c echo.Context, op *writer.Operation, body []byte) error {
	w, err := d.newWrite(c, op, body)
	if err != nil {
		return err
	}
	op.Strict = w.prefer.strict
	if err := d.writer.Prepare(c.Request().Context(), op, w.request.By); err != nil {
		return err
	}
	result, err := d.writer.Write(c.Request().Context(), op, w.request)
	switch {
	case err != nil && op.Kind != writer.Create:
		return d.stale(c, op.Key, err)
	case err != nil:
		return err
	case result.DryRun != nil:
		return d.answerDryRun(c, result.DryRun)
	case result.Unchanged != nil:
		return finishUnchanged(d, c, w, result.Unchanged)
	}
	return d.finish(c, w, result.First)
}

// addressed reads the path, the parameters and the conditions of a write to one document. named are the parameters that only
// this kind of write takes. Errors are Invalid and NotFound.
func (d *documents) addressed(c echo.Context, kind writer.OperationKind, named ...string) (op *writer.Operation, err error) {
	op = &writer.Operation{Kind: kind}
	if op.Key, err = keyOf(c); err != nil {
		return nil, err
	}
	if err := parameters(c, append(named, writeParameters...)...); err != nil {
		return nil, err
	}
	if op.Conditions, err = d.positions.parseConditions(c.Request()); err != nil {
		return nil, err
	}
	if (op.Absent || op.Not != nil) && kind != writer.Put {
		return nil, fanfold.Errorf(fanfold.Invalid, "If-None-Match does not go with %s", c.Request().Method)
	}
	if err := readIf(c, op); err != nil {
		return nil, err
	}
	if v := c.QueryParam("refresh"); v != "" { // refresh=field[,field]
		op.Refresh = strings.Split(v, ",")
	}
	return op, nil
}

// The parameters of a condition over a document's content, and the members of an operation that say the same.
const (
	paramIf     = "if"
	paramParams = "params"
)

// readIf reads the condition over a document's content that a request has. The error is Invalid.
func readIf(c echo.Context, op *writer.Operation) (err error) {
	if c.Request().URL.RawQuery == "" {
		return nil
	}
	values := c.QueryParams()
	switch {
	case !values.Has(paramIf) && !values.Has(paramParams):
		return nil
	case !values.Has(paramIf):
		return fanfold.Errorf(fanfold.Invalid, "params goes with if")
	case op.Absent || op.Not != nil:
		return fanfold.Errorf(fanfold.Invalid, "if does not go with If-None-Match: it is a condition on a document that is there")
	}
	var given []byte
	if values.Has(paramParams) {
		given = []byte(values.Get(paramParams))
	}
	op.If, err = new(condition.Set).Parse(values.Get(paramIf), given)
	return err
}

// stale returns a Stale for a condition that does not hold, and sets the headers with the current ETag, as it does for a ConditionFailed. It
// returns other errors as they are.
func (d *documents) stale(c echo.Context, key fanfold.Key, err error) error {
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Code != fanfold.Stale && e.Code != fanfold.Exists && e.Code != fanfold.ConditionFailed {
		return err
	}
	if e.Current > 0 { // so that the tag below is not older than the revision in the error
		_ = d.fresh.wait(c.Request().Context(), uint64(e.Current), d.fresh.standard)
	}
	if doc, at, gerr := d.open(c).Get(key, fanfold.Embedded); gerr == nil && doc != nil {
		h := c.Response().Header()
		h[keyETag] = []string{d.positions.etag(doc).String()}
		h.Set(headerRevision, strconv.FormatUint(uint64(doc.Revision), 10))
		h.Set(headerPosition, d.positions.mark(at).String())
	}
	if e.Code == fanfold.ConditionFailed {
		return err
	}
	return &fanfold.Error{Code: fanfold.Stale, Message: e.Message, Current: e.Current, About: e.About, Discreet: e.Discreet, Err: e.Err}
}

// deleteStep answers DELETE with steps=true.
func (d *documents) deleteStep(c echo.Context, op *writer.Operation) error {
	w, err := d.newWrite(c, op, nil)
	if err != nil {
		return err
	}
	if op.Any() || len(c.Request().Header[headerIdempotencyKey]) > 0 || w.prefer.async {
		return fanfold.Errorf(fanfold.Invalid, "If-Match, %s and respond-async do not go with steps: repeat the request until it says done", headerIdempotencyKey)
	}
	step, err := d.writer.DeleteNext(c.Request().Context(), op.Key, w.request.Intent)
	if err != nil {
		return err
	}
	if step.DryRun != nil {
		return d.answerDryRun(c, step.DryRun)
	}
	result := wire.DeleteStep{Done: step.Done, Position: d.positions.markEvent(step.Last)}
	result.Deleted, result.Changed = d.open(c).CountStep(step.Writes)
	c.Response().Header().Set(headerPosition, result.Position.String())
	if err := d.fresh.wait(c.Request().Context(), step.Last, w.limit); err != nil {
		return d.accepted(c, w, step.Last, err, result)
	}
	return c.JSON(http.StatusOK, result)
}

// dryRunResult holds the answer to a dry run.
type dryRunResult struct {
	Writes []dryRunWrite `json:"writes"` // what would be stored
	*model.Fanout
	Examples []model.Example `json:"examples,omitzero" maxItems:"20" schema:"{'items':{'type':'object','required':['collection','id','rule','patch'],'additionalProperties':false,'properties':{'collection':{'$ref':'#/components/schemas/CollectionName'},'id':{'type':'string'},'rule':{'type':'string','description':'The rule whose value changes; the first of several.'},'rules':{'type':'array','description':'All rules whose values change, where there are several.','minItems':2,'items':{'type':'string'}},'patch':{'type':'array','description':'What changes, with the old values.','minItems':1,'items':{'$ref':'#/components/schemas/DeltaOperation'}}}}}" doc:"With the parameter examples: derived changes of collections that you read, as the feed would have them: the first of each rule, then others in order. Those that 64 KiB have no room for are left out."`
}

type dryRunWrite struct {
	Op         fanfold.Kind `json:"op" enum:"put|patch|delete|check"`
	Collection string       `json:"collection" ref:"CollectionName"`
	ID         string       `json:"id"`
}

// answerDryRun answers a dry run with the writes that would be stored and what they would cause.
func (d *documents) answerDryRun(c echo.Context, dry *writer.DryRun) error {
	out := dryRunOf(c, d.open(c), d.positions, dry)
	c.Response().Header()["Content-Type"] = typeDryRun
	return c.JSON(http.StatusOK, out)
}

// dryRunOf returns the answer to a dry run, of what somebody may see, and sets its headers.
func dryRunOf(c echo.Context, seen view.View, at positions, dry *writer.DryRun) dryRunResult {
	writes := seen.Writes(dry.Writes)
	out := dryRunResult{Writes: make([]dryRunWrite, len(writes)), Fanout: seen.Fanout(dry.Fanout)}
	for i, w := range writes {
		out.Writes[i] = dryRunWrite{w.Event.Kind, w.Event.Key.Collection, w.Event.Key.ID}
	}
	if c.QueryParams().Has("examples") {
		out.Examples = append([]model.Example{}, out.Fanout.Examples...)
	}
	out.Position = at.mark(out.Position.Position)
	header := c.Response().Header()
	header.Set(headerPosition, out.Position.String())
	if prefer(c).dry {
		header.Set("Preference-Applied", "dry-run")
	}
	return out
}

// headerIdempotencyKey names the header under whose value a request happens once.
const headerIdempotencyKey = "Idempotency-Key"

// maxIdempotencyKey bounds an Idempotency-Key, in bytes.
const maxIdempotencyKey = 255

// idempotencyKey reads the request's Idempotency-Key, and digests what the request asks for: method, path, parameters,
// content type, conditions and body. It returns the zero value without the header. The error is Invalid.
func idempotencyKey(r *http.Request, body []byte) (out fanfold.IdempotencyKey, err error) {
	values := r.Header[headerIdempotencyKey]
	if len(values) == 0 {
		return out, nil
	}
	key := strings.TrimSpace(values[0])
	if inner, ok := strings.CutPrefix(key, `"`); ok { // a string of RFC 9651, as the header's draft has it
		key, ok = strings.CutSuffix(inner, `"`)
		if !ok {
			key = ""
		}
	}
	printable := func(c rune) bool { return c >= 0x20 && c < 0x7f }
	if len(values) > 1 || key == "" || len(key) > maxIdempotencyKey || strings.ContainsFunc(key, func(c rune) bool { return !printable(c) }) {
		return out, fanfold.Errorf(fanfold.Invalid, "%s must be one key of 1 to %d printable ASCII characters, such as a UUID", headerIdempotencyKey, maxIdempotencyKey)
	}
	sum := sha256.Sum256([]byte(key))
	out.Hash = base64.RawURLEncoding.EncodeToString(sum[:])
	contentType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	digest := sha256.New()
	parts := []string{r.Method, r.URL.EscapedPath(), strings.ToLower(strings.TrimSpace(contentType)),
		strings.Join(r.Header["If-Match"], ","), strings.Join(r.Header["If-None-Match"], ","), string(body)}
	if r.URL.RawQuery != "" {
		parts = append(parts, r.URL.RawQuery)
	}
	for _, part := range parts {
		digest.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
		digest.Write([]byte(part))
	}
	out.Digest = base64.RawURLEncoding.EncodeToString(digest.Sum(nil))
	return out, nil
}
