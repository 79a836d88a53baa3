package node

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

// Base returns the base at which the log begins, nil where it begins with its first event. It may be missing, which Open tells: a node that does not
// need it goes on without it. Errors of Open are LogDamaged where it is not there, or is not the one that the log names, and Unavailable.
func (s logSource) Base(context.Context) (*batch.Base, error) {
	b := s.Prefix.Base()
	if b.Seq == 0 {
		return nil, nil
	}
	h, want := fanfold.Horizon{Seq: b.Seq, Digest: b.Digest}, fanfold.BaseFile{}
	if c, _ := s.Compaction(); c != nil && c.Seq == b.Seq {
		h, want = c.Horizon, c.Base
	}
	return &batch.Base{Horizon: h, Erasure: b.Erasure, Open: func(ctx context.Context) (io.ReadCloser, error) {
		found, err := s.findBase(ctx, b, want)
		if err != nil {
			return nil, err
		}
		return baseOf(s.bases, h, found).Open(ctx)
	}}, nil
}

// findBase returns the base that the log names. It returns the errors of Base's Open.
func (s logSource) findBase(ctx context.Context, b events.Base, want fanfold.BaseFile) (buckets.Base, error) {
	found, err := s.bases.Find(ctx, b.Seq, b.Digest, want.Name)
	if err == nil && found.Name == want.Name && found.BaseFile != want {
		err = fanfold.Errorf(fanfold.LogDamaged, "the base %s has %d bytes of digest %s, and the log names one of %d bytes of %s", want.Name, found.Bytes, found.Sum, want.Bytes, want.Sum)
	}
	return found, err
}

// baseOf returns a base of a horizon as the projector reads it.
func baseOf(bases *buckets.Bases, h fanfold.Horizon, found buckets.Base) *batch.Base {
	return &batch.Base{Horizon: h, Open: func(ctx context.Context) (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() { _ = w.CloseWithError(bases.Get(ctx, found, w)) }() // ends when r is read to its end, or closed
		return r, nil
	}}
}

// mayPublishAlone returns why a node with a log of its own may publish nothing, nil where it may. Without the base it knows no rule that guards the writes.
// Among several nodes one that has not caught up publishes nothing anyway. The error is Unavailable.
func (n *Node) mayPublishAlone() error {
	if n.Store.Applied.Seq() >= n.Log.Prefix().Base().Seq {
		return nil
	}
	if s := n.Projector.Status().Stopped; s != nil {
		return fanfold.Errorf(fanfold.Unavailable, "this node cannot begin with the base: %s", s.Reason)
	}
	return nil
}

// verifyBase reads the base at which the log begins through, and tells whether it is what the log says; nil for a log that has all its events. The error is
// Unavailable, or ctx's.
func (n *Node) verifyBase(ctx context.Context) (report *wire.BaseReport, err error) {
	for range baseTries {
		if report, err = n.verifyBaseOnce(ctx); err != nil || report == nil || report.Error == "" {
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

// verifyBaseOnce does what verifyBase does, once.
func (n *Node) verifyBaseOnce(ctx context.Context) (*wire.BaseReport, error) {
	source := newLogSource(n.Log)
	base, err := source.Base(ctx)
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
