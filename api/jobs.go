package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/internal/wire"
)

// job is work that runs or has ended.
type job struct {
	mu     sync.Mutex
	work   wire.Work
	cancel context.CancelFunc
	ended  chan struct{} // closed at the end
	reply  *reply        // nil while it runs, and where err is not
	err    error
	seen   view.View // of the request that asked for it
	alone  bool      // nobody waits for it any more
}

// progress notes how far a job is. It is a fanfold.Progress.
func (j *job) progress(phase string, done, total int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.work.Phase, j.work.Done, j.work.Total = phase, done, total
}

// jobs are what a server works at for requests.
type jobs struct {
	mu      sync.Mutex
	list    []*job // in order of their beginning
	closed  bool
	running sync.WaitGroup // of those in the background
	ctx     context.Context
	end     context.CancelCauseFunc
	logger  *slog.Logger
	views   *view.Views
	prefix  prefix
}

func newJobs(logger *slog.Logger, views *view.Views, prefix prefix) *jobs {
	j := &jobs{logger: logger, views: views, prefix: prefix}
	j.ctx, j.end = context.WithCancelCause(context.Background())
	return j
}

// add begins a job of a kind for a request, for which nobody waits where it is alone. It is false where the server ends.
func (js *jobs) add(c echo.Context, kind string, alone bool, cancel context.CancelFunc) (*job, bool) {
	j := &job{seen: js.views.Open(rightsOf(c)), alone: alone, work: wire.Work{ID: strings.ToLower(rand.Text()[:16]), Kind: kind, Phase: "waiting", Started: time.Now().UTC()}, cancel: cancel, ended: make(chan struct{})}
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.closed {
		return nil, false
	}
	js.list = append(js.list, j)
	return j, true
}

// finish notes what came of a job. A job that somebody waits for is forgotten, and so are jobs of its kind that ended
// before all that are kept.
func (js *jobs) finish(j *job, r *reply, err error) {
	j.mu.Lock()
	j.reply, j.err = r, err
	if j.alone {
		j.work.Ended = time.Now().UTC()
		js.describe(j, r, err)
	}
	alone, kind := j.alone, j.work.Kind
	j.mu.Unlock()
	close(j.ended)
	js.mu.Lock()
	defer js.mu.Unlock()
	if !alone {
		js.list = slices.DeleteFunc(js.list, func(o *job) bool { return o == j })
		return
	}
	kept := 0
	for i := len(js.list) - 1; i >= 0; i-- {
		if o := js.list[i]; o.work.Kind == kind && o.hasEnded() {
			if kept++; kept > maxFinishedWork[kind] {
				js.list = slices.Delete(js.list, i, i+1)
			}
		}
	}
}

// hasEnded tells whether the job has.
func (j *job) hasEnded() bool {
	select {
	case <-j.ended:
		return true
	default:
		return false
	}
}

// describe notes what a client that had waited for a job would have been answered with.
func (js *jobs) describe(j *job, r *reply, err error) {
	w := &j.work
	w.Phase, w.Done, w.Total = "done", 0, 0
	var body, summary any
	if err != nil {
		p := js.problemOf(j.seen, err)
		w.Phase, w.Status, body, summary = "failed", p.Status, p, p.Detail
	} else {
		w.Status, w.Headers, body, summary = r.status, maps.Clone(r.header), r.body, r.summary
		if at, led := w.Headers["Location"]; led {
			w.Headers["Location"] = js.prefix.of(at)
		}
	}
	if w.Result, err = json.Marshal(body); err != nil {
		w.Phase, w.Status, summary = "failed", http.StatusInternalServerError, err.Error()
	}
	w.Summary, _ = json.Marshal(summary) // numbers, or a text
}

// find returns the job with an id, nil for none.
func (js *jobs) find(id string) *job {
	js.mu.Lock()
	defer js.mu.Unlock()
	if i := slices.IndexFunc(js.list, func(j *job) bool { return j.work.ID == id }); i >= 0 {
		return js.list[i]
	}
	return nil
}

// cancelRunning ends the jobs of a kind that nobody waits for, and returns when they have ended, with how many there were.
func (js *jobs) cancelRunning(kind string) (n int) {
	js.mu.Lock()
	all := slices.Clone(js.list)
	js.mu.Unlock()
	for _, j := range all {
		j.mu.Lock()
		alone := j.alone
		j.mu.Unlock()
		if j.work.Kind == kind && alone && !j.hasEnded() {
			j.cancel()
			<-j.ended
			n++
		}
	}
	return n
}

// close ends all jobs, and waits for those in the background, for limit at most.
func (js *jobs) close(limit time.Duration) {
	js.mu.Lock()
	js.closed = true
	js.mu.Unlock()
	js.end(errStopping)
	done := make(chan struct{})
	go func() { js.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// shown returns the work that runs, and what is kept of that which nobody waited for, without the results, the newest first.
func (js *jobs) shown() (all []wire.Work) {
	js.mu.Lock()
	list := slices.Clone(js.list)
	js.mu.Unlock()
	for _, j := range slices.Backward(list) {
		if len(all) == maxWorkShown {
			break
		}
		w := j.state()
		w.Result = nil
		all = append(all, w)
	}
	return all
}

// state returns how far the job is.
func (j *job) state() wire.Work {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.work
}

// problemOf returns the error of work in the background as a problem, and logs one that is the server's.
func (js *jobs) problemOf(seen view.View, err error) wire.Problem {
	p := problemFor(seen.Refusal(known(err)))
	if p.Status >= http.StatusInternalServerError {
		js.logger.Error("work in the background failed", "status", p.Status, "err", err)
	}
	return p
}
