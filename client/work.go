package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
)

// Work tells how far a node is with something that takes long: a verification, or looking at the documents that a model
// concerns.
type Work = wire.Work

// Waiting for work: the server answers at once if it needs less than workWait seconds. Then it is asked again and again,
// with pauses from workPause to maxWorkPause. A balancer may ask another node, which does not know the work: maxWorkMisses
// times in a row that is no error.
const (
	workWait      = "2"
	workPause     = 100 * time.Millisecond
	maxWorkPause  = time.Second
	maxWorkMisses = 30
	workPath      = "/v1/_work/"
)

// sendWork sends a request that may ask for much work, and returns the answer that comes of it. No connection stays
// without a byte for long. It calls progress, which may be nil, while it waits. If ctx ends before, the work goes on if
// goesOn, and otherwise is ended. It returns the errors of send, and NotFound if no node knows of the work any more.
func (c *Client) sendWork(ctx context.Context, r *request, goesOn bool, progress func(w *Work)) (*answer, error) {
	r.header.Add("Prefer", "respond-async, wait="+workWait)
	a, err := c.sendSlow(ctx, r)
	if err != nil {
		return nil, err
	}
	_, id, isWork := strings.Cut(a.header.Get("Location"), workPath) // a proxy may have a prefix
	if a.status != http.StatusAccepted || !isWork {
		return a, nil
	}
	w := new(Work)
	if err := decode(a.body, w); err != nil {
		return nil, err
	}
	for pause, misses := workPause, 0; w.Status == 0; pause = min(pause*3/2, maxWorkPause) {
		if progress != nil {
			progress(w)
		}
		if !sleep(ctx, pause) {
			if !goesOn {
				c.endWork(ctx, id)
			}
			return nil, ctx.Err()
		}
		next, err := c.Work(ctx, id)
		switch {
		case err == nil:
			w, misses = next, 0
		case errors.Is(err, NotFound) && misses < maxWorkMisses:
			misses++
		case ctx.Err() == nil:
			return nil, err
		}
	}
	return c.workAnswer(w)
}

// endWork ends work whose client has gone, as far as the node can be asked to in a moment.
func (c *Client) endWork(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = c.EndWork(ctx, id) // it is somebody else's, or has ended
}

// workAnswer returns the answer that came of work.
func (c *Client) workAnswer(w *Work) (*answer, error) {
	if w.Status >= http.StatusBadRequest {
		e, ok := parseProblem(w.Result)
		if !ok {
			e = &Error{Code: BadAnswer, Detail: "the work ended without a problem that can be read"}
		}
		e.Status = w.Status
		return nil, e
	}
	a := &answer{status: w.Status, header: http.Header{}, body: w.Result}
	for name, value := range w.Headers {
		a.header.Set(name, value)
	}
	c.latest.see(a.header.Get(headerPosition))
	return a, nil
}

// Work returns how far work is that the node does while nobody waits for it. The error is NotFound where the node does not
// know it: it may be another node's.
func (c *Client) Work(ctx context.Context, id string) (*Work, error) {
	return answerOf[Work](c.send(ctx, newRequest(http.MethodGet, workPath+url.PathEscape(id))))
}

// EndWork ends work, and has the node forget it. The error is NotFound where the node does not know it.
func (c *Client) EndWork(ctx context.Context, id string) error {
	_, err := c.send(ctx, newRequest(http.MethodDelete, workPath+url.PathEscape(id)))
	return err
}
