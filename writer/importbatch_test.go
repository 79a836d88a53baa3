package writer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fanfold/fanfold"
)

// stagingLog is a log that takes note of what is staged, a read model without a model, and an inspector that finds a document with
// the id x to change too many others.
type stagingLog struct {
	Appender
	Models
	Inspector
	staged []string
}

func (l *stagingLog) Model() (*fanfold.Model, uint64, fanfold.Reserved) {
	return fanfold.EmptyModel(), 0, nil
}

func (l *stagingLog) MayEachExceed(_ context.Context, events []*fanfold.Event, _ int64) (which []int, err error) {
	for i, ev := range events {
		if ev.Key.ID == "x" {
			which = append(which, i)
		}
	}
	return which, nil
}

func (l *stagingLog) MayExceed(context.Context, []*fanfold.Event, int64) (bool, error) {
	return true, nil
}

func (l *stagingLog) DryRun(context.Context, []*fanfold.Event) (*fanfold.Fanout, error) {
	return &fanfold.Fanout{Derived: fanfold.MaxChanges + 1}, nil
}

func (l *stagingLog) Stage(_ context.Context, writes []fanfold.Write) (fanfold.AppendRest, error) {
	for _, w := range writes {
		l.staged = append(l.staged, w.Event.Key.ID)
	}
	return func(context.Context, []fanfold.Write) (uint64, error) { return 1, nil }, nil
}

// TestStagedDocumentsAreHeldToTheLimit: only what is to be stored is staged, all of it where an import event follows, and all but
// the last document otherwise.
func TestStagedDocumentsAreHeldToTheLimit(t *testing.T) {
	for _, importID := range []string{"i", ""} {
		l, want := &stagingLog{}, []string{"a", "b"}
		b := &batcher{w: New(Dependencies{Log: l, Models: l, Inspector: l}, Options{}), opt: ImportOptions{ID: importID}, batch: newImportBatch(0, 0)}
		for i, id := range []string{"a", "x", "b"} {
			b.batch.add(&fanfold.Event{Key: fanfold.Key{Collection: "c", ID: id}}, 1, i+1, i+1)
		}
		if b.stage(t.Context()); importID == "" {
			want = want[:1]
		}
		if !slices.Equal(l.staged, want) || b.batch.staged != len(want) || len(b.batch.refusals) != 1 || b.batch.refusals[0].Line != 2 {
			t.Errorf("import %q: %v are staged, and refused %v", importID, l.staged, b.batch.refusals)
		}
	}
}

// TestChangedBatchIsSentAnew: a batch whose writes are others than those that were staged is not stored by them.
func TestChangedBatchIsSentAnew(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *importBatch)
		staged int
	}{
		"unchanged":               {func(*importBatch) {}, 4},
		"a line refused":          {func(b *importBatch) { b.remove(1, errors.New("refused")) }, 0},
		"halves":                  {func(b *importBatch) { b.split(2) }, 0},
		"stored up to a line":     {func(b *importBatch) { b.dropUpTo(2) }, 0},
		"nothing of it is stored": {func(b *importBatch) { b.dropUpTo(0) }, 4},
		"its lines are refused": {func(b *importBatch) {
			b.removeAll(&refusals{at: []int{0, 3}, errors: []error{errors.New("a"), errors.New("b")}})
		}, 0},
		"none of its lines refused": {func(b *importBatch) { b.removeAll(&refusals{}) }, 4},
	} {
		b := newImportBatch(0, 0)
		for i := range 4 {
			b.add(&fanfold.Event{Key: fanfold.Key{Collection: "c", ID: fmt.Sprint(i)}}, 1, i+1, i+1)
		}
		b.staged, b.appendStaged = 4, func(context.Context, []fanfold.Write) (uint64, error) { return 0, nil }
		if c.change(b); b.staged != c.staged || (b.appendStaged != nil) != (c.staged > 0) {
			t.Errorf("%s: %d writes are staged", name, b.staged)
		}
	}
}
