package batch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/suite"
)

// slowReader delivers events one by one, as they are sent to it.
type slowReader chan *fanfold.Event

// Next returns the next event that was sent.
func (r slowReader) Next(ctx context.Context) (*fanfold.Event, uint64, error) {
	select {
	case ev, ok := <-r:
		if !ok {
			return nil, 0, errors.New("the log is gone")
		}
		return ev, 0, nil
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// Close does nothing.
func (r slowReader) Close() {}

// Events returns the reader itself.
func (r slowReader) Events(context.Context, uint64, fanfold.AsOf) (Reader, error) { return r, nil }

// Base returns none.
func (r slowReader) Base(context.Context) (*Base, error) { return nil, nil }

// WaitSynced returns at once: everything is durable.
func (r slowReader) WaitSynced(context.Context, uint64) error { return nil }

// TestGuardsAreFoldedWithTheirDocuments checks that no batch ends between a claim or link and the document that it is
// of: whoever saw that would take the value or the target for free.
func TestGuardsAreFoldedWithTheirDocuments(t *testing.T) {
	suite.Concurrent(t)
	a, b, c := fanfold.Key{Collection: "bs", ID: "a"}, fanfold.Key{Collection: "bs", ID: "b"}, fanfold.Key{Collection: "bs", ID: "c"}
	at := fanfold.Key{Collection: "as", ID: "1"}
	events := []*fanfold.Event{
		{Kind: fanfold.KindFence},
		{Kind: fanfold.KindClaim, Key: a, Held: true},
		{Kind: fanfold.KindLink, Key: at, Holders: []fanfold.Key{b}, Held: true},
		{Kind: fanfold.KindCheck, Key: b},
		{Kind: fanfold.KindPut, Key: a},
		{Kind: fanfold.KindPatch, Key: b},
		{Kind: fanfold.KindPut, Key: a},
		{Kind: fanfold.KindLink, Key: at, Holders: []fanfold.Key{c}},
		{Kind: fanfold.KindDelete, Key: c},
		{Kind: fanfold.KindClaim, Key: a},
	}
	reader := make(slowReader)
	f, err := Follow(t.Context(), reader, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	go func() {
		for i, ev := range events {
			ev.Seq = uint64(i + 1)
			reader <- ev
		}
		close(reader)
	}()
	var ends []uint64
	for {
		batch, err := f.Next(t.Context(), ^uint64(0))
		if err != nil {
			break
		}
		ends = append(ends, batch[len(batch)-1].Seq)
	}
	for _, end := range ends {
		if end != 1 && end != 6 && end != 7 && end != 9 {
			t.Errorf("batches end at %v: between a guard and its document", ends)
		}
	}
	if len(ends) == 0 || ends[len(ends)-1] != 9 {
		t.Errorf("batches end at %v, want the last at 9", ends)
	}
}

// Erasures implements Log.
func (r slowReader) Erasures() (last, inForce fanfold.AsOf) { return 0, 0 }

// ErasuresAfter implements Log.
func (r slowReader) ErasuresAfter(fanfold.AsOf, fanfold.AsOf) []*fanfold.Erasure { return nil }

// errRestart is the error of a reader whose server was started again.
var errRestart = fanfold.Wrap(fanfold.ErrRestarting, fanfold.Unavailable, "the reader was stopped")

// endingLog is a log without events, whose server is started again.
type endingLog struct{ slowReader }

// Events returns a reader that ends.
func (l endingLog) Events(context.Context, uint64, fanfold.AsOf) (Reader, error) { return l, nil }

// Next fails after a while.
func (endingLog) Next(context.Context) (*fanfold.Event, uint64, error) {
	time.Sleep(time.Millisecond)
	return nil, 0, errRestart
}

// TestFollowerFailsAgain: whoever asks a follower again after its reader has ended hears of it, too. Two parts of a node ask one.
func TestFollowerFailsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := Follow(t.Context(), endingLog{}, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Stop()
		ctx, cancel := context.WithTimeout(t.Context(), suite.Deadline(time.Minute))
		defer cancel()
		for try := range 3 {
			if _, err := f.Next(ctx, 1); !errors.Is(err, errRestart) {
				t.Errorf("try %d: %v", try, err)
			}
		}
	})
}
