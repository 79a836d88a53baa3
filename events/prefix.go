package events

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// Prefix is what a log knows of the events that it has lost: after which one it begins, and which erase events list others. Its doors take away more:
// Purge at the beginning, EraseMessages in the middle. Its methods may be called from many goroutines.
type Prefix struct {
	log    *Log
	losses losses
	first  atomic.Uint64 // the first sequence that the stream has, when last heard; 0 where it was not

	asking sync.Mutex // held while the log is asked
	asked  time.Time  // when the log was last asked for its last compact event; the zero time for never
}

// Prefix returns what the log knows of the events that it has lost.
func (l *Log) Prefix() *Prefix { return &l.prefix }

// begin takes note of the base in the stream's metadata, before anything else is known.
func (p *Prefix) begin(base Base) { p.losses.change(func(t *lossTable) { t.begun = base }) }

// Base returns after which event the log begins, as far as this process knows. Events from before may still be there.
func (p *Prefix) Base() Base {
	base, _ := p.losses.get().begins()
	return base
}

// Compaction returns with what the log begins, and the sequence of the last compact event that the log is known to have, nil for none. An erased
// event may have replaced the base in that one by another of the same horizon.
func (p *Prefix) Compaction() (c *fanfold.Compaction, seq uint64) {
	t := p.losses.get()
	_, c = t.begins()
	return c, t.compacted
}

// BaseFile returns the base with which the log begins; its name is "" for a log that has all its events.
func (b BucketAccess) BaseFile() fanfold.BaseFile {
	if c, _ := b.log.prefix.Compaction(); c != nil {
		return c.Base
	}
	return fanfold.BaseFile{}
}

// askBase asks the log for its last compact event, and for what it has erased, and takes note of it. get returns the last message on a subject. Errors are Invalid
// for an event that cannot be read, and Unavailable.
func (p *Prefix) askBase(ctx context.Context, get func(ctx context.Context, subject string) (*servers.Message, error)) error {
	p.asking.Lock()
	defer p.asking.Unlock()
	return p.askBaseLocked(ctx, p.log.run.Load(), get)
}

// askBaseLocked is askBase for who holds the lock, in a run of the server.
func (p *Prefix) askBaseLocked(ctx context.Context, run *serverRun, get func(ctx context.Context, subject string) (*servers.Message, error)) error {
	began := time.Now()
	m, err := get(ctx, p.log.sub.compact())
	if err != nil {
		return err
	}
	if err := p.noteBegin(m); err != nil {
		return err
	}
	if err := p.askErasures(ctx, run); err != nil {
		return err
	}
	if standing := p.log.standing(m, p.log.sub.compact()); standing != m {
		if err := p.noteBegin(standing); err != nil {
			return err
		}
	}
	p.asked = began
	return nil
}

// noteBegin takes note of the message of a compact event, nil for none. The error is Invalid.
func (p *Prefix) noteBegin(m *servers.Message) error {
	if m == nil {
		return nil
	}
	var ev fanfold.Event
	if err := Decode(m.Data, &ev); err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "event %d, which says where the log begins, %s", m.Seq, fanfold.MessageOf(err))
	}
	if ev.Loss == nil || ev.Loss.List != nil {
		return fanfold.Errorf(fanfold.Invalid, "event %d, which says where the log begins, is a %s", m.Seq, ev.Kind)
	}
	ev.Seq = m.Seq
	p.losses.note([]int{len(m.Data)}, &ev)
	return nil
}

// purgedUpTo returns a PositionGone where the events after one, up to another, may have been purged, nil where they may not. It also returns
// the errors of askBase.
func (p *Prefix) purgedUpTo(ctx context.Context, after, last uint64) error {
	if last > p.Base().Seq {
		if err := p.askBase(ctx, p.log.lastBySubject); err != nil {
			return err
		}
	}
	if c, _ := p.Compaction(); c != nil && after < last && last <= c.Seq {
		return fanfold.Errorf(fanfold.PositionGone, "the log begins after event %d by now, and events from %d on were purged: what was folded up to event %d is continued from the base", c.Seq, after+1, after)
	}
	return nil
}

// findBase asks the log where it begins, as it is opened. A stream that another node has just made may have no leader yet, as in findStream.
// A damaged log may not tell.
func (p *Prefix) findBase(ctx context.Context) (err error) {
	p.log.client.Await(ctx, func() (why error) {
		if err = p.askBase(ctx, p.log.lastBySubject); servers.Leaderless(err) {
			return err
		}
		return nil
	})
	if p.log.opt.Damaged && isRefusal(err) {
		return nil
	}
	if p.log.replicated.Load() {
		p.asked = time.Time{} // a leader that was replaced may have answered
	}
	return err
}

// knowingBase returns the state of a stream that seems to lack events, once the log was asked where it begins. If it lacks some of those
// that nobody needs any more, they are purged: a loss of power may have undone a purge in part.
func (p *Prefix) knowingBase(ctx context.Context, run *serverRun, s State) (State, error) {
	p.asking.Lock()
	err := p.askBaseLocked(ctx, run, func(ctx context.Context, subject string) (*servers.Message, error) {
		return run.message(ctx, p.log, servers.LeaderQuery{LastBySubject: subject})
	})
	p.asking.Unlock()
	if err != nil && !isRefusal(err) {
		return s, err
	}
	s, err = p.log.State(ctx)
	base := p.Base().Seq
	if err != nil || s.Complete() || base == 0 || s.Last <= base || s.First > base {
		return s, err
	}
	if len(s.Missing) > 0 && s.Missing[0] > base || len(s.Missing) == 0 && s.Lost > 0 {
		return s, nil
	}
	if err := p.purgeTo(ctx, base); err != nil {
		return s, nil //nolint:nilerr // it stays as it is, which Complete judges
	}
	return p.log.State(ctx)
}

// settleTime is how long a write may be on its way, from its first attempt to the end of its last one.
func (o *Options) settleTime() time.Duration { return o.Timeout + o.Attempt }

// purgeWait returns how long after a compact event the log is purged at the earliest. By then every write has ended that was begun by a
// node that did not know of the event.
func (p *Prefix) purgeWait() time.Duration {
	switch {
	case p.log.opt.PurgeWait > 0:
		return p.log.opt.PurgeWait
	case p.log.opt.Embedded != nil:
		return p.log.opt.settleTime()
	}
	return 2 * p.log.opt.settleTime()
}

// confirmBase makes sure that this process knows of every compact event that is older than half of purgeWait. The error is Unavailable.
func (p *Prefix) confirmBase(ctx context.Context) error {
	if p.log.opt.Embedded != nil {
		return nil
	}
	p.asking.Lock()
	defer p.asking.Unlock()
	if !p.asked.IsZero() && time.Since(p.asked) < p.purgeWait()/2 {
		return nil
	}
	if err := p.askBaseLocked(ctx, p.log.run.Load(), p.log.currentBySubject); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, unreachable)
	}
	return nil
}

// baseKey is the key of the log's base in the stream's metadata.
const baseKey = "fanfold-base"

// restoredBase follows the base of a log that was restored. Programs that do not know Fanfold-Time would take other times for its events,
// and do not read such a base.
const restoredBase = " restored"

// Base says after which event the log begins. The zero value stands for a log from which nothing was cut.
type Base struct {
	Seq    uint64         // the last sequence before the log's first event
	Digest fanfold.Digest // of all events up to it
	AsOf   fanfold.AsOf   // with which lists the digest was made. A stream's metadata do not have it
}

// begins returns after which event the log begins, and with what, nil where no event says it. An erased event counts for the same horizon.
func (t *lossTable) begins() (Base, *fanfold.Compaction) {
	if c := t.replaced; c != nil && c.Seq == t.begun.Seq && c.AsOf > t.begun.AsOf {
		return Base{c.Seq, c.Digest, c.AsOf}, c
	}
	return t.begun, t.compaction
}

// compact takes note of a compact event. The metadata of a restored log do not say what its base knows.
func (t *lossTable) compact(ev *fanfold.Event) {
	c := ev.Loss.Base
	t.compaction, t.compacted, t.since = c, ev.Seq, time.Now()
	if c.Seq > t.begun.Seq || c.Seq == t.begun.Seq && c.Digest == t.begun.Digest {
		t.begun = Base{c.Seq, c.Digest, c.AsOf}
	}
}

// String returns the base as the stream's metadata have it.
func (b Base) String() string { return fmt.Sprintf("%d %s", b.Seq, b.Digest) }

// baseOf returns the base in a stream's metadata, the zero value if they have none, as in older streams. The error is
// Invalid.
func baseOf(config jetstream.StreamConfig) (b Base, err error) {
	text, given := config.Metadata[baseKey]
	if !given {
		return b, nil
	}
	var digest string
	if _, err := fmt.Sscanf(text, "%d %s", &b.Seq, &digest); err != nil || !fanfold.ReadDigest(&b.Digest, digest) || b.String() != strings.TrimSuffix(text, restoredBase) {
		return b, fanfold.Errorf(fanfold.Invalid, "stream %s has a base that cannot be read in its metadata: %q", config.Name, text)
	}
	return b, nil
}

// Erasable tells whether the server lets events be erased from the log. It does not where the stream was made with delete or
// purge denied, as every log once was: a server never takes that back.
func (p *Prefix) Erasable() bool {
	config := p.log.stream.CachedInfo().Config
	return !config.DenyDelete && !config.DenyPurge
}

// purgesSafely tells whether a server of a version keeps its stream where it is killed in a purge. One before 2.14 could come up empty.
func purgesSafely(version string) bool {
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return err == nil && (major > 2 || major == 2 && minor >= 14)
}

// MayCompact returns nil where the server can remove events from the log's beginning, so that nothing else is lost. Otherwise the error is
// Conflict, and says what to do. Unavailable is for a server that does not answer.
func (p *Prefix) MayCompact(ctx context.Context) error {
	var info *jetstream.StreamInfo
	err := p.log.Outlast(ctx, func(ctx context.Context) (err error) {
		if info, err = p.log.stream.Info(ctx); err != nil {
			err = fanfold.Wrap(err, fanfold.Unavailable, "the log's settings cannot be read")
		}
		return err
	})
	if err != nil {
		return err
	}
	if info.Config.DenyDelete || info.Config.DenyPurge {
		return fanfold.Errorf(fanfold.Conflict, "stream %s was made so that nothing can be removed from it, which cannot be changed: make a backup with fanfold backup, and restore it with fanfold restore into a new store", p.log.opt.Database)
	}
	if version := p.log.nc.ConnectedServerVersion(); p.log.opt.Embedded == nil && !purgesSafely(version) {
		return fanfold.Errorf(fanfold.Conflict, "the NATS server %s has version %s, which may lose a stream when it is killed while it removes events from it: use version 2.14 or later on every server of the log", p.log.nc.ConnectedServerName(), version)
	}
	return nil
}

// Purge removes the events up to the base. It is safe to call it again, and on several nodes. An embedded server's log may keep some of them:
// those in the block file with the first event after the base. It blocks until the server has done it. It returns Unavailable, the errors of
// MayCompact, and Conflict if a write from before the compact event may still be on its way. check is called right before; its error is
// Purge's, too. nil is for no check.
func (p *Prefix) Purge(ctx context.Context, check func(ctx context.Context) error) error {
	known := p.losses.get()
	if known.compaction == nil {
		return nil
	}
	if next, err := p.afterPurge(known.begun.Seq); err != nil {
		return err
	} else if next <= p.first.Load() { // no event goes, because the file has later ones or a former process has purged it
		return p.purgeTo(ctx, known.begun.Seq)
	}
	if age, wait := time.Since(known.since), p.purgeWait(); age < wait {
		return fanfold.Errorf(fanfold.Conflict, "a write from before event %d may still be on its way: the log is purged in %v", known.compacted, (wait - age).Round(time.Second))
	}
	if err := p.MayCompact(ctx); err != nil {
		return err
	}
	if check != nil {
		if err := check(ctx); err != nil {
			return err
		}
	}
	if err := p.log.waitWhole(ctx, p.log.run.Load(), known.compacted); err != nil { // a loss of power must not take the event and leave the purge
		return err
	}
	return p.purgeTo(ctx, known.begun.Seq)
}

// afterPurge returns the first event that the stream has once it is purged up to one. The error is Unavailable.
func (p *Prefix) afterPurge(last uint64) (next uint64, err error) {
	next = last + 1
	if e := p.log.opt.Embedded; e != nil {
		if next, err = e.BlockStart(p.log.opt.Database, next); err != nil {
			return 0, fanfold.Wrap(err, fanfold.Unavailable, "the log's files cannot be read: %v", err)
		}
	}
	return next, nil
}

// purgeTo removes the events up to one; the stream has the next. The error is Unavailable.
func (p *Prefix) purgeTo(ctx context.Context, last uint64) (err error) {
	next, err := p.afterPurge(last)
	if err != nil {
		return err
	}
	if next > 1 && next > p.first.Load() {
		if err := p.log.stream.Purge(ctx, jetstream.WithPurgeSequence(next)); err != nil {
			return fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be purged up to event %d: %v", last, err)
		}
	}
	s, err := p.log.State(ctx)
	if e := p.log.opt.Embedded; e != nil && err == nil && s.First <= last+1 {
		if err = e.RemoveBefore(p.log.opt.Database, s.First); err != nil {
			err = fanfold.Wrap(err, fanfold.Unavailable, "files of purged events cannot be removed: %v", err)
		}
	}
	return err
}
