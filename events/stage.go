package events

import (
	"context"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
)

// maxStaged is how long after Stage the server surely still has what was sent. It drops a batch of which nothing has come for
// ten seconds (NATS ADR-50).
const maxStaged = 5 * time.Second

// Stage sends writes to the server ahead of the last ones that are to be stored with them, so that it has read them by the
// time that those are known. Nothing of them is stored before appendRest gives it the others, of which there must be one at
// least: it is AppendAll for all of the writes together, which are no transaction, and may be called once. Where it is not called
// the server drops what was sent. Stage blocks while the connection takes no more. Errors are Unavailable, LogDamaged, TooLarge,
// and Unprocessable for more than MaxBatch writes.
func (l *Log) Stage(ctx context.Context, writes []fanfold.Write) (appendRest func(ctx context.Context, rest []fanfold.Write) (first uint64, err error), err error) {
	msgs, err := l.batchMessages("", writes)
	if err != nil {
		return nil, err
	}
	if err := l.refuses(); err != nil {
		return nil, err
	}
	l.addTrace(ctx, msgs...)
	batch, staged := newServerBatch(), time.Now()
	if err := l.send(batch, msgs); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, unreachable)
	}
	return func(ctx context.Context, rest []fanfold.Write) (uint64, error) {
		writes := slices.Concat(writes, rest)
		more, err := l.batchMessages("", rest)
		msgs := slices.Concat(msgs, more)
		if err != nil || len(msgs) > MaxBatch || payload(msgs) > MaxTxBytes || time.Since(staged) > maxStaged {
			return l.AppendAll(ctx, "", writes)
		}
		return l.appendBatch(ctx, msgs, writes, batch)
	}, nil
}
