package events

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// horizon is what a log knows of its beginning, which moves. Its methods may be called from many goroutines.
type horizon struct {
	known atomic.Pointer[knownHorizon]
	first atomic.Uint64 // the first sequence that the stream has, when last heard; 0 where it was not

	mu    sync.Mutex // held while the log is asked
	asked time.Time  // when the log was last asked for its last compact event; the zero time for never
}

// knownHorizon is the horizon of the last compact event that is known, or of a log that was restored.
type knownHorizon struct {
	base       Base
	compaction *fanfold.Compaction // nil where no event says it
	seq        uint64              // of the event
	noted      time.Time           // when this process learnt of it
}

// note takes note of a compact event. One that came before what is known changes nothing.
func (h *horizon) note(c *fanfold.Compaction, seq uint64) {
	for {
		old := h.known.Load()
		if seq <= old.seq {
			return
		}
		next := &knownHorizon{base: old.base, compaction: c, seq: seq, noted: time.Now()}
		if b := next.base; c.Seq > b.Seq || c.Seq == b.Seq && c.Digest == b.Digest { // the metadata of a restored log do not have its erasure
			next.base = Base{c.Seq, c.Digest, c.Erasure}
		}
		if h.known.CompareAndSwap(old, next) {
			return
		}
	}
}

// Base returns after which event the log begins, as far as this process knows. Events from before may still be there.
func (l *Log) Base() Base {
	known := l.horizon.known.Load()
	if c := l.erasedBase(known); c != nil {
		return Base{c.Seq, c.Digest, c.Erasure}
	}
	return known.base
}

// erasedBase returns the base by which an erased event has replaced the last compact event's, nil for none.
func (l *Log) erasedBase(known *knownHorizon) *fanfold.Compaction {
	t := l.erasures.get()
	if t.base == nil || t.base.Seq != known.base.Seq || t.base.Erasure <= known.base.Erasure {
		return nil
	}
	return t.base
}

// Compaction returns what the last compact event says that the log is known to have, and its sequence, nil for none. An erased event may have
// replaced the base in it by another one of the same horizon.
func (l *Log) Compaction() (c *fanfold.Compaction, seq uint64) {
	known := l.horizon.known.Load()
	if c := l.erasedBase(known); c != nil {
		return c, known.seq
	}
	return known.compaction, known.seq
}

// askBase asks the log for its last compact event, and for what it has erased, and takes note of it. get returns the last message on a subject. Errors are Invalid
// for an event that cannot be read, and Unavailable.
func (l *Log) askBase(ctx context.Context, get func(ctx context.Context, subject string) (*servers.Message, error)) error {
	l.horizon.mu.Lock()
	defer l.horizon.mu.Unlock()
	return l.askBaseLocked(ctx, get)
}

// askBaseLocked is askBase for who holds the horizon's lock.
func (l *Log) askBaseLocked(ctx context.Context, get func(ctx context.Context, subject string) (*servers.Message, error)) error {
	began := time.Now()
	m, err := get(ctx, l.sub.compact())
	if err != nil {
		return err
	}
	if err := l.noteBegin(m); err != nil {
		return err
	}
	if err := l.askErasures(ctx); err != nil {
		return err
	}
	if standing := l.standing(m, l.sub.compact()); standing != m {
		if err := l.noteBegin(standing); err != nil {
			return err
		}
	}
	l.horizon.asked = began
	return nil
}

// noteBegin takes note of the message of a compact event, nil for none. The error is Invalid.
func (l *Log) noteBegin(m *servers.Message) error {
	if m == nil {
		return nil
	}
	var ev fanfold.Event
	if err := Decode(m.Data, &ev); err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "event %d, which says where the log begins, %s", m.Seq, fanfold.MessageOf(err))
	}
	if ev.Compaction == nil {
		return fanfold.Errorf(fanfold.Invalid, "event %d, which says where the log begins, is a %s", m.Seq, ev.Kind)
	}
	l.noteCompaction(ev.Compaction, m.Seq)
	return nil
}

// noteCompaction takes note of a compact event.
func (l *Log) noteCompaction(c *fanfold.Compaction, seq uint64) {
	before := l.horizon.known.Load().base.Seq
	l.horizon.note(c, seq)
	if base := l.horizon.known.Load().base.Seq; base > before {
		l.erasures.forget(base, ^uint64(0))
	}
}

// purgedUpTo returns a PositionGone where the events after one, up to another, may have been purged, nil where they may not. It also returns
// the errors of askBase.
func (l *Log) purgedUpTo(ctx context.Context, after, last uint64) error {
	if last > l.Base().Seq {
		if err := l.askBase(ctx, l.lastBySubject); err != nil {
			return err
		}
	}
	if c, _ := l.Compaction(); c != nil && after < last && last <= c.Seq {
		return fanfold.Errorf(fanfold.PositionGone, "the log begins after event %d by now, and events from %d on were purged: what was folded up to event %d is continued from the base", c.Seq, after+1, after)
	}
	return nil
}

// findBase asks the log where it begins, as it is opened. A stream that another node has just made may have no leader yet, as in findStream.
// A damaged log may not tell.
func (l *Log) findBase(ctx context.Context) (err error) {
	l.client.Await(ctx, func() (why error) {
		if err = l.askBase(ctx, l.lastBySubject); servers.Leaderless(err) {
			return err
		}
		return nil
	})
	if l.opt.Damaged && isRefusal(err) {
		return nil
	}
	if l.replicated.Load() {
		l.horizon.asked = time.Time{} // a leader that was replaced may have answered
	}
	return err
}

// knowingBase returns the state of a stream that seems to lack events, once the log was asked where it begins. If it lacks some of those
// that nobody needs any more, they are purged: a loss of power may have undone a purge in part.
func (l *Log) knowingBase(ctx context.Context, s State) (State, error) {
	if err := l.askBase(ctx, l.lastBySubject); err != nil && !isRefusal(err) {
		return s, err
	}
	s, err := l.State(ctx)
	base := l.Base().Seq
	if err != nil || s.Complete() || base == 0 || s.Last <= base || s.First > base {
		return s, err
	}
	if len(s.Missing) > 0 && s.Missing[0] > base || len(s.Missing) == 0 && s.Lost > 0 {
		return s, nil
	}
	if err := l.purgeTo(ctx, base); err != nil {
		return s, nil //nolint:nilerr // it stays as it is, which Complete judges
	}
	return l.State(ctx)
}

// settleTime is how long a write may be on its way, from its first attempt to the end of its last one.
func (o *Options) settleTime() time.Duration { return o.Timeout + o.Attempt }

// onlyWriter tells whether every event comes from this process, so that it knows of every compact event.
func (l *Log) onlyWriter() bool { return l.opt.Embedded != nil }

// purgeWait returns how long after a compact event the log is purged at the earliest. By then every write has ended that was begun by a
// node that did not know of the event.
func (l *Log) purgeWait() time.Duration {
	switch {
	case l.opt.PurgeWait > 0:
		return l.opt.PurgeWait
	case l.onlyWriter():
		return l.opt.settleTime()
	}
	return 2 * l.opt.settleTime()
}

// confirmBase makes sure that this process knows of every compact event that is older than half of purgeWait. The error is Unavailable.
func (l *Log) confirmBase(ctx context.Context) error {
	if l.onlyWriter() {
		return nil
	}
	l.horizon.mu.Lock()
	defer l.horizon.mu.Unlock()
	if !l.horizon.asked.IsZero() && time.Since(l.horizon.asked) < l.purgeWait()/2 {
		return nil
	}
	if err := l.askBaseLocked(ctx, l.currentBySubject); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, unreachable)
	}
	return nil
}

// confirm makes sure of the log's base where one of the conditions lets the server be told that its subject has no message: right before they
// are sent, each time. It returns the errors of mayBeGone, and Unavailable.
func (l *Log) confirm(ctx context.Context, conditions ...condition) error {
	base := l.Base()
	for _, c := range conditions {
		if !c.expect.Set || uint64(c.expect.Rev) > base.Seq || c.subject == l.sub.compact() {
			continue
		}
		if err := l.confirmBase(ctx); err != nil {
			return err
		}
		if _, err := l.mayBeGone(c); err != nil {
			return err
		}
	}
	return nil
}

// refuseErased returns a Stale where an event follows the revision of a condition that may be gone, because its content is erased: the server would
// not know. The other error is Unavailable.
func (l *Log) refuseErased(ctx context.Context, c condition) error {
	t := l.erasures.get()
	if !c.expect.Set || !t.anyOn(c.subject, max(uint64(c.expect.Rev), l.Base().Seq)) {
		return nil
	}
	last, err := l.lastBySubject(ctx, c.subject)
	if err != nil {
		return err
	}
	return staleError(max(last.Sequence(), t.latestOn(c.subject)), c.expect.Rev)
}

// refuseErasedOf does what Log.refuseErased does for the conditions of a batch. The Stale names the operation, also of a batch of one: a
// transaction is tried again by it.
func refuseErasedOf(ctx context.Context, l *Log, conditions []condition) error {
	for i, c := range conditions {
		if err := l.refuseErased(ctx, c); err != nil {
			return fanfold.AtOperation(err, i)
		}
	}
	return nil
}

// condition is what a message requires of the last message on a subject.
type condition struct {
	subject string
	expect  fanfold.Expect
}

// conditionOf returns the condition of a message.
func conditionOf(msg *nats.Msg, expect fanfold.Expect) condition {
	return condition{conditionSubject(msg), expect}
}

// conditionsOf returns the conditions of the messages that store writes.
func conditionsOf(msgs []*nats.Msg, writes []fanfold.Write) []condition {
	out := make([]condition, len(msgs))
	for i, m := range msgs {
		out[i] = conditionOf(m, writes[i].Expect)
	}
	return out
}

// mayBeGone tells whether a condition names a revision whose message may have been purged, so that the server may have none on the subject.
// The last message on the subject of compact events is not purged. The error says that a condition was read from a state before the
// horizon: another message may have been purged since.
func (l *Log) mayBeGone(c condition) (bool, error) {
	base := l.Base()
	if !c.expect.Set || base.Seq == 0 || uint64(c.expect.Rev) > base.Seq || c.subject == l.sub.compact() {
		return false, nil
	}
	if purged, _ := l.Compaction(); purged != nil && c.expect.Folded < purged.Seq {
		return false, behindHorizon(base)
	}
	return true, nil // a restored log never had more
}

// behindHorizon returns the Stale of a write that was decided on a state before the log's horizon.
func behindHorizon(base Base) error {
	return &fanfold.Error{Code: fanfold.Stale, Current: fanfold.Revision(base.Seq), Err: fanfold.ErrBehindHorizon,
		Message: "the log begins after event " + strconv.FormatUint(base.Seq, 10) + ", and this node has not come so far yet: try again"}
}

// isMet tells whether a condition is met where last is the last message on its subject, 0 for none, as far as this process knows what is erased. It
// is if nothing that counts came after the revision, and the message of the revision is last, or may be gone. It returns the errors of mayBeGone,
// and Unavailable.
func (l *Log) isMet(ctx context.Context, c condition, last uint64) (bool, error) {
	rev := uint64(c.expect.Rev)
	if last == rev {
		return true, nil
	}
	if after, err := l.anyAfter(ctx, c, last); after || err != nil {
		return false, err
	}
	if gone, err := l.mayBeGone(c); gone || err != nil {
		return gone, err
	}
	s, _ := l.erasures.get().find(rev, ^uint64(0))
	if rev == 0 || s != nil || last < rev {
		return rev == 0 || s != nil && isOn(s.Subject, c.subject), nil
	}
	m, err := l.getMsg(ctx, servers.LeaderQuery{Seq: rev}) // all after it are claims that do not count
	return m != nil && m.Subject == c.subject, err
}

// anyAfter tells whether an event that counts follows the revision of a condition on its subject, where last is the last message there. One counts
// that is after the log's base, and is no claim whose content is erased. A message that is listed counts though it may be gone. The error is Unavailable.
func (l *Log) anyAfter(ctx context.Context, c condition, last uint64) (bool, error) {
	after := max(uint64(c.expect.Rev), l.Base().Seq)
	switch {
	case l.erasures.get().anyOn(c.subject, after):
		return true, nil
	case last <= after:
		return false, nil
	case !l.sub.isClaim(c.subject):
		return true, nil
	}
	m, err := l.nextOn(ctx, c.subject, after)
	return m != nil, err
}

// nextOn returns the first message after a sequence on a subject that is no claim whose content is erased, nil for none. The error is Unavailable.
func (l *Log) nextOn(ctx context.Context, subject string, after uint64) (*servers.Message, error) {
	for {
		m, err := l.getMsg(ctx, servers.LeaderQuery{Seq: after + 1, NextBySubject: subject})
		if err != nil || m == nil {
			return nil, err
		}
		if s, _ := l.erasures.get().find(m.Seq, ^uint64(0)); s == nil || !s.Claim {
			return m, nil
		}
		after = m.Seq
	}
}

// isMetNow does what isMet does, once the log was asked where it begins and what is erased, if that can make a difference. It returns the
// errors of isMet.
func (l *Log) isMetNow(ctx context.Context, c condition, last uint64) (met bool, err error) {
	rev := uint64(c.expect.Rev)
	if base := l.Base(); last < rev && rev > base.Seq || last > rev && l.sub.isClaim(c.subject) {
		if err := l.askBase(ctx, l.currentBySubject); err != nil {
			return false, err
		}
	}
	return l.isMet(ctx, c, last)
}

// setCondition has a message require no message at all where the one of its condition is likely to be purged. confirm has looked at it.
func (l *Log) setCondition(msg *nats.Msg, expect fanfold.Expect) {
	first := l.horizon.first.Load()
	if expect.Set && uint64(expect.Rev) < min(first, l.Base().Seq+1) && conditionSubject(msg) != l.sub.compact() {
		requireLast(msg, 0)
	}
}

// requireLast has a message require a last message on the subject of its condition, 0 for none.
func requireLast(msg *nats.Msg, seq uint64) {
	msg.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(seq, 10)}
}

// required returns which last message a message requires, as requireLast sets it.
func required(msg *nats.Msg) string { return msg.Header.Get(jetstream.ExpectedLastSubjSeqHeader) }
