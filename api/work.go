package api

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// The kinds of work.
const (
	workModel     = "model"
	workPreview   = "preview"
	workVerify    = "verify"
	workVerifyLog = "verify-log"
)

// workPath is before the id of work in its path.
const workPath = "/v1/_work/"

// maxFinishedWork is how much finished work of a kind is kept, with its result.
var maxFinishedWork = map[string]int{workModel: 4, workPreview: 4, workVerify: 1, workVerifyLog: 1}

// maxWait bounds for how long a request waits that would have its answer in the background, and maxWorkShown how much work
// _status tells.
const (
	maxWait      = time.Minute
	maxWorkShown = 20
)

// reply is the answer to a request that asked for work.
type reply struct {
	status  int
	header  map[string]string
	body    any
	summary any
}

// worker does work, and tells how far it is.
type worker func(ctx context.Context, progress fanfold.Progress) (*reply, error)

// answer has run do work of a kind, and answers the request with what came of it. A request may prefer not to wait
// (Prefer: respond-async, wait=5). Once the work has taken longer than it waits, it is answered with where to ask, and the
// work goes on. Otherwise the work ends with the request. leave is called once the work has ended.
func (js *jobs) answer(c echo.Context, kind string, leave func(), run worker) error {
	left := false // to the work, which leaves then
	defer func() {
		if !left {
			leave()
		}
	}()
	asks := prefer(c)
	if !asks.async {
		ctx, cancel := context.WithCancel(c.Request().Context())
		defer cancel()
		j, ok := js.add(c, kind, false, cancel)
		if !ok {
			return errStopping
		}
		var r *reply
		err := error(errStopping) // where run panics
		defer func() { js.finish(j, r, err) }()
		if r, err = run(ctx, j.progress); err != nil {
			if ctx.Err() != nil && c.Request().Context().Err() == nil {
				err = errWorkEnded
			}
			return err
		}
		return r.send(c)
	}
	j, err := js.begin(c, kind, asks.wait == 0, leave, run)
	if err != nil {
		return err
	}
	left = true
	if asks.wait > 0 {
		if answered, err := j.waitFor(c, asks.wait); answered {
			return err
		}
	}
	state := j.state()
	h := c.Response().Header()
	h.Set("Location", workPath+state.ID)
	h.Set("Preference-Applied", "respond-async")
	state.Result = nil // where it has ended already: it is at the Location
	return c.JSON(http.StatusAccepted, state)
}

// waitFor waits for the end of a job, and answers the request for it. answered is false where it takes longer than wait: it
// goes on, and nobody waits for it any more. If the client goes before that, the job ends.
func (j *job) waitFor(c echo.Context, wait time.Duration) (answered bool, err error) {
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	select {
	case <-j.ended:
	case <-c.Request().Context().Done():
		j.cancel()
		<-j.ended
		return true, c.Request().Context().Err()
	case <-timeout.C:
		if j.leaveAlone() {
			return false, nil
		}
		<-j.ended // at this very moment
	}
	if j.err != nil {
		return true, j.err
	}
	return true, j.reply.send(c)
}

// leaveAlone notes that nobody waits for a job any more. It is false where the job has ended.
func (j *job) leaveAlone() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.alone = j.reply == nil && j.err == nil
	return j.alone
}

// errWorkEnded says that a request has ended work.
var errWorkEnded = fanfold.Errorf(fanfold.Conflict, "a request has ended this work before it was done")

// begin has run do work in the background, for which nobody waits where it is alone. The error is Unavailable where the server
// ends.
func (js *jobs) begin(c echo.Context, kind string, alone bool, leave func(), run worker) (*job, error) {
	ctx, cancel := context.WithCancel(js.ctx)
	j, ok := js.add(c, kind, alone, cancel)
	if !ok {
		cancel()
		return nil, errStopping
	}
	js.running.Go(func() {
		defer cancel()
		defer leave()
		var r *reply
		var err error
		defer func() {
			if p := recover(); p != nil {
				js.logger.Error("work in the background panicked", "kind", kind, "err", p)
				err = fanfold.Errorf(fanfold.Internal, "the work ended by a mistake of the server")
			}
			if err != nil && ctx.Err() != nil {
				if err = errWorkEnded; js.ctx.Err() != nil {
					err = errStopping
				}
			}
			js.finish(j, r, err)
		}()
		r, err = run(ctx, j.progress)
	})
	return j, nil
}

// send answers a request.
func (r *reply) send(c echo.Context) error {
	for name, value := range r.header {
		c.Response().Header().Set(name, value)
	}
	return c.JSON(r.status, r.body)
}
