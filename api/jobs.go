package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

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
