package rebuild

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/suite"
)

// puts is a log of as many writes.
type puts uint64

// Events returns a reader of the events from a sequence on.
func (l puts) Events(_ context.Context, from uint64, _ fanfold.AsOf) (batch.Reader, error) {
	return &putReader{last: uint64(l), at: from - 1}, nil
}

// Base returns none.
func (puts) Base(context.Context) (*batch.Base, error) { return nil, nil }

// Erasures returns none.
func (puts) Erasures() (last, inForce fanfold.AsOf) { return 0, 0 }

// ErasuresAfter returns none.
func (puts) ErasuresAfter(fanfold.AsOf, fanfold.AsOf) []*fanfold.Erasure { return nil }

// putReader reads puts.
type putReader struct{ last, at uint64 }

// Next returns the next write, and waits after the last one.
func (r *putReader) Next(ctx context.Context) (*fanfold.Event, uint64, error) {
	if r.at == r.last {
		<-ctx.Done()
		return nil, 0, ctx.Err()
	}
	r.at++
	return &fanfold.Event{Kind: fanfold.KindPut, Seq: r.at, Time: time.Unix(int64(r.at), 0), Body: []byte(`{}`),
		Key: fanfold.Key{Collection: "c", ID: fmt.Sprint(r.at % 100)}}, r.last - r.at, nil
}

// WaitSynced returns at once.
func (*putReader) WaitSynced(context.Context, uint64) error { return nil }

// Close does nothing.
func (*putReader) Close() {}

// TestOneRebuildAtATime: a rebuild is a Conflict while another one runs, and its state says how far it is. A check of its result finds no difference.
func TestOneRebuildAtATime(t *testing.T) {
	suite.Concurrent(t)
	const last = 10_000
	store, err := sqlite.OpenStore(t.TempDir(), sqlite.Options{Fingerprint: fold.Fingerprint()})
	if err != nil {
		t.Fatal(err)
	}
	served := &Served{Report: new(Report), Replaced: func() error { return nil }, Resume: make(chan struct{}, 1)}
	plan, err := fold.NewPlan(model.Empty(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	served.Plan.Store(plan)
	b := New(puts(last), store, served, fold.Options{}, slog.New(slog.DiscardHandler))
	run, err := b.Begin(ReplayTo(last))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run(t.Context()) }()
	if err := b.Rebuild(t.Context(), Check()); fanfold.CodeOf(err) != fanfold.Conflict {
		t.Errorf("a second one: %v", err)
	}
	for seen := uint64(0); ; {
		s := b.LastReplay()
		if s.Seq < seen || s.Target != last {
			t.Errorf("after event %d: %+v", seen, s)
		}
		if seen = s.Seq; !s.Running {
			break
		}
	}
	if err := <-ended; err != nil || store.Applied.Seq() != last || len(served.Resume) != 1 {
		t.Errorf("the end: %v, event %d", err, store.Applied.Seq())
	}
	if err := b.Rebuild(t.Context(), Check()); err != nil {
		t.Error(err)
	}
	if s := b.LastReplay(); s.Phase != "done" || s.Check.Different != 0 || s.Check.Compared == 0 || s.Check.Compared != s.Check.Rows {
		t.Errorf("the check: %+v, %+v", s, s.Check)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// changingBases is a log whose bases cannot be read. The first one is there for so many questions, and none is after that.
type changingBases struct {
	puts
	left   int // questions that are answered by another base each
	stays  bool
	opened int
}

// Base returns a base that cannot be read.
func (l *changingBases) Base(context.Context) (*batch.Base, error) {
	if l.left--; l.left < 0 {
		return nil, nil
	}
	b := &batch.Base{Horizon: fanfold.Horizon{Seq: 1}, Open: func(context.Context) (io.ReadCloser, error) {
		l.opened++
		return nil, fanfold.Errorf(fanfold.Unavailable, "its pieces are gone")
	}}
	if !l.stays {
		b.AsOf = fanfold.AsOf(l.left)
	}
	return b, nil
}

// TestBaseThatIsTakenAway: a rebuild whose base is taken away begins with the one in its place, or with the first event. It fails where the same base stays, and
// after maxBases.
func TestBaseThatIsTakenAway(t *testing.T) {
	for _, x := range []struct {
		log    *changingBases
		opened int
		fails  bool
	}{
		{&changingBases{left: 1}, 1, false}, {&changingBases{left: 2}, 2, false}, {&changingBases{left: 9}, maxBases, true}, {&changingBases{left: 9, stays: true}, 1, true},
	} {
		x.log.puts = 100
		store, err := sqlite.OpenStore(t.TempDir(), sqlite.Options{Fingerprint: fold.Fingerprint()})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := fold.NewPlan(model.Empty(), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		served := &Served{Report: new(Report), Replaced: func() error { return nil }, Resume: make(chan struct{}, 1)}
		served.Plan.Store(plan)
		b := New(x.log, store, served, fold.Options{}, slog.New(slog.DiscardHandler))
		run, err := b.Begin(ReplayTo(100))
		if err != nil {
			t.Fatal(err)
		}
		if err := run(t.Context()); (err != nil) != x.fails || x.log.opened != x.opened || !x.fails && store.Applied.Seq() != 100 {
			t.Errorf("%+v: %v, at event %d", x.log, err, store.Applied.Seq())
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}
