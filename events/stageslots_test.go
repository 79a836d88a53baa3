package events

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// stageSome stages two documents at a time.
func stageSome(t *testing.T, l *Log, ids string, at time.Time) (appendRest func(id string) (uint64, error), err error) {
	fn, err := l.stageAt(t.Context(), []fanfold.Write{{Event: queuePut(ids + "1")}, {Event: queuePut(ids + "2")}}, at)
	return func(id string) (uint64, error) { return fn(t.Context(), []fanfold.Write{{Event: queuePut(id)}}) }, err
}

// TestOldStage: what the server may have dropped by now is sent anew.
func TestOldStage(t *testing.T) {
	l := openQueueTest(t, 0)
	appendRest, err := stageSome(t, l, "old", time.Now().Add(-stagedSurely-time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if seq, err := appendRest("rest"); err != nil || seq != 1 {
		t.Errorf("what was staged long ago begins at %d, %v", seq, err)
	}
	requireNextSeq(t, l, 4)
}

// TestAbandonedStages: what is staged and never stored takes up a place until the server has surely dropped it, so that others
// find room in the server, and what is stored gives its place back.
func TestAbandonedStages(t *testing.T) {
	l := openQueueTest(t, 0)
	for i := range maxStagedBatches - 1 {
		if _, err := stageSome(t, l, fmt.Sprint("abandoned", i), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint64(3 * maxStagedBatches) {
		appendRest, err := stageSome(t, l, fmt.Sprint("stored", i), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stageSome(t, l, "more", time.Now()); !errors.Is(err, errNothingStaged) {
			t.Fatalf("more than %d batches are staged: %v", maxStagedBatches, err)
		}
		if seq, err := appendRest("rest"); err != nil || seq != 3*i+1 {
			t.Fatalf("a batch begins at %d, %v", seq, err)
		}
	}
}
