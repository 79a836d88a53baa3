package fanfold_test

import (
	"testing"

	"github.com/fanfold/fanfold"
)

// TestFollows: today an event follows the one right before it, and the log begins with 1.
func TestFollows(t *testing.T) {
	for _, c := range []struct {
		prev, next uint64
		want       bool
	}{{0, 1, true}, {41, 42, true}, {1<<40 - 1, 1 << 40, true}, {0, 0, false}, {0, 2, false}, {41, 41, false}, {41, 43, false}, {41, 40, false}} {
		if got := fanfold.Follows(c.prev, c.next); got != c.want {
			t.Errorf("%d after %d: %v", c.next, c.prev, got)
		}
	}
}
