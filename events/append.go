package events

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold"
)

// The server's error codes that decide what became of a publish.
const (
	codeWrongLastSequence = 10071 // the condition failed; on one replica also for our own resend
	codeInFlight          = 10164 // another proposal for the subject is in flight: no verdict yet
	codeDuplicateInFlight = 10158 // our own first publish is still in flight
	codeDuplicateInBatch  = 10201 // a member of the batch is stored already; nothing of this batch is
	codeIncompleteBatch   = 10176 // messages of the batch were lost; nothing of it is stored
	codeBatchesInFlight   = 10210 // too many batches at once; nothing of this one is stored
	codeMessageTooLarge   = 10054
)

// expectSubject names the subject that an expected sequence is about, where it is not the
// message's own (NATS ADR-50 allows it in batches).
const expectSubject = "Nats-Expected-Last-Subject-Sequence-Subject"

// Append returns the sequence of ev once it is durable; many at a time share one commit. It
// blocks until the log has decided, at most Options.Timeout, whatever becomes of the caller's
// connection. Errors are Stale with the current revision where expect is not met; TooLarge;
// Unavailable, where nothing was written; OutcomeUnknown; and, of an event with a key, KeyReused
// and Duplicate.
func (l *Log) Append(ctx context.Context, ev *fanfold.Event, expect fanfold.Expect) (uint64, error) {
	msg, err := l.message(ev, expect)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.opt.Timeout)
	defer cancel()
	if l.opt.FailAppend == nil {
		seq, err := l.commit.append(ctx, msg, expect)
		l.note(err)
		return seq, err
	}
	if err := l.opt.FailAppend(false); err != nil {
		return 0, fanfold.Wrap(err, fanfold.Unavailable, unreachable)
	}
	seq, err := l.commit.append(ctx, msg, expect)
	if fault := l.opt.FailAppend(true); err == nil && fault != nil {
		return 0, fanfold.Wrap(fault, fanfold.OutcomeUnknown, outcomeUnknown)
	}
	return seq, err
}

// headerRoom is what an event's headers take of a message's size at most, in bytes.
const headerRoom = 512

// message makes the message that stores an event. Its id is the event's key where it has one, so
// that the server drops a second request under that key; otherwise a new one.
func (l *Log) message(ev *fanfold.Event, expect fanfold.Expect) (*nats.Msg, error) {
	msg := nats.NewMsg(l.sub.of(ev))
	msg.Data = Encode(ev)
	if most := l.MaxPayload() - headerRoom; len(msg.Data) > most {
		return nil, fanfold.Errorf(fanfold.TooLarge, "the event has %d bytes; the log takes at most %d", len(msg.Data), most)
	}
	id := nuid.Next()
	if ev.IdempotencyKey.Hash != "" {
		id = "key." + ev.IdempotencyKey.Hash
	}
	msg.Header[jetstream.MsgIDHeader] = []string{id}
	if expect.Set {
		msg.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(uint64(expect.Rev), 10)}
		switch {
		case ev.Kind == fanfold.KindCheck && ev.Links:
			msg.Header[expectSubject] = []string{l.sub.link(ev.Key) + ".>"}
		case ev.Kind == fanfold.KindCheck, ev.Kind == fanfold.KindLink:
			msg.Header[expectSubject] = []string{l.sub.document(ev.Key)}
		}
	}
	setHeaders(msg.Header, ev)
	return msg, nil
}

// guarded is the subject that a message's condition is about.
func guarded(msg *nats.Msg) string {
	if v := msg.Header[expectSubject]; len(v) > 0 {
		return v[0]
	}
	return msg.Subject
}

// note keeps why the log failed. A refusal by a condition is an answer like any other.
func (l *Log) note(err error) {
	switch fanfold.CodeOf(err) {
	case fanfold.Unavailable, fanfold.OutcomeUnknown, fanfold.Internal:
		reason := err.Error()
		l.failing.Store(&reason)
	default:
		if l.failing.Load() != nil {
			l.failing.Store(nil)
		}
	}
}

const (
	unreachable    = "the log does not answer; nothing was written, try again"
	outcomeUnknown = "outcome unknown: the log has not said whether the write was stored; retry with the same Idempotency-Key, or without one read the document first"
)

// attempts calls try until it has decided or ctx has ended, waiting a little longer each time.
// Sending the same messages again is safe: their ids make the server drop them, and a condition
// can be met only once. sent tells whether an earlier attempt may have been stored. An error of
// its own is OutcomeUnknown where the messages may be stored, and Unavailable where they were
// never sent; where ctx has ended before the call, try is not called at all.
func (l *Log) attempts(ctx context.Context, sent bool, try func(ctx context.Context, sent bool) (seq uint64, done bool, err error)) (uint64, error) {
	var last error
	for wait := time.Millisecond; ctx.Err() == nil; wait = min(2*wait, 250*time.Millisecond) {
		seq, done, err := try(ctx, sent)
		if done {
			return seq, err
		}
		last, sent = err, sent || maybeStored(err)
		l.stats.resent.Add(1)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	if last == nil {
		last = ctx.Err()
	}
	if !sent {
		return 0, fanfold.Wrap(last, fanfold.Unavailable, unreachable)
	}
	return 0, fanfold.Wrap(last, fanfold.OutcomeUnknown, outcomeUnknown)
}

// maybeStored tells whether a message may have been stored although its publish gave err.
func maybeStored(err error) bool {
	var api *jetstream.APIError
	return err != nil && !errors.Is(err, errNotSent) && !errors.As(err, &api) && !errors.Is(err, jetstream.ErrNoStreamResponse) && !errors.Is(err, nats.ErrNoResponders)
}

// errNotSent says that the deadline passed before the message that stores something was sent.
var errNotSent = errors.New("the deadline passed before the message was sent")

// publish sends one message until an answer decides, and returns its sequence. tried, where not
// nil, is called once: after the first attempt, or at the end where ctx allowed none.
func (l *Log) publish(ctx context.Context, msg *nats.Msg, expect fanfold.Expect, sent bool, tried func()) (uint64, error) {
	var once sync.Once
	if tried == nil {
		tried = func() {}
	}
	defer once.Do(tried)
	return l.attempts(ctx, sent, func(ctx context.Context, sent bool) (uint64, bool, error) {
		attempt, cancel := context.WithTimeout(ctx, l.opt.Attempt)
		ack, err := l.js.PublishMsg(attempt, msg, jetstream.WithRetryAttempts(0))
		cancel()
		once.Do(tried)
		var api *jetstream.APIError
		switch {
		case err == nil && ack.Duplicate && msg.Header.Get(headerKey) != "":
			return l.stored(ctx, msg, ack.Sequence)
		case err == nil:
			l.saw(ack.Sequence)
			return ack.Sequence, true, nil
		case errors.As(err, &api):
			seq, decided, verdict := l.verdict(ctx, msg, expect, api, sent)
			if decided {
				return seq, true, verdict
			}
		}
		return 0, false, err
	})
}

// stored compares the request that an event with our key was stored for with ours.
func (l *Log) stored(ctx context.Context, msg *nats.Msg, seq uint64) (uint64, bool, error) {
	m, err := l.getMsg(ctx, msgGet{Seq: seq})
	if err != nil || m == nil {
		return 0, false, errors.Join(errUndecided, err)
	}
	return seq, true, sameRequest(m, msg)
}

// errUndecided says that the log has our message, or nearly: no publish made it uncertain.
var errUndecided = &jetstream.APIError{ErrorCode: codeInFlight, Description: "not decided yet"}

func sameID(m *storedMsg, msg *nats.Msg) bool {
	return m.header.Get(jetstream.MsgIDHeader) == msg.Header.Get(jetstream.MsgIDHeader)
}

func sameRequest(m *storedMsg, msg *nats.Msg) error {
	if m.header.Get(headerDigest) != msg.Header.Get(headerDigest) {
		return fanfold.Errorf(fanfold.KeyReused, "the Idempotency-Key was used for another request; take a new key")
	}
	return nil
}

// verdict tells what the server's refusal of one message means; decided is false where it means
// nothing yet.
func (l *Log) verdict(ctx context.Context, msg *nats.Msg, expect fanfold.Expect, api *jetstream.APIError, sent bool) (seq uint64, decided bool, err error) {
	switch api.ErrorCode {
	case codeWrongLastSequence:
		seq, err = l.winner(ctx, msg, expect)
		return seq, fanfold.CodeOf(err) != fanfold.Unavailable, err
	case codeInFlight:
		if last, err := l.lastBySubject(ctx, msg.Subject); err == nil && expect.Set && last.seq() != uint64(expect.Rev) {
			seq, err = l.winner(ctx, msg, expect)
			return seq, fanfold.CodeOf(err) != fanfold.Unavailable, err
		}
		return 0, false, nil
	case codeDuplicateInFlight, codeBatchesInFlight:
		return 0, false, nil
	case codeMessageTooLarge:
		return 0, true, fanfold.Wrap(api, fanfold.TooLarge, "the event has %d bytes, more than the log takes", len(msg.Data))
	}
	if sent {
		return 0, false, nil
	}
	return 0, true, fanfold.Wrap(api, fanfold.Unavailable, "the log refused the write: %s; nothing was written", api.Description)
}

// winner tells whose event followed the expected revision. At most one can; where it carries
// our id, only the ack was lost.
func (l *Log) winner(ctx context.Context, msg *nats.Msg, expect fanfold.Expect) (uint64, error) {
	next, err := l.getMsg(ctx, msgGet{Seq: uint64(expect.Rev) + 1, NextBySubject: msg.Subject})
	if err != nil {
		return 0, err
	}
	if next != nil && sameID(next, msg) {
		return next.Seq, sameRequest(next, msg)
	}
	last, err := l.lastBySubject(ctx, msg.Subject)
	if err != nil {
		return 0, err
	}
	if last.seq() == uint64(expect.Rev) { // what was in the way has not been stored, and may never be
		return 0, fanfold.Errorf(fanfold.Unavailable, "the log has not decided yet")
	}
	return 0, stale(last.seq(), expect.Rev)
}

func stale(last uint64, expected fanfold.Revision) *fanfold.Error {
	return &fanfold.Error{Code: fanfold.Stale, Current: fanfold.Revision(last),
		Message: fmt.Sprintf("the document is at revision %d, not %d", last, expected)}
}
