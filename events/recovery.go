package events

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
)

// Bounds of the recovery from a full disk.
const (
	troubleEvery = 2 * time.Second  // how often the server is asked whether a write has failed, besides when it says so
	firstProbe   = time.Second      // from the failed write to the first look for space
	maxProbe     = 30 * time.Second // between two looks
	steadyFor    = time.Minute      // after which a disk that is full again counts as another failure
	reopenTime   = 30 * time.Second // for which the server that was started again may take to answer
)

// ProbeBytes must fit beside a log whose disk was full before it takes writes again: the largest message, and what else the server
// writes.
const ProbeBytes = 16 << 20

// Recovery starts the embedded server again where it cannot go on. Its methods may be called from many goroutines.
type Recovery struct {
	log      *Log
	under    sync.Mutex                    // held while the embedded server is started again
	pause    atomic.Pointer[chan struct{}] // closed once it runs again or cannot, where EraseMessages has it started again; nil for no such start
	restarts atomic.Uint64                 // of the embedded server
	begunAt  atomic.Uint64                 // the lowest sequence with which a run of the server began, but for the first; 0 for no other run
}

// Recovery returns what starts the log's server again.
func (l *Log) Recovery() *Recovery { return &l.recovery }

// Run blocks until ctx ends, and then returns nil. The embedded server does not get over a full disk by itself, nor the log over a
// part of a batch. Run then refuses writes with the reason, waits for space, and starts the server again. Reads go on. folded returns the last event that was folded, which the log must still have. An outside server that took no event at
// the last try is tried again with a fence, for nobody sends writes to a node that is not ready.
func (r *Recovery) Run(ctx context.Context, folded func() (uint64, error)) error {
	e := r.log.opt.Embedded
	if e == nil {
		r.tryWhileFailing(ctx)
		return nil
	}
	tick := time.NewTicker(troubleEvery)
	defer tick.Stop()
	var recovered time.Time
	wait := firstProbe
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.Trouble():
		case <-tick.C:
		}
		refusal := r.mustRestart()
		if refusal == nil {
			continue
		}
		if time.Since(recovered) > steadyFor {
			wait = firstProbe
		}
		r.under.Lock()
		if refusal = r.mustRestart(); refusal != nil { // somebody else may have started it again meanwhile
			wait = r.recoverFrom(ctx, refusal, wait, folded)
		}
		r.under.Unlock()
		recovered = time.Now()
	}
}

// tryWhileFailing appends a fence now and then while the last append was not stored, until ctx ends.
func (r *Recovery) tryWhileFailing(ctx context.Context) {
	tick := time.NewTicker(troubleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, failed := r.log.health.failed(); failed {
			_, _ = r.log.Append(ctx, &fanfold.Event{Kind: fanfold.KindFence}, fanfold.Expect{}) // which takes note of how it went
		}
	}
}

// mustRestart returns why the embedded server is to be started again, as the error of writes until then; nil for no reason.
func (r *Recovery) mustRestart() error {
	if reason := r.log.opt.Embedded.OutOfSpace(); reason != "" {
		r.log.opt.Logger.Error("the log's disk is full; writes are refused until there is space", "err", reason)
		return fullDisk(causeOf(reason))
	}
	run := r.log.run.Load()
	if broken := run.broken.Load(); broken != nil && failureOf(run.syncer) == nil {
		r.log.opt.Logger.Error("the log has perhaps a part of what belongs together; writes are refused until its server was started again", "err", *broken)
		return fanfold.Errorf(fanfold.Unavailable, "the log's server is being started again; nothing was written, try again")
	}
	return nil
}

// causeOf returns what the operating system said, without the file, which is for the node's log.
func causeOf(reason string) string {
	return strings.TrimSpace(reason[strings.LastIndex(reason, ": ")+1:])
}

// fullDisk returns the error of writes while the log's disk is full.
func fullDisk(cause string) error {
	return fanfold.Errorf(fanfold.Unavailable, "the log's disk is full (%s); nothing was written; free some space: once there are %d MiB, writes are taken again by themselves", cause, ProbeBytes>>20)
}

// recoverFrom refuses writes, with an error, until there is space and the server runs again, or ctx ends. It looks for space after wait, and then
// less and less often. It returns how long to wait at first should the disk soon be full again.
func (r *Recovery) recoverFrom(ctx context.Context, refusal error, wait time.Duration, folded func() (uint64, error)) time.Duration {
	e := r.log.opt.Embedded
	r.log.health.refuse(refusal)
	for {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return wait
		}
		wait = min(2*wait, maxProbe)
		if err := e.ProbeSpace(); err != nil {
			r.log.health.refuse(fullDisk(causeOf(err.Error()))) // which is more than that the server is started again
			r.endPause()                                        // nobody knows for how long the disk is full, and the server runs
			continue
		}
		r.log.health.refuse(refusal)
		err := r.restartServer(ctx, refusal, folded)
		r.endPause()
		switch {
		case err == nil:
			r.log.health.refuse(nil)
			r.log.opt.Logger.Info("the log takes writes again")
			return wait
		case errors.Is(err, errNotDurable):
			r.log.opt.Logger.Error("the log takes nothing until the node is started again", "err", err)
			return wait
		case ctx.Err() == nil:
			r.log.opt.Logger.Error("the log's server could not be started again, and is tried again", "err", err)
		}
	}
}

// errNotDurable is the error of a log after it is not known any more which part is durable.
var errNotDurable = errors.New("what the log has could not be made durable")

// restartServer starts the embedded server again, as a node does at its start. It cuts what was stored in part, starts the server,
// compares the log with what is known of it, and makes it durable. stopped is the error of what needs the server meanwhile. The error is
// errNotDurable, after which it must not be tried again; Unavailable; LogDamaged; or ctx's.
func (r *Recovery) restartServer(ctx context.Context, stopped error, folded func() (uint64, error)) error {
	r.log.startRun(newServerRun(stopped))
	seq, err := folded()
	if err != nil {
		return err
	}
	known := max(seq, r.log.acked.Load())
	if err := r.log.opt.Embedded.Restart(ctx, known); err != nil {
		return err
	}
	info, err := r.awaitServer(ctx)
	if err != nil {
		return err
	}
	run := newServerRun(nil)
	_, err = r.log.checkOnce(ctx, run, Known{Seq: known})
	switch {
	case fanfold.CodeOf(err) == fanfold.LogDamaged:
		r.log.health.setChecked(err) // which refuses writes by itself
	case err != nil:
		return err
	}
	last := info.State.LastSeq
	run.began = last
	run.highest.Store(last)
	r.log.prefix.losses.change(func(t *lossTable) { t.forget(last) })
	if err := r.log.prefix.askErasures(ctx, run); err != nil {
		return err
	}
	if begun := r.begunAt.Load(); begun == 0 || last < begun {
		r.begunAt.Store(last)
	}
	if r.log.opt.Embedded.Sync() == SyncGroup {
		if run.syncer, err = r.log.newSyncer(info, run); err != nil {
			err = fanfold.Wrap(errors.Join(errNotDurable, err), fanfold.Unavailable, "the log cannot be made durable, and takes nothing until the node is started again: %v", err)
			r.log.startRun(newServerRun(err))
			return err
		}
	}
	r.log.startRun(run)
	r.restarts.Add(1)
	return nil
}

// awaitServer waits until the connection has found the server again, and returns the stream as it is now. It returns the
// error of the last try after reopenTime, or ctx's.
func (r *Recovery) awaitServer(ctx context.Context) (*jetstream.StreamInfo, error) {
	limited, cancel := context.WithTimeout(ctx, reopenTime)
	defer cancel()
	for {
		attempt, stop := context.WithTimeout(limited, r.log.opt.Attempt)
		s, err := r.log.js.Stream(attempt, r.log.opt.Database)
		stop()
		switch {
		case err == nil:
			return s.CachedInfo(), nil
		case errors.Is(err, jetstream.ErrStreamNotFound):
			return nil, r.log.streamGone()
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-limited.Done():
			return nil, fanfold.Wrap(errors.Join(err, ctx.Err()), fanfold.Unavailable, "the server that was started again does not answer: %v", err)
		}
	}
}

// Restarts returns how often the embedded server was started again since the log was opened. Answers of the log before and
// after a restart may contradict each other.
func (r *Recovery) Restarts() uint64 { return r.restarts.Load() }
