package writer

import (
	"context"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// foldedRows is a ReadModel that has folded everything.
type foldedRows struct{ ReadModel }

func (foldedRows) Wait(ctx context.Context, _ uint64) error { return ctx.Err() }

// TestRetriesEnd: a write is not tried again once its client has gone, and where the log keeps naming the same event the
// retries come less and less often.
func TestRetriesEnd(t *testing.T) {
	w := New(Dependencies{ReadModel: foldedRows{}}, Options{MaxEvent: 1 << 20})
	defer w.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	again, tries := retryPace{w: w}, 0
	var err error
	for ; err == nil; tries++ {
		err = again.next(ctx, 7)
	}
	if fanfold.CodeOf(err) != fanfold.Unavailable || tries > 20 {
		t.Errorf("%d tries, then %v", tries, err)
	}
	for current := range fanfold.Revision(1000) { // each retry lost against another write
		if err := again.next(context.Background(), 8+current); err != nil {
			t.Fatal(err)
		}
	}
	again.since = again.since.Add(-standstill)
	_ = again.next(context.Background(), again.at)
	if err := again.next(context.Background(), again.at); fanfold.CodeOf(err) != fanfold.LogDamaged {
		t.Errorf("a standstill is told as %v", err)
	}
}
