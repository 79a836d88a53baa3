package writer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fanfold/fanfold"
)

// rehearsal is the error with which a dry run ends where its writes would be stored. It carries them.
type rehearsal struct{ writes []fanfold.Write }

// Error returns a text that nobody is shown: dryRun replaces the error by its writes.
func (r *rehearsal) Error() string { return "a dry run" }

// dryRun returns what the writes of a rehearsal would cause. It returns nil and err where err is no rehearsal.
func (w *Writer) dryRun(ctx context.Context, err error) (*DryRun, error) {
	var r *rehearsal
	if !errors.As(err, &r) {
		return nil, err
	}
	fan, err := w.Inspector.DryRun(ctx, eventsOf(r.writes))
	if err != nil {
		return nil, err
	}
	return &DryRun{Writes: r.writes, Fanout: fan}, nil
}

// append appends one event, with guards where the model asks for them, and returns its sequence. Errors are a rehearsal
// for a dry run, FanoutLimit, and those of Log.Append and appendGuarded; none names an operation.
func (w *Writer) append(ctx context.Context, ev *fanfold.Event, expect fanfold.Expect, in Intent) (uint64, error) {
	w.others.note()
	end, err := w.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	writes := []fanfold.Write{{Event: ev, Expect: expect}}
	if err := w.checkCollections(writes); err != nil {
		return 0, withoutOperation(err)
	}
	guarded := w.needGuards(writes)
	if guarded && (in.DryRun || ev.IdempotencyKey.Hash != "" || ev.Kind == fanfold.KindDelete) {
		first, _, err := w.appendGuarded(ctx, "", writes, in)
		return first, withoutOperation(err)
	}
	if err := w.checkFanout(ctx, writes, in); err != nil {
		return 0, withoutOperation(err)
	}
	if guarded {
		return w.rounds.append(ctx, w, writes[0])
	}
	return w.Log.Append(ctx, ev, expect)
}

// appendAll appends the writes of a transaction, all or none, as append does one event. It returns the sequence of the
// first. The Operation of an error is the index of the write at fault.
func (w *Writer) appendAll(ctx context.Context, tx string, writes []fanfold.Write, in Intent) (first uint64, err error) {
	w.others.note()
	end, err := w.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	if err := w.checkCollections(writes); err != nil {
		return 0, err
	}
	if w.needGuards(writes) {
		first, _, err := w.appendGuarded(ctx, tx, writes, in)
		return first, err
	}
	if err := w.checkFanout(ctx, writes, in); err != nil {
		return 0, err
	}
	return w.Log.AppendAll(ctx, tx, writes)
}

// checkCollections returns an UnknownCollection where the model that applies does not take a write. Prepare has asked, too,
// under the model of then.
func (w *Writer) checkCollections(writes []fanfold.Write) error {
	m, _, _ := w.Models.Model()
	for i, write := range writes {
		if isAboutDocument(write.Event) {
			if err := m.CheckWritable(write.Event.Key.Collection); err != nil {
				return fanfold.AtOperation(err, i)
			}
		}
	}
	return nil
}

// checkFanout returns an error where writes are not to be stored: a rehearsal for a dry run, or a FanoutLimit.
func (w *Writer) checkFanout(ctx context.Context, writes []fanfold.Write, in Intent) error {
	if in.DryRun {
		return w.rehearse(ctx, writes)
	}
	limit := w.fanoutLimit(in)
	events := eventsOf(writes)
	if more, err := w.Inspector.MayExceed(ctx, events, limit); err != nil || !more {
		return err
	}
	fan, err := w.Inspector.DryRun(ctx, events)
	if code := fanfold.CodeOf(err); code == fanfold.Conflict || code == fanfold.NotFound {
		return nil // a document changed meanwhile: the log will refuse the write
	}
	if err != nil || fan.Derived <= limit || in.AllowFanout {
		return err
	}
	e := fanfold.Errorf(fanfold.FanoutLimit, "the write would cause %d derived changes; the model's fanout.limit is %d: send it with allowFanout=true if it is meant", fan.Derived, limit)
	for _, rule := range slices.Sorted(maps.Keys(fan.Rules)) {
		e.Problems = append(e.Problems, fanfold.Problem{Path: rule, Detail: fmt.Sprintf("%d documents would change", fan.Rules[rule])})
	}
	return e
}

// fanoutLimit returns how many derived changes an event may cause.
func (w *Writer) fanoutLimit(in Intent) int64 {
	if in.AllowFanout {
		return fanfold.MaxChanges - 1 // no event can cause more, whoever allows it
	}
	m, _, _ := w.Models.Model()
	return m.FanoutLimit
}

// rehearse checks the conditions of writes as the log would, and returns a rehearsal where they hold, else a Stale.
func (w *Writer) rehearse(ctx context.Context, writes []fanfold.Write) error {
	for i, write := range writes {
		if !write.Expect.Set {
			continue
		}
		rev, _, err := w.Leader.Last(ctx, write.Event.Key)
		if err != nil {
			return err
		}
		if rev != write.Expect.Rev {
			return fanfold.AtOperation(staleAt(write.Event.Key, rev), i)
		}
	}
	return &rehearsal{writes}
}

// eventsOf returns the events of writes.
func eventsOf(writes []fanfold.Write) []*fanfold.Event {
	events := make([]*fanfold.Event, len(writes))
	for i, w := range writes {
		events[i] = w.Event
	}
	return events
}
