package embedded_test

import (
	"fmt"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// TestLargeBatches: an embedded server stores more messages at once than a transaction has.
func TestLargeBatches(t *testing.T) {
	many := func(n int) (writes []fanfold.Write) {
		for i := range n {
			writes = append(writes, fanfold.Write{Event: put(fmt.Sprint(i), `{}`), Expect: fanfold.Exactly(0)})
		}
		return writes
	}
	if err := openIn(t, t.TempDir(), events.Options{}, func(l *events.Log) {
		if _, err := l.AppendAll(t.Context(), "tx", many(events.MaxBatch+1)); fanfold.CodeOf(err) != fanfold.Unprocessable {
			t.Errorf("a transaction of %d: %v", events.MaxBatch+1, err)
		}
		if _, err := l.AppendAll(t.Context(), "", many(events.MaxEmbeddedBatch+1)); fanfold.CodeOf(err) != fanfold.Unprocessable {
			t.Errorf("%d messages at once: %v", events.MaxEmbeddedBatch+1, err)
		}
		if first, err := l.AppendAll(t.Context(), "", many(events.MaxEmbeddedBatch)); err != nil || first != 1 {
			t.Errorf("%d messages at once: %d, %v", events.MaxEmbeddedBatch, first, err)
		}
		if last, err := l.LastSeq(t.Context()); err != nil || last != events.MaxEmbeddedBatch {
			t.Errorf("the log ends at %d, %v", last, err)
		}
	}); err != nil {
		t.Fatal(err)
	}
}
