package node

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/sqlite"
)

// backupsMade remembers the last backup that the node made.
type backupsMade struct {
	mu   sync.Mutex
	time time.Time // zero for none since the start
	seq  uint64

	erasure uint64 // that was in force
}

// add takes note of a backup up to an event.
func (b *backupsMade) add(seq, erasure uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.time, b.seq, b.erasure = time.Now(), seq, erasure
}

// beforeErasure returns the last backup that the node has served where something was erased since, nil otherwise.
func (n *Node) beforeErasure() *wire.ErasedBackup {
	_, inForce := n.Log.Prefix().Erasures()
	b := &n.backups
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.time.IsZero() || b.erasure >= inForce {
		return nil
	}
	return &wire.ErasedBackup{Time: b.time.UTC(), Last: n.issuer().Mark(fanfold.EndOf(b.seq)), Erasure: inForce}
}

// last returns when the last backup was made, and its last event.
func (b *backupsMade) last() (at time.Time, seq uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.time, b.seq
}

// Backup writes a stream of the events after one, as package backup reads it, up to the last one that is folded. A log that begins after that
// event is written from there on, with the file of its base, unless the reader has that. base is the event up to which the reader's base
// stands, 0 for none. Backup tells begin the last position before it writes anything. It reads the log, holds one segment in memory, and blocks
// until all is written. The error is Invalid for an event that is yet to come, and LogDamaged where the log lacks an event, or has another one
// than was folded. Others are ctx's, Unavailable, also if the store was compacted meanwhile, and the errors of begin's writer. A stream has a
// manifest only if there is no error.
func (n *Node) Backup(ctx context.Context, after, base uint64, begin func(at fanfold.Position) io.Writer) error {
	groups, err := n.groups.Backup(ctx) // before the position is chosen, so that no checkpoint is after it
	if err != nil {
		return err
	}
	cp, h, name, err := awaitBackupEnd(ctx, n, after)
	if err != nil {
		return err
	}
	m := backup.Manifest{Store: n.Log.Store(), Predecessors: n.Log.Origin(), Groups: groups, PositionTime: cp.Time.UTC(), Erasure: cp.Erasure}
	m.Fold, _ = n.Projector.FoldOf(cp.Seq)
	if h.Seq > 0 {
		m.Base = &backup.Base{Point: backup.Point{Seq: h.Seq, Digest: h.Digest}}
	}
	var file buckets.Base
	bases := buckets.NewBases(n.Log)
	if h.Seq > 0 && h.Seq != base {
		if file, err = bases.Find(ctx, h.Seq, h.Digest, name); err != nil {
			return err
		}
		m.Base = backup.NewBase(h, file.BaseFile)
	}
	from := backup.Point{Seq: h.Seq, Digest: h.Digest}
	if after > h.Seq {
		if from.Digest, err = n.digestAt(ctx, after); err != nil {
			return err
		}
		from.Seq = after
		m.After = &from
	}
	w := begin(cp.At())
	if err := ctx.Err(); err != nil {
		return err
	}
	s, err := backup.NewStream(w, from, time.Now())
	if err == nil && file.Name != "" {
		err = s.WriteBase(m.Base, func(w io.Writer) error { return bases.Get(ctx, file, w) })
	}
	if err == nil {
		err = n.writeEvents(ctx, s, from, cp)
	}
	if err == nil {
		err = s.Finish(m)
	}
	if _, inForce := n.Log.Prefix().Erasures(); err != nil && ctx.Err() == nil && (n.Log.Prefix().Base().Seq > h.Seq || inForce != cp.Erasure) {
		err = fanfold.Wrap(err, fanfold.Unavailable, "the store was compacted, or something was erased, while the backup was made: begin it anew")
	}
	if err == nil {
		n.backups.add(cp.Seq, cp.Erasure)
	}
	return err
}

// changeOverTime is for how long a backup waits for a read model without what was erased, which the node has prepared by then.
const changeOverTime = 10 * time.Second

// errChangesOver is the cause of the error of a node that changes over to a read model without what was erased.
var errChangesOver = errors.New("the read model has what was erased")

// awaitBackupEnd does what backupEnd does, once the node has changed over to a read model without what was erased.
func awaitBackupEnd(ctx context.Context, n *Node, after uint64) (cp sqlite.Checkpoint, h fanfold.Horizon, name string, err error) {
	limit := time.Now().Add(changeOverTime)
	for {
		if cp, h, name, err = n.backupEnd(after); !errors.Is(err, errChangesOver) || time.Now().After(limit) {
			return cp, h, name, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return cp, h, name, err
		}
	}
}

// backupEnd returns the checkpoint up to which a backup goes, and where it begins if the log does not begin with its first event. name is the base's,
// if the log says it. The error is Invalid for a backup after an event that is yet to come, and Unavailable.
func (n *Node) backupEnd(after uint64) (cp sqlite.Checkpoint, h fanfold.Horizon, name string, err error) {
	err = n.Store.Read(func(s *sqlite.Snapshot) error {
		cp = s.Checkpoint
		h, _, err = s.Horizon()
		return err
	})
	if err == nil && after > cp.Seq {
		err = fanfold.Errorf(fanfold.Invalid, "event %d is yet to come: the last one here is %d", after, cp.Seq)
	}
	if _, inForce := n.Log.Prefix().Erasures(); err == nil && (inForce != cp.Erasure || n.Forget.BaseLacks(inForce)) {
		err = fanfold.Wrap(errChangesOver, fanfold.Unavailable, "this node changes over to a read model without what was erased: try again")
	}
	base := n.Log.Prefix().Base()
	if err == nil && (base.Seq < h.Seq || base.Seq > cp.Seq) {
		err = fanfold.Errorf(fanfold.Unavailable, "the store begins after event %d by now, and this node has not come so far: try again", max(base.Seq, h.Seq))
	}
	if base.Seq > h.Seq { // the compact event is yet to be folded
		h = fanfold.Horizon{Seq: base.Seq, Digest: base.Digest}
	}
	if c, _ := n.Log.Prefix().Compaction(); c != nil && c.Seq == base.Seq {
		h, name = c.Horizon, c.Base.Name
	}
	return cp, h, name, err
}

// yieldEvery is how many events are read before others may use the processor.
const yieldEvery = 32

// writeEvents writes the events after a point up to a checkpoint.
func (n *Node) writeEvents(ctx context.Context, s *backup.Stream, from backup.Point, cp sqlite.Checkpoint) error {
	read := from.Seq
	var ev backup.Event
	if err := n.Log.Messages(ctx, from.Seq+1, cp.Seq, func(msg *events.Message) error {
		read = msg.Seq
		fillEvent(&ev, msg)
		if read%yieldEvery == 0 {
			runtime.Gosched() // requests come first
		}
		return s.AddDigested(&ev, msg.Digest())
	}); err != nil {
		return err
	}
	switch {
	case read != cp.Seq:
		return fanfold.Errorf(fanfold.LogDamaged, "the log lacks the events from %d to %d; %s", read+1, cp.Seq, events.Repair)
	case s.Digest() != cp.Digest:
		return fanfold.Errorf(fanfold.LogDamaged, "among the log's events up to %d is one that is not what was folded: fanfold verify --log says which; %s", cp.Seq, events.Repair)
	}
	return nil
}

// fillEvent makes a message an event of a backup.
func fillEvent(ev *backup.Event, msg *events.Message) {
	*ev = backup.Event{Seq: msg.Seq, Time: msg.Time, Subject: msg.Subject, Headers: ev.Headers[:0], Payload: msg.Data}
	for name, values := range msg.Headers {
		if backup.KeepsHeader(name) && len(values) > 0 {
			ev.Headers = append(ev.Headers, backup.Header{Name: name, Value: values[0]})
		}
	}
	slices.SortFunc(ev.Headers, func(a, b backup.Header) int { return cmp.Compare(a.Name, b.Name) })
}

// digestAt returns the digest of all events up to one that is folded. It reads the log from the last event on whose digest the read model
// has. Errors are LogDamaged, ctx's and Unavailable.
func (n *Node) digestAt(ctx context.Context, seq uint64) (fanfold.Digest, error) {
	at := sqlite.LogDigest{Seq: n.Log.Prefix().Base().Seq, Digest: n.Log.Prefix().Base().Digest}
	err := n.Store.Read(func(s *sqlite.Snapshot) error {
		known, err := s.LastLogDigest(seq)
		if known.Seq > at.Seq {
			at = known
		}
		return err
	})
	if err == nil {
		err = n.Log.Scan(ctx, at.Seq+1, seq, func(next uint64, _ int, d fanfold.Digest) error {
			if fanfold.Follows(at.Seq, next) {
				at = sqlite.LogDigest{Seq: next, Digest: at.Digest.Followed(d)}
			}
			return nil
		})
	}
	if err == nil && at.Seq != seq {
		err = fanfold.Errorf(fanfold.LogDamaged, "the log lacks event %d; %s", at.Seq+1, events.Repair)
	}
	return at.Digest, err
}

// CatchUp folds what the log has up to its end, on a node that does not run. It blocks until that is folded. Errors are ctx's, and why the
// projector stopped.
func (n *Node) CatchUp(ctx context.Context) error {
	last, err := n.Log.LastSeq(ctx)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- n.Projector.Run(running) }()
	err = n.Store.Applied.Wait(ctx, last)
	stop()
	return errors.Join(err, <-ended)
}
