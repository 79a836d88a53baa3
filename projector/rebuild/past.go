package rebuild

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// Past says which prefix of the log is replayed, and under which model.
type Past struct {
	To   fanfold.Moment // the prefix ends with its event and transaction
	Last uint64         // the log's last event
	// Model is a model as JSON that applies from the first event on that is there, in place of the log's models; nil for these.
	Model []byte
}

// target returns the last event of the prefix, as far as that is known.
func (p Past) target() uint64 {
	if p.To.Time.IsZero() {
		return p.To.Position.Seq()
	}
	return p.Last
}

// check returns PositionGone for a prefix that ends before the base.
func (p Past) check(h fanfold.Horizon) error {
	if h.Seq == 0 || p.To.Time.IsZero() && p.To.Position >= h.At() || !p.To.Time.IsZero() && !p.To.Time.Before(h.Time) {
		return nil
	}
	return &fanfold.Error{Code: fanfold.PositionGone, Oldest: &fanfold.Bookmark{Position: h.At()},
		Message: "the store begins at event " + strconv.FormatUint(h.Seq, 10) + ": what was before is no longer kept"}
}

// toEnd replays a prefix of the log. The error is also PositionGone for one that ends before the base.
func (m *build) toEnd(ctx context.Context, past Past) (err error) {
	if err := past.check(m.base); err != nil {
		return err
	}
	if m.feed, err = batch.Follow(ctx, pastLog{m.b.log, past, m.base}, m.at+1, m.lists); err != nil {
		return err
	}
	begun := past.Model == nil
	for {
		events, err := m.feed.Next(ctx, math.MaxUint64)
		if errors.Is(err, io.EOF) {
			if !begun && m.base.Seq > 0 {
				return fanfold.Errorf(fanfold.Conflict, "the log has no event between the base, up to event %d, and the end: a model of a file applies from the first such event on", m.base.Seq)
			}
			return nil
		}
		if err == nil && !begun {
			err, begun = m.beginWith(past.Model, events[0]), true
		}
		if err == nil {
			err = m.apply(events, past.target())
		}
		if err != nil {
			return err
		}
	}
}

// beginWith makes a model apply from the first event on that is read.
func (m *build) beginWith(model []byte, first *fanfold.Event) error {
	if first.Kind == fanfold.KindModel {
		return nil // which has this model in place of its own
	}
	return m.db.Update(func(tx *sqlite.Tx) error {
		err := m.fold.Apply(tx, &fanfold.Event{Kind: fanfold.KindModel, Seq: first.Seq, Time: first.Time, Body: model})
		tx.SetCheckpoint(first.Seq-1, first.Time, fold.Fingerprint())
		return err
	})
}

// pastLog is a prefix of a log.
type pastLog struct {
	batch.Log
	past Past
	base fanfold.Horizon // where it begins
}

// Events returns a reader that ends with io.EOF.
func (l pastLog) Events(ctx context.Context, from uint64, asOf fanfold.AsOf) (batch.Reader, error) {
	if l.past.Last <= l.base.Seq {
		return emptyReader{}, nil
	}
	r, err := l.Log.Events(ctx, from, asOf)
	if err != nil {
		return nil, err
	}
	return &pastReader{Reader: r, past: l.past, seq: l.base.Seq, time: l.base.Time}, nil
}

// emptyReader reads a log without events.
type emptyReader struct{}

func (emptyReader) Next(context.Context) (*fanfold.Event, uint64, error) { return nil, 0, io.EOF }

func (emptyReader) WaitSynced(context.Context, uint64) error { return nil }

func (emptyReader) Close() {}

// pastReader reads a prefix of a log.
type pastReader struct {
	batch.Reader
	past Past
	seq  uint64
	time time.Time // running maximum of the log's times
	inTx bool      // the transaction goes on after event seq
}

// Next returns the next event, and io.EOF after the prefix.
func (r *pastReader) Next(ctx context.Context) (ev *fanfold.Event, pending uint64, err error) {
	if r.seq >= r.past.Last || !r.inTx && r.past.To.Time.IsZero() && r.seq >= r.past.To.Position.Seq() {
		return nil, 0, io.EOF
	}
	if ev, pending, err = r.Reader.Next(ctx); err != nil {
		return nil, 0, err
	}
	if ev.Time.After(r.time) {
		r.time = ev.Time
	}
	if !r.inTx && !r.past.To.Time.IsZero() && r.time.After(r.past.To.Time) {
		return nil, 0, io.EOF
	}
	if r.past.Model != nil {
		r.replaceModel(ev)
	}
	r.seq, r.inTx = ev.Seq, ev.Tx.Open()
	return ev, max(pending, 1), nil
}

// replaceModel leaves of an event about models the version of the fold alone. A version needs a model to come with.
func (r *pastReader) replaceModel(ev *fanfold.Event) {
	switch ev.Kind {
	case fanfold.KindPrepare, fanfold.KindCancel:
		ev.Kind = fanfold.KindFence
	case fanfold.KindModel:
		if ev.Fold == 0 && r.seq > 0 {
			ev.Kind = fanfold.KindFence
			return
		}
		ev.Body, ev.Kept = r.past.Model, nil
	}
}
