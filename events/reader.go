package events

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/tracing"
)

// Reader delivers the events of the log in order, without gaps. It is for one goroutine, which
// closes it.
type Reader struct {
	log  *Log
	run  *serverRun  // of the log's server, in which the reader was made
	stop func() bool // takes back that the reading ends with the run
	sub  subjects
	msgs jetstream.MessagesContext
	next uint64
	tree jsondoc.Tree
	head []byte // headers of an event, for its digest; used again
}

// maxReadAheadBytes bounds what waits in memory between the log and its reader. It is more than the
// largest message, because the server refuses a pull that one does not fit into.
const maxReadAheadBytes = MaxPayload + 1<<20

// resetAttempts is how often a reader that was cut off asks the server to go on, over some three seconds, before it fails.
// Nothing ends it meanwhile, so that a stop of the node waits for it.
const resetAttempts = 3

// readHeartbeat is how often the server of a reader says that it is there while nothing comes. A reader asks another server
// after two of them were missed: the one that is lost may not be the one that the connection leads to.
const readHeartbeat = time.Second

// Read returns a reader of the events from sequence from on, which is 1 or more. The caller closes
// it. The error is Unavailable.
func (l *Log) Read(ctx context.Context, from uint64) (*Reader, error) {
	run := l.run.Load()
	if run.stopped != nil {
		return nil, run.stopped
	}
	cons, err := l.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
		MaxResetAttempts: resetAttempts,
	})
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot read the log: %v", err)
	}
	msgs, err := cons.Messages(jetstream.PullMaxBytes(maxReadAheadBytes), jetstream.PullHeartbeat(readHeartbeat))
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot read the log: %v", err)
	}
	return &Reader{log: l, run: run, stop: context.AfterFunc(run.ended, msgs.Stop), sub: l.sub, msgs: msgs, next: from}, nil
}

// Next blocks until there is an event or ctx has ended. It returns the event and how many more the
// log had when it sent this one. An error other than ctx's is Unavailable, after which the caller
// reads again from the same sequence; LogDamaged where the log lacks it; or Invalid for an event that cannot be
// understood.
func (r *Reader) Next(ctx context.Context) (ev *fanfold.Event, pending uint64, err error) {
	msg, err := r.receive(ctx)
	if err != nil {
		return nil, 0, err
	}
	ev = &fanfold.Event{Seq: msg.seq, Time: msg.time, Digest: msg.digest}
	if ev.Seq != r.next {
		missing := Range{r.next, max(r.next, ev.Seq-1)}
		return nil, 0, fanfold.Errorf(fanfold.LogDamaged, "the log has no event %s that can be read; the next is %d; %s", missing, ev.Seq, Repair)
	}
	kind, key, err := r.sub.parse(msg.Subject())
	if err == nil {
		ev.Key = key
		err = decode(&r.tree, msg.Data(), ev)
	}
	if err == nil {
		err = readHeaders(msg.Headers(), ev)
	}
	if parent := msg.Headers()[tracing.Header]; r.log.opt.Tracer != nil && len(parent) == 1 {
		ev.Trace = parent[0]
	}
	if err == nil && kind != "" && kind != ev.Kind && (kind != fanfold.KindModel || !sharesModelSubject(ev.Kind)) {
		err = fmt.Errorf("op %q does not belong on subject %s", ev.Kind, msg.Subject())
	}
	if err != nil {
		return nil, 0, fanfold.Wrap(err, fanfold.Invalid, "event %d cannot be read: %v", ev.Seq, err)
	}
	r.next++
	advance(&r.run.highest, ev.Seq)
	return ev, msg.pending, nil
}

// received is a message as it was delivered.
type received struct {
	jetstream.Msg
	seq     uint64
	time    time.Time
	pending uint64
	digest  fanfold.Digest
}

// receive blocks until there is a message or ctx has ended. The error is Unavailable, or ctx's.
func (r *Reader) receive(ctx context.Context) (m received, err error) {
	m.Msg, err = r.msgs.Next(jetstream.NextContext(ctx))
	if err != nil {
		if ctx.Err() != nil {
			return m, ctx.Err()
		}
		return m, fanfold.Wrap(err, fanfold.Unavailable, "reading the log was interrupted: %v", err)
	}
	if r.run != r.log.run.Load() {
		return m, errAnotherRun()
	}
	meta, err := m.Metadata()
	if err != nil {
		return m, fanfold.Wrap(err, fanfold.Unavailable, "reading the log was interrupted: %v", err)
	}
	m.seq, m.time, m.pending = meta.Sequence.Stream, meta.Timestamp, meta.NumPending
	m.digest, r.head = digest(r.head, m.seq, m.time, m.Subject(), m.Headers(), m.Data())
	return m, nil
}

// sharesModelSubject reports whether events of a kind other than model are stored on the model's
// subject.
func sharesModelSubject(k fanfold.Kind) bool {
	return k == fanfold.KindPrepare || k == fanfold.KindCancel
}

// Close ends the reading. Next returns an error afterwards.
func (r *Reader) Close() {
	r.stop()
	r.msgs.Stop()
}
