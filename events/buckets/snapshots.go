package buckets

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// Snapshots keeps states of the read model in a JetStream object store beside the log: the base at which the log begins, and copies for new nodes. Its
// methods may be called from many goroutines and nodes. The object store has one of two names: Remake makes it anew under the other one, so that the
// log is never without its base.
type Snapshots struct {
	log    events.BucketAccess
	stores [3]*snapshotStore // the last one has what former programs kept apart: nothing is put there
}

// Snapshot says what a state of the read model is.
type Snapshot struct {
	fanfold.BaseFile
	Base   bool            // the log may begin after it: it has no history, and each fold reads it; otherwise it is a copy of the read model's file
	Store  fanfold.StoreID // "" for a base of a former program, and for what cannot be read
	Fold   string          // fingerprint of the fold that made a copy
	Seq    uint64          // the last event folded; 0 for what cannot be read
	Event  fanfold.Digest  // of that event, for a copy
	Digest fanfold.Digest  // of all events up to it
	// Erasure is the last erase event with whose substitutes it was made; 0 for none, and for a base of a former program.
	Erasure uint64
	Taken   time.Time // when it was complete, by the server's clock

	stored object
	store  *snapshotStore
}

// snapshotsToKeep is how many copies stay where a new one is put.
const snapshotsToKeep = 2

// formerPurpose is the purpose of the object store in which former programs kept copies.
const formerPurpose = "snapshots"

// NewSnapshots returns the object store for states of the read model beside a log. It is made by the first Put.
func NewSnapshots(log *events.Log) *Snapshots {
	s := Snapshots{log: log.BucketAccess()}
	for i, purpose := range []string{events.BasePurpose, events.OtherBasePurpose, formerPurpose} {
		s.stores[i] = &snapshotStore{objects: objects{log: s.log, bucket: bucketName(s.log.Database, purpose),
			description: "What the log of database " + s.log.Database + " stands on, and copies of its read model: without it the store may be lost"}}
	}
	return &s
}

// current returns the object store into which a snapshot is put: the one that was made with the latest erasure, the first where there is none. The
// error is Unavailable.
func (s *Snapshots) current(ctx context.Context) (*snapshotStore, error) {
	first, there, err := s.stores[0].erasure(ctx)
	if err != nil {
		return nil, err
	}
	second, other, err := s.stores[1].erasure(ctx)
	if err == nil && other && (!there || second > first) {
		return s.stores[1], nil
	}
	return s.stores[0], err
}

// Put stores what r has as a snapshot, and returns it once it is complete, and as durable as the log's events: nobody sees it before. The caller gives
// what describes it but its size, digest and time. It gives a name where a compact event has already given the base one, as in a restored log. A
// new copy takes the place of all but the latest two. If it fails, what was sent is removed. It reads and sends one message at a time. Errors are r's,
// ctx's, Unavailable, and Conflict for a snapshot from before an erasure, also one that comes into force meanwhile.
func (s *Snapshots) Put(ctx context.Context, snap Snapshot, r io.Reader) (Snapshot, error) {
	if inForce := s.log.InForce(); snap.Erasure < inForce {
		return snap, fromBefore(inForce)
	}
	to, err := s.current(ctx)
	if err == nil {
		snap, err = to.put(ctx, snap, snap.Erasure, r)
	}
	if err != nil || snap.Base {
		return snap, err
	}
	if err := s.Remove(ctx, s.log.BaseFile(), 0); err != nil {
		s.log.Logger.Warn("old snapshots could not be removed; the next one tries again", "err", err)
	}
	return snap, nil
}

// fromBefore returns the error for a snapshot that has what an erasure takes away.
func fromBefore(erasure uint64) error {
	return fanfold.Errorf(fanfold.Conflict, "the snapshot is from before the erasure %d: take another one", erasure)
}

// List returns the snapshots that are there, the latest first, and then those whose description cannot be read. It blocks for a round trip each; the
// error is Unavailable.
func (s *Snapshots) List(ctx context.Context) (list []Snapshot, err error) {
	for _, from := range s.stores {
		found, err := from.list(ctx)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			list = append(list, from.describe(o))
		}
	}
	slices.SortStableFunc(list, func(a, b Snapshot) int {
		return cmp.Or(cmp.Compare(b.Seq, a.Seq), b.Taken.Compare(a.Taken), cmp.Compare(b.Name, a.Name))
	})
	return list, nil
}

// FindBase returns the base of a horizon; where there are several of one, that with the name given, which may be "". The error is LogDamaged where
// there is none, and Unavailable.
func (s *Snapshots) FindBase(ctx context.Context, seq uint64, digest fanfold.Digest, name string) (Snapshot, error) {
	for range 2 { // the first list may have looked into both object stores while Remake brought the base from the second to the first
		list, err := s.List(ctx)
		if err != nil {
			return Snapshot{}, err
		}
		list = slices.DeleteFunc(list, func(snap Snapshot) bool { return !snap.Base || snap.Seq != seq || snap.Digest != digest })
		if len(list) > 0 {
			return list[max(0, slices.IndexFunc(list, func(snap Snapshot) bool { return snap.Name == name }))], nil
		}
	}
	return Snapshot{}, fanfold.Errorf(fanfold.LogDamaged, "the base up to event %d is not in the object store %s: the log begins after it, and nothing else has what was before; %s",
		seq, s.stores[0].bucket, events.Repair)
}

// Get writes a snapshot's bytes to w. The bytes are of use only if no error comes back. It goes on where Remake brings a base into the other object
// store meanwhile. Errors are w's, ctx's, and Unavailable: what is there is not what was stored, or it does not come.
func (s *Snapshots) Get(ctx context.Context, snap Snapshot, w io.Writer) error {
	out := &resumed{w: w}
	for tries := 1; ; tries++ {
		err := snap.store.get(ctx, snap.stored, out)
		if !isGone(err) && !errors.Is(err, errPieces) || tries == maxMoves {
			return err
		}
		moved, failed := s.elsewhere(ctx, snap)
		if failed != nil || moved == nil {
			return cmp.Or(failed, err)
		}
		snap, out.skip, out.written = *moved, out.written, 0
	}
}

// maxMoves is how often a snapshot is looked for in another object store while it is read.
const maxMoves = 5

// elsewhere returns a snapshot in another object store than the given one's, nil where it is not there. The error is Unavailable.
func (s *Snapshots) elsewhere(ctx context.Context, snap Snapshot) (*Snapshot, error) {
	for _, other := range s.stores {
		if other == snap.store {
			continue
		}
		if found, err := other.find(ctx, snap.BaseFile); err != nil || found != nil {
			return found, err
		}
	}
	return nil, nil
}

// Remove removes what is from before a horizon but the base to keep, all copies but the latest two of this store, and remains of what was never completed.
// It removes nothing if the base to keep has a name and is not there. An embedded server keeps what shares a file with the rest. The error is Unavailable.
func (s *Snapshots) Remove(ctx context.Context, keep fanfold.BaseFile, horizon uint64) error {
	list, err := s.List(ctx)
	if err != nil || keep.Name != "" && !slices.ContainsFunc(list, func(snap Snapshot) bool { return snap.Name == keep.Name }) {
		return err
	}
	kept, old, copies := map[*snapshotStore][]object{}, map[*snapshotStore][]object{}, 0
	for _, snap := range list {
		stays := keep.Name != "" && snap.Name == keep.Name || snap.Base && snap.Seq > horizon // of a compaction that is under way, or was given up
		if !snap.Base && snap.Store == s.log.Store() && snap.Seq >= horizon && copies < snapshotsToKeep {
			stays, copies = true, copies+1
		}
		if to := snap.store; stays {
			kept[to] = append(kept[to], snap.stored)
		} else {
			old[to] = append(old[to], snap.stored)
		}
	}
	for i, from := range s.stores {
		if former := i == len(s.stores)-1; former && kept[from] == nil {
			err = from.drop(ctx)
		} else {
			err = from.prune(ctx, kept[from], old[from])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Keys of what describes a snapshot, in the object's metadata.
const (
	metaStore  = "fanfold-store"
	metaFold   = "fanfold-fold" // a base has none
	metaSeq    = "fanfold-seq"
	metaEvent  = "fanfold-event"
	metaDigest = "fanfold-digest"
	// metaErasure is in the metadata of an object store's stream, too: everything in it was made with the substitutes up to that erase event.
	metaErasure = "fanfold-erasure"
)

// metadata returns what describes a snapshot.
func (snap Snapshot) metadata() map[string]string {
	m := map[string]string{metaStore: string(snap.Store), metaSeq: strconv.FormatUint(snap.Seq, 10), metaDigest: snap.Digest.String(), metaErasure: strconv.FormatUint(snap.Erasure, 10)}
	if !snap.Base {
		m[metaFold], m[metaEvent] = snap.Fold, snap.Event.String()
	}
	return m
}

// describe returns what describes a snapshot. One that cannot be read is of no store, and of sequence 0.
func (s *snapshotStore) describe(o object) Snapshot {
	fold, isCopy := o.Metadata[metaFold]
	snap := Snapshot{BaseFile: fanfold.BaseFile{Name: o.Name}, Fold: fold, Taken: o.Stored, stored: o, store: s}
	seq, err := strconv.ParseUint(o.Metadata[metaSeq], 10, 64)
	sum, failed := hex.DecodeString(o.Sum)
	if err != nil || failed != nil || copy(snap.Sum[:], sum) != len(snap.Sum) || !fanfold.ReadDigest(&snap.Digest, o.Metadata[metaDigest]) ||
		isCopy && !fanfold.ReadDigest(&snap.Event, o.Metadata[metaEvent]) {
		return snap
	}
	snap.Erasure, _ = strconv.ParseUint(o.Metadata[metaErasure], 10, 64) // 0 in snapshots of older programs
	snap.Base, snap.Store, snap.Seq, snap.Bytes = !isCopy, fanfold.StoreID(o.Metadata[metaStore]), seq, o.Bytes
	return snap
}
