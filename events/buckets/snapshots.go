package buckets

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// Snapshots keeps copies of the read model in a JetStream object store beside the log, for nodes that are new. Its methods
// may be called from many goroutines and nodes.
type Snapshots struct{ objects objects }

// Snapshot says what a copy of the read model is.
type Snapshot struct {
	Name   string          `json:"name"`
	Store  fanfold.StoreID `json:"store"`
	Fold   string          `json:"fold"` // fingerprint of the fold that made it
	Seq    uint64          `json:"seq"`  // the last event folded
	Event  fanfold.Digest  `json:"-"`    // of that event
	Digest fanfold.Digest  `json:"-"`    // of all events up to it
	// Erasure is the last erase event with whose substitutes it was made; 0 for none.
	Erasure uint64    `json:"erasure,omitempty"`
	Bytes   int64     `json:"bytes"`  // its size
	Sum     string    `json:"sha256"` // of its bytes, as hexadecimal digits
	Taken   time.Time `json:"taken"`  // when it was complete, by the server's clock

	stored object
}

// snapshotsToKeep is how many snapshots stay where a new one is put.
const snapshotsToKeep = 2

// NewSnapshots returns the object store for copies of the read model beside a log. It is made by the first Put.
func NewSnapshots(log *events.Log) *Snapshots {
	l := log.BucketAccess()
	return &Snapshots{objects{log: l, bucket: bucketName(l.Database, "snapshots"), noun: "snapshot",
		description: "Fanfold's copies of the read model of database " + l.Database + ", for new nodes"}}
}

// Put stores what r has as a snapshot, whose Store, Fold, Seq, Event, Digest and Erasure are given, and removes all snapshots but the
// latest two. It returns the snapshot once it is complete: nobody sees it before. If it fails, what was sent is removed.
// It reads and sends one message at a time. Errors are r's, ctx's, Unavailable, and Conflict for a snapshot from before an erasure, also one that
// comes into force meanwhile.
func (s *Snapshots) Put(ctx context.Context, snap Snapshot, r io.Reader) (Snapshot, error) {
	if inForce := s.objects.log.InForce(); snap.Erasure < inForce {
		return snap, fanfold.Errorf(fanfold.Conflict, "the snapshot is from before the erasure %d: take another one", inForce)
	}
	o, err := s.objects.put(ctx, objectName(snap.Seq), map[string]string{metaStore: string(snap.Store), metaFold: snap.Fold, metaSeq: strconv.FormatUint(snap.Seq, 10),
		metaEvent: snap.Event.String(), metaDigest: snap.Digest.String(), metaErasure: strconv.FormatUint(snap.Erasure, 10)}, snap.Erasure, r)
	if err != nil {
		return snap, err
	}
	snap.Name, snap.Bytes, snap.Sum, snap.stored = o.Name, o.Bytes, o.Sum, o
	if err := s.removeOld(ctx, snap); err != nil {
		s.objects.log.Logger.Warn("old snapshots could not be removed; the next one tries again", "err", err)
	}
	return snap, nil
}

// Get writes a snapshot's bytes to w. The bytes are of use only if no error comes back. It holds a few messages in
// memory. Errors are w's, ctx's, and Unavailable: what is there is not what was stored, or it does not come.
func (s *Snapshots) Get(ctx context.Context, snap Snapshot, w io.Writer) error {
	return s.objects.get(ctx, snap.stored, w)
}

// List returns the snapshots that are there, the latest first, and then those whose description cannot be read: they are of no
// store, and of sequence 0. It blocks for a round trip each; the error is Unavailable.
func (s *Snapshots) List(ctx context.Context) ([]Snapshot, error) {
	found, err := s.objects.list(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Snapshot, len(found))
	for i, o := range found {
		list[i] = snapshotOf(o)
	}
	slices.SortStableFunc(list, func(a, b Snapshot) int {
		return cmp.Or(cmp.Compare(b.Seq, a.Seq), b.Taken.Compare(a.Taken), cmp.Compare(b.Name, a.Name))
	})
	return list, nil
}

// Remove removes the snapshots that end before an event, which are older than what nodes may begin with. It blocks for two round trips each; the error is
// Unavailable.
func (s *Snapshots) Remove(ctx context.Context, before uint64) error {
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(snap Snapshot) bool { return snap.Seq >= before || snap.Store != s.objects.log.Store() })
	objects := make([]object, len(list))
	for i, snap := range list {
		objects[i] = snap.stored
	}
	return s.objects.remove(ctx, objects)
}

// removeOld removes every snapshot but the latest ones of this store.
func (s *Snapshots) removeOld(ctx context.Context, latest Snapshot) error {
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	kept, old := []object{}, []object{}
	for _, snap := range list {
		if snap.Store == s.objects.log.Store() && len(kept) < snapshotsToKeep {
			kept = append(kept, snap.stored)
		} else {
			old = append(old, snap.stored)
		}
	}
	return s.objects.prune(ctx, latest.stored, kept, old)
}

// Keys of what describes a snapshot, in the object's metadata.
const (
	metaStore  = "fanfold-store"
	metaFold   = "fanfold-fold"
	metaSeq    = "fanfold-seq"
	metaEvent  = "fanfold-event"
	metaDigest = "fanfold-digest"
	// metaErasure is in the metadata of an object store's stream, too: everything in it was made with the substitutes up to that erase event.
	metaErasure = "fanfold-erasure"
)

// snapshotOf returns what describes a snapshot. One that cannot be read is of no store, and of sequence 0.
func snapshotOf(o object) Snapshot {
	s := Snapshot{Name: o.Name, Fold: o.Metadata[metaFold], Taken: o.Stored, stored: o}
	seq, err := strconv.ParseUint(o.Metadata[metaSeq], 10, 64)
	if err != nil || o.Sum == "" || !fanfold.ReadDigest(&s.Event, o.Metadata[metaEvent]) || !fanfold.ReadDigest(&s.Digest, o.Metadata[metaDigest]) {
		return s
	}
	s.Erasure, _ = strconv.ParseUint(o.Metadata[metaErasure], 10, 64) // 0 in snapshots of older programs
	s.Store, s.Seq, s.Bytes, s.Sum = fanfold.StoreID(o.Metadata[metaStore]), seq, o.Bytes, o.Sum
	return s
}
