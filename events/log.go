// Package events keeps the log: one JetStream stream a database, to which writes are appended and
// from which projectors read. README.md describes what is stored, DESIGN.md why it is so.
package events

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/semaphore"

	"github.com/fanfold/fanfold"
)

// Options are the settings of a Log. The zero value works.
type Options struct {
	Embedded *Embedded     // the server to which the connection leads, where it is one of this process
	Database string        // the stream's name and the subjects' second token; default "fanfold"
	Replicas int           // of the stream, where it is made; default 1
	Timeout  time.Duration // how long an append may take before it fails; default 10 s
	Attempt  time.Duration // how long one publish may take before it is sent again; default 2 s
	Window   time.Duration // in which the server drops a message it has, where the stream is made; default 2 minutes
	KnownSeq uint64        // an event that the stream is known to have had, 0 for none
	Exists   bool          // the stream is known to have been made: it is not made anew
	Damaged  bool          // the stream may lack events: what is left of it is to be read
	Logger   *slog.Logger  // default slog.Default()

	// FailAppend, for tests, is asked before an event is published and after it is stored; its
	// error stands for a log that is out of reach, or an acknowledgement that never came.
	FailAppend func(stored bool) error
}

// DefaultWindow is the default of Options.Window. A write is sent again for seconds at most, and an
// Idempotency-Key is looked up in what was folded a minute ago or later; the window covers both.
const DefaultWindow = 2 * time.Minute

// setDefaults fills in the fields that are zero.
func (o *Options) setDefaults() {
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
	nc         *nats.Conn
	js         jetstream.JetStream
	stream     jetstream.Stream
	sub        subjects
	opt        Options
	fences     fences
	commit     committer
	syncer     *syncer                // nil where the server syncs, or nobody does
	batchSlots *semaphore.Weighted    // batches in flight besides the group commit's
	highestSeq atomic.Uint64          // the highest sequence that the log is known to have
	created    atomic.Int64           // when the stream was made, as the last Check that found nothing saw it
	damage     atomic.Pointer[error]  // what the last Check found; nil for nothing
	scanned    atomic.Pointer[error]  // what a scan found; nil for nothing
	failing    atomic.Pointer[string] // why the last append failed; nil after one that did not
	stats      struct{ batches, batched, refused, singles, resent atomic.Uint64 }
}

// Open opens the stream, which it makes where there is none, and checks the settings of one that is
// there, and that it is complete. The caller closes the connection, after the last call to the Log. Errors are
// Unavailable, which is ErrLayout where the embedded server is to be started with ServerSyncs; LogDamaged; and Invalid for a
// stream with settings that could lose events.
func Open(ctx context.Context, nc *nats.Conn, opt Options) (*Log, error) {
	opt.setDefaults()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(5*time.Second))
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Internal, "cannot use JetStream")
	}
	l := &Log{nc: nc, js: js, sub: subjects{opt.Database}, opt: opt, batchSlots: semaphore.NewWeighted(maxBatchesInFlight - 1)}
	l.commit.log = l
	if l.stream, err = l.openOrCreateStream(ctx); err != nil {
		return nil, err
	}
	if !opt.Damaged {
		if err := l.Check(ctx, Known{Seq: opt.KnownSeq}); err != nil {
			return nil, err
		}
	}
	if opt.Embedded != nil && opt.Embedded.Sync() == SyncGroup {
		if l.syncer, err = opt.Embedded.newSyncer(l.stream.CachedInfo(), l.highestSeq.Load); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// maxBatchesInFlight bounds the atomic batches that this node has in flight. The server takes 50 a
// stream, from all nodes together.
const maxBatchesInFlight = 16

// advanceHighestSeq records that the log has an event at seq.
func (l *Log) advanceHighestSeq(seq uint64) {
	for old := l.highestSeq.Load(); old < seq && !l.highestSeq.CompareAndSwap(old, seq); old = l.highestSeq.Load() {
	}
}

// Stats returns the counts since the log was opened.
func (l *Log) Stats() Stats {
	s := &l.stats
	out := Stats{Batches: s.batches.Load(), Batched: s.batched.Load(), Refused: s.refused.Load(), Singles: s.singles.Load(), Resent: s.resent.Load()}
	if l.syncer != nil {
		out.Syncs = l.syncer.rounds.Load()
	}
	return out
}

// streamConfig returns the settings with which the stream is made.
func (l *Log) streamConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: l.opt.Database, Subjects: []string{l.sub.all()}, Storage: jetstream.FileStorage,
		Description: "Fanfold's event log: every write of database " + l.opt.Database,
		Duplicates:  l.opt.Window,
		Replicas:    l.opt.Replicas, MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1,
		AllowAtomicPublish: true, AllowDirect: true, DenyDelete: true, DenyPurge: true,
	}
}

// openOrCreateStream returns the stream. Errors are Unavailable, and Invalid for settings that
// could lose events.
func (l *Log) openOrCreateStream(ctx context.Context) (jetstream.Stream, error) {
	s, err := l.js.Stream(ctx, l.opt.Database)
	if errors.Is(err, jetstream.ErrStreamNotFound) && (l.opt.KnownSeq > 0 || l.opt.Exists || l.opt.Damaged) {
		return nil, l.streamGone()
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = l.js.CreateStream(ctx, l.streamConfig())
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another node was faster
			s, err = l.js.Stream(ctx, l.opt.Database)
		}
	}
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot open stream %s: %v", l.opt.Database, err)
	}
	have, want := s.CachedInfo().Config, l.streamConfig()
	if have.MaxAge != 0 || have.MaxMsgs > 0 || have.MaxBytes > 0 || have.MaxMsgsPerSubject > 0 ||
		have.Storage != want.Storage || have.Retention != want.Retention || !have.AllowAtomicPublish || !have.AllowDirect ||
		!have.DenyDelete || !have.DenyPurge {
		return nil, fanfold.Errorf(fanfold.Invalid, "stream %s exists with settings that could lose events; "+
			"it must be in files, without limits, with delete and purge denied, atomic publish and direct get", l.opt.Database)
	}
	return s, nil
}

// Failing returns why the last append was not stored, where the log is to blame, as Unavailable. It
// returns nil where it is not.
func (l *Log) Failing() error {
	if err := l.syncer.failure(); err != nil {
		return err
	}
	if reason := l.failing.Load(); reason != nil {
		return fanfold.Errorf(fanfold.Unavailable, "the log took no event at the last try (%s); if its disk was full, free some space and restart the server that keeps it", *reason)
	}
	return nil
}

// Window returns for how long the server drops a message whose id the stream has already.
func (l *Log) Window() time.Duration { return l.stream.CachedInfo().Config.Duplicates }

// MaxPayload returns the size in bytes of the largest message that the connected server takes.
func (l *Log) MaxPayload() int { return int(l.nc.MaxPayload()) }

// LastSeq asks the stream's leader for its last sequence. It blocks for a round trip; the error is
// Unavailable.
func (l *Log) LastSeq(ctx context.Context) (uint64, error) {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return 0, fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be asked")
	}
	l.advanceHighestSeq(info.State.LastSeq)
	return info.State.LastSeq, nil
}
