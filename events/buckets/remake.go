package buckets

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/servers"
)

// A server leaves the bytes of a message that was removed in its file. It removes the files of a stream that is deleted.

// erasure returns the erasure with whose substitutes everything in the object store was made. there is false where there is no object store.
// It outlasts a planned start of the server. The error is Unavailable.
func (s *objects) erasure(ctx context.Context) (erasure uint64, there bool, err error) {
	err = s.log.Outlast(ctx, func(ctx context.Context) error {
		erasure, there, err = s.erasureOnce(ctx)
		return err
	})
	return erasure, there, err
}

// erasureOnce does what erasure does, once.
func (s *objects) erasureOnce(ctx context.Context) (erasure uint64, there bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, objectStall)
	defer cancel()
	stream, err := s.log.JS.Stream(ctx, events.ObjectsPrefix+s.bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fanfold.Wrap(err, fanfold.Unavailable, "the object store %s cannot be asked: %v", s.bucket, err)
	}
	erasure, _ = strconv.ParseUint(stream.CachedInfo().Config.Metadata[metaErasure], 10, 64) // 0 in one of an older program
	return erasure, true, nil
}

// drop deletes the object store with its files, if there is one. The error is Unavailable.
func (s *objects) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, objectStall)
	defer cancel()
	err := s.log.JS.DeleteStream(ctx, events.ObjectsPrefix+s.bucket)
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fanfold.Wrap(err, fanfold.Unavailable, "the object store %s cannot be removed: %v", s.bucket, err)
	}
	if s.log.Embedded == nil {
		return nil
	}
	return s.log.Embedded.RemoveDeleted(events.ObjectsPrefix + s.bucket)
}

// Erased tells whether no file of the object stores has had anything from before an erasure came into force. It blocks for a round trip for each
// snapshot; the error is Unavailable.
func (s *Snapshots) Erased(ctx context.Context, erasure uint64) (bool, error) {
	for _, from := range s.stores {
		made, there, err := from.erasure(ctx)
		if err != nil || there && made < erasure {
			return false, err
		}
	}
	list, err := s.List(ctx) // the base is what an event names, which another one replaces
	return !slices.ContainsFunc(list, func(snap Snapshot) bool { return !snap.Base && snap.Erasure < erasure }), err
}

// Remake makes the object store anew, once an erasure is in force, with nothing but the base to keep; it removes everything where that has no
// name. The base is durable in the new one before the old one goes. It may be repeated, also by several nodes at the same time. A Put that is under way
// fails, on whatever node, and nothing of it is in the new one's files. Errors are LogDamaged where the base to keep is not there, ctx's, and Unavailable.
func (s *Snapshots) Remake(ctx context.Context, keep fanfold.BaseFile, erasure uint64) error {
	if err := s.stores[2].drop(ctx); err != nil || keep.Name == "" {
		return cmp.Or(err, s.empty(ctx, erasure))
	}
	fresh, old, err := s.sides(ctx, keep, erasure)
	if err != nil {
		return err
	}
	if base, err := fresh.find(ctx, keep); err != nil || base == nil {
		if err == nil {
			err = old.copyTo(ctx, fresh, keep)
		}
		if err != nil {
			return err
		}
	}
	return old.drop(ctx)
}

// empty removes everything. On outside servers it makes the object store anew, so that no node puts there what is from before the erasure.
func (s *Snapshots) empty(ctx context.Context, erasure uint64) error {
	for {
		if err := errors.Join(s.stores[0].drop(ctx), s.stores[1].drop(ctx)); err != nil || s.log.Embedded != nil {
			return err
		}
		if _, err := s.stores[0].open(ctx); err != nil {
			return err
		}
		made, there, err := s.stores[0].erasure(ctx)
		if err != nil || there && made >= erasure { // otherwise a node has made it that does not know the erasure yet
			return err
		}
	}
}

// sides returns the object store that is to stay, and the one that goes, which may be gone already. It removes one that is in the way.
func (s *Snapshots) sides(ctx context.Context, keep fanfold.BaseFile, erasure uint64) (fresh, old *snapshotStore, err error) {
	for i, side := range s.stores[:2] {
		made, there, err := side.erasure(ctx)
		if err != nil {
			return nil, nil, err
		}
		if there && made >= erasure {
			return side, s.stores[1-i], nil
		}
	}
	for i, side := range s.stores[:2] {
		base, err := side.find(ctx, keep)
		if err != nil {
			return nil, nil, err
		}
		if base != nil { // what the other one has is from before, and so are its files
			return s.stores[1-i], side, s.stores[1-i].drop(ctx)
		}
	}
	return nil, nil, missing(keep)
}

// missing returns the error for a base that is not there.
func missing(keep fanfold.BaseFile) error {
	return fanfold.Errorf(fanfold.LogDamaged, "the base %s, with which the log begins, is not there; %s", keep.Name, events.Repair)
}

// find returns the snapshot that has a name and what was stored under it; nil for none. The error is Unavailable.
func (s *snapshotStore) find(ctx context.Context, file fanfold.BaseFile) (*Snapshot, error) {
	list, err := s.list(ctx)
	for _, o := range list {
		if snap := s.describe(o); snap.Seq > 0 && snap.BaseFile == file {
			return &snap, err
		}
	}
	return nil, err
}

// copyTo puts a snapshot into another object store, as it is.
func (s *snapshotStore) copyTo(ctx context.Context, to *snapshotStore, keep fanfold.BaseFile) error {
	snap, err := s.find(ctx, keep)
	if err != nil {
		return err
	}
	if snap == nil {
		return missing(keep)
	}
	r, w := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.CloseWithError(s.get(ctx, snap.stored, w)) // never fails
	}()
	_, err = to.put(ctx, *snap, math.MaxUint64, r)
	_ = r.Close() // never fails
	<-ended
	return err
}

// Dead returns the name of the bucket's stream, and which of its sequences have no message any more: what is in the server's files of these may
// be removed. has is false where there is no bucket. It blocks for a round trip; the error is Unavailable.
func (kv *KeyValue) Dead(ctx context.Context) (stream string, dead func(seq uint64) bool, has bool, err error) {
	b, err := kv.open(ctx, false)
	if err != nil || b == nil {
		return "", nil, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, servers.Patience)
	defer cancel()
	info, err := b.stream.Info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil {
		return "", nil, false, fanfold.Wrap(err, fanfold.Unavailable, "the bucket %s cannot be asked: %v", kv.bucket, err)
	}
	gone := make(map[uint64]bool, len(info.State.Deleted))
	for _, seq := range info.State.Deleted {
		gone[seq] = true
	}
	first := info.State.FirstSeq
	if info.State.Msgs == 0 {
		first = math.MaxUint64
	}
	last := info.State.LastSeq
	return info.Config.Name, func(seq uint64) bool { return seq <= last && (seq < first || gone[seq]) }, true, nil
}
