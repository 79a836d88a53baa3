package events

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"golang.org/x/sync/semaphore"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// orderedBatches stores batches in a log to which nobody else publishes. The messages of a batch go over the connection one after the
// other, with no other message between them, and the server stores them in that order. Their conditions are looked at before the
// first of them is sent, so that none is refused. DESIGN.md says what follows where one is missing all the same.
type orderedBatches struct {
	log     *Log
	answers *servers.Answers
	room    *semaphore.Weighted // for batches that are sent and not settled: see weight

	sending sync.RWMutex              // held for reading while a single message is sent, and for writing while batches are
	held    *heldSubjects             // what the batches rely on that are sent next; nil for nothing; under sending
	last    atomic.Pointer[sentBatch] // that was sent; nil before the first; set under sending

	mu     sync.Mutex
	busy   bool // a round is under way
	queue  []*orderedBatch
	flight []*sentBatch // that are not settled, in the order in which they were sent
	flying atomic.Int64 // how many these are
}

// batchRoom bounds the batches that are sent and not settled: the largest transaction, with its messages.
const batchRoom = MaxTxBytes>>10 + MaxEmbeddedBatch

// weight returns how much of batchRoom messages take: a KiB each, and their payload's.
func weight(msgs []*nats.Msg) int64 { return min(int64(payload(msgs)>>10+len(msgs)), batchRoom) }

// newOrderedBatches returns the batches of a log. The error is the connection's.
func newOrderedBatches(l *Log) (*orderedBatches, error) {
	answers, err := servers.NewAnswers(l.nc)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the log's answers cannot be received: %v", err)
	}
	return &orderedBatches{log: l, answers: answers, room: semaphore.NewWeighted(batchRoom)}, nil
}

// orderedBatch is a batch that is to be sent, and what came of it.
type orderedBatch struct {
	msgs       []*nats.Msg
	conditions []batchCondition

	decided chan struct{}   // closed once the rest is set
	sent    *sentBatch      // nil where it was not sent
	unmet   *batchCondition // that stands in its way; nil for none
	failed  error           // why it was not sent, nil where a condition is not met
}

// newOrderedBatch returns a batch that is to be sent. It takes the conditions and most ids from the messages.
func newOrderedBatch(msgs []*nats.Msg, writes []fanfold.Write) *orderedBatch {
	b := &orderedBatch{msgs: msgs}
	for i, m := range msgs {
		if w := writes[i]; w.Expect.Set {
			rev, _ := strconv.ParseUint(required(m), 10, 64)
			b.conditions = append(b.conditions, batchCondition{i, w.Expect, question{subject: conditionSubject(m), rev: fanfold.Revision(rev)}})
		}
		delete(m.Header, jetstream.ExpectedLastSubjSeqHeader)
		delete(m.Header, expectSubject)
		switch {
		case len(m.Header[headerKey]) > 0:
			b.conditions = append(b.conditions, batchCondition{i, fanfold.Expect{}, question{id: m.Header.Get(jetstream.MsgIDHeader)}})
		case i > 0:
			delete(m.Header, jetstream.MsgIDHeader)
		}
	}
	if len(msgs[0].Header[jetstream.MsgIDHeader]) == 0 {
		msgs[0].Header[jetstream.MsgIDHeader] = []string{nuid.Next()}
	}
	if len(msgs) > 1 && len(msgs[0].Header[headerTx]) == 0 {
		msgs[0].Header[headerBatch] = []string{strconv.Itoa(len(msgs))}
	}
	return b
}

func (o *orderedBatches) append(ctx context.Context, msgs []*nats.Msg, writes []fanfold.Write) (first uint64, err error) {
	l, b := o.log, newOrderedBatch(msgs, writes)
	before := l.highestSeen()
	return l.retryUntilDecided(ctx, false, func(ctx context.Context, sent bool) (uint64, bool, error) {
		if err := l.mayPublish(sent, msgs...); err != nil {
			return 0, true, err
		}
		if sent { // in a run of the server that has ended: it is there whole or not at all
			first, err := l.findBatch(ctx, msgs, l.storedAfter(before))
			switch {
			case fanfold.CodeOf(err) == fanfold.Unavailable:
				return 0, false, err
			case first == 0 && err == nil:
				err = fanfold.Wrap(fanfold.ErrRestarting, fanfold.Unavailable, "the log's server was started again, and has not stored the write; nothing was written, try again")
			}
			return first, true, err
		}
		return o.try(ctx, b, l.storedAfter(before))
	})
}

// try sends a batch once, and returns its first sequence. done is false where nothing is decided.
func (o *orderedBatches) try(ctx context.Context, b *orderedBatch, storedAfter uint64) (first uint64, done bool, err error) {
	if err := o.room.Acquire(ctx, weight(b.msgs)); err != nil {
		return 0, false, errors.Join(errNotSent, err)
	}
	b.decided, b.sent, b.unmet, b.failed = make(chan struct{}), nil, nil, nil
	o.submit(b)
	<-b.decided
	if b.sent == nil {
		o.room.Release(weight(b.msgs))
	}
	switch {
	case b.failed != nil:
		return 0, false, errors.Join(errNotSent, b.failed)
	case b.unmet != nil:
		return o.refusal(ctx, b, storedAfter)
	}
	select {
	case <-b.sent.done:
	case <-ctx.Done():
		return 0, false, ctx.Err()
	}
	if err := b.sent.failed; err != nil {
		return 0, fanfold.CodeOf(err) == fanfold.LogDamaged, err
	}
	o.log.noteAcknowledged(b.msgs...)
	return b.sent.first.Load(), true, nil
}

// refusal returns the error for a batch with a condition that is not met. done is false where it is by now.
func (o *orderedBatches) refusal(ctx context.Context, b *orderedBatch, storedAfter uint64) (first uint64, done bool, err error) {
	c := b.unmet
	if c.id != "" {
		return o.log.interpretBatchRefusal(ctx, b.msgs, nil, storedAfter, &jetstream.APIError{ErrorCode: codeDuplicateInBatch, Description: "the server has the message's id"}, false)
	}
	last, met, err := o.log.lastAgainst(ctx, condition{subject: c.subject, expect: c.expect})
	switch {
	case errors.Is(err, fanfold.ErrBehindHorizon):
		return 0, true, err
	case met:
		c.rev = fanfold.Revision(last)
		fallthrough
	case err != nil:
		return 0, false, errors.Join(errNotSent, err)
	}
	return 0, true, fanfold.AtOperation(staleError(last, c.expect.Rev), c.at)
}

// submit has a batch sent, and returns once that has begun.
func (o *orderedBatches) submit(b *orderedBatch) {
	o.mu.Lock()
	o.queue = append(o.queue, b)
	leads := !o.busy
	o.busy = true
	o.mu.Unlock()
	if leads && o.sendRound() {
		go func() {
			for o.sendRound() { // who came meanwhile has been waiting for it
			}
		}()
	}
}

// sendRound sends the batches that wait. It returns whether others wait by then.
func (o *orderedBatches) sendRound() (more bool) {
	o.mu.Lock()
	round := o.queue
	o.queue = nil
	o.mu.Unlock()
	held := holdFor(round)
	if held != nil {
		o.sending.Lock()
		o.held = held
		o.sending.Unlock()
		o.askAll(round)
	}
	o.sending.Lock()
	later := o.sendAll(round)
	o.held = nil
	o.sending.Unlock()
	if held != nil {
		close(held.released)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(later, o.queue...)
	o.busy = len(o.queue) > 0
	return o.busy
}

// sendAll sends the batches whose conditions are all met. It returns those that rely on what it has just sent a message for,
// which are to be looked at again. The caller holds sending.
func (o *orderedBatches) sendAll(round []*orderedBatch) (later []*orderedBatch) {
	written := map[string]struct{}{}
	for i, b := range round {
		if b.failed == nil && b.unmet == nil {
			if touches(written, b.conditions) {
				later = append(later, b)
				continue
			}
			o.send(b)
			if i+1 < len(round) {
				o.noteWritten(written, b.msgs)
			}
		}
		close(b.decided)
	}
	return later
}

// touches tells whether a condition is about something that is in written.
func touches(written map[string]struct{}, conditions []batchCondition) bool {
	for _, c := range conditions {
		if _, touched := written[c.touched()]; touched {
			return true
		}
	}
	return false
}

// noteWritten notes by what conditions are known that messages touch.
func (o *orderedBatches) noteWritten(written map[string]struct{}, msgs []*nats.Msg) {
	for _, m := range msgs {
		o.log.sub.eachTouched(m, func(touched string) bool {
			written[touched] = struct{}{}
			return false
		})
	}
}

// eachTouched calls fn with what a message touches, as question.touched returns it, until fn returns true, and returns whether it did.
func (s subjects) eachTouched(m *nats.Msg, fn func(touched string) bool) bool {
	if fn(m.Subject) {
		return true
	}
	if target := s.linksOf(m.Subject); target != "" && fn(target) {
		return true
	}
	return len(m.Header[headerKey]) > 0 && fn(question{id: m.Header.Get(jetstream.MsgIDHeader)}.touched())
}

// heldSubjects are what batches rely on that are about to be sent. A message that would touch one waits until it is released.
type heldSubjects struct {
	touched  map[string]struct{}
	released chan struct{}
}

// holdFor returns what batches rely on, nil for nothing.
func holdFor(round []*orderedBatch) (h *heldSubjects) {
	for _, b := range round {
		for _, c := range b.conditions {
			if h == nil {
				h = &heldSubjects{touched: map[string]struct{}{}, released: make(chan struct{})}
			}
			h.touched[c.touched()] = struct{}{}
		}
	}
	return h
}

// has tells whether something is held.
func (h *heldSubjects) has(touched string) bool {
	_, held := h.touched[touched]
	return held
}

// request sends a single message, once no batch relies on its subject that is about to be sent. It answers once all batches
// that were sent before it are known to be whole, for what follows a part of one is cut with it.
func (o *orderedBatches) request(ctx context.Context, msg *nats.Msg) (servers.Ack, error) {
	for {
		o.sending.RLock()
		held := o.held
		if held == nil || !o.log.sub.eachTouched(msg, held.has) {
			break
		}
		o.sending.RUnlock()
		select {
		case <-held.released:
		case <-ctx.Done():
			return servers.Ack{}, errors.Join(errNotSent, ctx.Err())
		}
	}
	before := o.last.Load()
	answer, err := o.answers.Send(msg)
	o.sending.RUnlock()
	if err != nil {
		return servers.Ack{}, err
	}
	ack, err := answer.Wait(ctx)
	if err == nil && before != nil {
		err = before.settled(ctx)
	}
	return ack, err
}

func (o *orderedBatches) pause(fn func()) {
	o.sending.Lock()
	defer o.sending.Unlock()
	fn()
	o.last.Store(nil)
}

func (o *orderedBatches) whole(ctx context.Context, run *serverRun, seq uint64) error {
	if o.flying.Load() > 0 {
		if err := o.waitForFlight(ctx, run, seq); err != nil {
			return err
		}
	}
	if broken := run.broken.Load(); broken != nil {
		return *broken
	}
	return nil
}

// waitForFlight waits for the batches of a run that may have the message at seq.
func (o *orderedBatches) waitForFlight(ctx context.Context, run *serverRun, seq uint64) error {
	o.mu.Lock()
	var open []*sentBatch
	for _, s := range o.flight {
		if first := s.first.Load(); s.run == run && s.before.seq < seq && (first == 0 || first <= seq) {
			open = append(open, s)
		}
	}
	o.mu.Unlock()
	for _, s := range open {
		if err := s.settled(ctx); err != nil {
			return err
		}
	}
	return nil
}
