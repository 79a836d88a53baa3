package transfer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/changefeed/group"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/sqlite"
)

// Parts are what backups are made of.
type Parts struct {
	Log       *events.Log
	Store     *sqlite.Store
	Projector *projector.Projector
	Groups    *group.Groups // for the node itself
	Issuer    fanfold.Issuer
	Forget    *forget.Forgetter
}

// Backups makes backups of a log, and remembers the last one.
type Backups struct {
	Parts

	mu   sync.Mutex
	time time.Time // of the last one; zero for none since the start
	seq  uint64
	asOf fanfold.AsOf
}

// NewBackups returns what makes backups of a log.
func NewBackups(p Parts) *Backups { return &Backups{Parts: p} }

// made takes note of a backup up to an event.
func (b *Backups) made(seq uint64, asOf fanfold.AsOf) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.time, b.seq, b.asOf = time.Now(), seq, asOf
}

// BeforeErasure returns the last backup where something was erased since, nil otherwise.
func (b *Backups) BeforeErasure() *wire.ErasedBackup {
	_, inForce := b.Log.Prefix().Erasures()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.time.IsZero() || b.asOf >= inForce {
		return nil
	}
	return &wire.ErasedBackup{Time: b.time.UTC(), Last: b.Issuer.Mark(fanfold.EndOf(b.seq)).String(), Erasure: uint64(inForce)}
}

// Last returns when the last backup was made, and its last event.
func (b *Backups) Last() (at time.Time, seq uint64) {
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
func (b *Backups) Backup(ctx context.Context, after, base uint64, begin func(at fanfold.Position) io.Writer) error {
	groups, err := b.Groups.Backup(ctx) // before the position is chosen, so that no checkpoint is after it
	if err != nil {
		return err
	}
	cp, h, name, err := b.awaitEnd(ctx, after)
	if err != nil {
		return err
	}
	m := backup.Manifest{Store: b.Log.Store(), Predecessors: b.Log.Origin(), Groups: groups, PositionTime: cp.Time.UTC(), Erasure: uint64(cp.AsOf)}
	m.Fold, _ = b.Projector.FoldOf(cp.Seq)
	if h.Seq > 0 {
		m.Base = &backup.Base{Point: backup.Point{Seq: h.Seq, Digest: h.Digest}}
	}
	var file buckets.Snapshot
	snapshots := buckets.NewSnapshots(b.Log)
	if h.Seq > 0 && h.Seq != base {
		if file, err = snapshots.FindBase(ctx, h.Seq, h.Digest, name); err != nil {
			return err
		}
		m.Base = backup.NewBase(h, file.BaseFile)
	}
	from := backup.Point{Seq: h.Seq, Digest: h.Digest}
	if after > h.Seq {
		if from.Digest, err = b.digestAt(ctx, after); err != nil {
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
		err = s.WriteBase(m.Base, func(w io.Writer) error { return snapshots.Get(ctx, file, w) })
	}
	if err == nil {
		err = b.writeEvents(ctx, s, from, cp)
	}
	if err == nil {
		err = s.Finish(m)
	}
	if _, inForce := b.Log.Prefix().Erasures(); err != nil && ctx.Err() == nil && (b.Log.Prefix().Base().Seq > h.Seq || inForce != cp.AsOf) {
		err = fanfold.Wrap(err, fanfold.Unavailable, "the store was compacted, or something was erased, while the backup was made: begin it anew")
	}
	if err == nil {
		b.made(cp.Seq, cp.AsOf)
	}
	return err
}

// changeOverTime is for how long a backup waits for a read model without what was erased, which the node has prepared by then.
const changeOverTime = 10 * time.Second

// errChangesOver is the cause of the error of a node that changes over to a read model without what was erased.
var errChangesOver = errors.New("the read model has what was erased")

// awaitEnd does what backupEnd does, once the node has changed over to a read model without what was erased.
func (b *Backups) awaitEnd(ctx context.Context, after uint64) (cp sqlite.Checkpoint, h fanfold.Horizon, name string, err error) {
	limit := time.Now().Add(changeOverTime)
	for {
		if cp, h, name, err = b.backupEnd(after); !errors.Is(err, errChangesOver) || time.Now().After(limit) {
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
func (b *Backups) backupEnd(after uint64) (cp sqlite.Checkpoint, h fanfold.Horizon, name string, err error) {
	err = b.Store.Read(func(s *sqlite.Snapshot) error {
		cp = s.Checkpoint
		h, _, err = s.Horizon()
		return err
	})
	if err == nil && after > cp.Seq {
		err = fanfold.Errorf(fanfold.Invalid, "event %d is yet to come: the last one here is %d", after, cp.Seq)
	}
	if _, inForce := b.Log.Prefix().Erasures(); err == nil && (inForce != cp.AsOf || b.Forget.BaseLacks(inForce)) {
		err = fanfold.Wrap(errChangesOver, fanfold.Unavailable, "this node changes over to a read model without what was erased: try again")
	}
	base := b.Log.Prefix().Base()
	if err == nil && (base.Seq < h.Seq || base.Seq > cp.Seq) {
		err = fanfold.Errorf(fanfold.Unavailable, "the store begins after event %d by now, and this node has not come so far: try again", max(base.Seq, h.Seq))
	}
	if base.Seq > h.Seq { // the compact event is yet to be folded
		h = fanfold.Horizon{Seq: base.Seq, Digest: base.Digest}
	}
	if c, _ := b.Log.Prefix().Compaction(); c != nil && c.Seq == base.Seq {
		h, name = c.Horizon, c.Base.Name
	}
	return cp, h, name, err
}

// yieldEvery is how many events are read before others may use the processor.
const yieldEvery = 32

// writeEvents writes the events after a point up to a checkpoint.
func (b *Backups) writeEvents(ctx context.Context, s *backup.Stream, from backup.Point, cp sqlite.Checkpoint) error {
	read := from.Seq
	var ev backup.Event
	if err := b.Log.Messages(ctx, from.Seq+1, cp.Seq, func(msg *events.Message) error {
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
func (b *Backups) digestAt(ctx context.Context, seq uint64) (fanfold.Digest, error) {
	at := sqlite.LogDigest{Seq: b.Log.Prefix().Base().Seq, Digest: b.Log.Prefix().Base().Digest}
	err := b.Store.Read(func(s *sqlite.Snapshot) error {
		known, err := s.LastLogDigest(seq)
		if known.Seq > at.Seq {
			at = known
		}
		return err
	})
	if err == nil {
		err = b.Log.Scan(ctx, at.Seq+1, seq, func(next uint64, _ int, d fanfold.Digest) error {
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

// MessageOf returns an event of a backup as its log had it. It shares the payload.
func MessageOf(ev *backup.Event) events.Message {
	header := nats.Header{}
	for _, h := range ev.Headers {
		header[h.Name] = []string{h.Value}
	}
	return events.Message{Subject: ev.Subject, Headers: header, Data: ev.Payload, Seq: ev.Seq, Time: ev.Time}
}
