package writer

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/fanfold/fanfold"
)

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
