package events

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// Unerased returns how many messages are still there that an erasure in force lists. residue says that a server outside may have the bytes of
// purged ones besides. They are in the file in which the last purge before an erasure ended, until a later purge passes that file. Of an embedded server residue says that
// a file has events from before the log's base. It blocks for two round trips. The error is Unavailable.
func (p *Prefix) Unerased(ctx context.Context) (messages int64, residue bool, err error) {
	if err := p.askBase(ctx, p.log.lastBySubject); err != nil {
		return 0, false, err
	}
	_, inForce := p.Erasures()
	if inForce == 0 {
		return 0, false, nil
	}
	s, err := p.log.State(ctx)
	if err != nil {
		return 0, false, err
	}
	t := p.losses.get()
	var listed uint64
	t.all(0, inForce, func(*fanfold.Substitute) bool { listed++; return true })
	messages = int64(listed - min(listed, s.Erased))
	base := p.Base().Seq
	switch e := p.log.opt.Embedded; {
	case base == 0:
	case e == nil:
		residue = t.replaced != nil && mayShareBlock(t.replaced.Seq, base)
	default:
		first, err := e.BlockStart(p.log.opt.Database, base+1)
		if err != nil {
			return messages, false, fanfold.Wrap(err, fanfold.Unavailable, "the log's files cannot be read: %v", err)
		}
		residue = first <= base
	}
	return messages, residue, nil
}

// blockMessages is at least how many messages are in a file of a server: 8 MiB of the smallest.
const blockMessages = 8 << 20 / 60

// mayShareBlock tells whether a server's file in which one purge ended may be that in which a later one did. No client can see where files end.
func mayShareBlock(before, after uint64) bool { return after < before+blockMessages }

// EraseMessages deletes what the erasures in force list, so that their servers' files do not have it any more. With an embedded server it also deletes
// what is there of events before the log's base. also names messages of other streams of an embedded server that go with them. progress is told of how
// many messages are deleted; nil for nobody. It blocks until all is done, and is safe to be called again, also after a kill anywhere in it. An
// embedded server is started again, and takes no writes for as long. Errors are Conflict for a log from which nothing can be deleted; Unavailable;
// and ctx's.
func (p *Prefix) EraseMessages(ctx context.Context, also map[string]func(seq uint64) bool, progress func(done, total int64)) error {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	if err := p.askBase(ctx, p.log.lastBySubject); err != nil {
		return err
	}
	if err := p.log.waitWhole(ctx, p.log.run.Load(), p.LastErased()); err != nil { // a loss of power must not take the event and leave the deletion
		return err
	}
	if err := p.forgetDigest(ctx); err != nil {
		return err
	}
	d := deletion{Prefix: p, table: p.losses.get(), progress: progress}
	_, d.inForce = p.Erasures()
	if e := p.log.opt.Embedded; e != nil && e.Sync() != SyncServer {
		return d.rewriteFiles(ctx, also)
	}
	return d.deleteMessages(ctx)
}

// deletion is an EraseMessages under way.
type deletion struct {
	*Prefix
	table    *lossTable
	inForce  fanfold.AsOf // up to which what is listed goes
	progress func(done, total int64)
}

// listed returns the messages that go, in order.
func (d *deletion) listed() (seqs []uint64) {
	d.table.all(0, d.inForce, func(s *fanfold.Substitute) bool {
		seqs = append(seqs, s.Seq)
		return true
	})
	return seqs
}

// forgetDigest replaces the digest in the metadata of a restored log's stream, which is of what was erased from its base, too. The error is Unavailable.
func (p *Prefix) forgetDigest(ctx context.Context) error {
	base := p.losses.get().replaced
	if base == nil {
		return nil
	}
	info, err := p.log.stream.Info(ctx)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the log's settings cannot be read")
	}
	stored, err := baseOf(info.Config)
	if err != nil || stored.Seq == 0 || stored.Seq > base.Seq {
		return err
	}
	if stored.Digest = (fanfold.Digest{}); stored.Seq == base.Seq {
		stored.Digest = base.Digest
	}
	config := info.Config
	config.Metadata = maps.Clone(config.Metadata)
	if config.Metadata[baseKey] = stored.String() + restoredBase; config.Metadata[baseKey] == info.Config.Metadata[baseKey] {
		return nil
	}
	if _, err := p.log.js.UpdateStream(ctx, config); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the log's settings cannot be changed: %v", err)
	}
	return nil
}

// deleteMessages has the server delete what goes, one message after the other. Each is overwritten.
func (d *deletion) deleteMessages(ctx context.Context) error {
	if err := d.MayCompact(ctx); err != nil {
		return err
	}
	listed := d.listed()
	for i, seq := range listed {
		if err := d.deleteMessage(ctx, seq); err != nil {
			return fanfold.Wrap(err, fanfold.Unavailable, "event %d cannot be deleted from the log: %v", seq, err)
		}
		d.progress(int64(i+1), int64(len(listed)))
	}
	return ctx.Err()
}

// deleteMessage has the server delete a message and overwrite it. One that is gone is no error.
func (d *deletion) deleteMessage(ctx context.Context, seq uint64) error {
	m, err := d.log.client.GetFromLeader(ctx, d.log.opt.Database, servers.LeaderQuery{Seq: seq})
	if err != nil || m == nil {
		return err
	}
	attempt, cancel := context.WithTimeout(ctx, d.log.opt.Timeout)
	defer cancel()
	err = d.log.stream.SecureDeleteMsg(attempt, seq)
	if err == nil || errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if m, failed := d.log.client.GetFromLeader(ctx, d.log.opt.Database, servers.LeaderQuery{Seq: seq}); failed == nil && m == nil {
		return nil // another node was faster, or the answer was lost
	}
	return err
}

// rewriteFiles has the embedded server's files written anew without what goes. also is as in EraseMessages.
func (d *deletion) rewriteFiles(ctx context.Context, also map[string]func(seq uint64) bool) error {
	e := d.log.opt.Embedded
	drops := map[string]Drop{d.log.opt.Database: {UpTo: d.Base().Seq, Has: func(seq uint64) bool {
		s, _ := d.table.find(seq, d.inForce)
		return s != nil
	}}}
	for stream, has := range also {
		drops[stream] = Drop{Has: has, Changing: true}
	}
	total := int64(len(d.listed()))
	d.progress(0, total)
	for more := true; more; {
		err := e.ProbeSpace() // for without space the server would not be started again
		if err != nil {
			return fanfold.Wrap(err, fanfold.Unavailable, "the log's disk is full (%s), and what is erased stays in its files until there are %d MiB", causeOf(err.Error()), ProbeBytes>>20)
		}
		if more, err = e.Rewrite(ctx, drops); err != nil {
			return err
		}
		refusal := fanfold.Wrap(fanfold.ErrRestarting, fanfold.Unavailable, "the log's server is being started again, without what was erased; nothing was written, try again")
		if err := d.log.recovery.restartNow(ctx, refusal); err != nil {
			return err
		}
	}
	d.progress(total, total)
	return nil
}

// awaitPause blocks while EraseMessages has the server started again, until that fails, or until ctx ends.
func (r *Recovery) awaitPause(ctx context.Context) {
	if paused := r.pause.Load(); paused != nil {
		select {
		case <-*paused:
		case <-ctx.Done():
		}
	}
}

// endPause lets those go on who wait in awaitPause. It does nothing where nobody does.
func (r *Recovery) endPause() {
	if paused := r.pause.Swap(nil); paused != nil {
		close(*paused)
	}
}

// outlastTime is for how long a question waits for a server that is started again as planned.
const outlastTime = 30 * time.Second

// Outlast asks the server something, and asks again where it was started again as planned meanwhile. It blocks until ask has an answer, the
// restart takes too long, or ctx has ended. A question that was answered for longer than a restart takes may outlast another one. The context
// of ask ends where the server stops: it would wait for an answer that does not come. The error is ask's.
func (l *Log) Outlast(ctx context.Context, ask func(ctx context.Context) error) error {
	for failing := (time.Time{}); ; {
		before, began := l.recovery.restarts.Load(), time.Now()
		stopped, err := askRun(ctx, l.run.Load(), ask)
		again := fanfold.CodeOf(err) == fanfold.Unavailable && (errors.Is(l.health.noSpace(), fanfold.ErrRestarting) || l.recovery.restarts.Load() != before)
		if err == nil || !again && !stopped {
			return err
		}
		if failing.IsZero() || time.Since(began) > outlastTime {
			failing = time.Now()
		}
		if time.Since(failing) > outlastTime {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// askRun asks the server something for as long as a run of it lasts. stopped says that there was no answer because it has ended.
func askRun(ctx context.Context, run *serverRun, ask func(ctx context.Context) error) (stopped bool, err error) {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(run.ended, cancel)()
	err = ask(asking)
	return asking.Err() != nil && ctx.Err() == nil && (errors.Is(err, context.Canceled) || fanfold.CodeOf(err) == fanfold.Unavailable), err
}

// restartNow starts the embedded server again. Until it runs, or ctx has ended, writes are refused with an error.
func (r *Recovery) restartNow(ctx context.Context, refusal error) error {
	durable := max(r.log.prefix.LastErased(), r.log.acked.Load())
	r.under.Lock()
	defer r.under.Unlock()
	paused := make(chan struct{})
	r.pause.Store(&paused)
	defer r.endPause()
	if run := r.log.run.Load(); run.broken.Load() == nil { // who waits for what is written need not fail
		if err := r.log.waitWhole(ctx, run, run.highest.Load()); err != nil {
			return err
		}
	}
	before := r.restarts.Load()
	r.recoverFrom(ctx, refusal, time.Millisecond, func() (uint64, error) { return durable, nil })
	if r.restarts.Load() == before {
		return fanfold.Wrap(ctx.Err(), fanfold.Unavailable, "the log's server could not be started again")
	}
	return nil
}
