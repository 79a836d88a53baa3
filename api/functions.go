package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/writer"
)

// Caller calls the functions of the model.
type Caller interface {
	// MayCall returns nil where a principal may call a function. Errors are NotFound, Forbidden and Unavailable.
	MayCall(by *writer.Sender, name string) error
	// Call calls a function, and stores what it writes: see writer.Caller.
	Call(ctx context.Context, r writer.CallRequest) (writer.CallResult, error)
	// Stats returns the figures of a function on this node.
	Stats(name string) writer.FunctionStats
}

// functions answers requests about the functions of the model.
type functions struct {
	*documents
	caller Caller
}

// maxArguments bounds the arguments of a call, in bytes.
const maxArguments = 64 << 10

// list answers GET /v1/_functions.
func (f functions) list(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	m, _, _ := f.models.Model()
	out := wire.FunctionList{Functions: []wire.Function{}}
	for _, fn := range m.Functions {
		stats := f.caller.Stats(fn.Name)
		shown := wire.Function{Name: fn.Name, Args: fn.Args, Calls: stats.Calls, Errors: stats.Errors}
		if !stats.LastCalled.IsZero() {
			shown.LastCalled = stats.LastCalled.UTC()
		}
		out.Functions = append(out.Functions, shown)
	}
	return c.JSON(http.StatusOK, out)
}

// call answers POST /v1/_functions/{name}.
func (f functions) call(c echo.Context) error {
	if err := parameters(c, append([]string{"now", "seed"}, writeParameters...)...); err != nil {
		return err
	}
	var body []byte
	if c.Request().ContentLength != 0 {
		var err error
		if body, _, err = readBody(c, maxArguments, jsonType); err != nil {
			return err
		}
	}
	w, err := f.newWrite(c, nil, body)
	if err != nil {
		return err
	}
	r := writer.CallRequest{Function: c.Param("name"), Request: w.request, Limit: w.limit}
	if len(body) > 0 {
		r.Arguments = body
	}
	if err := readDryCall(c, &r); err != nil {
		return err
	}
	if err := f.fresh.await(c); err != nil {
		return err
	}
	result, err := f.caller.Call(c.Request().Context(), r)
	switch {
	case err != nil:
		return err
	case w.request.DryRun:
		return f.answerDryCall(c, &result)
	}
	return f.finishCall(c, w, &result)
}

// readDryCall reads the parameters that a dry run of a call takes. The error is Invalid.
func readDryCall(c echo.Context, r *writer.CallRequest) (err error) {
	q := c.QueryParams()
	if !q.Has("now") && !q.Has("seed") {
		return nil
	}
	if !r.DryRun {
		return fanfold.Errorf(fanfold.Invalid, "now and seed go with dryRun=true")
	}
	if q.Has("now") {
		if r.Now, err = time.Parse(time.RFC3339, q.Get("now")); err != nil || r.Now.UnixMilli() < 0 {
			return fanfold.Errorf(fanfold.Invalid, "now=%s is no time of RFC 3339 from 1970 on, such as 2026-01-02T15:04:05Z", fanfold.Clip(q.Get("now")))
		}
	}
	if r.Seeded = q.Has("seed"); r.Seeded {
		seed, err := params.Int(q, "seed", 0, 0, 1<<53)
		if err != nil {
			return err
		}
		r.Seed = uint64(seed)
	}
	return nil
}

// newCallResult returns what is known of a call before its writes are folded.
func newCallResult(r *writer.CallResult) wire.CallResult {
	out := wire.CallResult{Result: r.Answer, Attempts: r.Attempts, Operations: []wire.OperationResult{}}
	if len(out.Result) == 0 {
		out.Result = json.RawMessage("null")
	}
	for i, w := range r.Writes {
		out.Operations = append(out.Operations, wire.OperationResult{Op: string(w.Op), Collection: w.Key.Collection, ID: w.Key.ID, Revision: r.Result.First + 1 + uint64(i)})
	}
	return out
}

// finishCall waits for the fold of what a call has written, and answers it.
func (f functions) finishCall(c echo.Context, w *write, r *writer.CallResult) error {
	out := newCallResult(r)
	writes := max(len(r.Writes), r.Event.Writes)
	last := r.Result.First + uint64(writes)
	if r.Result.First == 0 {
		last = r.At
	}
	out.Position = marked(f.positions.markEvent(last), readerMark(c)).String()
	c.Response().Header().Set(headerPosition, out.Position)
	if list := w.prefer.applied(true, w.prefer.async, true); list != "" {
		c.Response().Header().Set("Preference-Applied", list)
	}
	if r.Result.First == 0 {
		return c.JSON(http.StatusOK, out)
	}
	w.answerNowIfFolded(f.folded, last)
	if waited := f.waitFor(c, w, last); waited != nil || w.prefer.async {
		return f.accepted(c, w, last, waited, out)
	}
	changes, derived, err := f.open(c).Outcomes(r.Result.First+1, writes)
	if err != nil {
		return err
	}
	setDerived(c.Response().Header(), derived)
	f.addChanges(c, &out, changes, r.Result.First+1)
	return c.JSON(http.StatusOK, out)
}

// addChanges adds what a call did, by its direct changes.
func (f functions) addChanges(c echo.Context, out *wire.CallResult, changes []*fanfold.Change, first uint64) {
	for i, ch := range changes {
		if i >= len(out.Operations) { // the call was made before, under its key
			out.Operations = append(out.Operations, wire.OperationResult{Revision: first + uint64(i)})
		}
		o, r := outcomeOf(ch), &out.Operations[i]
		if o.op == "" {
			continue
		}
		r.Op, r.Collection, r.ID, r.Status = operationOf(o.op), o.key.Collection, o.key.ID, o.status()
		if out.Tx = o.tx; o.op == fanfold.OpCreate {
			r.Assigned = sequences{f.documents}.assigned(c, o.key)
		}
	}
}

// operationOf returns how a call names a write that made a change.
func operationOf(op fanfold.Op) string {
	if op == fanfold.OpReplace {
		return string(writer.Put)
	}
	return string(op)
}

// answerDryCall answers a dry run of a call.
func (f functions) answerDryCall(c echo.Context, r *writer.CallResult) error {
	out := dryCall{CallResult: newCallResult(r), Log: append([]string{}, r.Log...), Steps: r.Steps, Memory: r.Memory, Reads: r.Reads}
	for i := range out.Operations {
		out.Operations[i].Revision = 0
	}
	out.Position = f.positions.markEvent(r.At).String()
	if r.Result.DryRun != nil {
		dry := dryRunOf(c, f.open(c), f.positions, r.Result.DryRun)
		out.Position, out.Derived = dry.Position.String(), &dry
	}
	c.Response().Header()["Content-Type"] = typeDryRun
	return c.JSON(http.StatusOK, out)
}

// dryCall holds the answer to a dry run of a call.
type dryCall struct {
	wire.CallResult
	Log     []string      `json:"log" doc:"What the function gave to ctx.log."`
	Steps   int64         `json:"steps" doc:"That the function took, of 50,000,000."`
	Memory  int64         `json:"memory" doc:"Bytes that the function had in the end."`
	Reads   int           `json:"reads" doc:"Documents that the function has read."`
	Derived *dryRunResult `json:"derived,omitempty" doc:"What would be stored, and what it would cause."`
}
