package events

import (
	"context"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// admits returns why a write is refused by what the log has lost, nil where the server can decide. If the message that a condition names is likely to be
// gone, the write's message then requires none. Errors are Stale, which names the operation of a batch, and Unavailable.
func (p *Prefix) admits(ctx context.Context, conditions ...condition) error {
	if err := p.confirm(ctx, conditions...); err != nil {
		return err
	}
	for _, c := range conditions {
		if err := p.refuseErased(ctx, c); err != nil && c.operation >= 0 {
			return fanfold.AtOperation(err, c.operation) // by which a transaction is tried again, also one of one message
		} else if err != nil {
			return err
		}
	}
	gone := min(p.first.Load(), p.Base().Seq+1)
	for _, c := range conditions {
		if c.expect.Set && uint64(c.expect.Rev) < gone && c.subject != p.log.sub.compact() {
			requireLast(c.msg, 0)
		}
	}
	return nil
}

// noted takes note of what an event of the log says about the log itself. size is the size of its payload.
func (p *Prefix) noted(ev *fanfold.Event, size int) {
	if ev.Loss != nil {
		p.losses.note([]int{size}, ev)
	}
}

// noteAppended does what Prefix.noted does for events that were appended next to each other.
func noteAppended(p *Prefix, first uint64, msgs []*nats.Msg, evs ...*fanfold.Event) {
	for i, ev := range evs {
		if ev.Loss == nil {
			continue
		}
		noted := *ev
		noted.Seq, noted.Tx.Index = first+uint64(i), i
		p.noted(&noted, len(msgs[i].Data))
	}
}

// confirm makes sure of the log's base where one of the conditions lets the server be told that its subject has no message: right before they
// are sent, each time. It returns the errors of mayBeGone, and Unavailable.
func (p *Prefix) confirm(ctx context.Context, conditions ...condition) error {
	base := p.Base()
	for _, c := range conditions {
		if !c.expect.Set || uint64(c.expect.Rev) > base.Seq || c.subject == p.log.sub.compact() {
			continue
		}
		if err := p.confirmBase(ctx); err != nil {
			return err
		}
		if _, err := p.mayBeGone(c); err != nil {
			return err
		}
	}
	return nil
}

// refuseErased returns a Stale where an event follows the revision of a condition that may be gone, because its content is erased: the server would
// not know. The other error is Unavailable.
func (p *Prefix) refuseErased(ctx context.Context, c condition) error {
	t := p.losses.get()
	if !c.expect.Set || !t.anyOn(c.subject, max(uint64(c.expect.Rev), p.Base().Seq)) {
		return nil
	}
	last, err := p.log.lastBySubject(ctx, c.subject)
	if err != nil {
		return err
	}
	return staleError(max(last.Sequence(), t.latestOn(c.subject)), c.expect.Rev)
}

// condition is what a message requires of the last message on a subject.
type condition struct {
	msg       *nats.Msg
	subject   string
	expect    fanfold.Expect
	operation int // its place in a batch; -1 for a message that is alone
}

// conditionOf returns the condition of a message that is alone.
func conditionOf(msg *nats.Msg, expect fanfold.Expect) condition {
	return condition{msg, conditionSubject(msg), expect, -1}
}

// conditionsOf returns the conditions of the messages that store writes.
func conditionsOf(msgs []*nats.Msg, writes []fanfold.Write) []condition {
	out := make([]condition, len(msgs))
	for i, m := range msgs {
		out[i] = condition{m, conditionSubject(m), writes[i].Expect, i}
	}
	return out
}

// mayBeGone tells whether a condition names a revision whose message may have been purged, so that the server may have none on the subject.
// The last message on the subject of compact events is not purged. The error says that a condition was read from a state before the
// horizon: another message may have been purged since.
func (p *Prefix) mayBeGone(c condition) (bool, error) {
	base := p.Base()
	if !c.expect.Set || base.Seq == 0 || uint64(c.expect.Rev) > base.Seq || c.subject == p.log.sub.compact() {
		return false, nil
	}
	if purged, _ := p.Compaction(); purged != nil && c.expect.Folded < purged.Seq {
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
func (p *Prefix) isMet(ctx context.Context, c condition, last uint64) (bool, error) {
	rev := uint64(c.expect.Rev)
	if last == rev {
		return true, nil
	}
	if after, err := p.anyAfter(ctx, c, last); after || err != nil {
		return false, err
	}
	if gone, err := p.mayBeGone(c); gone || err != nil {
		return gone, err
	}
	s, _ := p.losses.get().find(rev, ^fanfold.AsOf(0))
	if rev == 0 || s != nil || last < rev {
		return rev == 0 || s != nil && isOn(s.Subject, c.subject), nil
	}
	m, err := p.log.getMsg(ctx, servers.LeaderQuery{Seq: rev}) // all after it are claims that do not count
	return m != nil && m.Subject == c.subject, err
}

// anyAfter tells whether an event that counts follows the revision of a condition on its subject, where last is the last message there. One counts
// that is after the log's base, and is no claim whose content is erased. A message that is listed counts though it may be gone. The error is Unavailable.
func (p *Prefix) anyAfter(ctx context.Context, c condition, last uint64) (bool, error) {
	after := max(uint64(c.expect.Rev), p.Base().Seq)
	switch {
	case p.losses.get().anyOn(c.subject, after):
		return true, nil
	case last <= after:
		return false, nil
	case !p.log.sub.isClaim(c.subject):
		return true, nil
	}
	m, err := p.nextOn(ctx, c.subject, after)
	return m != nil, err
}

// nextOn returns the first message after a sequence on a subject that is no claim whose content is erased, nil for none. The error is Unavailable.
func (p *Prefix) nextOn(ctx context.Context, subject string, after uint64) (*servers.Message, error) {
	for {
		m, err := p.log.getMsg(ctx, servers.LeaderQuery{Seq: after + 1, NextBySubject: subject})
		if err != nil || m == nil {
			return nil, err
		}
		if s, _ := p.losses.get().find(m.Seq, ^fanfold.AsOf(0)); s == nil || !s.Claim {
			return m, nil
		}
		after = m.Seq
	}
}

// isMetNow does what isMet does, once the log was asked where it begins and what is erased, if that can make a difference. It returns the
// errors of isMet.
func (p *Prefix) isMetNow(ctx context.Context, c condition, last uint64) (met bool, err error) {
	rev := uint64(c.expect.Rev)
	if base := p.Base(); last < rev && rev > base.Seq || last > rev && p.log.sub.isClaim(c.subject) {
		if err := p.askBase(ctx, p.log.currentBySubject); err != nil {
			return false, err
		}
	}
	return p.isMet(ctx, c, last)
}

// requireLast has a message require a last message on the subject of its condition, 0 for none.
func requireLast(msg *nats.Msg, seq uint64) {
	msg.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(seq, 10)}
}

// required returns which last message a message requires, as requireLast sets it.
func required(msg *nats.Msg) string { return msg.Header.Get(jetstream.ExpectedLastSubjSeqHeader) }
