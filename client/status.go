package client

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
)

// Status tells how a node stands.
type Status struct {
	wire.Status
	Raw json.RawMessage `json:"-"` // all of the server's answer
}

// Need tells of something that needs somebody's attention.
type Need = wire.Need

// History tells how far back a store can be read.
type History = wire.History

// Stopped tells at which event the projector stopped, and why.
type Stopped = wire.Stopped

// Preparation tells how far the preparation of a model is.
type Preparation = wire.Preparation

// Withdrawn tells which model was withdrawn, by the event that announced it, and why.
type Withdrawn = wire.Withdrawn

// ReplayProgress tells how far a replay is.
type ReplayProgress = wire.Replay

// ReplayCheck tells what came of comparing the read model with one that was replayed.
type ReplayCheck = wire.Check

// Status returns how the node stands.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	a, err := c.send(ctx, newRequest(http.MethodGet, "/v1/_status"))
	if err != nil {
		return nil, err
	}
	s := &Status{Raw: a.body}
	return s, decode(a.body, s)
}

// Ready returns nil where the node is ready: it may be given requests. The error says why it is not, and is Unavailable or
// LogDamaged where the node itself says so. Status tells more, and of a node that is not ready too.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.send(ctx, newRequest(http.MethodGet, "/readyz"))
	return err
}

// Replay makes the node build its read model anew from the log, and does not wait: Status says how far it is. The error is
// Conflict where a replay is running.
func (c *Client) Replay(ctx context.Context) error {
	_, err := c.send(ctx, command("/v1/_replay"))
	return err
}

// CheckReplay makes the node build a read model anew from the log, and compare every row of the one that it serves with it. It
// does not wait: Status says how far that is, and what came of it. The error is Conflict where a replay is running.
func (c *Client) CheckReplay(ctx context.Context) error {
	r, err := jsonRequest(http.MethodPost, "/v1/_replay", wire.ReplayBody{Check: true})
	if err == nil {
		_, err = c.send(ctx, r)
	}
	return err
}

// UpgradeResult tells what came of Upgrade.
type UpgradeResult struct {
	wire.FoldChange
	Applied  bool   `json:"-"` // it is in force; otherwise it is being prepared, or is not shown yet
	Position string `json:"-"` // of the event that sets it, or announces it: see WaitForModel
}

// Upgrade sets the version of the fold for all nodes. If it concerns many documents, it is prepared in the background
// first; background, if not nil, says whether. Errors are Conflict if a node's program does not know the version or while
// a model is prepared, and Unprocessable for an earlier version.
func (c *Client) Upgrade(ctx context.Context, version int, background *bool) (*UpgradeResult, error) {
	r, err := jsonRequest(http.MethodPut, "/v1/_fold", wire.FoldBody{Version: version})
	if err != nil {
		return nil, err
	}
	if background != nil {
		r.query.Set("background", strconv.FormatBool(*background))
	}
	a, err := c.sendSlow(ctx, r)
	if err != nil {
		return nil, err
	}
	result := &UpgradeResult{Applied: a.status == http.StatusOK, Position: a.header.Get(headerPosition)}
	return result, decode(a.body, result)
}

// Verify has the node compute every derived value anew, waits for the end, and returns the report. It calls progress
// meanwhile. If ctx ends before, so does the verification.
func (c *Client) Verify(ctx context.Context, progress ...func(w *Work)) (report json.RawMessage, err error) {
	return c.verify(ctx, command("/v1/_verify"), progress)
}

// VerifyLog has the node read the whole log and compare it with what was made of it, waits for the end, and returns the
// report. It calls progress meanwhile. If ctx ends before, so does the verification.
func (c *Client) VerifyLog(ctx context.Context, progress ...func(w *Work)) (report json.RawMessage, err error) {
	r := command("/v1/_verify")
	r.query.Set("log", "true")
	return c.verify(ctx, r, progress)
}

// verify sends a request for a report.
func (c *Client) verify(ctx context.Context, r *request, progress []func(w *Work)) (json.RawMessage, error) {
	a, err := c.sendWork(ctx, r, false, func(w *Work) {
		for _, tell := range progress {
			tell(w)
		}
	})
	if err != nil {
		return nil, err
	}
	return a.body, nil
}

// Lineage tells where a document's derived values come from, and who carries copies of it, as JSON. With AsOf it tells
// what it would have told then. Errors are NotFound, and with AsOf also its own and TakesLong.
func (c *Client) Lineage(ctx context.Context, collection, id string, opts ...ReadOption) (report json.RawMessage, err error) {
	a, err := c.send(ctx, readRequest(documentPath(collection, id, "_lineage"), opts))
	if err != nil {
		return nil, err
	}
	return a.body, nil
}

// command returns a request for work on the node. The server wants a content type, which pages in a browser cannot send
// unasked.
func command(path string) *request {
	r, _ := jsonRequest(http.MethodPost, path, nil) // without a body there is no error
	return r
}

// jsonRequest returns a request with a JSON body, nil for none. The error is Invalid.
func jsonRequest(method, path string, body any) (r *request, err error) {
	r = newRequest(method, path)
	if method == http.MethodPost || body != nil {
		r.header.Set("Content-Type", "application/json")
	}
	if body != nil {
		r.body, err = encode(body)
	}
	return r, err
}

// maxWork bounds how long an answer may take that looks at everything that is stored.
const maxWork = 24 * time.Hour

// sendSlow does what send does, for a request whose answer takes as long as looking at everything that is stored. Only ctx
// ends it.
func (c *Client) sendSlow(ctx context.Context, r *request) (*answer, error) {
	patient := &Client{base: c.base, opt: c.opt}
	patient.opt.Attempt = maxWork
	a, err := patient.send(ctx, r)
	if err == nil {
		c.latest.see(a.header.Get(headerPosition))
	}
	return a, err
}
