package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
)

// Model is the model that applies.
type Model struct {
	Source   json.RawMessage // as JSON; empty where none was ever applied
	Revision uint64          // the event that applied it, 0 for none
	ETag     string
}

// ModelOptions say how a model is sent. The zero value works.
type ModelOptions struct {
	// IfMatch is the ETag of the model that it follows; "" for whatever model applies. With it, it may take rules and guards
	// away.
	IfMatch      string
	DryRun       bool  // change nothing
	AllowRemoval bool  // also where it takes rules or guards away
	AllowMisfits bool  // also where stored documents do not fit a new schema, or break a new check
	Background   *bool // prepare it in the background; default where it concerns many documents
	// Progress is called while ApplyModel waits for a model that is being prepared, with the server's status.
	Progress func(s *Status)
	// Working is called while the server looks at the documents that the model concerns.
	Working func(w *Work)
}

// ModelResult says what a model changes.
type ModelResult struct {
	// Applied says that it applies from now on. Otherwise the server prepares it: WaitForModel.
	Applied  bool
	Position string // of the event that applies or announces it; "" of a dry run
	Preview  Preview
	Report   json.RawMessage // the preview as the server wrote it
}

// Preview tells what a model changes, or would.
type Preview = wire.Preview

// Difference tells one thing that a model declares otherwise than the one before it.
type Difference = wire.Difference

// RulePreview tells what one rule changes.
type RulePreview = wire.RulePreview

// Model returns the model that applies. AtLeast and Strong go with it.
func (c *Client) Model(ctx context.Context, opts ...ReadOption) (*Model, error) {
	a, err := c.send(ctx, readRequest("/v1/_model", opts))
	if err != nil {
		return nil, err
	}
	return &Model{Source: a.body, Revision: parseRevision(a.header.Get(headerRevision)), ETag: a.header.Get("ETag")}, nil
}

// DryRunModel tells what a model, YAML or JSON, would change, and changes nothing. It returns the errors of PutModel.
func (c *Client) DryRunModel(ctx context.Context, source []byte, opt ModelOptions) (*ModelResult, error) {
	opt.DryRun = true
	return c.putModel(ctx, modelRequest(source, opt), opt)
}

// PutModel applies a model, YAML or JSON, or has the server begin to prepare it where it concerns many documents. It may
// be sent again: a model that applies already, or is being prepared, is not stored twice. If ctx ends while the server
// looks at the documents, the server goes on; CancelModel ends that. Errors are Invalid with all mistakes as Problems,
// Stale if IfMatch does not hold, and Conflict while another model is prepared. ModelRemoves lists what the model would
// remove, and Unprocessable what forbids it.
func (c *Client) PutModel(ctx context.Context, source []byte, opt ModelOptions) (*ModelResult, error) {
	return c.putModel(ctx, modelRequest(source, opt), opt)
}

// PatchModel applies a part of a model, as a JSON merge patch (RFC 7396) of the one that applies. It returns the
// errors of PutModel, and Conflict if another model was applied meanwhile.
func (c *Client) PatchModel(ctx context.Context, patch []byte, opt ModelOptions) (*ModelResult, error) {
	r := modelRequest(patch, opt)
	r.method = http.MethodPatch
	r.header.Set("Content-Type", "application/merge-patch+json")
	return c.putModel(ctx, r, opt)
}

// PutModelCollection applies what the model is to say about one collection, YAML or JSON, and leaves the others as they
// are. It returns the errors of PatchModel.
func (c *Client) PutModelCollection(ctx context.Context, collection string, source []byte, opt ModelOptions) (*ModelResult, error) {
	r := modelRequest(source, opt)
	r.path += "/" + url.PathEscape(collection)
	return c.putModel(ctx, r, opt)
}

// ApplyModel does what PutModel does, and waits until the model applies. It returns the errors of PutModel and WaitForModel.
func (c *Client) ApplyModel(ctx context.Context, source []byte, opt ModelOptions) (*ModelResult, error) {
	result, err := c.PutModel(ctx, source, opt)
	if err != nil || result.Applied || opt.DryRun {
		return result, err
	}
	err = c.WaitForModel(ctx, result.Position, opt.Progress)
	result.Applied = err == nil
	return result, err
}

// modelRequest returns a request that sends a model.
func modelRequest(source []byte, opt ModelOptions) *request {
	r := newRequest(http.MethodPut, "/v1/_model")
	r.body = source
	r.header.Set("Content-Type", "application/yaml") // which JSON is, too
	if opt.DryRun {
		r.query.Set("dryRun", "true")
		r.repeatable = true
	}
	r.query.Set("allowMisfits", strconv.FormatBool(opt.AllowMisfits))
	r.query.Set("allowRemoval", strconv.FormatBool(opt.AllowRemoval))
	if opt.Background != nil {
		r.query.Set("background", strconv.FormatBool(*opt.Background))
	}
	if opt.IfMatch != "" {
		r.header.Set("If-Match", opt.IfMatch)
	}
	return r
}

// putModel sends a model. If ctx ends before the server has looked at the documents, a dry run ends, and any other goes on.
func (c *Client) putModel(ctx context.Context, r *request, opt ModelOptions) (*ModelResult, error) {
	r.header.Add("Prefer", "return=representation")
	a, err := c.sendWork(ctx, r, r.query.Get("dryRun") == "", opt.Working)
	if err != nil {
		return nil, err
	}
	result := &ModelResult{Applied: a.status == http.StatusOK && r.query.Get("dryRun") == "", Position: a.header.Get(headerPosition), Report: a.body}
	return result, decode(a.body, &result.Preview)
}

// modelPause is between two looks at a model that is being prepared.
const modelPause = 200 * time.Millisecond

// WaitForModel waits until the model that was announced at a position (ModelResult.Position) applies, and calls progress,
// if not nil, meanwhile. Errors are Conflict where the model was withdrawn, and Unavailable where it cannot be prepared.
func (c *Client) WaitForModel(ctx context.Context, position string, progress func(s *Status)) error {
	announced, _, _ := parts(position)
	for {
		s, err := c.Status(ctx)
		if err != nil {
			return err
		}
		switch p := s.Preparing; {
		case s.Withdrawn != nil && s.Withdrawn.Model == announced:
			return &Error{Code: Conflict, Detail: "the model was withdrawn: " + s.Withdrawn.Reason}
		case p != nil && p.Model == announced && p.Phase == "failed":
			return &Error{Code: Unavailable, Detail: "the model cannot be prepared: " + p.Error}
		case s.Applied >= announced && p == nil:
			if pending, err := c.PendingModel(ctx); err != nil || pending != announced {
				return err
			}
		}
		if progress != nil {
			progress(s)
		}
		if !sleep(ctx, modelPause) {
			return ctx.Err()
		}
	}
}

// Flow is a derived field with one collection that it tells about.
type Flow = wire.ModelFlow

// ModelFlows returns what the derived fields of the model that applies tell about other collections. It needs the role admin.
func ModelFlows(ctx context.Context, c *Client, opts ...ReadOption) ([]Flow, error) {
	var list wire.ModelFlows
	err := c.sendJSON(ctx, readRequest("/v1/_model/_flows", opts), &list)
	return list.Flows, err
}

// LargestTarget tells to which target of a relation most documents refer, and how many.
type LargestTarget = wire.LargestTarget

// LargestTargets returns the target of each relation to which most documents refer, by the relation's name. It needs the right to read every
// collection.
func LargestTargets(ctx context.Context, c *Client, opts ...ReadOption) ([]LargestTarget, error) {
	var list wire.LargestTargets
	err := c.sendJSON(ctx, readRequest("/v1/_model/_targets", opts), &list)
	return list.Relations, err
}

// SuggestModel returns a model that the server proposes for its documents, as YAML with the evidence in comments. It applies nothing. It
// needs the role admin. The error is TakesLong where a minute is too short.
func SuggestModel(ctx context.Context, c *Client, opts ...ReadOption) ([]byte, error) {
	a, err := c.send(ctx, readRequest("/v1/_suggest-model", opts))
	if err != nil {
		return nil, err
	}
	return a.body, nil
}

// PendingModel returns the event that announced the model that is being prepared, 0 where none is.
func (c *Client) PendingModel(ctx context.Context) (announced uint64, err error) {
	a, err := c.send(ctx, newRequest(http.MethodGet, "/v1/_model/_pending"))
	if errors.Is(err, NotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return parseRevision(a.header.Get(headerRevision)), nil
}

// CancelModel withdraws the model that is being prepared. The error is NotFound where none is.
func (c *Client) CancelModel(ctx context.Context) error {
	_, err := c.send(ctx, newRequest(http.MethodDelete, "/v1/_model/_pending"))
	return err
}
