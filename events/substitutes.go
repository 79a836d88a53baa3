package events

import (
	"bytes"
	"context"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
)

// substitute returns what a reader gets next where the log has delivered a message: the message, or its substitute. If messages before it are
// missing, it returns the substitute of the first of these. It returns the errors of fillGap.
func (r *Reader) substitute(ctx context.Context, m Message) (Message, error) {
	if m.Seq > r.last+1 {
		s, err := r.fillGap(ctx, m.Seq)
		if err != nil {
			return m, err
		}
		if s != nil {
			r.held, r.holds = m, true
			return messageOf(s, r.log.sub, m.Pending+m.Seq-s.Seq), nil
		}
	}
	r.held, r.holds = Message{}, false
	if s, _ := r.log.prefix.losses.get().find(m.Seq, r.asOf); s != nil {
		return messageOf(s, r.log.sub, m.Pending), nil
	}
	return m, nil
}

// fillGap returns the substitute of the first message in a gap, which ends before a sequence, that has one as of the reader's erasure; nil for none.
// It asks the log where the gap's beginning has none. It returns PositionGone, with ErrErased, if a later erasure explains the gap, and the errors
// of askErasures.
func (r *Reader) fillGap(ctx context.Context, end uint64) (first *fanfold.Substitute, err error) {
	next := r.last + 1
	s, by := r.log.prefix.losses.get().find(next, r.asOf)
	if s == nil { // a node that lags does not know what was erased meanwhile, or what is in force
		if err := r.log.prefix.askErasures(ctx, r.log.run.Load()); err != nil {
			return nil, err
		}
		s, by = r.log.prefix.losses.get().find(next, r.asOf)
	}
	if s == nil && by != 0 {
		return nil, fanfold.Wrap(ErrErased, fanfold.PositionGone, "event %d was erased by event %d, and what was folded before knows of erasures up to event %d alone: it is made anew", next, by, r.asOf)
	}
	r.log.prefix.losses.get().all(next, r.asOf, func(s *fanfold.Substitute) bool {
		if s.Seq < end {
			first = s
		}
		return false
	})
	return first, nil
}

// messageOf returns the message that a substitute stands for, as readers see it.
func messageOf(s *fanfold.Substitute, sub subjects, pending uint64) Message {
	m := Message{Subject: s.Subject, Headers: nats.Header{}, Data: bytes.Clone(s.Payload), Seq: s.Seq, Time: s.Time, Pending: pending}
	if s.Claim {
		m.Subject, m.Data = sub.fence(), Encode(&fanfold.Event{Kind: fanfold.KindFence})
	}
	setHeaders(m.Headers, &fanfold.Event{Tx: s.Tx, Actor: s.Actor})
	if s.KeyHash != "" { // without a digest
		m.Headers[headerKey] = []string{s.KeyHash}
	}
	return m
}
