package events

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// batchStore stores batches: all messages of a batch are stored next to each other, or none. orderedBatches does so in a log to
// which nobody else publishes, and atomicBatches in any other.
type batchStore interface {
	// append stores a batch under the conditions of its writes and returns the sequence of the first. The batch has the
	// messages. It is called once for each batch. It returns the errors of AppendAll, before the messages are durable.
	append(ctx context.Context, msgs []*nats.Msg, writes []fanfold.Write) (first uint64, err error)
	// request sends a message that is no part of a batch, and returns the stream's answer. It returns the errors of
	// servers.Client.Request, and errNotSent.
	request(ctx context.Context, msg *nats.Msg) (servers.Ack, error)
	// whole blocks until the message at seq, which a run has told of, is stored with all of its batch, or ctx has ended. The error
	// is Unavailable.
	whole(ctx context.Context, run *serverRun, seq uint64) error
	// pause calls fn, which begins another run of the server, while nothing is being sent.
	pause(fn func())
}

// newBatchStore returns what stores the batches of a log. The error is the connection's.
func newBatchStore(l *Log) (batchStore, error) {
	if e := l.opt.Embedded; e != nil && e.OnlyPublisher() {
		return newOrderedBatches(l)
	}
	return atomicBatches{l}, nil
}

// atomicBatches stores batches by the server's atomic publishing.
type atomicBatches struct{ *Log }

func (a atomicBatches) append(ctx context.Context, msgs []*nats.Msg, writes []fanfold.Write) (first uint64, err error) {
	return a.appendAtomic(ctx, msgs, writes, newServerBatch())
}

func (a atomicBatches) request(ctx context.Context, msg *nats.Msg) (servers.Ack, error) {
	return a.client.Request(ctx, msg)
}

func (a atomicBatches) whole(context.Context, *serverRun, uint64) error { return nil } // nothing is delivered before all of it is stored

func (a atomicBatches) pause(fn func()) { fn() }
