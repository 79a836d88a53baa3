package events

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/suite"
)

// stageSome stages two documents at a time.
func stageSome(t *testing.T, l *Log, ids string, at time.Time) (appendLastPart func(id string) (uint64, error), err error) {
	fn, err := l.stageAt(t.Context(), []fanfold.Write{{Event: queuePut(ids + "1")}, {Event: queuePut(ids + "2")}}, at)
	return func(id string) (uint64, error) { return fn(t.Context(), []fanfold.Write{{Event: queuePut(id)}}) }, err
}

// TestOldStage: what the server may have dropped by now is sent anew, and takes up its place until it surely has.
func TestOldStage(t *testing.T) {
	l := openQueueTest(t, 0)
	appendLastPart, err := stageSome(t, l, "old", time.Now().Add(time.Hour-stagedAtMost))
	if err != nil {
		t.Fatal(err)
	}
	sent := l.stats.resent.Load()
	if seq, err := appendLastPart("rest"); err != nil || seq != 1 || l.stats.resent.Load() != sent {
		t.Errorf("what was staged begins at %d, %v", seq, err)
	}
	if !l.stageSlots.TryAcquire(maxStagedBatches) {
		t.Error("what is stored takes up a place")
	}
	l.stageSlots.Release(maxStagedBatches)
	if appendLastPart, err = stageSome(t, l, "older", time.Now().Add(-stagedSurely)); err != nil {
		t.Fatal(err)
	}
	if seq, err := appendLastPart("rest"); err != nil || seq != 4 {
		t.Errorf("what was staged long ago begins at %d, %v", seq, err)
	}
	if l.stageSlots.TryAcquire(maxStagedBatches) {
		t.Error("what was sent anew takes up no place, although the server may still have it")
	}
	requireNextSeq(t, l, 7)
}

// TestAbandonedStages: a stage that is never stored takes up a place until the server has surely dropped it, so that others find room in
// the server. One that is stored gives its place back.
func TestAbandonedStages(t *testing.T) {
	l := openQueueTest(t, 0)
	later := time.Now().Add(time.Hour)
	for i := range maxStagedBatches - 1 {
		if _, err := stageSome(t, l, fmt.Sprint("abandoned", i), later); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint64(3 * maxStagedBatches) {
		appendLastPart, err := stageSome(t, l, fmt.Sprint("stored", i), later)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stageSome(t, l, "more", later); !errors.Is(err, errEnoughStaged) {
			t.Fatalf("more than %d batches are staged: %v", maxStagedBatches, err)
		}
		if seq, err := appendLastPart("rest"); err != nil || seq != 3*i+1 {
			t.Fatalf("a batch begins at %d, %v", seq, err)
		}
	}
	if _, err := stageSome(t, l, "long ago", time.Now().Add(-stagedAtMost)); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(suite.Deadline(time.Minute)); !l.stageSlots.TryAcquire(1); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("what the server has dropped takes up a place")
		}
	}
}
