// Package transfer has the ways between a log and a backup: it makes backups of a log, and logs of backups.
package transfer

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/changefeed/group"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/internal/datadir"
	"github.com/fanfold/fanfold/internal/wire"
)

// RestoreConfig says where a backup is restored. Either Data or NATS is given.
type RestoreConfig struct {
	Data        string // a directory that is empty or not there, for a log in the embedded server
	NATS        string // the URLs of outside servers without the log
	Credentials servers.Credentials
	Replicas    int    // as in Config
	To          string // a position or an RFC 3339 time where the restored store ends; "" for the backup's end
	// Erasures, with Data, are erased before the store first serves, as far as it has them.
	Erasures []wire.ErasedDocument
	Progress fanfold.Progress
	Logger   *slog.Logger

	Fsync func(*os.File) error    // for tests: see embedded.Options
	Step  func(done string) error // for tests: is asked after each step, and its error ends the restore
	Sent  func(seq uint64) error  // for tests: likewise after each event
}

// FinishedStream is the step after which a restored log is no longer refused.
const FinishedStream = "finished the stream"

// Restored says what was restored.
type Restored struct {
	Store    fanfold.StoreID `json:"store"` // the new store
	From     fanfold.StoreID `json:"from"`  // the store of the backup
	Last     uint64          `json:"last"`  // the last event
	Time     time.Time       `json:"time,omitzero"`
	Base     uint64          `json:"base,omitempty"` // the event after which the store begins, where its first events are gone
	Events   uint64          `json:"events"`
	Groups   int             `json:"groups"`
	Digest   fanfold.Digest  `json:"digest"` // of all events
	Position string          `json:"position"`
}

// Restore makes a log of a backup, with its base and the consumer groups beside it. It reads the whole backup through before it writes anything. It
// first removes what a restore that was ended has left in the same place. It blocks until the log is durable. Errors are backup.Damage, within
// an Invalid; Invalid for a place or an end that cannot be; Conflict for a place that is not empty; ctx's; and Unavailable. TooLarge is for
// servers that take no messages of the size.
func Restore(ctx context.Context, b *backup.Backup, cfg RestoreConfig) (*Restored, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	r := &restorer{cfg: cfg, backup: b}
	if (cfg.Data == "") == (cfg.NATS == "") {
		return nil, fanfold.Errorf(fanfold.Invalid, "a backup is restored either into a directory, --data, or onto NATS servers, --nats")
	}
	if cfg.NATS == "" {
		return r.intoDirectory(ctx)
	}
	if len(cfg.Erasures) > 0 {
		return nil, fanfold.Errorf(fanfold.Invalid, "--erasures goes with --data, for nobody can keep nodes from serving a log on NATS servers: "+
			"restore into a directory, start that once, and restore a backup of it onto the servers")
	}
	return r.onServers(ctx)
}

// restorer restores one backup.
type restorer struct {
	cfg    RestoreConfig
	backup *backup.Backup
	plan   *restorePlan
	to     *events.Restoration
}

// step tells a test what was done.
func (r *restorer) step(done string) error {
	if r.cfg.Step == nil {
		return nil
	}
	return r.cfg.Step(done)
}

// onServers restores onto outside servers.
func (r *restorer) onServers(ctx context.Context) (*Restored, error) {
	nc, err := servers.Dial(ctx, r.cfg.NATS, r.cfg.Credentials, r.cfg.Logger)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	if err := events.CheckRestorable(ctx, nc, ""); err != nil { // before the backup is read, which takes its time
		return nil, err
	}
	if r.plan, err = planRestore(ctx, r.backup, r.cfg.To, r.cfg.Progress); err != nil {
		return nil, err
	}
	if limit := int(nc.MaxPayload()); r.plan.largest > limit {
		return nil, fanfold.Errorf(fanfold.TooLarge, "the backup has a message of %d bytes, and the NATS server takes at most %d: set its max_payload to that of the server from which the backup comes; nothing was written", r.plan.largest, limit)
	}
	return r.fill(ctx, nc, events.RestoreOptions{Replicas: r.cfg.Replicas})
}

// intoDirectory restores into a data directory.
func (r *restorer) intoDirectory(ctx context.Context) (out *Restored, err error) {
	if err := checkRestorable(r.cfg.Data); err != nil {
		return nil, err
	}
	if r.plan, err = planRestore(ctx, r.backup, r.cfg.To, r.cfg.Progress); err != nil {
		return nil, err
	}
	lock, err := datadir.LockRestoring(r.cfg.Data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := r.markDirectory(); err != nil {
		return nil, err
	}
	if out, err = r.fillDirectory(ctx); err != nil {
		return nil, err
	}
	if err := forget.WriteEraseFirst(r.cfg.Data, r.cfg.Erasures); err != nil {
		return nil, err
	}
	return out, r.finishDirectory(out)
}

// fillDirectory starts a server in the directory, and stores the events.
func (r *restorer) fillDirectory(ctx context.Context) (out *Restored, err error) {
	server, err := embedded.Start(ctx, embedded.Options{Dir: filepath.Join(r.cfg.Data, "nats"), Durability: embedded.Interval, Logger: r.cfg.Logger, Fsync: r.cfg.Fsync})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	nc, err := server.Connect()
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	return r.fill(ctx, nc, events.RestoreOptions{Embedded: server, Replicas: 1})
}

// fill stores the events, the base and the groups.
func (r *restorer) fill(ctx context.Context, nc *nats.Conn, opt events.RestoreOptions) (out *Restored, err error) {
	b := r.backup
	opt.Logger, opt.Origin = r.cfg.Logger, b.Predecessors.After(b.Store, r.plan.last)
	if b.Base != nil {
		opt.Base = events.Base{Seq: b.Base.Seq, Digest: b.Base.Digest, AsOf: fanfold.AsOf(b.Erasure)}
	}
	if r.to, err = events.Restore(ctx, nc, opt); err != nil {
		return nil, err
	}
	if err := r.step("made the stream"); err != nil {
		return nil, err
	}
	if err := r.addAll(ctx, opt.Base.Seq); err != nil {
		return nil, err
	}
	last, event, chain := r.to.Last()
	if last == b.Position && chain != b.Digest {
		return nil, fanfold.Errorf(fanfold.Internal, "the digest of what was restored is %s, and the backup's is %s", chain, b.Digest)
	}
	total := int64(last - opt.Base.Seq)
	err = r.to.Finish(ctx, func(read uint64) { r.cfg.Progress.Tell("reading the log", int64(read-opt.Base.Seq), total) }, r.addBeside)
	if err != nil {
		return nil, err
	}
	r.plan.event = event
	store := r.to.Log().Store()
	return &Restored{Store: store, From: b.Store, Last: last, Time: r.plan.time, Base: opt.Base.Seq, Events: last - opt.Base.Seq, Groups: len(b.Groups), Digest: chain,
		Position: fanfold.Issuer{Store: store}.Mark(fanfold.EndOf(last)).String()}, r.step(FinishedStream)
}

// addAll stores the events up to the end.
func (r *restorer) addAll(ctx context.Context, base uint64) error {
	total := int64(r.plan.last - base)
	err := r.backup.Events(ctx, base, func(ev *backup.Event) error {
		if ev.Seq > r.plan.last {
			return errRestored
		}
		m := MessageOf(ev)
		if ev.Seq == r.plan.cutBatch {
			events.ForgetBatch(m.Headers)
		}
		if err := r.to.Add(ctx, &m); err != nil {
			return err
		}
		if ev.Seq%1024 == 0 {
			r.cfg.Progress.Tell("restoring", int64(ev.Seq-base), total)
		}
		if r.cfg.Sent != nil {
			return r.cfg.Sent(ev.Seq)
		}
		return nil
	})
	if errors.Is(err, errRestored) {
		return nil
	}
	return err
}

// errRestored says that all events are stored up to the end.
var errRestored = errors.New("all is restored")

// addBeside makes what is beside the log: the base, and the consumer groups.
func (r *restorer) addBeside(ctx context.Context) error {
	if err := r.step("stored the events"); err != nil {
		return err
	}
	log := r.to.Log()
	if base := r.backup.Base; base != nil {
		if err := r.addBase(ctx, base); err != nil {
			return err
		}
	}
	if len(r.backup.Groups) == 0 {
		return nil
	}
	if err := group.Restore(ctx, buckets.NewKeyValue(log, events.GroupsPurpose), log.Store(), r.plan.last, r.backup.Groups); err != nil {
		return err
	}
	return r.step("made the groups")
}

// addBase puts the base where the log names it.
func (r *restorer) addBase(ctx context.Context, base *backup.Base) error {
	file, err := r.backup.OpenBase()
	if err != nil {
		return err
	}
	log := r.to.Log()
	_, err = buckets.NewSnapshots(log).Put(ctx, buckets.Snapshot{BaseFile: fanfold.BaseFile{Name: base.Name}, Base: true, Store: log.Store(), Seq: base.Seq, Digest: base.Digest, Erasure: r.backup.Erasure}, file)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return r.step("stored the base")
}
