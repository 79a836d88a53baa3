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
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/internal/tracing"
)

// Options are the settings of a Log. The zero value works.
type Options struct {
	Embedded Embedded      // the server to which the connection leads, where it is one of this process
	Database string        // the stream's name and the subjects' second token; default "fanfold"
	Replicas int           // of the stream, where it is made; default 3 where the servers form a cluster of three, else 1
	Timeout  time.Duration // how long an append may take before it fails; default 10 s
	Attempt  time.Duration // how long one publish may take before it is sent again; default 2 s
	Window   time.Duration // in which the server drops a message it has, where the stream is made; default 2 minutes
	KnownSeq uint64        // an event that the stream is known to have had, 0 for none
	Exists   bool          // the stream is known to have been made: it is not made anew
	Damaged  bool          // the stream may lack events: what is left of it is to be read
	Logger   *slog.Logger  // default slog.Default()

	restoring *restored // the stream is to be made for a restore, or was made by it; nil for a log that is whole

	// Abandoned is for tests: how old a snapshot is that is not complete when it is removed; default ten minutes.
	Abandoned time.Duration

	// OnSync is told of every fsync of the log by this process, and how long it took; OnRound of how many events were made
	// durable, or published, at once. They must not block. nil for nobody.
	OnSync  func(took time.Duration)
	OnRound func(events int)
	// Tracer makes the spans of appends, whose trace context the events carry; nil for none.
	Tracer *tracing.Tracer
	// MayPublish is asked right before anything but a fence is published; its error, which is to be Unavailable, is the
	// write's. Acknowledged is called when what it let through was acknowledged. Both may be nil.
	MayPublish   func() error
	Acknowledged func()

	// PurgeWait is for tests: how old a compact event is before the log is purged up to it; default long enough for every write from
	// before to have ended.
	PurgeWait time.Duration
	// FailAppend, for tests, is asked before an event is published and after it is stored. Its error stands for a log
	// that is out of reach, or a lost acknowledgement.
	FailAppend func(stored bool) error
}

// DefaultWindow is the default of Options.Window. A write is sent again for seconds at most, and an
// Idempotency-Key is looked up in what was folded a minute ago or later; the window covers both.
const DefaultWindow = 2 * time.Minute

// abandonedAfter is how much older than a new snapshot the last piece of one is that was never completed, for it to be removed. It
// is much more than an upload may stand still, so that the node that sends it has given up.
const abandonedAfter = 10 * time.Minute

// setDefaults fills in the fields that are zero.
func (o *Options) setDefaults() {
	if o.Database == "" {
		o.Database = defaultDatabase
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
	if o.OnSync == nil {
		o.OnSync = func(time.Duration) {}
	}
	if o.OnRound == nil {
		o.OnRound = func(int) {}
	}
	if o.Abandoned == 0 {
		o.Abandoned = abandonedAfter
	}
}

// Log is the event log of one database. Its methods may be called from many goroutines.
type Log struct {
	nc         *nats.Conn
	js         jetstream.JetStream
	client     *servers.Client
	stream     jetstream.Stream
	sub        subjects
	opt        Options
	store      fanfold.StoreID
	prefix     Prefix
	recovery   Recovery
	replicas   StreamReplicas
	origin     fanfold.Origin
	fences     fences
	commit     committer
	connection servers.Connection
	health     health
	run        atomic.Pointer[serverRun] // of the server, the current one
	batches    batchStore
	batchSlots *semaphore.Weighted // atomic batches in flight besides the group commit's
	stageSlots *semaphore.Weighted // batches that are staged, or were and may still be in the server
	acked      atomic.Uint64       // the last event that was acknowledged, durable as it has to be
	replicated atomic.Bool         // the stream has several replicas, when last heard
	led        atomic.Bool         // a leader said so that most replicas follow, or the stream has one replica
	syncs      atomic.Uint64       // rounds of fsync in runs of the server that have ended
	created    atomic.Int64        // when the stream was made, as the last Check that found nothing saw it
	size       atomic.Uint64       // bytes that the log has, as the last Check saw it
	counted    atomic.Uint64       // and events
	stats      struct{ batches, batched, refused, singles, resent atomic.Uint64 }
}

// Open opens the stream, which it makes where there is none, and checks the settings of one that is
// there, and that it is complete. The caller closes the connection, after the last call to the Log. Errors are
// Unavailable, which is ErrLayout where the embedded server is to be started with ServerSyncs; LogDamaged; and Invalid for a
// stream with settings that could lose events.
func Open(ctx context.Context, nc *nats.Conn, opt Options) (*Log, error) {
	opt.setDefaults()
	client, err := servers.NewClient(nc, opt.Attempt, opt.Logger)
	if err != nil {
		return nil, err
	}
	l := newLog(client, nc, opt)
	if l.batches, err = newBatchStore(l); err != nil {
		return nil, err
	}
	run := newServerRun(nil)
	l.run.Store(run)
	l.connection.Watch(nc)
	if l.stream, err = l.openOrCreateStream(ctx); err != nil {
		return nil, err
	}
	base, err := baseOf(l.stream.CachedInfo().Config)
	if err != nil {
		return nil, err
	}
	l.prefix.begin(base)
	if l.origin, err = originOf(l.stream.CachedInfo().Config); err != nil {
		return nil, err
	}
	l.replicated.Store(l.stream.CachedInfo().Config.Replicas > 1)
	l.store = l.identify(ctx, l.stream)
	run.highest.Advance(l.stream.CachedInfo().State.LastSeq)
	if err := l.prefix.findBase(ctx); err != nil {
		return nil, err
	}
	if !opt.Damaged {
		l.client.Await(ctx, func() (why error) {
			if err = l.Check(ctx, Known{Seq: opt.KnownSeq}); servers.Leaderless(err) {
				return err
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if opt.Embedded != nil && opt.Embedded.Sync() == SyncGroup {
		if run.syncer, err = l.newSyncer(l.stream.CachedInfo(), run); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// newLog returns a log that knows nothing of its stream.
func newLog(client *servers.Client, nc *nats.Conn, opt Options) *Log {
	l := &Log{nc: nc, js: client.JS, client: client, sub: subjects{opt.Database}, opt: opt,
		batchSlots: semaphore.NewWeighted(maxBatchesInFlight - 1), stageSlots: semaphore.NewWeighted(maxStagedBatches)}
	l.commit.log, l.prefix.log, l.recovery.log, l.replicas.log = l, l, l, l
	return l
}

// newSyncer makes what the embedded server's stream has durable, and returns what does so for a run of the server from then
// on. Errors are ErrLayout, and Unavailable.
func (l *Log) newSyncer(info *jetstream.StreamInfo, run *serverRun) (Syncer, error) {
	return l.opt.Embedded.SyncLog(info, run.highest.Load, func(took time.Duration, events int) {
		l.opt.OnSync(took)
		l.opt.OnRound(events)
	})
}

// Bounds of the atomic batches that this node has in flight, and of those that are staged. The server takes 50 a stream, from all
// nodes together.
const (
	maxBatchesInFlight = 12
	maxStagedBatches   = 4
)

// Stats returns the counts since the log was opened.
func (l *Log) Stats() Stats {
	s := &l.stats
	out := Stats{Batches: s.batches.Load(), Batched: s.batched.Load(), Refused: s.refused.Load(), Singles: s.singles.Load(), Resent: s.resent.Load()}
	out.Syncs = l.syncs.Load() + l.run.Load().rounds()
	return out
}

// streamConfig returns the settings with which the stream is made.
func (l *Log) streamConfig() jetstream.StreamConfig {
	config := jetstream.StreamConfig{
		Name: l.opt.Database, Subjects: []string{l.sub.all()}, Storage: jetstream.FileStorage,
		Description: "Fanfold's event log: every write of database " + l.opt.Database,
		Duplicates:  l.opt.Window,
		Metadata:    map[string]string{storeKey: string(newStoreID()), baseKey: Base{}.String()},
		Replicas:    l.opt.Replicas, MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1,
		AllowAtomicPublish: true, AllowDirect: true,
	}
	if r := l.opt.restoring; r != nil {
		r.describe(&config)
	}
	return config
}

// openOrCreateStream returns the stream. Errors are Unavailable, and Invalid for settings that
// could lose events.
func (l *Log) openOrCreateStream(ctx context.Context) (jetstream.Stream, error) {
	s, err := l.findStream(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) && (l.opt.KnownSeq > 0 || l.opt.Exists || l.opt.Damaged) {
		return nil, l.streamGone()
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = l.createStream(ctx)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) || errors.Is(err, context.DeadlineExceeded) { // another node was faster, or it may be there
			s, err = l.awaitStream(ctx)
		}
	}
	if fanfold.CodeOf(err) == fanfold.Conflict {
		return nil, err
	}
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot open stream %s: %v", l.opt.Database, err)
	}
	have, want := s.CachedInfo().Config, l.streamConfig()
	if err := l.checkFinished(have); err != nil {
		return nil, err
	}
	if have.MaxAge != 0 || have.MaxMsgs > 0 || have.MaxBytes > 0 || have.MaxMsgsPerSubject > 0 ||
		have.Storage != want.Storage || have.Retention != want.Retention || !have.AllowAtomicPublish || !have.AllowDirect {
		return nil, fanfold.Errorf(fanfold.Invalid, "stream %s exists with settings that could lose events; "+
			"it must be in files, without limits, with atomic publish and direct get", l.opt.Database)
	}
	return s, nil
}

// findStream returns the stream. A stream that another node makes at the same time has no leader for a moment, nor have servers
// that have just started: it is asked for again.
func (l *Log) findStream(ctx context.Context) (s jetstream.Stream, err error) {
	l.client.Await(ctx, func() (why error) {
		if s, err = l.js.Stream(ctx, l.opt.Database); servers.Leaderless(err) {
			return err
		}
		return nil
	})
	return s, err
}

// awaitStream returns the stream that another node has just made: for a moment a server may not know it yet.
func (l *Log) awaitStream(ctx context.Context) (s jetstream.Stream, err error) {
	for range checkRetries {
		if s, err = l.findStream(ctx); !errors.Is(err, jetstream.ErrStreamNotFound) {
			break
		}
		select {
		case <-time.After(checkPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s, err
}

// Failing returns why the last append was not stored, where the log is to blame, as Unavailable. It
// returns nil where it is not.
func (l *Log) Failing() error {
	run := l.run.Load()
	if err := l.suspended(run); err != nil {
		return err
	}
	if err := failureOf(run.syncer); err != nil {
		return err
	}
	reason, failed := l.health.failed()
	switch {
	case !failed:
		return nil
	case l.opt.Embedded != nil:
		return fanfold.Errorf(fanfold.Unavailable, "the log took no event at the last try (%s)", reason)
	}
	return fanfold.Errorf(fanfold.Unavailable, "the log took no event at the last try (%s); if a NATS server's disk was full, free some space and start that server again", reason)
}

// Size returns how many events and bytes the log has, as its server counts them, when Check last asked.
func (l *Log) Size() (events, bytes uint64) { return l.counted.Load(), l.size.Load() }

// Reachable returns nil while there is a connection to the log's server, and while it is lost for no longer than
// Options.Timeout, within which writes wait for it. It does not block; the error is Unavailable.
func (l *Log) Reachable() error {
	if l.health.lostFor(l.Connected()) < l.opt.Timeout {
		return nil
	}
	return fanfold.Errorf(fanfold.Unavailable, "the log's server is out of reach; nothing was written, try again once it is there")
}

// Window returns for how long the server drops a message whose id the stream has already.
func (l *Log) Window() time.Duration { return l.stream.CachedInfo().Config.Duplicates }

// MaxPayload returns the size in bytes of the largest message that the connected server takes.
func (l *Log) MaxPayload() int { return int(l.nc.MaxPayload()) }

// MaxBatch returns how many messages can be stored at once, where they are no transaction.
func (l *Log) MaxBatch() int {
	if l.opt.Embedded != nil {
		return MaxEmbeddedBatch
	}
	return MaxBatch
}

// JoinsLinks returns whether the log stores links and claims in the short form, in which a link may have several holders. A log on
// outside servers does not: nodes with earlier programs, which do not know the form, may fold it.
func (l *Log) JoinsLinks() bool { return l.opt.Embedded != nil }

// LastSeq asks the stream's leader for its last sequence. It blocks for a round trip; the error is
// Unavailable.
func (l *Log) LastSeq(ctx context.Context) (uint64, error) {
	var last uint64
	err := l.Outlast(ctx, func(ctx context.Context) error {
		run := l.run.Load()
		info, err := l.stream.Info(ctx)
		if err != nil {
			return fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be asked")
		}
		last = info.State.LastSeq
		run.highest.Advance(last)
		return nil
	})
	return last, err
}

// Stream returns the name of the log's stream.
func (l *Log) Stream() string { return l.opt.Database }

// Connected tells whether there is a connection to the log's server. It does not block.
func (l *Log) Connected() bool { return l.connection.Up() }

// Server returns the URL of the server that the log is connected to, "" while it is to none. It does not block.
func (l *Log) Server() string { return l.connection.Server() }
