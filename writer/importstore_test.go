package writer

import (
	"context"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// slowFold is a read model that reaches one event more with each wait for it, up to last, and each time too late.
type slowFold struct {
	ReadModel
	applied, last uint64
}

// Wait implements ReadModel.
func (s *slowFold) Wait(ctx context.Context, seq uint64) error {
	if s.applied >= seq {
		return nil
	}
	s.applied = min(s.applied+1, s.last)
	<-ctx.Done()
	return ctx.Err()
}

// Applied implements ReadModel.
func (s *slowFold) Applied() uint64 { return s.applied }

// TestImportWaitsForASlowFold: an import that needs an event folded before it can go on waits while the node folds, however
// slowly, and ends where it does not any more. Once everything is stored it waits once.
func TestImportWaitsForASlowFold(t *testing.T) {
	fold := &slowFold{last: 5}
	im := &Import{longWrite: longWrite{w: &Writer{Dependencies: Dependencies{ReadModel: fold}, opt: Options{ImportWait: time.Millisecond}}}}
	if err := im.wait(t.Context(), 4); err != nil || fold.applied != 4 {
		t.Errorf("at event %d it ends with %v", fold.applied, err)
	}
	if err := im.wait(t.Context(), 9); fanfold.CodeOf(err) != fanfold.Timeout || fold.applied != 5 {
		t.Errorf("at event %d it ends with %v", fold.applied, err)
	}
	*fold = slowFold{last: 5}
	im.last = 4
	if err := im.WaitFolded(t.Context()); fanfold.CodeOf(err) != fanfold.Timeout || fold.applied != 1 {
		t.Errorf("at event %d it ends with %v", fold.applied, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := im.wait(ctx, 9); err == nil {
		t.Error("it goes on without its client")
	}
}
