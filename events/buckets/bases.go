package buckets

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/servers"
)

// Bases keeps the base at which a log begins in a JetStream object store beside the log. A base that Put has returned is as durable as the log's
// events. Its methods may be called from many goroutines and nodes. The object store has one of two names: Remake makes it anew under the other
// one, so that the log is never without its base.
type Bases struct{ stores [2]*baseStore }

// baseStore is the object store for bases under one of its names.
type baseStore struct {
	objects

	mu     sync.Mutex
	opened *openBucket // of the embedded server; nil before a base was put there
	made   time.Time   // when the stream was made that opened is of
}

// Base says what a base is.
type Base struct {
	fanfold.BaseFile
	Seq    uint64         // the last event that it stands for
	Digest fanfold.Digest // of all events up to it

	stored object
	store  *baseStore
}

// NewBases returns the object store for bases beside a log. It is made by the first Put.
func NewBases(log *events.Log) *Bases {
	l := log.BucketAccess()
	var b Bases
	for i, purpose := range []string{events.BasePurpose, events.OtherBasePurpose} {
		b.stores[i] = &baseStore{objects: objects{log: l, bucket: bucketName(l.Database, purpose), noun: "base",
			description: "What the log of database " + l.Database + " stands on: without it the store is lost"}}
	}
	return &b
}

// store returns the object store into which a base is put: the one that was made with the latest erasure, the first where there is none. The error
// is Unavailable.
func (b *Bases) store(ctx context.Context) (*baseStore, error) {
	first, there, err := b.stores[0].erasure(ctx)
	if err != nil {
		return nil, err
	}
	second, other, err := b.stores[1].erasure(ctx)
	if err == nil && other && (!there || second > first) {
		return b.stores[1], nil
	}
	return b.stores[0], err
}

// Put stores what r has as the base of a horizon, and returns it once it is complete and durable: nobody sees it before. A part of one is removed
// after an error. It reads and sends one message at a time. Errors are r's, ctx's, and Unavailable.
func (b *Bases) Put(ctx context.Context, seq uint64, digest fanfold.Digest, r io.Reader) (Base, error) {
	return b.PutNamed(ctx, objectName(seq), seq, digest, r)
}

// PutNamed is Put under a name that a compact event has already given the base, as in a restored log.
func (b *Bases) PutNamed(ctx context.Context, name string, seq uint64, digest fanfold.Digest, r io.Reader) (Base, error) {
	s, err := b.store(ctx)
	if err != nil {
		return Base{}, err
	}
	return s.putNamed(ctx, name, seq, digest, r)
}

// putNamed stores a base, and returns it once it is durable.
func (b *baseStore) putNamed(ctx context.Context, name string, seq uint64, digest fanfold.Digest, r io.Reader) (Base, error) {
	o, err := b.put(ctx, name, map[string]string{metaSeq: strconv.FormatUint(seq, 10), metaDigest: digest.String()}, math.MaxUint64, r)
	if err == nil {
		err = b.sync(ctx)
	}
	if err != nil {
		return Base{}, err
	}
	base, _ := b.describe(o)
	return base, nil
}

// sync blocks until what the object store has is durable. It outlasts a planned start of the server. The error is Unavailable.
func (b *baseStore) sync(ctx context.Context) error {
	e := b.log.Embedded
	if e == nil || e.Sync() != events.SyncGroup {
		return nil
	}
	return b.log.Outlast(ctx, func(ctx context.Context) error { return b.syncOnce(ctx) })
}

// syncOnce does what sync does, once.
func (b *baseStore) syncOnce(ctx context.Context) error {
	run, err := b.log.Run()
	if err != nil {
		return err
	}
	stream, err := b.open(ctx)
	if err != nil {
		return err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the object store %s cannot be asked: %v", b.bucket, err)
	}
	opened, err := b.opening(run, info)
	if err != nil {
		return err
	}
	return opened.seen(ctx, info.State.LastSeq)
}

// opening returns what makes the object store durable in a run of the embedded server.
func (b *baseStore) opening(run events.Run, info *jetstream.StreamInfo) (*openBucket, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened != nil && b.opened.run == run && b.made.Equal(info.Created) {
		return b.opened, nil
	}
	opened := &openBucket{run: run}
	opened.highest.Advance(info.State.LastSeq)
	var err error
	if opened.syncer, err = b.log.Embedded.SyncBucket(info, opened.highest.Load); err != nil {
		return nil, err
	}
	b.opened, b.made = opened, info.Created
	return opened, nil
}

// describe returns what describes a base; ok is false for one that cannot be read.
func (b *baseStore) describe(o object) (base Base, ok bool) {
	seq, err := strconv.ParseUint(o.Metadata[metaSeq], 10, 64)
	sum, err2 := hex.DecodeString(o.Sum)
	base = Base{BaseFile: fanfold.BaseFile{Name: o.Name, Bytes: o.Bytes}, Seq: seq, stored: o, store: b}
	if err != nil || err2 != nil || copy(base.Sum[:], sum) != len(base.Sum) || !fanfold.ReadDigest(&base.Digest, o.Metadata[metaDigest]) {
		return Base{stored: o, store: b}, false
	}
	return base, true
}

// List returns the bases that are there and can be read, the latest first. It blocks for a round trip each; the error is Unavailable.
func (b *Bases) List(ctx context.Context) (list []Base, err error) {
	for _, s := range b.stores {
		found, err := s.list(ctx)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			if base, ok := s.describe(o); ok {
				list = append(list, base)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Base) int { return cmp.Compare(b.Seq, a.Seq) })
	return list, nil
}

// Find returns the base of a horizon; where there are several of one, that with the name given, which may be "". The error is LogDamaged where there is
// none, and Unavailable.
func (b *Bases) Find(ctx context.Context, seq uint64, digest fanfold.Digest, name string) (Base, error) {
	for range 2 { // the first list may have looked into both object stores while Remake brought the base from the second to the first
		list, err := b.List(ctx)
		if err != nil {
			return Base{}, err
		}
		list = slices.DeleteFunc(list, func(base Base) bool { return base.Seq != seq || base.Digest != digest })
		if len(list) > 0 {
			return list[max(0, slices.IndexFunc(list, func(base Base) bool { return base.Name == name }))], nil
		}
	}
	return Base{}, fanfold.Errorf(fanfold.LogDamaged, "the base up to event %d is not in the object store %s: the log begins after it, and nothing else has what was before; %s",
		seq, b.stores[0].bucket, events.Repair)
}

// Get writes a base's bytes to w. The bytes are of use only if no error comes back. It goes on where Remake brings the base into the other object
// store meanwhile. Errors are w's, ctx's, and Unavailable: what is there is not what was stored, or it does not come.
func (b *Bases) Get(ctx context.Context, base Base, w io.Writer) error {
	out := &resumed{w: w}
	for {
		err := base.store.get(ctx, base.stored, out)
		if !isGone(err) {
			return err
		}
		moved, failed := b.elsewhere(ctx, base)
		if failed != nil || moved == nil {
			return cmp.Or(failed, err)
		}
		base, out.skip, out.written = *moved, out.written, 0
	}
}

// elsewhere returns a base in the object store that has not the given one's name, nil where it is not there. The error is Unavailable.
func (b *Bases) elsewhere(ctx context.Context, base Base) (*Base, error) {
	for _, s := range b.stores {
		if s != base.store {
			return s.find(ctx, base.BaseFile)
		}
	}
	return nil, nil
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

// Remove removes the bases up to a horizon but the one to keep, and remains of bases that were never completed. It removes nothing if the
// base to keep is not there. An embedded server keeps those that share a file with it. The error is Unavailable.
func (b *Bases) Remove(ctx context.Context, keep fanfold.BaseFile, seq uint64) error {
	for _, s := range b.stores {
		if err := s.removeOld(ctx, keep, seq); err != nil {
			return err
		}
	}
	return nil
}

// removeOld is Remove for the object store under one of its names.
func (b *baseStore) removeOld(ctx context.Context, keep fanfold.BaseFile, seq uint64) error {
	list, err := b.list(ctx)
	if err != nil {
		return err
	}
	var latest object
	var kept, old []object
	for _, o := range list {
		base, readable := b.describe(o)
		switch {
		case o.Name == keep.Name:
			latest = o
			kept = append(kept, o)
		case readable && base.Seq > seq: // of a compaction that is under way, or was given up
			kept = append(kept, o)
		default:
			old = append(old, o)
		}
	}
	if latest.Name == "" {
		return nil
	}
	if b.log.Embedded != nil { // it rewrites a file that has lost most of its content, and a loss of power could take all of it
		return b.pruneFiles(ctx, kept)
	}
	return b.prune(ctx, latest, kept, old)
}
