package buckets

import (
	"context"
	"encoding/hex"
	"io"
	"slices"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// Bases keeps the base at which a log begins in a JetStream object store beside the log. A base that Put has returned is as durable as the log's
// events. Its methods may be called from many goroutines and nodes.
type Bases struct {
	objects objects

	mu     sync.Mutex
	opened *openBucket // of the embedded server; nil before a base was put there
}

// Base says what a base is.
type Base struct {
	fanfold.BaseFile
	Seq    uint64         // the last event that it stands for
	Digest fanfold.Digest // of all events up to it

	stored object
}

// NewBases returns the object store for bases beside a log. It is made by the first Put.
func NewBases(log *events.Log) *Bases {
	l := log.BucketAccess()
	return &Bases{objects: objects{log: l, bucket: bucketName(l.Database, events.BasePurpose), noun: "base",
		description: "What the log of database " + l.Database + " stands on: without it the store is lost"}}
}

// Put stores what r has as the base of a horizon, and returns it once it is complete and durable: nobody sees it before. A part of one is removed
// after an error. It reads and sends one message at a time. Errors are r's, ctx's, and Unavailable.
func (b *Bases) Put(ctx context.Context, seq uint64, digest fanfold.Digest, r io.Reader) (Base, error) {
	return b.PutNamed(ctx, objectName(seq), seq, digest, r)
}

// PutNamed is Put under a name that a compact event has given the base already, as that of a log that is restored.
func (b *Bases) PutNamed(ctx context.Context, name string, seq uint64, digest fanfold.Digest, r io.Reader) (Base, error) {
	o, err := b.objects.put(ctx, name, map[string]string{metaSeq: strconv.FormatUint(seq, 10), metaDigest: digest.String()}, r)
	if err == nil {
		err = b.sync(ctx)
	}
	if err != nil {
		return Base{}, err
	}
	base, _ := baseFileOf(o)
	return base, nil
}

// sync blocks until what the object store has is durable. The error is Unavailable.
func (b *Bases) sync(ctx context.Context) error {
	e := b.objects.log.Embedded
	if e == nil || e.Sync() != events.SyncGroup {
		return nil
	}
	run, err := b.objects.log.Run()
	if err != nil {
		return err
	}
	stream, err := b.objects.open(ctx)
	if err != nil {
		return err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the object store %s cannot be asked: %v", b.objects.bucket, err)
	}
	opened, err := b.open(run, info)
	if err != nil {
		return err
	}
	return opened.seen(ctx, info.State.LastSeq)
}

// open returns what makes the object store durable in a run of the embedded server.
func (b *Bases) open(run events.Run, info *jetstream.StreamInfo) (*openBucket, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened != nil && b.opened.run == run {
		return b.opened, nil
	}
	opened := &openBucket{run: run}
	opened.highest.Advance(info.State.LastSeq)
	var err error
	if opened.syncer, err = b.objects.log.Embedded.SyncBucket(info, opened.highest.Load); err != nil {
		return nil, err
	}
	b.opened = opened
	return opened, nil
}

// baseFileOf returns what describes a base; ok is false for one that cannot be read.
func baseFileOf(o object) (b Base, ok bool) {
	seq, err := strconv.ParseUint(o.Metadata[metaSeq], 10, 64)
	sum, err2 := hex.DecodeString(o.Sum)
	b = Base{BaseFile: fanfold.BaseFile{Name: o.Name, Bytes: o.Bytes}, Seq: seq, stored: o}
	if err != nil || err2 != nil || copy(b.Sum[:], sum) != len(b.Sum) || !fanfold.ReadDigest(&b.Digest, o.Metadata[metaDigest]) {
		return Base{stored: o}, false
	}
	return b, true
}

// List returns the bases that are there and can be read, the latest first. It blocks for a round trip each; the error is Unavailable.
func (b *Bases) List(ctx context.Context) ([]Base, error) {
	found, err := b.objects.list(ctx)
	if err != nil {
		return nil, err
	}
	var list []Base
	for _, o := range found {
		if base, ok := baseFileOf(o); ok {
			list = append(list, base)
		}
	}
	return list, nil
}

// Find returns the base of a horizon; where there are several of one, that with the name given, which may be "". The error is LogDamaged where there is
// none, and Unavailable.
func (b *Bases) Find(ctx context.Context, seq uint64, digest fanfold.Digest, name string) (Base, error) {
	list, err := b.List(ctx)
	if err != nil {
		return Base{}, err
	}
	list = slices.DeleteFunc(list, func(base Base) bool { return base.Seq != seq || base.Digest != digest })
	if len(list) == 0 {
		return Base{}, fanfold.Errorf(fanfold.LogDamaged, "the base up to event %d is not in the object store %s: the log begins after it, and nothing else has what was before; %s",
			seq, b.objects.bucket, events.Repair)
	}
	return list[max(0, slices.IndexFunc(list, func(base Base) bool { return base.Name == name }))], nil
}

// Get writes a base's bytes to w. The bytes are of use only if no error comes back. Errors are w's, ctx's, and Unavailable: what is there is not
// what was stored, or it does not come.
func (b *Bases) Get(ctx context.Context, base Base, w io.Writer) error {
	return b.objects.get(ctx, base.stored, w)
}

// Remove removes the bases up to a horizon but the one to keep, and remains of bases that were never completed. It removes nothing if the
// base to keep is not there. An embedded server keeps those that share a file with it. The error is Unavailable.
func (b *Bases) Remove(ctx context.Context, keep fanfold.BaseFile, seq uint64) error {
	list, err := b.objects.list(ctx)
	if err != nil {
		return err
	}
	var latest object
	var kept, old []object
	for _, o := range list {
		base, readable := baseFileOf(o)
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
	if b.objects.log.Embedded != nil { // it makes a file anew of which most has gone, and a loss of power could take all of it
		return b.objects.pruneFiles(ctx, kept)
	}
	return b.objects.prune(ctx, latest, kept, old)
}
