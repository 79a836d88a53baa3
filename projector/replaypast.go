package projector

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

// BeginReplayOf begins to build the read model of a prefix of the log in place of the store's, on which no projector runs. Status
// shows how far it is. The caller must call run, which does the work and blocks. The error is Conflict where another replay runs, and
// for a position that the log has not reached.
func (p *Projector) BeginReplayOf(past Past) (run func(ctx context.Context) error, err error) {
	target := past.Last
	if past.To.Time.IsZero() {
		if target = past.To.Position.Seq(); target > past.Last {
			return nil, fanfold.Errorf(fanfold.Conflict, "the log ends at event %d, before event %d", past.Last, target)
		}
	}
	if !p.replay.begin(target, nil) {
		return nil, errReplaying
	}
	return func(ctx context.Context) error {
		err := p.replayPast(ctx, past, target)
		p.replay.end(err)
		return err
	}, nil
}

// replayPast does the work of BeginReplayOf. target is the last event, as far as that is known.
func (p *Projector) replayPast(ctx context.Context, past Past, target uint64) error {
	db, err := p.store.Build()
	if err != nil {
		return err
	}
	r := p.newRebuilding(db, p.asOf(), nil)
	r.target = func() uint64 { return r.at }
	if err := r.beginPast(ctx, past); err != nil {
		return errors.Join(err, p.store.Discard(r.db))
	}
	if err := r.toEnd(ctx, past.Model, target); err != nil {
		return errors.Join(err, p.store.Discard(r.db))
	}
	p.folding.Lock()
	defer p.folding.Unlock()
	return r.takeOver()
}

// beginPast begins to read a prefix of the log. The error is also PositionGone for one that ends before the base. The caller calls toEnd.
func (r *rebuilding) beginPast(ctx context.Context, past Past) error {
	base, err := r.p.log.Base(ctx)
	if err == nil {
		err = r.load(ctx, base)
	}
	if err != nil {
		return err
	}
	if h := r.base; h.Seq > 0 && (past.To.Time.IsZero() && past.To.Position < h.At() || !past.To.Time.IsZero() && past.To.Time.Before(h.Time)) {
		return &fanfold.Error{Code: fanfold.PositionGone, Oldest: &fanfold.Bookmark{Position: h.At()},
			Message: "the store begins at event " + strconv.FormatUint(h.Seq, 10) + ": what was before is no longer kept"}
	}
	r.feed, err = batch.Follow(ctx, pastLog{r.p.log, past, r.base}, r.at+1, r.erasure)
	return err
}

// toEnd replays what beginPast has begun to read, where model is not nil under that one. target is the last event, as far as that is known.
func (r *rebuilding) toEnd(ctx context.Context, model []byte, target uint64) error {
	defer r.feed.Stop()
	begun := model == nil
	for {
		events, err := r.feed.Next(ctx, math.MaxUint64)
		if errors.Is(err, io.EOF) {
			if !begun && r.base.Seq > 0 {
				return fanfold.Errorf(fanfold.Conflict, "the log has no event between the base, up to event %d, and the end: a model of a file applies from the first such event on", r.base.Seq)
			}
			return nil
		}
		if err == nil && !begun {
			err, begun = r.beginWith(model, events[0]), true
		}
		if err == nil {
			err = r.apply(events, target)
		}
		if err != nil {
			return err
		}
	}
}

// beginWith makes a model apply from the first event on that is read.
func (r *rebuilding) beginWith(model []byte, first *fanfold.Event) error {
	if first.Kind == fanfold.KindModel {
		return nil // which has this model in place of its own
	}
	return r.db.Update(func(tx *sqlite.Tx) error {
		err := r.fold.Apply(tx, &fanfold.Event{Kind: fanfold.KindModel, Seq: first.Seq, Time: first.Time, Body: model})
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
func (l pastLog) Events(ctx context.Context, from, erasure uint64) (batch.Reader, error) {
	if l.past.Last <= l.base.Seq {
		return emptyReader{}, nil
	}
	r, err := l.Log.Events(ctx, from, erasure)
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
