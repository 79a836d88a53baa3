package events

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/fanfold/fanfold"
)

// serverRun is what the log knows of one run of its server. An outside server has one run for as long as the log is open, for
// it keeps what it has told. An embedded server that is started again may have less, namely without a transaction that was
// stored in part. So nothing that one run has told is carried over into the next.
type serverRun struct {
	highest Watermark             // the highest sequence that the log is known to have
	syncer  Syncer                // nil where the server syncs, or nobody does
	stopped error                 // why the server cannot be used; nil for one that runs
	broken  atomic.Pointer[error] // why it is to be started again, for it may have a part of a batch; nil for no reason

	began uint64                    // the last event when it began, where another run was before
	next  atomic.Pointer[serverRun] // the run after this one; nil for none yet
	ended context.Context           // when the next run begins; readers of this one end
	end   context.CancelFunc
}

// newServerRun returns a run that begins. stopped is nil, or says why the server cannot be used in it.
func newServerRun(stopped error) *serverRun {
	r := &serverRun{stopped: stopped}
	r.ended, r.end = context.WithCancel(context.Background())
	return r
}

// breakOff says why the server must be started again. The first reason stays.
func (r *serverRun) breakOff(why error) { r.broken.CompareAndSwap(nil, &why) }

// wait blocks until the event at seq, which was told of in this run, is durable, or ctx has ended. The error is Unavailable.
func (r *serverRun) wait(ctx context.Context, seq uint64) error {
	switch {
	case r.stopped != nil:
		return r.stopped
	case r.syncer == nil:
		return nil // the server syncs before it acknowledges, or nobody does
	}
	return r.syncer.Wait(ctx, seq)
}

// waitStored does what wait does for an event that the server has acknowledged. If it is started again meanwhile as planned, the run after that
// makes the event durable.
func (r *serverRun) waitStored(ctx context.Context, seq uint64) error {
	err := r.wait(ctx, seq)
	for run := r; err != nil; err = run.wait(ctx, seq) {
		if errors.Is(run.stopped, fanfold.ErrRestarting) {
			select {
			case <-run.ended.Done():
			case <-ctx.Done():
				return err
			}
		}
		if run = run.next.Load(); run == nil || run.stopped == nil && run.began < seq { // the disk has failed, or the start has cut the event
			return err
		}
	}
	return nil
}

// rounds returns how many rounds of fsync there were in the run.
func (r *serverRun) rounds() uint64 {
	if r.syncer == nil {
		return 0
	}
	return r.syncer.Rounds()
}

// startRun makes run the current one, and ends the one before. Messages that were sent before were sent to that one.
func (l *Log) startRun(run *serverRun) {
	l.batches.pause(func() {
		if old := l.run.Swap(run); old != nil { // what was sent in it says nothing about this one
			old.next.Store(run)
			old.end()
			l.syncs.Add(old.rounds())
		}
	})
}

// seenSequence is the highest sequence that the log was known to have at a moment, in a run of its server.
type seenSequence struct {
	run *serverRun
	seq uint64
}

// highestSeen returns the highest sequence that the log is known to have.
func (l *Log) highestSeen() seenSequence {
	run := l.run.Load()
	return seenSequence{run, run.highest.Load()}
}

// storedAfter returns a sequence before all events that were stored since before.
func (l *Log) storedAfter(before seenSequence) uint64 {
	if l.run.Load() == before.run {
		return before.seq
	}
	return min(before.seq, l.recovery.begunAt.Load()) // 0 where the next run has not begun, which is right, too
}

// errAnotherRun is the error of what was begun in a run of the server that has ended.
func errAnotherRun() error {
	return fanfold.Wrap(fanfold.ErrRestarting, fanfold.Unavailable, "the log's server was started again meanwhile; try again")
}

// WaitSynced blocks until an event that the reader has delivered is as durable as the log's durability says, and all that was
// stored with it is there. It ends with ctx. The error is Unavailable: the log may lose the event. Its cause is fanfold.ErrRestarting where the
// server was started again meanwhile.
func (r *Reader) WaitSynced(ctx context.Context, seq uint64) error {
	err := r.log.waitWhole(ctx, r.run, seq)
	if err != nil && r.run.ended.Err() != nil {
		return fanfold.Wrap(errors.Join(err, fanfold.ErrRestarting), fanfold.Unavailable, "%s", fanfold.MessageOf(err))
	}
	return err
}

// waitWhole does what Reader.WaitSynced does for an event that was told of in a run.
func (l *Log) waitWhole(ctx context.Context, run *serverRun, seq uint64) error {
	if err := run.wait(ctx, seq); err != nil {
		return err
	}
	return l.batches.whole(ctx, run, seq)
}

// Synced returns the last event that was acknowledged as durable, 0 where nobody knows. It is for the next start. Later
// durable events may be a part of a transaction, which the next start takes away.
func (l *Log) Synced() uint64 {
	if e := l.opt.Embedded; e != nil && e.Sync() != SyncNone {
		return l.acked.Load()
	}
	return 0
}
