package events

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// sentBatch is a batch that was sent.
type sentBatch struct {
	run      *serverRun
	before   seenSequence // the log had everything up to it when it was sent
	count    int
	weight   int64
	previous *sentBatch // that was sent before it; nil for none
	answers  [2]*servers.Answer
	first    atomic.Uint64 // its first sequence; 0 where that is not known yet

	done   chan struct{} // closed once it is known what came of it
	failed error         // set before: it is not whole, or nobody knows
}

// settled blocks until it is known what came of the batch, or ctx has ended. The error is Unavailable, also where the batch
// is not whole.
func (s *sentBatch) settled(ctx context.Context) error {
	select {
	case <-s.done:
		return s.failed
	case <-ctx.Done():
		return fanfold.Wrap(ctx.Err(), fanfold.Unavailable, unreachable)
	}
}

// send sends a batch's messages. The caller holds sending.
func (o *orderedBatches) send(b *orderedBatch) {
	l := o.log
	run := l.run.Load()
	if b.failed = l.suspended(run); b.failed != nil {
		return
	}
	s := &sentBatch{run: run, before: l.highestSeen(), count: len(b.msgs), weight: weight(b.msgs), previous: o.last.Load(), done: make(chan struct{})}
	o.fly(s) // before anybody can read a part of it
	for i, m := range b.msgs {
		var err error
		switch i {
		case 0, len(b.msgs) - 1:
			s.answers[min(i, 1)], err = o.answers.Send(m)
		default:
			m.Reply = ""
			err = l.nc.PublishMsg(m)
		}
		if err != nil && i == 0 {
			o.land(s)
			b.failed = err
			return
		}
		if err != nil { // the connection is lost
			s.answers[0].Drop()
			s.failed = err
			break
		}
	}
	b.sent = s
	o.last.Store(s)
	go o.settle(s)
}

// fly notes that a batch is being sent.
func (o *orderedBatches) fly(s *sentBatch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flight = append(o.flight, s)
	o.flying.Store(int64(len(o.flight)))
}

// land notes that nobody needs to wait for a batch any more.
func (o *orderedBatches) land(s *sentBatch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, other := range o.flight {
		if other == s {
			o.flight = append(o.flight[:i:i], o.flight[i+1:]...)
			break
		}
	}
	o.flying.Store(int64(len(o.flight)))
}

// settle waits until it is known what came of a batch. If it is not whole, its server must be started again before the log is used:
// the start takes the stored part away.
func (o *orderedBatches) settle(s *sentBatch) {
	l := o.log
	err := s.failed
	var last uint64
	if err == nil {
		last, err = o.sequences(s)
	}
	if s.previous != nil {
		<-s.previous.done
		if err == nil {
			err = s.previous.failed
		}
		s.previous = nil
	}
	if err == nil {
		s.failed = l.acknowledged(last, s.before)
	} else {
		// Without err in its chain: a waiter would take a refusal in it for its own batch's.
		s.failed = fanfold.Errorf(fanfold.Unavailable, "the log has perhaps stored a part of what belongs together (%v); its server is being started again; try again", err)
		s.run.breakOff(s.failed)
		if s.run.ended.Err() == nil {
			l.opt.Embedded.SuspectSpace()
		}
	}
	close(s.done)
	o.land(s)
	_ = s.run.wait(s.run.ended, last) // CutTail takes no more for an end that was not synced than there is room for
	o.room.Release(s.weight)
}

// errNotWhole is the error of a batch if the server has not stored every message.
var errNotWhole = errors.New("the server has not stored every message")

// sequences waits for a batch's answers, and returns its last sequence. It returns the server's refusal, another run's
// error, and errNotWhole, also if the server does not say what it has stored.
func (o *orderedBatches) sequences(s *sentBatch) (last uint64, err error) {
	first, err := o.await(s, s.answers[0])
	if err != nil || s.count == 1 {
		s.first.Store(first)
		return first, err
	}
	s.first.Store(first)
	last, err = o.await(s, s.answers[1])
	if err == nil && last-first+1 != uint64(s.count) {
		err = errNotWhole
	}
	return last, err
}

// await waits for the answer to a message of a batch, for as long as the server's run lasts. It gives up once the server answers what
// was sent later: a message that it could not write has no answer.
func (o *orderedBatches) await(s *sentBatch, answer *servers.Answer) (seq uint64, err error) {
	defer answer.Drop()
	patience := time.NewTimer(o.log.opt.Attempt)
	defer patience.Stop()
	for passed := false; ; {
		select {
		case msg := <-answer.Received():
			ack, err := servers.Read(msg)
			return ack.Seq, err
		default:
		}
		if passed || o.log.nc.IsClosed() {
			return 0, errNotWhole
		}
		select {
		case msg := <-answer.Received():
			ack, err := servers.Read(msg)
			return ack.Seq, err
		case <-s.run.ended.Done():
			return 0, errAnotherRun()
		case <-patience.C:
			passed = o.answersQuestions(s.run)
			patience.Reset(o.log.opt.Attempt)
		}
	}
}

// answersQuestions tells whether the server answers a question by now.
func (o *orderedBatches) answersQuestions(run *serverRun) bool {
	ctx, cancel := context.WithTimeout(run.ended, o.log.opt.Attempt)
	defer cancel()
	met, err := o.ask(question{}).wait(ctx)
	return err == nil && met
}
