package writer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/model"
)

// stagingLog is a log that notes what is staged, and a read model without a model. It is an inspector, too, and finds that a document with
// the id x would change too many others.
type stagingLog struct {
	Appender
	Models
	Inspector
	staged []string
}

func (l *stagingLog) Model() (*model.Model, uint64, model.Reserved) {
	return model.Empty(), 0, nil
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

func (l *stagingLog) DryRun(context.Context, []*fanfold.Event, model.Sample) (*model.Fanout, error) {
	return &model.Fanout{Derived: fanfold.MaxChanges + 1}, nil
}

func (l *stagingLog) Stage(_ context.Context, writes []fanfold.Write) (AppendStaged, error) {
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
			b.batch.add(&fanfold.Event{Key: fanfold.Key{Collection: "c", ID: id}}, lineMessages{count: 1}, i+1, i+1)
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
			b.add(&fanfold.Event{Key: fanfold.Key{Collection: "c", ID: fmt.Sprint(i)}}, lineMessages{count: 1}, i+1, i+1)
		}
		b.staged, b.appendStaged = 4, func(context.Context, []fanfold.Write) (uint64, error) { return 0, nil }
		if c.change(b); b.staged != c.staged || (b.appendStaged != nil) != (c.staged > 0) {
			t.Errorf("%s: %d writes are staged", name, b.staged)
		}
	}
}

// countedLines gives a number of lines, one after each pause.
type countedLines struct {
	left  int
	pause time.Duration
}

func (l *countedLines) Next() ([]byte, error) {
	if l.left == 0 {
		return nil, io.EOF
	}
	l.left--
	time.Sleep(l.pause)
	return fmt.Appendf(nil, `{"id":"%d"}`, l.left), nil
}

func (l *countedLines) Stop() {}

// TestSizesOfImportBatches: batches are as large as the log takes them where lines come fast and nobody else waits for the log.
func TestSizesOfImportBatches(t *testing.T) {
	const lines = 5_000
	for name, c := range map[string]struct {
		opt    Options
		pause  time.Duration
		others time.Duration // before the import, somebody else was there; 0 for nobody
		want   []int
	}{
		"a log that takes no more":  {want: []int{999, 999, 999, 999, 999, 5}},
		"alone":                     {opt: Options{ImportBatch: 2_000}, want: []int{1_999, 1_999, 1_002}},
		"somebody was there before": {opt: Options{ImportBatch: 2_000}, others: 2 * importAlone, want: []int{1_999, 1_999, 1_002}},
		"somebody is there":         {opt: Options{ImportBatch: 2_000}, others: importAlone, want: []int{999, 999, 999, 999, 999, 5}},
		"lines come slowly":         {opt: Options{ImportBatch: 2_000}, pause: time.Millisecond, want: []int{999, 999, 999, 999, 999, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &stagingLog{}
				c.opt.MaxEvent = 1 << 20
				w := New(Dependencies{Log: l, Leader: noLeader{}, ReadModel: foldedAll{}, Models: l, Inspector: l}, c.opt)
				if c.others > 0 {
					if _, err := w.Fence(t.Context()); err != nil {
						t.Fatal(err)
					}
					time.Sleep(c.others)
				}
				out := make(chan *importBatch, 100)
				b := &batcher{w: w, lines: &countedLines{lines, c.pause}, opt: ImportOptions{Collection: "c", By: access.Node}, next: 1, out: out}
				b.run(t.Context())
				close(out)
				var got []int
				for batch := range out {
					got = append(got, len(batch.writes))
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("batches of %v, want %v", got, c.want)
				}
			})
		})
	}
}

// noLeader is a leader that has nothing.
type noLeader struct{ Leader }

func (noLeader) Fence(context.Context) (uint64, error) { return 0, nil }

// TestGuardedBatches: a batch with guards has more messages than a transaction where it may grow. A link that is joined with another is none.
func TestGuardedBatches(t *testing.T) {
	author := lineMessages{count: 2, links: []link{{fanfold.Key{Collection: "authors", ID: "a"}, "books"}}}
	b := newImportBatch(0, 0)
	for i := range importWrites / 2 {
		b.add(&fanfold.Event{Key: fanfold.Key{Collection: "books", ID: fmt.Sprint(i)}}, author, i, i)
	}
	if b.messages != importWrites-1 || b.joined != importWrites/2-1 {
		t.Errorf("of %d messages %d are joined", b.messages, b.joined)
	}
	ev, asked := &fanfold.Event{Key: fanfold.Key{Collection: "books", ID: "new"}}, 0
	no := func() bool { return false }
	full := func(m lineMessages, grows bool) bool {
		return b.isFullFor(ev, m, func(messages int) bool { asked = messages; return grows }, no)
	}
	if full(author, false) || asked > 0 {
		t.Error("a batch is full of messages that it has not")
	}
	rest := importWrites - b.messages + b.joined
	if full(lineMessages{count: rest}, false) || asked > 0 {
		t.Error("a batch is full that has a place left")
	}
	if !full(lineMessages{count: rest + 1}, false) || full(lineMessages{count: rest + 2}, true) || asked != importWrites+2 {
		t.Errorf("the batch was to have %d messages", asked)
	}
	reviews := lineMessages{count: rest + 1, links: []link{{fanfold.Key{Collection: "authors", ID: "a"}, "reviews"}}}
	if !full(reviews, false) {
		t.Error("a link is joined with that of another collection")
	}
}

// TestGuardedBatchesBesideOthers: beside somebody else a batch with guards is smaller, joined links or not, and one without is not.
func TestGuardedBatchesBesideOthers(t *testing.T) {
	b := newImportBatch(0, 0)
	ev := &fanfold.Event{Key: fanfold.Key{Collection: "c", ID: "new"}}
	l := link{fanfold.Key{Collection: "c", ID: "target"}, "c"}
	b.links[l] = struct{}{}
	for i := range besideWrites - 1 {
		b.add(&fanfold.Event{Key: fanfold.Key{Collection: "c", ID: fmt.Sprint(i)}}, lineMessages{count: 1}, i, i)
	}
	grows, yes, no := func(int) bool { return true }, func() bool { return true }, func() bool { return false }
	if b.isFullFor(ev, lineMessages{count: 1}, grows, yes) {
		t.Error("a batch without guards is full")
	}
	guarded := lineMessages{count: 2, links: []link{l}}
	if b.isFullFor(ev, guarded, grows, no) || !b.isFullFor(ev, guarded, grows, yes) {
		t.Error("a document with a guard fills a batch alone, or none beside others")
	}
}
