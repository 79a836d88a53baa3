package node

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// snapshots takes copies of a node's read model for new nodes, one at a time, and says what became of them.
type snapshots struct {
	taking sync.Mutex // held while one is taken

	mu          sync.Mutex // guards what follows
	startedFrom *buckets.Snapshot
	last        *buckets.Snapshot
}

// status returns the snapshots' status, nil where there is none.
func (s *snapshots) status() *wire.SnapshotStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.startedFrom == nil && s.last == nil {
		return nil
	}
	return &wire.SnapshotStatus{StartedFrom: reportOf(s.startedFrom), Last: reportOf(s.last)}
}

// reportOf returns what is told of a snapshot, nil for none.
func reportOf(s *buckets.Snapshot) *wire.Snapshot {
	if s == nil {
		return nil
	}
	return &wire.Snapshot{Name: s.Name, Store: s.Store, Fold: s.Fold, Seq: s.Seq, Bytes: s.Bytes, Sum: s.Sum, Taken: s.Taken}
}

// savedFile is the name of the copy in the data directory from which a snapshot is sent.
const savedFile = "snapshot.db"

// TakeSnapshot puts a copy of the read model into the object store beside the log, for nodes that are new, and returns what it
// is. Folding, reads and writes go on. It blocks until the snapshot is complete. Errors are Conflict for an embedded log,
// where one is taken already, and where nothing was folded yet; ctx's; and Unavailable.
func (n *Node) TakeSnapshot(ctx context.Context) (snap buckets.Snapshot, err error) {
	if n.cfg.NATS == "" {
		return snap, fanfold.Errorf(fanfold.Conflict, "snapshots are for new nodes of a log on outside NATS servers (--nats), and this log is in the embedded server: copy the data directory of a node that is stopped, or run fanfold export")
	}
	if !n.snapshots.taking.TryLock() {
		return snap, fanfold.Errorf(fanfold.Conflict, "this node is taking a snapshot already: wait for its end")
	}
	defer n.snapshots.taking.Unlock()
	path := filepath.Join(n.cfg.Data, savedFile)
	defer func() { err = errors.Join(err, sqlite.RemoveSaved(path)) }()
	cp, err := n.Store.Save(ctx, path)
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
	if _, inForce := n.Log.Prefix().Erasures(); cp.Erasure != inForce {
		return snap, fanfold.Errorf(fanfold.Conflict, "this node is changing over to a read model without what is erased: take a snapshot once it has")
	}
	snap, err = buckets.NewSnapshots(n.Log).Put(ctx, buckets.Snapshot{Erasure: cp.Erasure, Store: n.Log.Store(), Fold: cp.Fold, Seq: cp.Seq, Event: cp.Event, Digest: cp.Digest}, f)
	if err != nil {
		return snap, err
	}
	snap.Taken = time.Now().UTC()
	n.snapshots.mu.Lock()
	defer n.snapshots.mu.Unlock()
	n.snapshots.last = &snap
	return snap, nil
}

// confirmTime is how long a start waits for a snapshot to be held against the whole log. A longer comparison goes on while
// the node runs, as with every read model.
const confirmTime = 10 * time.Second

// startFromSnapshot makes the newest snapshot that fits the read model, where that is empty and the log is not. If none
// fits, or something is wrong with it, the log is folded from its beginning, and the reason is logged. last is the log's
// last event. The error is ctx's.
func (n *Node) startFromSnapshot(ctx context.Context, last uint64) error {
	cp, err := n.Store.Checkpoint()
	if err != nil || cp.Seq > 0 || last == 0 || n.cfg.NATS == "" {
		return err
	}
	list, err := buckets.NewSnapshots(n.Log).List(ctx)
	if err != nil {
		n.cfg.Logger.Warn("the snapshots cannot be listed, and the log is folded from its beginning or its base", "err", err)
		return ctx.Err()
	}
	for _, snap := range list {
		began := time.Now()
		err := n.restore(ctx, snap, last)
		if err == nil {
			n.cfg.Logger.Info("the read model begins with a snapshot", "snapshot", snap.Name, "event", snap.Seq, "last", last, "bytes", snap.Bytes, "seconds", time.Since(began).Seconds())
			n.snapshots.startedFrom = &snap
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n.cfg.Logger.Warn("a snapshot is not used", "snapshot", snap.Name, "err", err)
	}
	what := "no snapshot can be used, and the log is folded from its beginning or its base"
	if len(list) == 0 {
		what = "there is no snapshot, and the log is folded from its beginning or its base"
	}
	n.cfg.Logger.Info(what, "last", last)
	return nil
}

// restore makes a snapshot the read model. Errors say why it cannot be used.
func (n *Node) restore(ctx context.Context, snap buckets.Snapshot, last uint64) error {
	switch _, inForce := n.Log.Prefix().Erasures(); {
	case snap.Erasure != inForce:
		return fanfold.Errorf(fanfold.Conflict, "it knows of the erasures up to event %d, and those up to event %d are in force", snap.Erasure, inForce)
	case snap.Store == "":
		return fanfold.Errorf(fanfold.Conflict, "what describes it cannot be read")
	case snap.Store != n.Log.Store():
		return fanfold.Errorf(fanfold.Conflict, "it is of store %q, and the log's is %s", snap.Store, n.Log.Store())
	case snap.Fold != fold.Fingerprint():
		return fanfold.Errorf(fanfold.Conflict, "it was made by %q, and this program has %q", snap.Fold, fold.Fingerprint())
	case snap.Seq < n.Log.Prefix().Base().Seq:
		return fanfold.Errorf(fanfold.Conflict, "it ends at event %d, and the log begins after event %d", snap.Seq, n.Log.Prefix().Base().Seq)
	case snap.Seq > last:
		return fanfold.Errorf(fanfold.Conflict, "it ends at event %d, and the log at %d", snap.Seq, last)
	}
	if err := n.Log.HasEvent(ctx, events.Known{Seq: snap.Seq, Event: snap.Event}); err != nil {
		return err
	}
	if err := n.confirm(ctx, snap); err != nil {
		return err
	}
	return n.Store.Restore(sqlite.Checkpoint{Seq: snap.Seq, Event: snap.Event, Digest: snap.Digest, Erasure: snap.Erasure}, func(w io.Writer) error {
		return buckets.NewSnapshots(n.Log).Get(ctx, snap, w)
	})
}

// confirm computes the digest of all events up to a snapshot's last one, and returns an error where it is another. It returns
// nil where that takes longer than confirmTime.
func (n *Node) confirm(ctx context.Context, snap buckets.Snapshot) error {
	limited, cancel := context.WithTimeout(ctx, confirmTime)
	defer cancel()
	chain, read, gaps := n.Log.Prefix().Base().Digest, n.Log.Prefix().Base().Seq, false
	err := n.Log.Scan(limited, read+1, snap.Seq, func(seq uint64, _ int, d fanfold.Digest) error {
		gaps = gaps || !fanfold.Follows(read, seq)
		chain, read = chain.Followed(d), seq
		return nil
	})
	switch {
	case limited.Err() != nil && ctx.Err() == nil:
		n.cfg.Logger.Info("the snapshot is held against the log while the node runs", "snapshot", snap.Name, "event", read)
		return nil
	case err != nil:
		return err
	case gaps || read != snap.Seq || chain != snap.Digest:
		return fanfold.Errorf(fanfold.Conflict, "its digest of all events up to %d is not that of the log", snap.Seq)
	}
	return nil
}

// runSnapshots takes a snapshot after each interval, unless another node has taken one meanwhile or nothing was folded, until
// ctx ends. It returns nil.
func (n *Node) runSnapshots(ctx context.Context) error {
	every := n.cfg.SnapshotEvery
	if every <= 0 || n.cfg.NATS == "" {
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
		name, err := n.snapshotIfDue(ctx, seen)
		if err != nil && ctx.Err() == nil {
			n.cfg.Logger.Warn("no snapshot was taken; the next one is after the interval", "err", err)
			continue
		}
		seen = name
	}
}

// snapshotIfDue takes a snapshot unless the newest one is another than the one seen, or has everything that was folded. It
// returns the name of the newest one.
func (n *Node) snapshotIfDue(ctx context.Context, seen string) (string, error) {
	list, err := buckets.NewSnapshots(n.Log).List(ctx)
	if err != nil {
		return seen, err
	}
	if len(list) > 0 && list[0].Store == n.Log.Store() && list[0].Fold == fold.Fingerprint() && (list[0].Name != seen && seen != "" || list[0].Seq >= n.Store.Applied.Seq()) {
		return list[0].Name, nil
	}
	snap, err := n.TakeSnapshot(ctx)
	if err != nil {
		return seen, err
	}
	n.cfg.Logger.Info("a snapshot was taken", "snapshot", snap.Name, "event", snap.Seq, "bytes", snap.Bytes)
	return snap.Name, nil
}
