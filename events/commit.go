package events

import (
	"context"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
)

// Limits of a round of the group commit. DESIGN.md says how they were measured.
const (
	minBatchWrites = 20      // fewer writes are published one by one, which is faster then
	maxGroupBytes  = 8 << 20 // payload bytes of one round
)

// committer groups concurrent writes into rounds, one round at a time. Writes that arrive while a
// round is under way wait in queue, and the next round takes as many of them as fit.
type committer struct {
	log *Log

	mu    sync.Mutex
	busy  bool // a round is under way
	queue []*queuedWrite
}

// queuedWrite is a write that waits for its round.
type queuedWrite struct {
	msg    *nats.Msg
	result chan roundResult // receives one value when the round has dealt with the write
}

// roundResult tells a writer that its message is stored at seq. If seq is 0, the writer publishes the message itself.
type roundResult struct {
	seq            uint64
	maybeStored    bool   // the round has sent the message, and the outcome is not known
	onFirstAttempt func() // to be called after the writer's first attempt; nil where the round does not wait for it
}

// append stores a message and returns its sequence: at once where an embedded server waits for no fsync of its own, else
// as part of a round. It blocks until the log has
// decided or ctx has ended. A write whose ctx ends while it is still in the queue leaves it and is
// not sent; the error is Unavailable. Once a round has taken the write, only the round knows what
// became of the message, so append waits for the round's result even if ctx has ended.
func (c *committer) append(ctx context.Context, msg *nats.Msg, expect fanfold.Expect) (uint64, error) {
	if e := c.log.opt.Embedded; e != nil && e.Sync() != SyncServer {
		c.log.stats.singles.Add(1)
		return c.log.publish(ctx, msg, expect, false, nil)
	}
	c.mu.Lock()
	if !c.busy { // no other write is under way, so there is nothing to wait for
		c.busy = true
		c.mu.Unlock()
		c.log.stats.singles.Add(1)
		c.log.opt.OnRound(1)
		return c.log.publish(ctx, msg, expect, false, c.startNextRound)
	}
	w := &queuedWrite{msg: msg, result: make(chan roundResult, 1)}
	c.queue = append(c.queue, w)
	c.mu.Unlock()
	var result roundResult
	select {
	case result = <-w.result:
	case <-ctx.Done():
		if c.leaveQueue(w) {
			return 0, fanfold.Wrap(ctx.Err(), fanfold.Unavailable, unreachable)
		}
		result = <-w.result
	}
	if result.seq != 0 {
		return result.seq, nil
	}
	return c.log.publish(ctx, msg, expect, result.maybeStored, result.onFirstAttempt)
}

// leaveQueue removes a write from the queue and reports whether it was there. It returns false
// where a round has taken the write.
func (c *committer) leaveQueue(w *queuedWrite) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.queue, w)
	if i < 0 {
		return false
	}
	c.queue = slices.Delete(c.queue, i, i+1)
	return true
}

// startNextRound ends a round and starts the next one if writes are waiting. It does not block.
func (c *committer) startNextRound() {
	c.mu.Lock()
	if len(c.queue) == 0 {
		c.busy = false
		c.mu.Unlock()
		return
	}
	round := c.dequeueRound()
	c.mu.Unlock()
	if len(round) < minBatchWrites {
		c.publishOneByOne(round)
		return
	}
	go c.publishTogether(round)
}

// dequeueRound removes the writes of the next round from the queue and returns them in order of arrival. They fit a
// batch, and no two have one subject: the server would refuse the second one's condition and the whole batch with it.
// The caller holds mu.
func (c *committer) dequeueRound() []*queuedWrite {
	if len(c.queue) < minBatchWrites {
		round := c.queue
		c.queue = nil
		return round
	}
	subjects, size := make(map[string]struct{}, len(c.queue)), 0
	var round, rest []*queuedWrite
	for i, w := range c.queue {
		if size += len(w.msg.Data); len(round) == MaxBatch || size > maxGroupBytes && len(round) > 0 {
			rest = append(rest, c.queue[i:]...)
			break
		}
		if _, repeated := subjects[w.msg.Subject]; repeated {
			size -= len(w.msg.Data)
			rest = append(rest, w)
			continue
		}
		subjects[w.msg.Subject] = struct{}{}
		round = append(round, w)
	}
	c.queue = rest
	return round
}

// publishOneByOne lets each writer of a round publish its own message. It does not block; the
// round ends when each of them has tried once.
func (c *committer) publishOneByOne(round []*queuedWrite) {
	c.log.stats.singles.Add(uint64(len(round)))
	c.log.opt.OnRound(len(round))
	var attempts sync.WaitGroup
	attempts.Add(len(round))
	for _, w := range round {
		w.result <- roundResult{onFirstAttempt: attempts.Done}
	}
	go func() {
		attempts.Wait()
		c.startNextRound()
	}()
}

// publishTogether publishes a round as one atomic batch, waits for the answer and ends the round. If the batch is
// refused, or its outcome is not known, each writer publishes its own message with the same id and condition. So it
// gets a verdict of its own: the server stores whichever comes first and drops the other.
func (c *committer) publishTogether(round []*queuedWrite) {
	defer c.startNextRound()
	msgs := make([]*nats.Msg, len(round))
	for i, w := range round {
		msgs[i] = w.msg
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.log.opt.Timeout)
	defer cancel()
	last, err := c.log.publishBatch(ctx, msgs, newServerBatch())
	c.log.stats.batches.Add(1)
	c.log.stats.batched.Add(uint64(len(round)))
	c.log.opt.OnRound(len(round))
	if err == nil {
		for i, w := range round {
			w.result <- roundResult{seq: last - uint64(len(round)-1-i)}
		}
		return
	}
	c.log.stats.refused.Add(1)
	for _, w := range round {
		for _, header := range []string{batchID, batchSequence, batchCommit} {
			delete(w.msg.Header, header)
		}
		w.result <- roundResult{maybeStored: c.log.undecided(err)}
	}
}

// Stats counts what this process has sent to the log since the log was opened.
type Stats struct {
	Batches uint64 // group commits published as one atomic batch
	Batched uint64 // events in them
	Refused uint64 // batches that were not stored as such, so that each event was published by itself
	Singles uint64 // events published by themselves
	Resent  uint64 // attempts that the log did not decide
	Syncs   uint64 // rounds of fsync, each for all concurrent writes
}
