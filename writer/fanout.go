package writer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// rehearsal is the error with which a dry run ends where its writes would be stored. It carries them.
type rehearsal struct {
	writes []fanfold.Write
	sample model.Sample
}

// Error returns a text that nobody is shown: dryRun replaces the error by its writes.
func (r *rehearsal) Error() string { return "a dry run" }

// dryRun returns what the writes of a rehearsal would cause. It returns nil and err where err is no rehearsal.
func (w *Writer) dryRun(ctx context.Context, err error) (*DryRun, error) {
	var r *rehearsal
	if !errors.As(err, &r) {
		return nil, err
	}
	fan, err := w.Inspector.DryRun(ctx, eventsOf(r.writes), r.sample)
	if err != nil {
		return nil, err
	}
	writes := slices.DeleteFunc(slices.Clone(r.writes), func(w fanfold.Write) bool { return w.Event.Key.ID == "" }) // of a call, or a gate
	return &DryRun{Writes: writes, Fanout: fan}, nil
}

// checkFanout returns an error where writes are not to be stored: a rehearsal for a dry run, or a FanoutLimit.
func (w *Writer) checkFanout(ctx context.Context, writes []fanfold.Write, in Intent) error {
	if in.DryRun {
		return w.rehearse(ctx, writes, in)
	}
	limit := w.fanoutLimit(in)
	events := eventsOf(writes)
	if more, err := w.Inspector.MayExceed(ctx, events, limit); err != nil || !more {
		return err
	}
	fan, err := w.Inspector.DryRun(ctx, events, model.Sample{})
	if code := fanfold.CodeOf(err); code == fanfold.Conflict || code == fanfold.NotFound {
		return nil // a document changed meanwhile: the log will refuse the write
	}
	if err != nil || fan.Derived <= limit || in.AllowFanout {
		return err
	}
	e := fanfold.Errorf(fanfold.FanoutLimit, "the write would cause %d derived changes; the model's fanout.limit is %d: send it with allowFanout=true if it is meant", fan.Derived, limit)
	e.Discreet = fmt.Sprintf("the write would cause more derived changes than the model's fanout.limit, which is %d: send it with allowFanout=true if it is meant", limit)
	for _, rule := range slices.Sorted(maps.Keys(fan.Rules)) {
		collection, _, _ := strings.Cut(rule, ".")
		counted := fanfold.Key{Collection: collection}
		e.About = append(e.About, counted)
		e.Problems = append(e.Problems, fanfold.Problem{Key: counted, Path: rule, Detail: fmt.Sprintf("%d documents would change", fan.Rules[rule])})
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
func (w *Writer) rehearse(ctx context.Context, writes []fanfold.Write, in Intent) error {
	for i, write := range writes {
		if !write.Expect.Set || write.Event.Key.ID == "" { // a gate: the dry run is of the state that the function has read
			continue
		}
		rev, _, err := w.last(ctx, write.Event.Key)
		if err != nil {
			return err
		}
		if rev != write.Expect.Rev {
			return fanfold.AtOperation(staleAt(write.Event.Key, rev), i)
		}
	}
	return &rehearsal{writes, model.Sample{Most: in.Examples, Reads: in.By.Reads}}
}

// eventsOf returns the events of writes.
func eventsOf(writes []fanfold.Write) []*fanfold.Event {
	events := make([]*fanfold.Event, len(writes))
	for i, w := range writes {
		events[i] = w.Event
	}
	return events
}

// exceedsLimit tells whether an error says that a write causes more derived changes than the model lets one cause.
func exceedsLimit(err error) bool { return fanfold.CodeOf(err) == fanfold.FanoutLimit }
