package events

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold"
)

// Limits of what is stored at once.
const (
	MaxBatch   = 1000     // messages of an atomic batch, the server's limit
	MaxTxBytes = 64 << 20 // bytes of a transaction's events
)

// Headers of an atomic batch (NATS ADR-50).
const (
	batchID       = "Nats-Batch-Id"
	batchSequence = "Nats-Batch-Sequence"
	batchCommit   = "Nats-Batch-Commit"
)

// AppendAll stores all of the writes or none of them, next to each other, and returns the
// sequence of the first once they are durable. tx is the transaction's id, or "" for events that
// need not be folded together. At most one of the events has a key. It blocks as Append
// does. Errors are Append's; a Stale names the write at fault by index, in Operation.
func (l *Log) AppendAll(ctx context.Context, tx string, writes []fanfold.Write) (first uint64, err error) {
	if len(writes) > MaxBatch {
		return 0, fanfold.Errorf(fanfold.Unprocessable, "a transaction has at most %d messages; this one has %d", MaxBatch, len(writes))
	}
	msgs, size := make([]*nats.Msg, len(writes)), 0
	for i, w := range writes {
		ev := *w.Event
		if tx != "" {
			ev.Tx = fanfold.TxPart{ID: tx, Index: i, Count: len(writes)}
		}
		if msgs[i], err = l.message(&ev, w.Expect); err != nil {
			return 0, fanfold.AtOperation(err, i)
		}
		if size += len(msgs[i].Data); size > MaxTxBytes {
			return 0, fanfold.Errorf(fanfold.TooLarge, "a transaction has at most %d bytes; write it in parts", MaxTxBytes)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.opt.Timeout)
	defer cancel()
	if err := l.slots.Acquire(ctx, 1); err != nil {
		return 0, fanfold.Wrap(err, fanfold.Unavailable, unreachable)
	}
	defer l.slots.Release(1)
	if fault := l.opt.FailAppend; fault != nil && fault(false) != nil {
		return 0, fanfold.Errorf(fanfold.Unavailable, unreachable)
	}
	floor := l.seen.Load()
	first, err = l.attempts(ctx, false, func(ctx context.Context, sent bool) (uint64, bool, error) {
		last, err := l.publishBatch(ctx, msgs)
		if err == nil {
			return last - uint64(len(msgs)) + 1, true, nil
		}
		var api *jetstream.APIError
		if !errors.As(err, &api) {
			return 0, false, err
		}
		return l.batchVerdict(ctx, msgs, writes, floor, api, sent)
	})
	if fault := l.opt.FailAppend; err == nil && fault != nil && fault(true) != nil {
		return 0, fanfold.Errorf(fanfold.OutcomeUnknown, outcomeUnknown)
	}
	l.note(err)
	return first, err
}

// publishBatch sends an atomic batch and returns the sequence of its last message. It tries once;
// Options.Attempt bounds it, by more for a larger one.
func (l *Log) publishBatch(ctx context.Context, msgs []*nats.Msg) (last uint64, err error) {
	id, size := nuid.Next(), 0
	for i, m := range msgs {
		m.Header[batchID] = []string{id}
		m.Header[batchSequence] = []string{strconv.Itoa(i + 1)}
		delete(m.Header, batchCommit)
		size += len(m.Data)
		if i == len(msgs)-1 {
			break
		}
		if err := l.nc.PublishMsg(m); err != nil {
			return 0, err
		}
	}
	commit := msgs[len(msgs)-1]
	commit.Header[batchCommit] = []string{"1"}
	attempt, cancel := context.WithTimeout(ctx, l.opt.Attempt+perMiB*time.Duration(size>>20))
	defer cancel()
	if err := attempt.Err(); err != nil { // without its last message the server drops the batch
		return 0, errors.Join(errNotSent, err)
	}
	resp, err := l.nc.RequestMsgWithContext(attempt, commit)
	if err != nil {
		return 0, err
	}
	var ack struct {
		Error *jetstream.APIError `json:"error"`
		Seq   uint64              `json:"seq"`
		Batch string              `json:"batch"`
		Count int                 `json:"count"`
	}
	switch err := json.Unmarshal(resp.Data, &ack); {
	case err != nil:
		return 0, err
	case ack.Error != nil:
		return 0, ack.Error
	case ack.Batch != id || ack.Count != len(msgs):
		return 0, errors.New("the log's answer is about another batch")
	}
	l.saw(ack.Seq)
	return ack.Seq, nil
}

// perMiB is how much longer a batch may take for each MiB.
const perMiB = 100 * time.Millisecond

// batchVerdict tells what the server's refusal of a whole batch means. It does not name the
// member at fault, so the leader is asked about each condition.
func (l *Log) batchVerdict(ctx context.Context, msgs []*nats.Msg, writes []fanfold.Write, floor uint64, api *jetstream.APIError, sent bool) (first uint64, done bool, err error) {
	if sent || api.ErrorCode == codeDuplicateInBatch {
		first, err := l.locate(ctx, msgs, floor)
		if first != 0 || err != nil {
			return first, fanfold.CodeOf(err) != fanfold.Unavailable, err
		}
	}
	switch api.ErrorCode {
	case codeDuplicateInBatch:
		if keyed(msgs) >= 0 {
			return 0, true, fanfold.Errorf(fanfold.Duplicate, "the Idempotency-Key was used a moment ago")
		}
		return 0, false, api
	case codeWrongLastSequence, codeInFlight:
		for i, m := range msgs {
			if !writes[i].Expect.Set {
				continue
			}
			last, err := l.lastBySubject(ctx, guarded(m))
			if err != nil {
				return 0, false, api
			}
			if expect := writes[i].Expect.Rev; last.seq() != uint64(expect) {
				return l.lost(ctx, msgs, floor, sent, fanfold.AtOperation(stale(last.seq(), expect), i))
			}
		}
		return 0, false, api
	case codeDuplicateInFlight, codeIncompleteBatch, codeBatchesInFlight:
		return 0, false, api
	case codeMessageTooLarge:
		return 0, true, fanfold.Wrap(api, fanfold.TooLarge, "an event is larger than the log takes")
	}
	if sent {
		return 0, false, api
	}
	return 0, true, fanfold.Wrap(api, fanfold.Unavailable, "the log refused the write: %s; nothing was written", api.Description)
}

// keyed is the index of the message with a request's key, -1 for none.
func keyed(msgs []*nats.Msg) int {
	return slices.IndexFunc(msgs, func(m *nats.Msg) bool { return m.Header.Get(headerKey) != "" })
}

// lost is the end of a batch whose condition is not met, unless what broke it is the batch
// itself, stored by an earlier attempt since locate looked.
func (l *Log) lost(ctx context.Context, msgs []*nats.Msg, floor uint64, sent bool, verdict error) (first uint64, done bool, err error) {
	if sent {
		if first, err := l.locate(ctx, msgs, floor); first != 0 || err != nil {
			return first, fanfold.CodeOf(err) != fanfold.Unavailable, err
		}
	}
	return 0, true, verdict
}

// locate returns the sequence under which a batch of ours is stored behind floor, 0 where it is
// not. Errors are Unavailable, also where the batch is not stored to its end, and KeyReused where
// another request's message has the first one's id.
func (l *Log) locate(ctx context.Context, msgs []*nats.Msg, floor uint64) (first uint64, err error) {
	at := keyed(msgs)
	for i := 0; at < 0 && i < len(msgs); i++ { // checks share one subject: any other member is sooner found
		if msgs[i].Header[expectSubject] == nil {
			at = i
		}
	}
	at = max(at, 0)
	last := len(msgs) - 1
	for seq := floor + 1; ; {
		m, err := l.getMsg(ctx, msgGet{Seq: seq, NextBySubject: msgs[at].Subject})
		if err != nil || m == nil {
			return 0, err
		}
		if !sameID(m, msgs[at]) {
			seq = m.Seq + 1
			continue
		}
		if at == keyed(msgs) {
			if err := sameRequest(m, msgs[at]); err != nil {
				return m.Seq, err
			}
		}
		first = m.Seq - uint64(at)
		if m, err = l.getMsg(ctx, msgGet{Seq: first + uint64(last)}); err == nil && (m == nil || !sameID(m, msgs[last])) {
			err = fanfold.Errorf(fanfold.Unavailable, "the log has not stored all of the batch")
		}
		return first, err
	}
}
