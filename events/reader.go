package events

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/tracing"
)

// Reader delivers the events of the log in order, without gaps. It is for one goroutine, which
// closes it.
type Reader struct {
	log  *Log
	run  *serverRun  // of the log's server, in which the reader was made
	stop func() bool // takes back that the reading ends with the run
	prev uint64      // the sequence of the event that the caller got last
	last uint64      // the last message's
	Decoder

	asOf  fanfold.AsOf
	bare  bool    // messages have no digests
	held  Message // a message after a gap that is being filled
	holds bool    // whether there is one

	mu          sync.Mutex // for what interrupt needs; from is set by the reader's goroutine alone
	from        Messages
	interrupted bool // nothing is delivered any more
}

// maxReadAheadBytes bounds what waits in memory between the log and its reader. It is more than the
// largest message, because the server refuses a pull that one does not fit into.
const maxReadAheadBytes = MaxPayload + 1<<20

// ResetAttempts is how often a reader that was cut off asks the servers to go on before it fails. It fails after three seconds if
// they refuse, and after 33 if they are silent, for the client waits ten for each answer. Nothing ends it meanwhile, so that a stop
// of the node waits for it.
const ResetAttempts = 3

// readHeartbeat is how often the server of a reader says that it is there while nothing comes. A reader asks another server
// after two of them were missed: the one that is lost may not be the one that the connection leads to.
const readHeartbeat = time.Second

// PullOptions are those with which a consumer's messages are read: they bound what waits in memory, and notice a server that is lost.
func PullOptions() []jetstream.PullMessagesOpt {
	return []jetstream.PullMessagesOpt{jetstream.PullMaxBytes(maxReadAheadBytes), jetstream.PullHeartbeat(readHeartbeat)}
}

// Read returns a reader of the events from sequence from on, which is 1 or more, as of the last erasure that is in force by now. The caller
// closes it. The error is Unavailable.
func (l *Log) Read(ctx context.Context, from uint64) (*Reader, error) {
	_, inForce := l.prefix.Erasures()
	return l.ReadAs(ctx, from, inForce)
}

// ReadAs does what Read does as of an erasure: the sequence of an erase event, 0 for none. Each message that this event, or one before it,
// lists is replaced by its substitute, whether or not it is still there.
func (l *Log) ReadAs(ctx context.Context, from uint64, asOf fanfold.AsOf) (*Reader, error) {
	l.recovery.awaitPause(ctx)
	r := &Reader{log: l, run: l.run.Load(), prev: from - 1, last: from - 1, Decoder: Decoder{sub: l.sub}, asOf: asOf}
	if r.run.stopped != nil {
		return nil, r.run.stopped
	}
	msgs, err := l.openMessages(ctx, r.run, from)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot read the log: %v", err)
	}
	r.from = msgs
	r.stop = context.AfterFunc(r.run.ended, r.interrupt)
	return r, nil
}

// openMessages returns the log's messages from a sequence on: from the files of an embedded server, where they are laid out as
// expected, and otherwise from a consumer. The caller closes them.
func (l *Log) openMessages(ctx context.Context, run *serverRun, from uint64) (Messages, error) {
	stream := l.stream.CachedInfo().Config
	if e := l.opt.Embedded; e != nil && e.Sync() != SyncServer && stream.Compression == jetstream.NoCompression {
		m, err := e.Messages(stream.Name, from, &run.highest)
		if err == nil {
			return m, nil
		}
		l.warnOfFiles(from, err)
	}
	return l.consume(ctx, from)
}

// warnOfFiles says in the node's log that a reader goes on with a consumer, from a sequence on.
func (l *Log) warnOfFiles(from uint64, err error) {
	l.opt.Logger.Warn("the log is read through the server, because its files could not be read", "from", from, "err", err)
}

// consumed are the messages of a consumer.
type consumed struct{ msgs jetstream.MessagesContext }

// consume returns the messages from a sequence on as the server sends them.
func (l *Log) consume(ctx context.Context, from uint64) (Messages, error) {
	cons, err := l.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
		MaxResetAttempts: ResetAttempts,
	})
	if err != nil {
		return nil, err
	}
	msgs, err := cons.Messages(PullOptions()...)
	return consumed{msgs}, err
}

// Receive blocks until the server has sent a message or ctx has ended.
func (c consumed) Receive(ctx context.Context) (m Message, err error) {
	msg, err := c.msgs.Next(jetstream.NextContext(ctx))
	if err != nil {
		return m, err
	}
	meta, err := msg.Metadata()
	if err != nil {
		return m, err
	}
	return Message{Subject: msg.Subject(), Headers: msg.Headers(), Data: msg.Data(),
		Seq: meta.Sequence.Stream, Time: meta.Timestamp, Pending: meta.NumPending}, nil
}

func (c consumed) Stop() { c.msgs.Stop() }

func (c consumed) Close() { c.msgs.Stop() }

// Next blocks until there is an event or ctx has ended. It returns the event and how many more the log is known to have, or 1 where it has some. Another
// error than ctx's is Unavailable, LogDamaged if the log lacks the event, PositionGone if it was purged, or Invalid if it cannot be understood. After
// Unavailable the caller reads again from the same sequence. PositionGone has the cause ErrErased where a later erasure than the reader's lists the event.
func (r *Reader) Next(ctx context.Context) (ev *fanfold.Event, pending uint64, err error) {
	msg, err := r.receive(ctx)
	if err != nil {
		return nil, 0, err
	}
	if !fanfold.Follows(r.prev, msg.Seq) {
		if err := r.log.prefix.purgedUpTo(ctx, r.prev, msg.Seq-1); err != nil {
			return nil, 0, err
		}
		missing := Range{r.prev + 1, max(r.prev+1, msg.Seq-1)}
		return nil, 0, fanfold.Errorf(fanfold.LogDamaged, "the log has no event %s that can be read; the next is %d; %s", missing, msg.Seq, Repair)
	}
	if ev, err = r.decode(msg); err != nil {
		return nil, 0, err
	}
	if parent := msg.Headers[tracing.Header]; r.log.opt.Tracer != nil && len(parent) == 1 {
		ev.Trace = parent[0]
	}
	r.log.prefix.noted(ev, len(msg.Data))
	r.prev = ev.Seq
	r.run.highest.Advance(ev.Seq)
	return ev, msg.Pending, nil
}

// receive blocks until there is a message or ctx has ended, and returns it, or its substitute. It returns Unavailable, and the errors of
// ctx and fillGap.
func (r *Reader) receive(ctx context.Context) (m Message, err error) {
	if r.holds {
		m = r.held
	} else if m, err = r.receiveStored(ctx); err != nil {
		return m, err
	}
	if r.run != r.log.run.Load() {
		return m, errAnotherRun()
	}
	if m, err = r.substitute(ctx, m); err != nil {
		return m, err
	}
	r.last = m.Seq
	if r.bare {
		m.Time, m.badTime = timeOf(m.Time, m.Headers)
	} else {
		r.setDigest(&m)
	}
	return m, nil
}

// receiveStored blocks until the log has delivered a message or ctx has ended. The error is Unavailable, or ctx's.
func (r *Reader) receiveStored(ctx context.Context) (m Message, err error) {
	m, err = r.from.Receive(ctx)
	if errors.Is(err, ErrBlocks) { // the server finds out what is missing
		r.log.warnOfFiles(r.last+1, err)
		if failed := r.consume(ctx); failed != nil {
			err = errors.Join(failed, err)
		} else {
			m, err = r.from.Receive(ctx)
		}
	}
	if err == nil {
		return m, nil
	}
	r.log.recovery.awaitPause(ctx) // so that who reads again does so at once
	if ctx.Err() != nil {
		return m, ctx.Err()
	}
	text := err.Error()
	if r.run != r.log.run.Load() {
		err = errors.Join(err, fanfold.ErrRestarting)
	}
	return m, fanfold.Wrap(err, fanfold.Unavailable, "reading the log was interrupted: %s", text)
}

// sharesModelSubject reports whether events of a kind other than model are stored on the model's
// subject.
func sharesModelSubject(k fanfold.Kind) bool {
	return k == fanfold.KindPrepare || k == fanfold.KindCancel
}

// consume goes on with the messages of a consumer.
func (r *Reader) consume(ctx context.Context) error {
	msgs, err := r.log.consume(ctx, r.last+1)
	if err != nil {
		return err
	}
	r.from.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.from = msgs; r.interrupted {
		msgs.Stop()
	}
	return nil
}

// interrupt ends Next with an error, now and later. Any goroutine may call it.
func (r *Reader) interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interrupted = true
	r.from.Stop()
}

// Close ends the reading. Next returns an error afterwards.
func (r *Reader) Close() {
	r.stop()
	r.from.Close()
}
