package events

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// Limits of what is stored at once.
const (
	MaxBatch         = 1000     // messages of a transaction, the default limit of a NATS server's atomic batches
	MaxEmbeddedBatch = 4000     // messages of an atomic batch of the embedded server, such as an import's
	MaxPayload       = 8 << 20  // bytes of the largest message that the embedded server takes
	MaxTxBytes       = 64 << 20 // bytes of a transaction's events
)

// Headers of an atomic batch (NATS ADR-50).
const (
	batchID       = "Nats-Batch-Id"
	batchSequence = "Nats-Batch-Sequence"
	batchCommit   = "Nats-Batch-Commit"
)

// AppendAll stores all of the writes or none of them, next to each other, and returns the
// sequence of the first once they are durable. tx is the transaction's id, or "" for events that
// need not be folded together. In a transaction, at most one of the events may have a key. It blocks as Append does.
// Errors are Append's, and Unprocessable for more than MaxBatch writes, or Log.MaxBatch where they are no transaction; a Stale names the write at
// fault by index, in Operation.
func (l *Log) AppendAll(ctx context.Context, tx string, writes []fanfold.Write) (first uint64, err error) {
	msgs, err := l.batchMessages(tx, writes)
	if err != nil {
		return 0, err
	}
	return l.appendBatch(ctx, msgs, writes, l.batches.append)
}

// appendBatch stores messages as AppendAll does, by a function that does so once they are durable or not.
func (l *Log) appendBatch(ctx context.Context, msgs []*nats.Msg, writes []fanfold.Write,
	store func(ctx context.Context, msgs []*nats.Msg, writes []fanfold.Write) (first uint64, err error)) (first uint64, err error) {
	end := l.health.undecided.begin()
	defer func() { end(err) }()
	ctx, span := l.opt.Tracer.Start(ctx, "append")
	defer span.End()
	l.addTrace(ctx, msgs...)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.opt.Timeout)
	defer cancel()
	if err := l.refuses(); err != nil {
		return 0, err
	}
	if err := l.prefix.admits(ctx, conditionsOf(msgs, writes)...); err != nil {
		return 0, err
	}
	first, err = store(ctx, msgs, writes)
	last := first
	if err == nil {
		last += uint64(len(msgs)) - 1
	}
	first, err = l.decided(ctx, first, last, err)
	if err == nil {
		evs := make([]*fanfold.Event, len(writes))
		for i, w := range writes {
			evs[i] = w.Event
		}
		noteAppended(&l.prefix, first, msgs, evs...)
	}
	return first, err
}

// appendAtomic does what batchStore.append does, by an atomic batch of the server. Of it some may have been sent already.
func (l *Log) appendAtomic(ctx context.Context, msgs []*nats.Msg, writes []fanfold.Write, batch *serverBatch) (first uint64, err error) {
	if err := l.batchSlots.Acquire(ctx, 1); err != nil {
		return 0, fanfold.Wrap(err, fanfold.Unavailable, unreachable)
	}
	defer l.batchSlots.Release(1)
	before, conditions := l.highestSeen(), conditionsOf(msgs, writes)
	return l.retryUntilDecided(ctx, false, func(ctx context.Context, sent bool) (uint64, bool, error) {
		if err := l.mayPublish(sent, msgs...); err != nil {
			return 0, true, err
		}
		switch err := l.prefix.confirm(ctx, conditions...); {
		case errors.Is(err, fanfold.ErrBehindHorizon):
			return l.confirmBatchRefusal(ctx, msgs, l.storedAfter(before), sent, err)
		case err != nil:
			return 0, false, errors.Join(errNotSent, err)
		}
		last, err := l.publishBatch(ctx, msgs, batch)
		batch = newServerBatch() // of the next attempt
		if err == nil {
			return last - uint64(len(msgs)) + 1, true, nil
		}
		var api *jetstream.APIError
		if !errors.As(err, &api) {
			return 0, fanfold.CodeOf(err) == fanfold.LogDamaged, err
		}
		return l.interpretBatchRefusal(ctx, msgs, writes, l.storedAfter(before), api, sent)
	})
}

// batchMessages returns the messages that store the writes of a transaction. Errors are
// Unprocessable for too many of them, and TooLarge.
func (l *Log) batchMessages(tx string, writes []fanfold.Write) (msgs []*nats.Msg, err error) {
	limit := MaxBatch
	if tx == "" {
		limit = l.MaxBatch()
	}
	if len(writes) > limit {
		return nil, fanfold.Errorf(fanfold.Unprocessable, "at most %d messages are stored at once; these are %d", limit, len(writes))
	}
	msgs, size := make([]*nats.Msg, len(writes)), 0
	for i, w := range writes {
		ev := *w.Event
		if tx != "" {
			ev.Tx = fanfold.TxPart{ID: tx, Index: i, Count: len(writes)}
		}
		if msgs[i], err = l.message(&ev, w.Expect); err != nil {
			return nil, fanfold.AtOperation(err, i)
		}
		if size += len(msgs[i].Data); size > MaxTxBytes {
			return nil, fanfold.Errorf(fanfold.TooLarge, "a transaction has at most %d bytes; write it in parts", MaxTxBytes)
		}
	}
	keepNeededIDs(msgs)
	return msgs, nil
}

// keepNeededIDs takes the ids of a batch's messages away, but for keys, the one by which findBatch looks for it and the last
// one. The server stores all of a batch or nothing, so that these tell whether it is stored, and keeps every id in memory for
// Options.Window.
func keepNeededIDs(msgs []*nats.Msg) {
	at := searchIndex(msgs)
	for i, m := range msgs[:max(0, len(msgs)-1)] {
		if i != at && len(m.Header[headerKey]) == 0 {
			delete(m.Header, jetstream.MsgIDHeader)
		}
	}
}

// serverBatch is an atomic batch that the server gathers until its last message comes.
type serverBatch struct {
	id   string
	sent int // how many messages of it were sent
}

// newServerBatch returns a batch that has sent nothing.
func newServerBatch() *serverBatch { return &serverBatch{id: nuid.Next()} }

// number makes a message the next of the batch.
func (b *serverBatch) number(m *nats.Msg) {
	b.sent++
	m.Header[batchID] = []string{b.id}
	m.Header[batchSequence] = []string{strconv.Itoa(b.sent)}
	delete(m.Header, batchCommit)
}

// send sends the messages of a batch that were not sent yet; none is its last. The error is the connection's.
func (l *Log) send(batch *serverBatch, msgs []*nats.Msg) error {
	for _, m := range msgs[batch.sent:] {
		batch.number(m)
		if err := l.nc.PublishMsg(m); err != nil {
			return err
		}
	}
	return nil
}

// publishBatch sends what was not sent yet of an atomic batch of all of the messages, and returns the sequence of its last
// message. It blocks until the server answers, for Options.Attempt at most and batchTime more for each MiB and each
// thousand messages. It returns the server's refusal, as a *jetstream.APIError, LogDamaged, errNotSent, and the
// connection's errors, after which the batch may be stored.
func (l *Log) publishBatch(ctx context.Context, msgs []*nats.Msg, batch *serverBatch) (last uint64, err error) {
	before := l.highestSeen()
	if err := l.send(batch, msgs[:len(msgs)-1]); err != nil {
		return 0, err
	}
	commit := msgs[len(msgs)-1]
	batch.number(commit)
	commit.Header[batchCommit] = []string{"1"}
	attempt, cancel := context.WithTimeout(ctx, l.opt.Attempt+batchTime*time.Duration(payload(msgs)>>20+len(msgs)/1000))
	defer cancel()
	if err := errors.Join(attempt.Err(), l.mayPublish(false, msgs...)); err != nil { // without its last message the server drops the batch
		return 0, errors.Join(errNotSent, err)
	}
	ack, err := l.client.Request(attempt, commit)
	switch {
	case err != nil:
		return 0, err
	case ack.Batch != batch.id || ack.Count != len(msgs):
		return 0, errors.New("the log's answer is about another batch")
	}
	l.noteAcknowledged(msgs...)
	return ack.Seq, l.acknowledged(ack.Seq, before)
}

// payload returns how many bytes messages have without their headers.
func payload(msgs []*nats.Msg) (bytes int) {
	for _, m := range msgs {
		bytes += len(m.Data)
	}
	return bytes
}

// batchTime is added to Options.Attempt for each MiB, and for each thousand messages, of a batch.
const batchTime = 100 * time.Millisecond

// interpretBatchRefusal returns what the server's refusal of a whole batch means: the sequence of
// its first message where the batch is stored after all, or the error for the caller. done is false
// where the batch must be sent again. The server does not name the member at fault, so the log
// is asked about each condition.
func (l *Log) interpretBatchRefusal(ctx context.Context, msgs []*nats.Msg, writes []fanfold.Write, storedAfter uint64, api *jetstream.APIError, sent bool) (first uint64, done bool, err error) {
	if sent || api.ErrorCode == codeDuplicateInBatch {
		first, err := l.findBatch(ctx, msgs, storedAfter)
		if fanfold.CodeOf(err) == fanfold.Unavailable {
			return 0, false, errors.Join(api, err)
		}
		if first != 0 || err != nil {
			return first, true, err
		}
	}
	sent = sent || l.undecided(api)
	switch api.ErrorCode {
	case codeDuplicateInBatch:
		if idempotencyKeyIndex(msgs) >= 0 {
			return 0, true, duplicateError()
		}
		return 0, false, api
	case servers.CodeWrongLastSequence, servers.CodeInFlight:
		return l.interpretConditions(ctx, msgs, writes, storedAfter, api, sent)
	case codeIncompleteBatch:
		if l.opt.Embedded != nil {
			l.opt.Embedded.SuspectSpace()
		}
		return 0, false, api
	case codeDuplicateInFlight, codeBatchesInFlight:
		return 0, false, api
	case codeMessageTooLarge:
		return 0, true, fanfold.Wrap(api, fanfold.TooLarge, "an event is larger than the log takes")
	}
	if sent {
		return 0, false, api
	}
	return 0, true, fanfold.Wrap(api, fanfold.Unavailable, "the log refused the write: %s; nothing was written", api.Description)
}

// interpretConditions is interpretBatchRefusal where the server says that a condition is not met, or that another proposal for
// its subject is in flight.
func (l *Log) interpretConditions(ctx context.Context, msgs []*nats.Msg, writes []fanfold.Write, storedAfter uint64, api *jetstream.APIError, sent bool) (first uint64, done bool, err error) {
	for i, m := range msgs {
		if !writes[i].Expect.Set {
			continue
		}
		c := conditionOf(m, writes[i].Expect)
		subject, expect := c.subject, c.expect.Rev
		last, met, err := l.lastAgainst(ctx, c)
		switch {
		case errors.Is(err, fanfold.ErrBehindHorizon):
			return l.confirmBatchRefusal(ctx, msgs, storedAfter, sent, err)
		case err != nil:
			return 0, false, errors.Join(api, err)
		case met:
			requireLast(m, last)
			continue
		}
		verdict := fanfold.AtOperation(staleError(last, expect), i)
		if sent && last > uint64(expect) && subject == m.Subject {
			// Of what is stored on the message's own subject, its event could only be the next. Of two without an id nothing is
			// told here.
			next, err := l.getMsg(ctx, servers.LeaderQuery{Seq: uint64(expect) + 1, NextBySubject: subject})
			if err == nil && next != nil && !sameID(next, m) {
				return 0, true, verdict
			}
		}
		return l.confirmBatchRefusal(ctx, msgs, storedAfter, sent, verdict)
	}
	return 0, false, api
}

// lastAgainst returns the sequence of the last message on a condition's subject, and whether the condition is met. One after the
// expected one settles that, whoever tells of it. It returns the errors of mayBeGone, and Unavailable, also if only a leader that
// may have been replaced tells of an earlier message.
func (l *Log) lastAgainst(ctx context.Context, c condition) (last uint64, met bool, err error) {
	m, err := l.lastBySubject(ctx, c.subject)
	if err != nil {
		return 0, false, err
	}
	if met, err = l.prefix.isMetNow(ctx, c, m.Sequence()); met || err != nil {
		return m.Sequence(), met, err
	}
	switch {
	case m.Sequence() >= uint64(c.expect.Rev) || !l.replicated.Load():
	case strings.HasSuffix(c.subject, ">"): // an event of the log is expected, never one that a client names: it will be seen again
		err = fanfold.Errorf(fanfold.Unavailable, "the log has not decided yet")
	default:
		m, err = l.currentBySubject(ctx, c.subject)
	}
	return m.Sequence(), err == nil && m.Sequence() == uint64(c.expect.Rev), err
}

// duplicateError returns the error for a request whose key the log has already.
func duplicateError() error {
	return fanfold.Errorf(fanfold.Duplicate, "the Idempotency-Key was used a moment ago")
}

// idempotencyKeyIndex returns the index of the message with a request's key, -1 where there is none.
func idempotencyKeyIndex(msgs []*nats.Msg) int {
	return slices.IndexFunc(msgs, func(m *nats.Msg) bool { return m.Header.Get(headerKey) != "" })
}

// confirmBatchRefusal returns verdict, the error for a condition that is not met. It does not if an earlier attempt
// of the same batch was stored since findBatch last looked, and so broke the condition itself.
func (l *Log) confirmBatchRefusal(ctx context.Context, msgs []*nats.Msg, storedAfter uint64, sent bool, verdict error) (first uint64, done bool, err error) {
	if sent {
		if first, err := l.findBatch(ctx, msgs, storedAfter); first != 0 || err != nil {
			return first, fanfold.CodeOf(err) != fanfold.Unavailable, err
		}
	}
	return 0, true, verdict
}

// findBatch asks the log for the sequence under which a batch is stored after storedAfter, and returns 0 if it is not stored. It
// returns Unavailable, also if the batch is not stored to its end. KeyReused says that another request's message has the keyed
// message's id, Duplicate that the same request's has, made by another node.
func (l *Log) findBatch(ctx context.Context, msgs []*nats.Msg, storedAfter uint64) (first uint64, err error) {
	at := searchIndex(msgs)
	last := len(msgs) - 1
	end, err := l.currentBySubject(ctx, msgs[at].Subject)
	if err != nil {
		return 0, err
	}
	for seq := storedAfter + 1; seq <= end.Sequence(); {
		m, err := l.getMsg(ctx, servers.LeaderQuery{Seq: seq, NextBySubject: msgs[at].Subject})
		if err == nil && m == nil {
			err = fanfold.Errorf(fanfold.Unavailable, "a server was asked that lags behind")
		}
		if err != nil {
			return 0, err
		}
		if !sameID(m, msgs[at]) {
			seq = m.Seq + 1
			continue
		}
		if at == idempotencyKeyIndex(msgs) {
			if err := checkSameRequest(m, msgs[at]); err != nil {
				return m.Seq, err
			}
		}
		first = m.Seq - uint64(at)
		m, err = l.getMsg(ctx, servers.LeaderQuery{Seq: first + uint64(last)})
		switch {
		case err != nil || m != nil && sameID(m, msgs[last]) && m.Header.Get(headerTx) == msgs[last].Header.Get(headerTx):
		case m != nil && at == idempotencyKeyIndex(msgs):
			err = duplicateError()
		default:
			err = fanfold.Errorf(fanfold.Unavailable, "the log has not stored all of the batch")
		}
		return first, err
	}
	return 0, nil
}

// searchIndex returns the index of the message by which the log finds a batch fastest. The message has an id. It is
// the keyed one, or one with its own subject, because all checks share a subject.
func searchIndex(msgs []*nats.Msg) int {
	if i := idempotencyKeyIndex(msgs); i >= 0 {
		return i
	}
	found := -1
	for i, m := range msgs {
		switch {
		case m.Header[jetstream.MsgIDHeader] == nil:
		case m.Header[expectSubject] == nil:
			return i
		case found < 0:
			found = i
		}
	}
	return found
}
