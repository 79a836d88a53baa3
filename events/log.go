// Package events is the log: one JetStream stream a database, to which writes are appended
// and from which projectors read.
package events

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/semaphore"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Options of a Log; the zero value works.
type Options struct {
	Database string        // the stream's name and the subjects' second token; default "fanfold"
	Replicas int           // of the stream, where it is made; default 1
	Timeout  time.Duration // how long an append may take before its outcome is unknown; default 10 s
	Attempt  time.Duration // how long one publish may take before it is sent again; default 2 s
	Window   time.Duration // in which the server drops a message it has, where the stream is made; default 2 minutes
	Logger   *slog.Logger  // default slog.Default()

	// FailAppend, for tests, is asked before an event is published and after it is stored; its
	// error stands for a log that is out of reach, or an acknowledgement that never came.
	FailAppend func(stored bool) error
}

// DefaultWindow is Options.Window's. A write is sent again for seconds at most, and an
// Idempotency-Key is looked up in what was folded a minute ago or later: it covers both.
const DefaultWindow = 2 * time.Minute

func (o *Options) defaults() {
	if o.Database == "" {
		o.Database = "fanfold"
	}
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Attempt == 0 {
		o.Attempt = 2 * time.Second
	}
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// Log is the event log of one database. Its methods may be called from many goroutines.
type Log struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	stream  jetstream.Stream
	sub     subjects
	opt     Options
	fences  fences
	commit  committer
	slots   *semaphore.Weighted    // batches in flight besides the group commit's
	seen    atomic.Uint64          // the highest sequence the log has told of
	failing atomic.Pointer[string] // why the last append failed; nil after one that did not
	stats   struct{ batches, batched, refused, singles, resent atomic.Uint64 }
}

// Open makes the stream if there is none and checks it if there is. The connection stays the
// caller's to close. Errors are Unavailable, or Invalid for a stream with other settings.
func Open(ctx context.Context, nc *nats.Conn, opt Options) (*Log, error) {
	opt.defaults()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(5*time.Second))
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Internal, "cannot use JetStream")
	}
	l := &Log{nc: nc, js: js, sub: subjects{opt.Database}, opt: opt, slots: semaphore.NewWeighted(maxBatches - 1)}
	l.commit.log = l
	if l.stream, err = l.makeStream(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// maxBatches is how many batches this node may have in flight; the server takes 50 a stream.
const maxBatches = 16

// saw keeps the highest sequence heard of.
func (l *Log) saw(seq uint64) {
	for old := l.seen.Load(); old < seq && !l.seen.CompareAndSwap(old, seq); old = l.seen.Load() {
	}
}

// Stats returns the counts since the log was opened.
func (l *Log) Stats() Stats {
	s := &l.stats
	return Stats{Batches: s.batches.Load(), Batched: s.batched.Load(), Refused: s.refused.Load(), Singles: s.singles.Load(), Resent: s.resent.Load()}
}

func (l *Log) config() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: l.opt.Database, Subjects: []string{l.sub.all()}, Storage: jetstream.FileStorage,
		Description: "Fanfold's event log: every write of database " + l.opt.Database,
		Duplicates:  l.opt.Window,
		Replicas:    l.opt.Replicas, MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1,
		AllowAtomicPublish: true, AllowDirect: true, DenyDelete: true, DenyPurge: true,
	}
}

func (l *Log) makeStream(ctx context.Context) (jetstream.Stream, error) {
	s, err := l.js.Stream(ctx, l.opt.Database)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = l.js.CreateStream(ctx, l.config())
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another node was faster
			s, err = l.js.Stream(ctx, l.opt.Database)
		}
	}
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot open stream %s: %v", l.opt.Database, err)
	}
	have, want := s.CachedInfo().Config, l.config()
	if have.MaxAge != 0 || have.MaxMsgs > 0 || have.MaxBytes > 0 || have.MaxMsgsPerSubject > 0 ||
		have.Storage != want.Storage || have.Retention != want.Retention || !have.AllowAtomicPublish || !have.AllowDirect ||
		!have.DenyDelete || !have.DenyPurge {
		return nil, fanfold.Errorf(fanfold.Invalid, "stream %s exists with settings that could lose events; "+
			"it must be in files, without limits, with delete and purge denied, atomic publish and direct get", l.opt.Database)
	}
	return s, nil
}

// Failing is why the last append was not stored, as far as the log is to blame, or nil.
func (l *Log) Failing() error {
	if reason := l.failing.Load(); reason != nil {
		return fanfold.Errorf(fanfold.Unavailable, "the log took no event at the last try (%s); if its disk was full, free some space and restart the server that keeps it", *reason)
	}
	return nil
}

// Window is for how long the stream drops a message that it has.
func (l *Log) Window() time.Duration { return l.stream.CachedInfo().Config.Duplicates }

// MaxPayload is the largest event, in bytes, the server takes.
func (l *Log) MaxPayload() int { return int(l.nc.MaxPayload()) }

// LastSeq asks the stream's leader for its last sequence. It blocks for a round trip.
func (l *Log) LastSeq(ctx context.Context) (uint64, error) {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return 0, fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be asked")
	}
	l.saw(info.State.LastSeq)
	return info.State.LastSeq, nil
}

// Reader delivers the events of the log in order, without gaps. Close it.
type Reader struct {
	sub  subjects
	msgs jetstream.MessagesContext
	next uint64
	tree jsondoc.Tree
}

// readAhead bounds what waits in memory between the log and its reader, in bytes. The server
// refuses a pull that its largest message does not fit into.
const readAhead = MaxPayload + 1<<20

// Read delivers events from sequence from on, which is 1 or more.
func (l *Log) Read(ctx context.Context, from uint64) (*Reader, error) {
	cons, err := l.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
	})
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot read the log: %v", err)
	}
	msgs, err := cons.Messages(jetstream.PullMaxBytes(readAhead))
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot read the log: %v", err)
	}
	return &Reader{sub: l.sub, msgs: msgs, next: from}, nil
}

// Next blocks until there is an event or ctx has ended. pending is how many more the log had
// when it sent this one. An error other than ctx's is Unavailable (read again from the same
// sequence) or Invalid (an event that cannot be read).
func (r *Reader) Next(ctx context.Context) (ev *fanfold.Event, pending uint64, err error) {
	msg, err := r.msgs.Next(jetstream.NextContext(ctx))
	if err != nil {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		return nil, 0, fanfold.Wrap(err, fanfold.Unavailable, "reading the log was interrupted: %v", err)
	}
	meta, err := msg.Metadata()
	if err != nil {
		return nil, 0, fanfold.Wrap(err, fanfold.Unavailable, "reading the log was interrupted: %v", err)
	}
	ev = &fanfold.Event{Seq: meta.Sequence.Stream, Time: meta.Timestamp}
	if ev.Seq != r.next {
		return nil, 0, fanfold.Errorf(fanfold.Invalid, "the log has no event %d; the next is %d: events were deleted from the stream", r.next, ev.Seq)
	}
	kind, key, err := r.sub.parse(msg.Subject())
	if err == nil {
		ev.Key = key
		err = decode(&r.tree, msg.Data(), ev)
	}
	if err == nil {
		err = readHeaders(msg.Headers(), ev)
	}
	if err == nil && kind != "" && kind != ev.Kind && (kind != fanfold.KindModel || !aboutModel(ev.Kind)) {
		err = fmt.Errorf("op %q does not belong on subject %s", ev.Kind, msg.Subject())
	}
	if err != nil {
		return nil, 0, fanfold.Wrap(err, fanfold.Invalid, "event %d cannot be read: %v", ev.Seq, err)
	}
	r.next++
	return ev, meta.NumPending, nil
}

// aboutModel tells whether events of the kind share the model's subject.
func aboutModel(k fanfold.Kind) bool { return k == fanfold.KindPrepare || k == fanfold.KindCancel }

// Close ends the reading; Next returns an error afterwards.
func (r *Reader) Close() { r.msgs.Stop() }
