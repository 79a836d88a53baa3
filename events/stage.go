package events

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
)

// A server drops a batch if nothing has come for ten seconds (NATS ADR-50).
const (
	stagedSurely = 5 * time.Second  // it surely still has what was staged
	stagedAtMost = 12 * time.Second // it surely has not
)

// errEnoughStaged is the error of Stage where enough is staged already.
var errEnoughStaged = errors.New("enough is staged")

// lastPartAppender stores the writes of a Stage with the last part of them, as AppendAll does.
type lastPartAppender = func(ctx context.Context, lastPart []fanfold.Write) (first uint64, err error)

// Stage sends writes to the server ahead of the last ones that are stored with them. So the server has read them by the time that
// the last ones are known. Nothing of them is stored before appendLastPart gives it the others. There must be one at least. It is
// AppendAll for all of the writes together, which are no transaction, and may be called once. If appendLastPart is not called,
// the server drops the sent writes. Stage blocks while the connection takes no more. After an error, also where only
// maxStagedBatches are staged already, the same writes may be given to AppendAll, which says what is wrong, if anything is.
func (l *Log) Stage(ctx context.Context, writes []fanfold.Write) (appendLastPart lastPartAppender, err error) {
	return l.stageAt(ctx, writes, time.Now())
}

// stageAt is Stage at a time.
func (l *Log) stageAt(ctx context.Context, writes []fanfold.Write, at time.Time) (appendLastPart lastPartAppender, err error) {
	if _, atomic := l.batches.(atomicBatches); !atomic {
		return l.encodeAhead(writes)
	}
	if !l.stageSlots.TryAcquire(1) {
		return nil, errEnoughStaged
	}
	release := sync.OnceFunc(func() { l.stageSlots.Release(1) })
	msgs, err := l.batchMessages("", writes)
	if err == nil {
		err = l.refuses()
	}
	if err != nil {
		release()
		return nil, err
	}
	l.addTrace(ctx, msgs...)
	batch, began := newServerBatch(), time.Now()
	err = l.send(batch, msgs)
	at = at.Add(time.Since(began)) // the server counts from the last message on
	time.AfterFunc(time.Until(at.Add(stagedAtMost)), release)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, lastPart []fanfold.Write) (first uint64, err error) {
		writes := slices.Concat(writes, lastPart)
		more, err := l.batchMessages("", lastPart)
		msgs := slices.Concat(msgs, more)
		if err != nil || len(msgs) > l.MaxBatch() || payload(msgs) > MaxTxBytes || time.Since(at) > stagedSurely {
			return l.AppendAll(ctx, "", writes)
		}
		first, err = l.appendBatch(ctx, msgs, writes, func(ctx context.Context, msgs []*nats.Msg, writes []fanfold.Write) (uint64, error) {
			return l.appendAtomic(ctx, msgs, writes, batch)
		})
		if err == nil {
			release()
		}
		return first, err
	}, nil
}

// encodeAhead does what Stage does where the server cannot be sent anything ahead: it makes the messages.
func (l *Log) encodeAhead(writes []fanfold.Write) (appendLastPart lastPartAppender, err error) {
	msgs, err := l.batchMessages("", writes)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, lastPart []fanfold.Write) (first uint64, err error) {
		writes := slices.Concat(writes, lastPart)
		more, err := l.batchMessages("", lastPart)
		msgs := slices.Concat(msgs, more)
		if err != nil || len(msgs) > l.MaxBatch() || payload(msgs) > MaxTxBytes {
			return l.AppendAll(ctx, "", writes)
		}
		return l.appendBatch(ctx, msgs, writes, l.batches.append)
	}, nil
}
