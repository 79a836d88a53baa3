// Package snapshot takes copies of a node's read model for new nodes of its log, and lets such a node start from one.
package snapshot

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// Options says whose copies are taken.
type Options struct {
	Log      *events.Log
	Store    *sqlite.Store
	Data     string        // the data directory
	Embedded bool          // the log is in this process, and has no other nodes
	Every    time.Duration // between two copies; 0 for none
	Logger   *slog.Logger
}

// Snapshots takes copies of a node's read model, one at a time, and says what became of them.
type Snapshots struct {
	opt    Options
	bucket *buckets.Snapshots
	taking sync.Mutex // held while one is taken

	mu          sync.Mutex // guards what follows
	startedFrom *buckets.Snapshot
	last        *buckets.Snapshot
}

// New returns what takes copies.
func New(opt Options) *Snapshots { return &Snapshots{opt: opt, bucket: buckets.NewSnapshots(opt.Log)} }

// Status returns which snapshots the node had to do with, nil for none.
func (s *Snapshots) Status() *wire.SnapshotStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.startedFrom == nil && s.last == nil {
		return nil
	}
	return &wire.SnapshotStatus{StartedFrom: Report(s.startedFrom), Last: Report(s.last)}
}

// Forget removes a copy that was being sent, which may have what is erased. The error is Unavailable while one is taken.
func (s *Snapshots) Forget() error {
	if !s.taking.TryLock() {
		return fanfold.Errorf(fanfold.Unavailable, "a snapshot is being taken, which may have what is erased: this waits for its end")
	}
	defer s.taking.Unlock()
	return sqlite.RemoveSaved(s.path())
}

// path returns the path of the copy from which a snapshot is sent.
func (s *Snapshots) path() string { return filepath.Join(s.opt.Data, "snapshot.db") }

// Report returns what is told of a snapshot, nil for none.
func Report(s *buckets.Snapshot) *wire.Snapshot {
	if s == nil {
		return nil
	}
	return &wire.Snapshot{Name: s.Name, Store: s.Store, Fold: s.Fold, Seq: s.Seq, Bytes: s.Bytes, SHA256: s.Sum.String(), Taken: s.Taken}
}

// Take puts a copy of the read model into the object store beside the log, for nodes that are new, and returns what it
// is. Folding, reads and writes go on. It blocks until the snapshot is complete. Errors are Conflict for an embedded log,
// where one is taken already, and where nothing was folded yet; ctx's; and Unavailable.
func (s *Snapshots) Take(ctx context.Context) (snap buckets.Snapshot, err error) {
	if s.opt.Embedded {
		return snap, fanfold.Errorf(fanfold.Conflict, "snapshots are for new nodes of a log on outside NATS servers (--nats), and this log is in the embedded server: copy the data directory of a node that is stopped, or run fanfold export")
	}
	if !s.taking.TryLock() {
		return snap, fanfold.Errorf(fanfold.Conflict, "this node is taking a snapshot already: wait for its end")
	}
	defer s.taking.Unlock()
	path := s.path()
	defer func() { err = errors.Join(err, sqlite.RemoveSaved(path)) }()
	cp, err := s.opt.Store.Save(ctx, path)
	if err != nil {
		return snap, err
	}
	if cp.Seq == 0 {
		return snap, fanfold.Errorf(fanfold.Conflict, "the log has no event that could be in a snapshot")
	}
	f, err := os.Open(path)
	if err != nil {
		return snap, err
	}
	defer f.Close()
	if _, inForce := s.opt.Log.Prefix().Erasures(); cp.AsOf != inForce {
		return snap, fanfold.Errorf(fanfold.Conflict, "this node is changing over to a read model without what is erased: take a snapshot once it has")
	}
	snap, err = s.bucket.Put(ctx, buckets.Snapshot{Erasure: uint64(cp.AsOf), Store: s.opt.Log.Store(), Fold: cp.Fold, Seq: cp.Seq, Event: cp.Event, Digest: cp.Digest}, f)
	if err != nil {
		return snap, err
	}
	snap.Taken = time.Now().UTC()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = &snap
	return snap, nil
}

// confirmTime is how long a start waits for a snapshot to be held against the whole log. A longer comparison goes on while
// the node runs, as with every read model.
const confirmTime = 10 * time.Second

// Start makes the newest snapshot that fits the read model, where that is empty and the log is not. If none
// fits, or something is wrong with it, the log is folded from its beginning, and the reason is logged. last is the log's
// last event. The error is ctx's.
func (s *Snapshots) Start(ctx context.Context, last uint64) error {
	cp, err := s.opt.Store.Checkpoint()
	if err != nil || cp.Seq > 0 || last == 0 || s.opt.Embedded {
		return err
	}
	list, err := s.copies(ctx)
	if err != nil {
		s.opt.Logger.Warn("the snapshots cannot be listed, and the log is folded from its beginning or its base", "err", err)
		return ctx.Err()
	}
	for _, snap := range list {
		began := time.Now()
		err := s.restore(ctx, snap, last)
		if err == nil {
			s.opt.Logger.Info("the read model begins with a snapshot", "snapshot", snap.Name, "event", snap.Seq, "last", last, "bytes", snap.Bytes, "seconds", time.Since(began).Seconds())
			s.startedFrom = &snap
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.opt.Logger.Warn("a snapshot is not used", "snapshot", snap.Name, "err", err)
	}
	what := "no snapshot can be used, and the log is folded from its beginning or its base"
	if len(list) == 0 {
		what = "there is no snapshot, and the log is folded from its beginning or its base"
	}
	s.opt.Logger.Info(what, "last", last)
	return nil
}

// copies returns the snapshots that are copies of a read model, the latest first. The projector begins with the base where none of them can be used: one from
// before the base never can. The error is Unavailable.
func (s *Snapshots) copies(ctx context.Context) ([]buckets.Snapshot, error) {
	list, err := s.bucket.List(ctx)
	return slices.DeleteFunc(list, func(snap buckets.Snapshot) bool { return snap.Base }), err
}

// restore makes a snapshot the read model. Errors say why it cannot be used.
func (s *Snapshots) restore(ctx context.Context, snap buckets.Snapshot, last uint64) error {
	switch _, inForce := s.opt.Log.Prefix().Erasures(); {
	case fanfold.AsOf(snap.Erasure) != inForce:
		return fanfold.Errorf(fanfold.Conflict, "it knows of the erasures up to event %d, and those up to event %d are in force", snap.Erasure, inForce)
	case snap.Store == "":
		return fanfold.Errorf(fanfold.Conflict, "what describes it cannot be read")
	case snap.Store != s.opt.Log.Store():
		return fanfold.Errorf(fanfold.Conflict, "it is of store %q, and the log's is %s", snap.Store, s.opt.Log.Store())
	case snap.Fold != fold.Fingerprint():
		return fanfold.Errorf(fanfold.Conflict, "it was made by %q, and this program has %q", snap.Fold, fold.Fingerprint())
	case snap.Seq < s.opt.Log.Prefix().Base().Seq:
		return fanfold.Errorf(fanfold.Conflict, "it ends at event %d, and the log begins after event %d", snap.Seq, s.opt.Log.Prefix().Base().Seq)
	case snap.Seq > last:
		return fanfold.Errorf(fanfold.Conflict, "it ends at event %d, and the log at %d", snap.Seq, last)
	}
	if err := s.opt.Log.HasEvent(ctx, events.Known{Seq: snap.Seq, Event: snap.Event}); err != nil {
		return err
	}
	if err := s.confirm(ctx, snap); err != nil {
		return err
	}
	return s.opt.Store.Restore(sqlite.Checkpoint{Seq: snap.Seq, Event: snap.Event, Digest: snap.Digest, AsOf: fanfold.AsOf(snap.Erasure)}, func(w io.Writer) error {
		return s.bucket.Get(ctx, snap, w)
	})
}

// confirm computes the digest of all events up to a snapshot's last one, and returns an error where it is another. It returns
// nil where that takes longer than confirmTime.
func (s *Snapshots) confirm(ctx context.Context, snap buckets.Snapshot) error {
	limited, cancel := context.WithTimeout(ctx, confirmTime)
	defer cancel()
	chain, read, gaps := s.opt.Log.Prefix().Base().Digest, s.opt.Log.Prefix().Base().Seq, false
	err := s.opt.Log.Scan(limited, read+1, snap.Seq, func(seq uint64, _ int, d fanfold.Digest) error {
		gaps = gaps || !fanfold.Follows(read, seq)
		chain, read = chain.Followed(d), seq
		return nil
	})
	switch {
	case limited.Err() != nil && ctx.Err() == nil:
		s.opt.Logger.Info("the snapshot is held against the log while the node runs", "snapshot", snap.Name, "event", read)
		return nil
	case err != nil:
		return err
	case gaps || read != snap.Seq || chain != snap.Digest:
		return fanfold.Errorf(fanfold.Conflict, "its digest of all events up to %d is not that of the log", snap.Seq)
	}
	return nil
}

// Run takes a snapshot after each interval, unless another node has taken one meanwhile or nothing was folded, until
// ctx ends. It returns nil.
func (s *Snapshots) Run(ctx context.Context) error {
	every := s.opt.Every
	if every <= 0 || s.opt.Embedded {
		return nil
	}
	seen := ""
	for first := true; ; first = false {
		pause := every
		if first { // so that nodes that were started together take turns
			pause = every/2 + rand.N(every/2+1)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
		name, err := s.takeIfDue(ctx, seen)
		if err != nil && ctx.Err() == nil {
			s.opt.Logger.Warn("no snapshot was taken; the next one is after the interval", "err", err)
			continue
		}
		seen = name
	}
}

// takeIfDue takes a snapshot unless the newest one is another than the one seen, or has everything that was folded. It
// returns the name of the newest one.
func (s *Snapshots) takeIfDue(ctx context.Context, seen string) (string, error) {
	list, err := s.copies(ctx)
	if err != nil {
		return seen, err
	}
	if len(list) > 0 && list[0].Store == s.opt.Log.Store() && list[0].Fold == fold.Fingerprint() && (list[0].Name != seen && seen != "" || list[0].Seq >= s.opt.Store.Applied.Seq()) {
		return list[0].Name, nil
	}
	snap, err := s.Take(ctx)
	if err != nil {
		return seen, err
	}
	s.opt.Logger.Info("a snapshot was taken", "snapshot", snap.Name, "event", snap.Seq, "bytes", snap.Bytes)
	return snap.Name, nil
}
