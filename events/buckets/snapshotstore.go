package buckets

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/servers"
)

// snapshotStore is the object store for snapshots under one of its names.
type snapshotStore struct {
	objects

	mu     sync.Mutex
	opened *openBucket // of the embedded server; nil before a snapshot was put there
	made   time.Time   // when the stream was made that opened is of
}

// put stores a snapshot, and returns it once it is durable. The object store must have been made with erasure or an earlier one. A snapshot without a
// name gets one.
func (s *snapshotStore) put(ctx context.Context, snap Snapshot, erasure uint64, r io.Reader) (Snapshot, error) {
	if snap.Name == "" {
		snap.Name = objectName(snap.Seq)
	}
	o, err := s.objects.put(ctx, snap.Name, snap.metadata(), erasure, r)
	if err == nil {
		err = s.sync(ctx)
	}
	if err != nil {
		return snap, err
	}
	return s.describe(o), nil
}

// sync blocks until what the object store has is durable. It outlasts a planned start of the server. The error is Unavailable.
func (s *snapshotStore) sync(ctx context.Context) error {
	e := s.log.Embedded
	if e == nil || e.Sync() != events.SyncGroup {
		return nil
	}
	return s.log.Outlast(ctx, func(ctx context.Context) error { return s.syncOnce(ctx) })
}

// syncOnce does what sync does, once.
func (s *snapshotStore) syncOnce(ctx context.Context) error {
	run, err := s.log.Run()
	if err != nil {
		return err
	}
	stream, err := s.open(ctx)
	if err != nil {
		return err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the object store %s cannot be asked: %v", s.bucket, err)
	}
	opened, err := s.opening(run, info)
	if err != nil {
		return err
	}
	return opened.seen(ctx, info.State.LastSeq)
}

// opening returns what makes the object store durable in a run of the embedded server.
func (s *snapshotStore) opening(run events.Run, info *jetstream.StreamInfo) (*openBucket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened != nil && s.opened.run == run && s.made.Equal(info.Created) {
		return s.opened, nil
	}
	opened := &openBucket{run: run}
	opened.highest.Advance(info.State.LastSeq)
	var err error
	if opened.syncer, err = s.log.Embedded.SyncBucket(info, opened.highest.Load); err != nil {
		return nil, err
	}
	s.opened, s.made = opened, info.Created
	return opened, nil
}

// isGone tells whether an error says that an object store is not there.
func isGone(err error) bool {
	refusal := servers.Refusal(err)
	return refusal != nil && refusal.ErrorCode == jetstream.JSErrCodeStreamNotFound || errors.Is(err, jetstream.ErrStreamNotFound)
}

// resumed is a writer to which bytes are written again that it has had.
type resumed struct {
	w             io.Writer
	skip, written int64
}

// Write implements io.Writer.
func (r *resumed) Write(p []byte) (int, error) {
	had := min(r.skip, int64(len(p)))
	n, err := r.w.Write(p[had:])
	r.skip -= had
	r.written += had + int64(n)
	return int(had) + n, err
}
