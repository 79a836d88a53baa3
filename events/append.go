package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
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
	codeMessageTooLarge   = 10054
)

// Append returns the sequence of ev once it is durable. It blocks until the log has decided,
// at most Options.Timeout, whatever becomes of the caller's connection. Errors are Stale with
// the current revision where expect is not met; TooLarge; Unavailable, where nothing was
// written; and OutcomeUnknown.
func (l *Log) Append(ctx context.Context, ev *fanfold.Event, expect fanfold.Expect) (uint64, error) {
	subject := l.sub.model()
	switch ev.Kind {
	case fanfold.KindModel:
	case fanfold.KindFence:
		subject = l.sub.fence()
	default:
		subject = l.sub.document(ev.Key)
	}
	msg := nats.NewMsg(subject)
	msg.Data = Encode(ev)
	if len(msg.Data) > l.MaxPayload() {
		return 0, fanfold.Errorf(fanfold.TooLarge, "the event has %d bytes; the log takes at most %d", len(msg.Data), l.MaxPayload())
	}
	msg.Header.Set(jetstream.MsgIDHeader, nuid.Next())
	if expect.Set {
		msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(uint64(expect.Rev), 10))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.opt.Timeout)
	defer cancel()
	if l.opt.FailAppend == nil {
		seq, err := l.publish(ctx, msg, expect)
		l.note(err)
		return seq, err
	}
	if err := l.opt.FailAppend(false); err != nil {
		return 0, fanfold.Wrap(err, fanfold.Unavailable, "the log does not answer; nothing was written, try again")
	}
	seq, err := l.publish(ctx, msg, expect)
	if fault := l.opt.FailAppend(true); err == nil && fault != nil {
		return 0, fanfold.Wrap(fault, fanfold.OutcomeUnknown, outcomeUnknown)
	}
	return seq, err
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

const outcomeUnknown = "the log has not said whether the write was stored: read the document before trying again"

// publish sends msg until an answer decides. Sending the same message again is safe: its id
// makes the server drop it, and its condition can be met only once.
func (l *Log) publish(ctx context.Context, msg *nats.Msg, expect fanfold.Expect) (uint64, error) {
	sent := false // whether an earlier attempt may have been stored
	for wait := time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		attempt, cancel := context.WithTimeout(ctx, l.opt.Attempt)
		ack, err := l.js.PublishMsg(attempt, msg, jetstream.WithRetryAttempts(0))
		cancel()
		if err == nil {
			return ack.Sequence, nil
		}
		var api *jetstream.APIError
		if errors.As(err, &api) {
			seq, decided, verdict := l.verdict(ctx, msg, expect, api, sent)
			if decided {
				return seq, verdict
			}
		} else {
			sent = sent || !errors.Is(err, jetstream.ErrNoStreamResponse) && !errors.Is(err, nats.ErrNoResponders)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			if !sent {
				return 0, fanfold.Wrap(err, fanfold.Unavailable, "the log does not answer; nothing was written, try again")
			}
			return 0, fanfold.Wrap(err, fanfold.OutcomeUnknown, outcomeUnknown)
		}
	}
}

// verdict tells what the server's refusal means; decided is false where it means nothing yet.
func (l *Log) verdict(ctx context.Context, msg *nats.Msg, expect fanfold.Expect, api *jetstream.APIError, sent bool) (seq uint64, decided bool, err error) {
	switch api.ErrorCode {
	case codeWrongLastSequence:
		seq, err = l.winner(ctx, msg, expect)
		return seq, fanfold.CodeOf(err) != fanfold.Unavailable, err
	case codeInFlight:
		if last, err := l.lastBySubject(ctx, msg.Subject); err == nil && last.seq() != uint64(expect.Rev) {
			seq, err = l.winner(ctx, msg, expect)
			return seq, fanfold.CodeOf(err) != fanfold.Unavailable, err
		}
		return 0, false, nil
	case codeDuplicateInFlight:
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
	if next != nil && next.header.Get(jetstream.MsgIDHeader) == msg.Header.Get(jetstream.MsgIDHeader) {
		return next.Seq, nil
	}
	last, err := l.lastBySubject(ctx, msg.Subject)
	if err != nil {
		return 0, err
	}
	if last.seq() == uint64(expect.Rev) { // what was in the way has not been stored, and may never be
		return 0, fanfold.Errorf(fanfold.Unavailable, "the log has not decided yet")
	}
	return 0, &fanfold.Error{Code: fanfold.Stale, Current: fanfold.Revision(last.seq()),
		Message: fmt.Sprintf("the document is at revision %d, not %d", last.seq(), expect.Rev)}
}

// Last asks the log's leader for the document's last event: its revision, 0 where there is
// none, and whether that was a delete. The error is Unavailable.
func (l *Log) Last(ctx context.Context, key fanfold.Key) (rev fanfold.Revision, deleted bool, err error) {
	m, err := l.lastBySubject(ctx, l.sub.document(key))
	if err != nil || m == nil {
		return 0, false, err
	}
	var ev fanfold.Event
	if err := Decode(m.Data, &ev); err != nil {
		return 0, false, err
	}
	return fanfold.Revision(m.Seq), ev.Kind == fanfold.KindDelete, nil
}

// msgGet is a request to $JS.API.STREAM.MSG.GET, which the stream's leader answers. A direct
// get may be answered by a replica that lags (NATS ADR-31), so it cannot settle an outcome.
type msgGet struct {
	Seq           uint64 `json:"seq,omitempty"`
	NextBySubject string `json:"next_by_subj,omitempty"`
	LastBySubject string `json:"last_by_subj,omitempty"`
}

type storedMsg struct {
	Subject string `json:"subject"`
	Seq     uint64 `json:"seq"`
	Headers []byte `json:"hdrs"`
	Data    []byte `json:"data"`
	header  nats.Header
}

func (m *storedMsg) seq() uint64 {
	if m == nil {
		return 0
	}
	return m.Seq
}

func (l *Log) lastBySubject(ctx context.Context, subject string) (*storedMsg, error) {
	return l.getMsg(ctx, msgGet{LastBySubject: subject})
}

// getMsg returns nil where there is no such message; the error is Unavailable.
func (l *Log) getMsg(ctx context.Context, req msgGet) (*storedMsg, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.Attempt)
	defer cancel()
	resp, err := l.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+l.opt.Database, body)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be asked")
	}
	var out struct {
		Error   *jetstream.APIError `json:"error"`
		Message *storedMsg          `json:"message"`
	}
	if err := json.Unmarshal(resp.Data, &out); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the log's answer cannot be read")
	}
	if out.Error != nil {
		if out.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
			return nil, nil
		}
		return nil, fanfold.Wrap(out.Error, fanfold.Unavailable, "the log cannot be asked: %s", out.Error.Description)
	}
	if out.Message != nil && len(out.Message.Headers) > 0 {
		if out.Message.header, err = nats.DecodeHeadersMsg(out.Message.Headers); err != nil {
			return nil, fanfold.Wrap(err, fanfold.Unavailable, "the log's answer cannot be read")
		}
	}
	return out.Message, nil
}
