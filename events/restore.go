package events

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// RestoreOptions say where a log is restored, and what it begins with.
type RestoreOptions struct {
	Embedded Embedded      // as in Options
	Database string        // as in Options
	Replicas int           // as in Options
	Patience time.Duration // how long outside servers may store nothing before the restore fails; default a minute
	Logger   *slog.Logger  // default slog.Default()

	Base   Base           // after which the log begins
	Origin fanfold.Origin // of the store that is made: at its beginning the store whose events these are
}

// Restoration makes a log of events that were kept elsewhere. Until Finish has returned, Open refuses the log. Its methods are for one
// goroutine, which calls Finish or gives up; what is there then is removed by the next restore.
type Restoration struct {
	log      *Log
	patience time.Duration
	answers  *servers.Answers // of an embedded server
	flying   []storedPart     // what was sent to it, and is not known to be stored

	last  uint64         // the last event that was added
	time  time.Time      // its time
	event fanfold.Digest // its digest
	chain fanfold.Digest // of all events up to it
	part  restoredPart   // what is to be sent next
}

// Restore makes the stream of a log that is restored. It first removes what an unfinished restore has left there, with the buckets
// beside it. Errors are Conflict where there is another log, or a bucket of one; Invalid; and Unavailable.
func Restore(ctx context.Context, nc *nats.Conn, opt RestoreOptions) (*Restoration, error) {
	o := Options{Embedded: opt.Embedded, Database: opt.Database, Replicas: opt.Replicas, Logger: opt.Logger, restoring: &restored{opt.Base, opt.Origin}}
	o.setDefaults()
	client, err := servers.NewClient(nc, o.Attempt, o.Logger)
	if err != nil {
		return nil, err
	}
	if err := newLog(client, nc, o).clearUnfinished(ctx); err != nil {
		return nil, err
	}
	r := &Restoration{patience: opt.Patience, last: opt.Base.Seq, chain: opt.Base.Digest}
	if r.patience == 0 {
		r.patience = time.Minute
	}
	if r.log, err = Open(ctx, nc, o); err != nil {
		return nil, err
	}
	if opt.Embedded != nil {
		r.answers, err = servers.NewAnswers(nc)
	}
	return r, err
}

// CheckRestorable returns Conflict where Restore would, and Unavailable. It touches nothing.
func CheckRestorable(ctx context.Context, nc *nats.Conn, database string) error {
	o := Options{Database: database}
	o.setDefaults()
	client, err := servers.NewClient(nc, o.Attempt, o.Logger)
	if err != nil {
		return err
	}
	_, err = newLog(client, nc, o).findUnfinished(ctx)
	return err
}

// findUnfinished returns the streams that an unfinished restore has left. The error is Conflict where there is another log, or a bucket
// of one that is gone.
func (l *Log) findUnfinished(ctx context.Context) (left []string, err error) {
	s, err := l.findStream(ctx)
	there := err == nil
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
	case err != nil:
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot ask for stream %s: %v", l.opt.Database, err)
	default:
		if _, unfinished := s.CachedInfo().Config.Metadata[restoringKey]; !unfinished {
			return nil, fanfold.Errorf(fanfold.Conflict, "there is a log already, stream %s: a backup is restored where there is none; nothing was touched", l.opt.Database)
		}
	}
	names, err := l.replicas.streams(ctx)
	if err != nil {
		return nil, err
	}
	prefix := "fanfold_" + l.opt.Database + "_"
	for _, beside := range []string{BucketPrefix + prefix + GroupsPurpose, ObjectsPrefix + prefix + BasePurpose, ObjectsPrefix + prefix + OtherBasePurpose} {
		if slices.Contains(names[1:], beside) {
			left = append(left, beside)
		}
	}
	switch {
	case there:
		left = append(left, l.opt.Database)
	case len(left) > 0:
		return nil, fanfold.Errorf(fanfold.Conflict, "there is no log, and what was beside one is left, stream %s: remove that first; nothing was touched", left[0])
	}
	return left, nil
}

// clearUnfinished removes what an unfinished restore has left, the log last. It returns the errors of findUnfinished.
func (l *Log) clearUnfinished(ctx context.Context) error {
	left, err := l.findUnfinished(ctx)
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := l.js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fanfold.Wrap(err, fanfold.Unavailable, "stream %s of a restore that was ended cannot be removed: %v", name, err)
		}
	}
	return nil
}

// Purposes of what is beside the log: a bucket, and an object store, which a restore fills. An erasure makes the object store anew under its
// other name.
const (
	GroupsPurpose    = "groups"
	BasePurpose      = "base"
	OtherBasePurpose = "base2"
)

// Log returns the log that is restored, for what is kept beside it.
func (r *Restoration) Log() *Log { return r.log }

// Add stores the next event: its sequence, time, subject, headers and payload. The caller may use all of them again once Add has
// returned. It waits where much is under way. After an error nothing more is added. Errors are Invalid for an event that is not the
// next one or has no place in this log; TooLarge; and Unavailable.
func (r *Restoration) Add(ctx context.Context, m *Message) error {
	if !fanfold.Follows(r.last, m.Seq) {
		return fanfold.Errorf(fanfold.Invalid, "event %d cannot follow event %d", m.Seq, r.last)
	}
	if _, _, err := r.log.sub.parse(m.Subject); err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "event %d has a subject that the log does not take: %v", m.Seq, err)
	}
	r.event, r.part.head = digest(r.part.head, m.Seq, m.Time, m.Subject, m.Headers, m.Data)
	r.chain = r.chain.Followed(r.event)
	r.last, r.time = m.Seq, m.Time
	if r.part.add(m); r.part.full(r.log.MaxBatch()) {
		return r.flush(ctx)
	}
	return nil
}

// Last returns the last event that was added, its digest, and the digest of all events up to it.
func (r *Restoration) Last() (seq uint64, event, chain fanfold.Digest) {
	return r.last, r.event, r.chain
}

// flush sends what was added and not sent.
func (r *Restoration) flush(ctx context.Context) error {
	p := &r.part
	if len(p.msgs) == 0 {
		return nil
	}
	var err error
	if r.answers != nil {
		err = r.sendEmbedded(ctx, p)
	} else {
		err = r.storeBatch(ctx, p)
	}
	p.msgs, p.size = p.msgs[:0], 0
	return err
}

// Finish waits until everything is stored, reads it through, and takes the mark away with which Open refuses the log. beside, which may be
// nil, is called before that. An embedded server's files are to be made durable afterwards. Errors are LogDamaged where the log does not
// have what was added, beside's, ctx's and Unavailable.
func (r *Restoration) Finish(ctx context.Context, progress func(read uint64), beside func(context.Context) error) error {
	if err := errors.Join(r.flush(ctx), r.land(ctx, 0)); err != nil {
		return err
	}
	if err := r.compare(ctx, progress); err != nil {
		return err
	}
	if beside != nil {
		if err := beside(ctx); err != nil {
			return err
		}
	}
	info, err := r.log.stream.Info(ctx)
	if err == nil {
		_, err = r.log.js.UpdateStream(ctx, finished(info.Config))
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the restored log cannot be marked as finished: %v", err)
	}
	return nil
}

// compare reads what is stored, and returns LogDamaged where it is not what was added.
func (r *Restoration) compare(ctx context.Context, progress func(read uint64)) error {
	base := r.log.prefix.Base()
	chain, read := base.Digest, base.Seq
	err := r.log.Scan(ctx, read+1, r.last, func(seq uint64, _ int, d fanfold.Digest) error {
		if !fanfold.Follows(read, seq) {
			return fanfold.Errorf(fanfold.LogDamaged, "the restored log has event %d after event %d; begin anew", seq, read)
		}
		chain, read = chain.Followed(d), seq
		if progress != nil && seq%1024 == 0 {
			progress(seq)
		}
		return nil
	})
	if err == nil && (read != r.last || chain != r.chain) {
		err = fanfold.Errorf(fanfold.LogDamaged, "the restored log ends with event %d, and its digest is %s instead of %s of event %d; begin anew", read, chain, r.chain, r.last)
	}
	if err == nil {
		var last uint64
		if last, err = r.log.LastSeq(ctx); err == nil && last != r.last {
			err = fanfold.Errorf(fanfold.LogDamaged, "the restored log ends with event %d instead of %d; begin anew", last, r.last)
		}
	}
	return err
}
