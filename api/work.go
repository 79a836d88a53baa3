package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// Work tells how far work is that takes as long as looking at many documents: a change of the model, the preview of one, or a
// verification. That which nobody waits for (Prefer: respond-async) is told until it is forgotten; other work while it runs.
type Work struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`  // one of the kinds
	Phase   string    `json:"phase"` // what is being done; done, failed or cancelled at the end
	Done    int64     `json:"done"`  // of the phase
	Total   int64     `json:"total"` // 0 where that is not known
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// Status, Headers and Result are what a client that had waited would have been answered with; Result may be a problem. They
	// are absent while the work runs.
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Summary any               `json:"summary,omitempty"` // of the result, in a few numbers
	Result  json.RawMessage   `json:"result,omitempty"`
}

// The kinds of work.
const (
	workModel     = "model"
	workPreview   = "preview"
	workVerify    = "verify"
	workVerifyLog = "verify-log"
)

// workPath is before the id of work in its path.
const workPath = "/v1/_work/"

// keptWork is how much work of a kind is kept when it has ended, with its result.
var keptWork = map[string]int{workModel: 4, workPreview: 4, workVerify: 1, workVerifyLog: 1}

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

// job is work that runs or has ended.
type job struct {
	mu     sync.Mutex
	work   Work
	cancel context.CancelFunc
	ended  chan struct{} // closed at the end
	reply  *reply        // nil while it runs, and where err is not
	err    error
	alone  bool // nobody waits for it any more
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
}

func newJobs() *jobs {
	j := &jobs{}
	j.ctx, j.end = context.WithCancelCause(context.Background())
	return j
}

// add begins a job of a kind, for which nobody waits where it is alone. It is false where the server ends.
func (js *jobs) add(kind string, alone bool, cancel context.CancelFunc) (*job, bool) {
	j := &job{alone: alone, work: Work{ID: strings.ToLower(rand.Text()[:16]), Kind: kind, Phase: "waiting", Started: time.Now().UTC()}, cancel: cancel, ended: make(chan struct{})}
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.closed {
		return nil, false
	}
	js.list = append(js.list, j)
	return j, true
}

// finish notes what came of a job. One that somebody waits for is forgotten, and so are those of its kind that ended before
// all that are kept.
func (js *jobs) finish(s *Server, j *job, r *reply, err error) {
	j.mu.Lock()
	j.reply, j.err = r, err
	if w := &j.work; j.alone {
		w.Ended = time.Now().UTC()
		s.describe(w, r, err)
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
			if kept++; kept > keptWork[kind] {
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

// describe notes in w what a client that had waited would have been answered with.
func (s *Server) describe(w *Work, r *reply, err error) {
	w.Phase, w.Done, w.Total = "done", 0, 0
	var body any
	if err != nil {
		p := s.problemOf(err)
		w.Phase, w.Status, body, w.Summary = "failed", p.Status, p, p.Detail
	} else {
		w.Status, w.Headers, body, w.Summary = r.status, r.header, r.body, r.summary
	}
	if w.Result, err = json.Marshal(body); err != nil {
		w.Phase, w.Status, w.Summary = "failed", http.StatusInternalServerError, err.Error()
	}
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

// Work returns the work that runs, and what is kept of that which nobody waited for, without the results, the newest first.
func (s *Server) Work() (all []Work) {
	s.jobs.mu.Lock()
	list := slices.Clone(s.jobs.list)
	s.jobs.mu.Unlock()
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
func (j *job) state() Work {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.work
}

// worker does work, and tells how far it is.
type worker func(ctx context.Context, progress fanfold.Progress) (*reply, error)

// answerWork has run do work of a kind, and answers the request with what came of it. Where the request would rather not wait
// for that (Prefer: respond-async, wait=5), it is answered with where to ask once the work has taken longer than it waits,
// and the work goes on. Otherwise the work ends with the request. leave is called once the work has ended.
func (s *Server) answerWork(c echo.Context, kind string, leave func(), run worker) error {
	left := false // to the work, which leaves then
	defer func() {
		if !left {
			leave()
		}
	}()
	if !prefer(c).async {
		ctx, cancel := context.WithCancel(c.Request().Context())
		defer cancel()
		j, ok := s.jobs.add(kind, false, cancel)
		if !ok {
			return errStopping
		}
		var r *reply
		err := error(errStopping) // where run panics
		defer func() { s.jobs.finish(s, j, r, err) }()
		if r, err = run(ctx, j.progress); err != nil {
			if ctx.Err() != nil && c.Request().Context().Err() == nil {
				err = errWorkEnded
			}
			return err
		}
		return r.send(c)
	}
	wait := waitPreference(c.Request())
	j, err := s.begin(kind, wait == 0, leave, run)
	if err != nil {
		return err
	}
	left = true
	if wait > 0 {
		if answered, err := j.waitFor(c, wait); answered {
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
// goes on, and nobody waits for it any more. Where the client goes before that, the job ends.
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
func (s *Server) begin(kind string, alone bool, leave func(), run worker) (*job, error) {
	ctx, cancel := context.WithCancel(s.jobs.ctx)
	j, ok := s.jobs.add(kind, alone, cancel)
	if !ok {
		cancel()
		return nil, errStopping
	}
	s.jobs.running.Go(func() {
		defer cancel()
		defer leave()
		var r *reply
		var err error
		defer func() {
			if p := recover(); p != nil {
				s.opt.Logger.Error("work in the background panicked", "kind", kind, "err", p)
				err = fanfold.Errorf(fanfold.Internal, "the work ended by a mistake of the server")
			}
			if err != nil && ctx.Err() != nil {
				if err = errWorkEnded; s.jobs.ctx.Err() != nil {
					err = errStopping
				}
			}
			s.jobs.finish(s, j, r, err)
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

// waitPreference returns how long a request waits before it would rather have its answer in the background: what the
// preference wait says in seconds (RFC 7240, 4.3), a minute at most, and not at all without it.
func waitPreference(r *http.Request) time.Duration {
	for _, line := range r.Header.Values("Prefer") {
		for item := range strings.SplitSeq(line, ",") {
			item, _, _ = strings.Cut(item, ";")
			name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(item)), "=")
			if strings.TrimSpace(name) != "wait" {
				continue
			}
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
			if err != nil {
				return 0
			}
			return min(time.Duration(seconds)*time.Second, maxWait)
		}
	}
	return 0
}

// getWork answers GET /v1/_work/{work}: how far work is that nobody waits for, and what came of it.
func (s *Server) getWork(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	j := s.jobs.find(c.Param("work"))
	if j == nil {
		return noWork(c)
	}
	return c.JSON(http.StatusOK, j.state())
}

// deleteWork answers DELETE /v1/_work/{work}: it ends work that runs, and forgets it.
func (s *Server) deleteWork(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	j := s.jobs.find(c.Param("work"))
	if j == nil {
		return noWork(c)
	}
	j.cancel()
	<-j.ended
	s.jobs.mu.Lock()
	s.jobs.list = slices.DeleteFunc(s.jobs.list, func(o *job) bool { return o == j })
	s.jobs.mu.Unlock()
	return c.NoContent(http.StatusNoContent)
}

// noWork returns the NotFound of work that this node does not know.
func noWork(c echo.Context) error {
	return fanfold.Errorf(fanfold.NotFound, "this node knows no work %.40q: it may be another node's, of before a restart, or forgotten since others of its kind have ended; GET /v1/_status has what it knows", fmt.Sprint(c.Param("work")))
}
