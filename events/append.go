package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/internal/tracing"
)

// The server's error codes that decide what became of a publish.
const (
	codeDuplicateInFlight = 10158 // our own first publish is still in flight
	codeDuplicateInBatch  = 10201 // a member of the batch is stored already; nothing of this batch is
	codeIncompleteBatch   = 10176 // messages of the batch were lost; nothing of it is stored
	codeBatchesInFlight   = 10210 // too many batches at once; nothing of this one is stored
	codeMessageTooLarge   = 10054
)

// expectSubject names the header for the subject that an expected sequence is about, where it is
// not the message's own. NATS ADR-50 allows it in batches.
const expectSubject = "Nats-Expected-Last-Subject-Sequence-Subject"

// Append stores ev under the condition expect and returns its sequence once it is durable. Concurrent calls share one
// commit. Append blocks until the log has decided, for Options.Timeout at most. It goes on when ctx ends, because a
// client that has gone away must not leave a write half decided. Errors are Stale with the current revision where
// expect is not met; TooLarge; LogDamaged; Unavailable, where nothing was written; OutcomeUnknown; and, for an event
// with a key, KeyReused and Duplicate.
func (l *Log) Append(ctx context.Context, ev *fanfold.Event, expect fanfold.Expect) (seq uint64, err error) {
	end := l.health.undecided.begin()
	defer func() { end(err) }()
	msg, err := l.message(ev, expect)
	if err != nil {
		return 0, err
	}
	ctx, span := l.opt.Tracer.Start(ctx, "append")
	defer span.End()
	l.addTrace(ctx, msg)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.opt.Timeout)
	defer cancel()
	if err := l.refuses(); err != nil {
		return 0, err
	}
	if err := l.prefix.admits(ctx, conditionOf(msg, expect)); err != nil {
		return 0, err
	}
	if seq, err = l.commit.append(ctx, msg, expect); err == nil {
		noteAppended(&l.prefix, seq, []*nats.Msg{msg}, ev)
	}
	return l.decided(ctx, seq, seq, err)
}

// addTrace gives messages the trace context of what appends them.
func (l *Log) addTrace(ctx context.Context, msgs ...*nats.Msg) {
	if parent := l.opt.Tracer.Parent(ctx); parent != "" {
		for _, m := range msgs {
			m.Header[tracing.Header] = []string{parent}
		}
	}
}

// refuses returns why nothing can be written, nil where it can. Errors are LogDamaged and Unavailable.
func (l *Log) refuses() error {
	if err := l.Damage(); err != nil {
		return err
	}
	run := l.run.Load()
	if err := l.suspended(run); err != nil && !errors.Is(err, fanfold.ErrRestarting) { // which is soon over
		return err
	}
	if err := failureOf(run.syncer); err != nil {
		return err
	}
	if l.opt.FailAppend != nil && l.opt.FailAppend(false) != nil {
		return fanfold.Errorf(fanfold.Unavailable, unreachable)
	}
	return l.Reachable()
}

// decided returns the outcome of a write that the server has decided, once the event at last is durable; what a Stale tells
// of is already. Errors are err, and OutcomeUnknown where the event is stored and may not be durable.
func (l *Log) decided(ctx context.Context, first, last uint64, err error) (uint64, error) {
	synced, span := ctx, (*tracing.Span)(nil)
	if l.run.Load().syncer != nil {
		synced, span = l.opt.Tracer.Start(ctx, "log sync")
	}
	unsynced := l.run.Load().waitStored(synced, last)
	span.End()
	if unsynced != nil {
		return 0, fanfold.Wrap(unsynced, fanfold.OutcomeUnknown, "%s (%s)", outcomeUnknown, fanfold.MessageOf(unsynced))
	}
	if err == nil && l.opt.FailAppend != nil && l.opt.FailAppend(true) != nil {
		return 0, fanfold.Errorf(fanfold.OutcomeUnknown, outcomeUnknown)
	}
	l.health.appended(err)
	if err == nil {
		advance(&l.acked, last)
	}
	return first, err
}

// maxHeaderBytes bounds what an event's headers take of a message's size, without its actor.
const maxHeaderBytes = 640

// message returns the message that stores an event. Its id is made of the event's key where it has
// one, so that the server drops a second request under that key; otherwise the id is new. The error
// is TooLarge.
func (l *Log) message(ev *fanfold.Event, expect fanfold.Expect) (*nats.Msg, error) {
	short := l.JoinsLinks() && (ev.Kind == fanfold.KindLink || ev.Kind == fanfold.KindClaim)
	msg := nats.NewMsg(l.sub.forEvent(ev, short))
	switch {
	case short:
		msg.Data = encodeShort(ev)
	case len(ev.Holders) > 1:
		return nil, fanfold.Errorf(fanfold.Internal, "the log takes no link of several holders")
	default:
		msg.Data = Encode(ev)
	}
	if ev.Call != nil {
		if err := checkCall(ev.Call); err != nil {
			return nil, err
		}
	}
	if ev.Loss.Lists() {
		if err := l.prefix.losses.mayErase(len(msg.Data)); err != nil {
			return nil, err
		}
	}
	if most := l.MaxPayload() - maxHeaderBytes - len(EscapeToken(ev.Actor)); len(msg.Data) > most {
		return nil, fanfold.Errorf(fanfold.TooLarge, "the event has %d bytes; the log takes at most %d", len(msg.Data), most)
	}
	id := nuid.Next()
	if ev.IdempotencyKey.Hash != "" {
		id = "key." + ev.IdempotencyKey.Hash
	}
	msg.Header[jetstream.MsgIDHeader] = []string{id}
	if expect.Set {
		requireLast(msg, uint64(expect.Rev))
		switch {
		case ev.Kind == fanfold.KindCheck && ev.Links:
			msg.Header[expectSubject] = []string{l.sub.link(ev.Key) + ".>"}
		case ev.Kind == fanfold.KindCheck && ev.Key.ID == "":
			msg.Header[expectSubject] = []string{l.sub.gate(ev.Key)}
		case ev.Kind == fanfold.KindCheck, ev.Kind == fanfold.KindLink:
			msg.Header[expectSubject] = []string{l.sub.document(ev.Key)}
		}
	}
	setHeaders(msg.Header, ev)
	return msg, nil
}

// conditionSubject returns the subject that a message's condition is about.
func conditionSubject(msg *nats.Msg) string {
	if v := msg.Header[expectSubject]; len(v) > 0 {
		return v[0]
	}
	return msg.Subject
}

// Messages of the errors for a write that the log has not decided.
const (
	unreachable    = "the log does not answer; nothing was written, try again"
	outcomeUnknown = "outcome unknown: the log has not said whether the write was stored; retry with the same Idempotency-Key, or without one read the document first"
)

// retryUntilDecided calls try until it reports done or ctx has ended, waiting a little longer each time, and returns
// what try returned. Sending the same messages again is safe: their ids make the server drop them, and a condition
// can be met only once. sent says that an earlier attempt may have been stored. If ctx ends first, the error is
// OutcomeUnknown if a message may be stored, and Unavailable if none was sent. It does not call try if ctx has ended
// before.
func (l *Log) retryUntilDecided(ctx context.Context, sent bool, try func(ctx context.Context, sent bool) (seq uint64, done bool, err error)) (uint64, error) {
	var last error
	refusals := 0
	for wait := time.Millisecond; ctx.Err() == nil && refusals < maxRefusals; wait = min(2*wait, 250*time.Millisecond) {
		run := l.run.Load()
		if last = l.suspended(run); last == nil {
			seq, done, err := try(ctx, sent)
			if done {
				return seq, err
			}
			last, sent = err, sent || l.undecided(err)
			if refusals++; !l.replicated.Load() || !isLimit(err) {
				refusals = 0
			}
		} else if !sent && !errors.Is(last, fanfold.ErrRestarting) {
			return 0, last
		}
		if failed := failureOf(run.syncer); failed != nil && run == l.run.Load() { // nothing can be decided any more
			last = failed
			break
		}
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
	if refusals > 0 {
		return 0, fanfold.Wrap(last, fanfold.OutcomeUnknown, "the log refused the write: %s; %s", servers.Refusal(last).Description, outcomeUnknown)
	}
	return 0, fanfold.Wrap(last, fanfold.OutcomeUnknown, outcomeUnknown)
}

// maxRefusals is how often in a row a replicated log may refuse a write for another reason than its conditions. Then the
// outcome counts as unknown: a single refusal could come from a leader that was replaced.
const maxRefusals = 5

// isLimit reports whether the server refused a message for a reason that sending again does not change, such as a limit of the
// account. Conditions, ids and messages in flight are no such reason.
func isLimit(err error) bool {
	api := servers.Refusal(err)
	if api == nil {
		return false
	}
	switch api.ErrorCode {
	case servers.CodeWrongLastSequence, servers.CodeInFlight, codeDuplicateInFlight, codeDuplicateInBatch, codeIncompleteBatch, codeBatchesInFlight:
		return false
	}
	return true
}

// suspended returns why nothing is sent to the server at present. It has no space or a part of a batch, or is being started again,
// after which it may decide. It returns nil where it can be asked.
func (l *Log) suspended(run *serverRun) error {
	if full := l.health.noSpace(); full != nil {
		return full
	}
	if broken := run.broken.Load(); broken != nil {
		return *broken
	}
	return run.stopped
}

// maybeStored reports whether a message may be stored although its publish returned err.
func maybeStored(err error) bool { return !errors.Is(err, errNotSent) && servers.MaybeStored(err) }

// errNotSent is the error of a batch whose deadline passed before its last message was sent.
// Without that message the server stores nothing of it.
var errNotSent = errors.New("the deadline passed before the message was sent")

// publish sends one message until an answer decides, and returns its sequence. It calls
// onFirstAttempt, which may be nil, exactly once: after the first attempt, or on return if ctx had
// ended before it.
func (l *Log) publish(ctx context.Context, msg *nats.Msg, expect fanfold.Expect, sent bool, onFirstAttempt func()) (uint64, error) {
	var once sync.Once
	if onFirstAttempt == nil {
		onFirstAttempt = func() {}
	}
	defer once.Do(onFirstAttempt)
	if err := l.Damage(); err != nil {
		return 0, err
	}
	attempted := false
	return l.retryUntilDecided(ctx, sent, func(ctx context.Context, sent bool) (uint64, bool, error) {
		before := l.highestSeen()
		if err := l.mayPublish(sent, msg); err != nil {
			return 0, true, err
		}
		if attempted { // before, a fence would wait for this attempt
			if seq, decided, err := l.confirmAgain(ctx, msg, expect, sent); err != nil || decided {
				return seq, decided, err
			}
		}
		attempted = true
		attempt, cancel := context.WithTimeout(ctx, l.opt.Attempt)
		ack, err := l.batches.request(attempt, msg)
		cancel()
		once.Do(onFirstAttempt)
		var api *jetstream.APIError
		switch {
		case err == nil && ack.Duplicate && msg.Header.Get(headerKey) != "":
			return l.compareStored(ctx, msg, ack.Seq)
		case err == nil && ack.Duplicate:
			return ack.Seq, true, nil
		case err == nil:
			l.noteAcknowledged(msg)
			return ack.Seq, true, l.acknowledged(ack.Seq, before)
		case errors.As(err, &api):
			seq, decided, verdict := l.interpretRefusal(ctx, msg, expect, api, sent)
			if decided {
				return seq, true, verdict
			}
		}
		return 0, false, err
	})
}

// confirmAgain does what confirm does before a message is sent again. It returns the message's sequence, or the error for the caller, where
// decided is true.
func (l *Log) confirmAgain(ctx context.Context, msg *nats.Msg, expect fanfold.Expect, sent bool) (seq uint64, decided bool, err error) {
	switch err = l.prefix.confirm(ctx, conditionOf(msg, expect)); {
	case err == nil:
		return 0, false, nil
	case !errors.Is(err, fanfold.ErrBehindHorizon):
		return 0, false, errors.Join(errNotSent, err)
	case sent: // an attempt before may have been stored
		seq, err = l.resolveConflict(ctx, msg, expect)
	}
	return seq, fanfold.CodeOf(err) != fanfold.Unavailable, err
}

// mayPublish returns why messages are not to be published, nil where they may be; sent says that an earlier attempt may have
// been stored. Errors are Options.MayPublish's, and OutcomeUnknown.
func (l *Log) mayPublish(sent bool, msgs ...*nats.Msg) error {
	if l.opt.MayPublish == nil || !slices.ContainsFunc(msgs, l.isWrite) {
		return nil
	}
	err := l.opt.MayPublish()
	switch {
	case err == nil:
		return nil
	case sent:
		return fanfold.Wrap(errors.Join(errMayNot, err), fanfold.OutcomeUnknown, outcomeUnknown)
	}
	return fanfold.Wrap(errors.Join(errMayNot, err), fanfold.CodeOf(err), "%s", fanfold.MessageOf(err))
}

// errMayNot marks errors that say nothing about the log.
var errMayNot = errors.New("the node may not publish")

// isWrite tells whether a message changes anything: whether it is no fence.
func (l *Log) isWrite(msg *nats.Msg) bool { return msg.Subject != l.sub.fence() }

// noteAcknowledged calls Options.Acknowledged where messages were more than fences.
func (l *Log) noteAcknowledged(msgs ...*nats.Msg) {
	if l.opt.Acknowledged != nil && slices.ContainsFunc(msgs, l.isWrite) {
		l.opt.Acknowledged()
	}
}

// compareStored compares the request of msg with the one that the event at seq was stored for; both
// have the same key. It returns seq and true, with KeyReused where the requests differ, or false
// while the log cannot be asked.
func (l *Log) compareStored(ctx context.Context, msg *nats.Msg, seq uint64) (uint64, bool, error) {
	m, err := l.getMsg(ctx, servers.LeaderQuery{Seq: seq})
	if s, _ := l.prefix.losses.get().find(seq, ^fanfold.AsOf(0)); s != nil && s.KeyHash == msg.Header.Get(headerKey) {
		return seq, true, keyReused() // what was asked for then is erased
	}
	if err != nil || m == nil {
		return 0, false, errors.Join(errUndecided, err)
	}
	return seq, true, checkSameRequest(m, msg)
}

// errUndecided is the error of an attempt that the server has answered without deciding. It is an
// API error, so that maybeStored does not take the attempt for one whose answer was lost.
var errUndecided = &jetstream.APIError{ErrorCode: servers.CodeInFlight, Description: "not decided yet"}

// sameID reports whether a stored message has the id of msg.
func sameID(m *servers.Message, msg *nats.Msg) bool {
	return m.Header.Get(jetstream.MsgIDHeader) == msg.Header.Get(jetstream.MsgIDHeader)
}

// checkSameRequest returns KeyReused where a stored message with the key of msg was written for
// another request.
func checkSameRequest(m *servers.Message, msg *nats.Msg) error {
	if m.Header.Get(headerDigest) != msg.Header.Get(headerDigest) {
		return keyReused()
	}
	return nil
}

// keyReused returns the error for a key under which there was another request.
func keyReused() error {
	return fanfold.Errorf(fanfold.KeyReused, "the Idempotency-Key was used for another request; take a new key")
}

// interpretRefusal returns what the server's refusal of one message means: the sequence of the
// message where it is stored after all, or the error for the caller. decided is false where the
// refusal means nothing yet and the message must be sent again.
func (l *Log) interpretRefusal(ctx context.Context, msg *nats.Msg, expect fanfold.Expect, api *jetstream.APIError, sent bool) (seq uint64, decided bool, err error) {
	switch api.ErrorCode {
	case servers.CodeWrongLastSequence:
		seq, err = l.resolveConflict(ctx, msg, expect)
		return seq, fanfold.CodeOf(err) != fanfold.Unavailable, err
	case servers.CodeInFlight:
		if last, err := l.lastBySubject(ctx, msg.Subject); err == nil && expect.Set && strconv.FormatUint(last.Sequence(), 10) != required(msg) {
			seq, err = l.resolveConflict(ctx, msg, expect)
			return seq, fanfold.CodeOf(err) != fanfold.Unavailable, err
		}
		return 0, false, nil
	case codeDuplicateInFlight, codeBatchesInFlight:
		return 0, false, nil
	case codeMessageTooLarge:
		return 0, true, fanfold.Wrap(api, fanfold.TooLarge, "the event has %d bytes, more than the log takes", len(msg.Data))
	}
	if sent || l.undecided(api) {
		return 0, false, nil
	}
	return 0, true, fanfold.Wrap(api, fanfold.Unavailable, "the log refused the write: %s; nothing was written", api.Description)
}

// resolveConflict asks the leader whose event followed the expected revision. At most one event can. If it carries the id
// of msg, only the acknowledgement was lost, and its sequence is returned. If a replaced leader finds no such event, this
// proves nothing: the new leader may have stored it. Errors are Stale; KeyReused; and Unavailable if the log cannot be
// asked or has not decided.
func (l *Log) resolveConflict(ctx context.Context, msg *nats.Msg, expect fanfold.Expect) (uint64, error) {
	next, err := l.prefix.nextOn(ctx, msg.Subject, uint64(expect.Rev))
	if err != nil {
		return 0, err
	}
	if next != nil && sameID(next, msg) {
		return next.Seq, checkSameRequest(next, msg)
	}
	getLast := l.lastBySubject
	if next == nil {
		getLast = l.currentBySubject
	}
	last, err := getLast(ctx, msg.Subject)
	if err != nil {
		return 0, err
	}
	met := false
	if next == nil {
		if met, err = l.prefix.isMetNow(ctx, conditionOf(msg, expect), last.Sequence()); err != nil {
			return 0, err
		}
	}
	if met {
		requireLast(msg, last.Sequence()) // which may have been purged meanwhile, or not yet
	}
	erased, _ := l.prefix.losses.get().find(last.Sequence(), ^fanfold.AsOf(0))
	if met || next == nil && erased == nil && last.Sequence() >= uint64(expect.Rev) { // another proposal was in flight; it is not stored yet, and may never be
		return 0, fanfold.Errorf(fanfold.Unavailable, "the log has not decided yet")
	}
	return 0, staleError(max(last.Sequence(), next.Sequence()), expect.Rev)
}

// staleError returns the error for a document that is at revision last where expected was required.
func staleError(last uint64, expected fanfold.Revision) *fanfold.Error {
	return &fanfold.Error{Code: fanfold.Stale, Current: fanfold.Revision(last),
		Message: fmt.Sprintf("the document is at revision %d, not %d", last, expected)}
}
