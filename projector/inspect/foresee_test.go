package inspect

import (
	"context"
	"errors"
	"testing"

	"github.com/fanfold/fanfold"
)

// TestFewAreForeseen: beyond maxForeseen, a rehearsal waits until another one ends, or its client has gone.
func TestFewAreForeseen(t *testing.T) {
	i := New(nil, nil, fanfold.Issuer{})
	for range maxForeseen {
		i.foreseen <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := i.Foresee(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("one more: %v", err)
	}
}
