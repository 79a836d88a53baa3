package events

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

func openQueueTest(t *testing.T, timeout time.Duration) *Log {
	t.Helper()
	nc, err := servers.Connect(natsserver.Start(t, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	l, err := Open(t.Context(), nc, Options{Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func queuePut(id string) *fanfold.Event {
	return &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "c", ID: id}, Body: []byte(`{}`)}
}

func (l *Log) mustMessage(t *testing.T, id string) *nats.Msg {
	t.Helper()
	msg, err := l.message(queuePut(id), fanfold.Expect{})
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

// occupy makes the group commit believe that a round is under way, until startNextRound is called.
func (c *committer) occupy() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = true
}

// requireQueued blocks until n writes wait for the next round.
func (c *committer) requireQueued(t *testing.T, n int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for limit := time.After(suite.Deadline(20 * time.Second)); ; {
		c.mu.Lock()
		have := len(c.queue)
		c.mu.Unlock()
		if have == n {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%d writes wait, want %d", have, n)
		}
	}
}

func requireNothingWritten(t *testing.T, err error) {
	t.Helper()
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Code != fanfold.Unavailable || !strings.Contains(e.Message, "nothing was written") {
		t.Fatalf("a write that was never sent is reported as %v", err)
	}
}

// requireNextSeq appends one more event and wants it at seq, right after the events that are
// known to be stored.
func requireNextSeq(t *testing.T, l *Log, seq uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), suite.Deadline(20*time.Second))
	defer cancel()
	if got, err := l.publish(ctx, l.mustMessage(t, "last"), fanfold.Expect{}, false, nil); err != nil || got != seq {
		t.Fatalf("the next event is at %d, want %d: %v", got, seq, err)
	}
}

// TestDeadlineInTheQueue: a write whose deadline passes while a round of others is under way
// leaves the queue, says that nothing was written, and is not stored when the round ends.
func TestDeadlineInTheQueue(t *testing.T) {
	l := openQueueTest(t, 20*time.Millisecond)
	l.commit.occupy()
	_, err := l.Append(t.Context(), queuePut("late"), fanfold.Exactly(0))
	requireNothingWritten(t, err)
	l.commit.requireQueued(t, 0)
	l.commit.startNextRound()
	requireNextSeq(t, l, 1)
}

// TestDeadlineBeforeTheFirstPublish: a write that a round lets go when its deadline has passed
// is not sent, and the round ends all the same.
func TestDeadlineBeforeTheFirstPublish(t *testing.T) {
	l := openQueueTest(t, 0)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	rounds := 0
	_, err := l.publish(ended, l.mustMessage(t, "late"), fanfold.Expect{}, false, func() { rounds++ })
	requireNothingWritten(t, err)
	if rounds != 1 {
		t.Errorf("the round was told %d times that the write is through", rounds)
	}
	if _, err := l.publish(ended, l.mustMessage(t, "sent"), fanfold.Expect{}, true, nil); fanfold.CodeOf(err) != fanfold.OutcomeUnknown {
		t.Errorf("a write that an earlier batch may have stored is reported as %v", err)
	}
	requireNextSeq(t, l, 1)
}

// TestDeadlineBeforeTheCommit: a transaction whose deadline passes before its last message is
// sent is not stored, and is reported as such.
func TestDeadlineBeforeTheCommit(t *testing.T) {
	l := openQueueTest(t, 0)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.publishBatch(ended, []*nats.Msg{l.mustMessage(t, "a"), l.mustMessage(t, "b")}, newServerBatch())
	if err == nil || maybeStored(err) {
		t.Errorf("a batch without its commit message may be stored: %v", err)
	}
	l.opt.Timeout = time.Nanosecond
	_, err = l.AppendAll(t.Context(), "tx", []fanfold.Write{{Event: queuePut("a")}, {Event: queuePut("b")}})
	requireNothingWritten(t, err)
	requireNextSeq(t, l, 1)
}

// TestDeadlineInABatch: writes whose deadline passes while the batch with their messages is under
// way wait for the batch, and are told their sequences.
func TestDeadlineInABatch(t *testing.T) {
	suite.Concurrent(t)
	l := openQueueTest(t, 0)
	l.commit.occupy()
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error)
	for i := range minBatchWrites {
		msg := l.mustMessage(t, strconv.Itoa(i))
		go func() {
			seq, err := l.commit.append(ctx, msg, fanfold.Expect{})
			if err == nil && seq == 0 {
				err = errors.New("no sequence")
			}
			results <- err
		}()
	}
	l.commit.requireQueued(t, minBatchWrites)
	l.commit.mu.Lock()
	round := l.commit.dequeueRound()
	l.commit.mu.Unlock()
	cancel()
	l.commit.publishTogether(round)
	for range minBatchWrites {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	requireNextSeq(t, l, minBatchWrites+1)
}
