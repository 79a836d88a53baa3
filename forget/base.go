package forget

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/projector/batch"
)

// Source makes the log, and the base at which it begins, a batch.Log.
type Source struct {
	*events.Prefix
	log       *events.Log
	snapshots *buckets.Snapshots
}

// NewSource returns a log's events and its base.
func NewSource(l *events.Log) Source { return Source{l.Prefix(), l, buckets.NewSnapshots(l)} }

// Events opens a reader of the log from a sequence on, as of an erasure. The projector closes it.
func (s Source) Events(ctx context.Context, from uint64, asOf fanfold.AsOf) (batch.Reader, error) {
	return s.log.ReadAs(ctx, from, asOf)
}

// ErasuresAfter returns the erase events after one, up to another.
func (s Source) ErasuresAfter(after, upTo fanfold.AsOf) (list []*fanfold.Erasure) {
	for _, e := range s.Prefix.ErasuresAfter(after, upTo) {
		list = append(list, e.Erasure)
	}
	return list
}

// Base returns the base at which the log begins, nil where it begins with its first event. It may be missing, which Open tells: a node that does not
// need it goes on without it. Errors of Open are LogDamaged where it is not there, or is not the one that the log names, and Unavailable.
func (s Source) Base(context.Context) (*batch.Base, error) {
	b := s.Prefix.Base()
	if b.Seq == 0 {
		return nil, nil
	}
	h, want := fanfold.Horizon{Seq: b.Seq, Digest: b.Digest}, fanfold.BaseFile{}
	if c, _ := s.Compaction(); c != nil && c.Seq == b.Seq {
		h, want = c.Horizon, c.Base
	}
	return &batch.Base{Horizon: h, AsOf: b.AsOf, Open: func(ctx context.Context) (io.ReadCloser, error) {
		found, err := s.findBase(ctx, b, want)
		if err != nil {
			return nil, err
		}
		return baseOf(s.snapshots, h, found).Open(ctx)
	}}, nil
}

// findBase returns the base that the log names. It returns the errors of Base's Open.
func (s Source) findBase(ctx context.Context, b events.Base, want fanfold.BaseFile) (buckets.Snapshot, error) {
	found, err := s.snapshots.FindBase(ctx, b.Seq, b.Digest, want.Name)
	if err == nil && found.Name == want.Name && found.BaseFile != want {
		err = fanfold.Errorf(fanfold.LogDamaged, "the base %s has %d bytes of digest %s, and the log names one of %d bytes of %s", want.Name, found.Bytes, found.Sum, want.Bytes, want.Sum)
	}
	return found, err
}

// baseOf returns a base of a horizon as the projector reads it.
func baseOf(from *buckets.Snapshots, h fanfold.Horizon, found buckets.Snapshot) *batch.Base {
	return &batch.Base{Horizon: h, Open: func(ctx context.Context) (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() { _ = w.CloseWithError(from.Get(ctx, found, w)) }() // ends when r is read to its end, or closed
		return r, nil
	}}
}

// storeBase puts a base, as of an erasure, into the object store.
func (g *shared) storeBase(ctx context.Context, h fanfold.Horizon, asOf fanfold.AsOf, file io.Reader) (fanfold.BaseFile, *batch.Base, error) {
	base, err := g.snapshots.Put(ctx, buckets.Snapshot{Base: true, Store: g.log.Store(), Seq: h.Seq, Digest: h.Digest, Erasure: uint64(asOf)}, file)
	if err != nil {
		return fanfold.BaseFile{}, nil, err
	}
	return base.BaseFile, baseOf(g.snapshots, h, base), nil
}

// VerifyBase reads the base at which the log begins through, and tells whether it is what the log says; nil for a log that has all its events. The error is
// Unavailable, or ctx's.
func (s Source) VerifyBase(ctx context.Context) (report *wire.BaseReport, err error) {
	for range baseTries {
		if report, err = s.verifyBaseOnce(ctx); err != nil || report == nil || report.Error == "" {
			return report, err
		}
		select { // an erasure may have moved it meanwhile
		case <-time.After(baseRetry):
		case <-ctx.Done():
			return report, ctx.Err()
		}
	}
	return report, err
}

// A base that cannot be read is looked for again.
const (
	baseTries = 3
	baseRetry = time.Second
)

// verifyBaseOnce does what VerifyBase does, once.
func (s Source) verifyBaseOnce(ctx context.Context) (*wire.BaseReport, error) {
	base, err := s.Base(ctx)
	if err == nil && base == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	report := &wire.BaseReport{Seq: base.Horizon.Seq}
	file, err := base.Open(ctx)
	if fanfold.CodeOf(err) == fanfold.LogDamaged {
		report.Error = "is missing: " + withoutAdvice(err)
		return report, nil
	}
	if err != nil {
		return nil, err
	}
	report.Bytes, err = io.Copy(io.Discard, file)
	if err = errors.Join(err, file.Close()); err != nil && ctx.Err() == nil {
		report.Error = "cannot be read: " + withoutAdvice(err)
	}
	return report, ctx.Err()
}

// withoutAdvice returns an error's message without what to do about a damaged log: logcheck.Report.Err says that once.
func withoutAdvice(err error) string {
	return strings.TrimSuffix(fanfold.MessageOf(err), "; "+events.Repair)
}
