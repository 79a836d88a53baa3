package node

import (
	"testing"

	"github.com/fanfold/fanfold"
)

// TestWhatIsRebuiltAfterAKill: of a log that begins with a base only the events after it count, and the documents that the base may have.
func TestWhatIsRebuiltAfterAKill(t *testing.T) {
	for _, c := range []struct {
		what string
		work rebuildWork
		long bool
	}{
		{"an empty log", rebuildWork{}, false},
		{"as many events as are replayed", rebuildWork{last: 100_000, changes: 200_000}, false},
		{"more events", rebuildWork{last: 100_001}, true},
		{"more changes", rebuildWork{last: 1000, changes: 200_001}, true},
		{"a base and few events", rebuildWork{last: 5_000_100, base: 5_000_000, horizon: fanfold.Horizon{Changes: 9_000_000}, changes: 9_000_100, documents: 50_000}, false},
		{"a base and many events", rebuildWork{last: 5_100_001, base: 5_000_000}, true},
		{"a base and many changes", rebuildWork{last: 5_000_100, base: 5_000_000, horizon: fanfold.Horizon{Changes: 9_000_000}, changes: 9_200_001}, true},
		{"a base with many documents", rebuildWork{last: 5_000_100, base: 5_000_000, documents: 99_901}, true},
	} {
		if got := c.work.isLong(); got != c.long {
			t.Errorf("%s: %v, want %v", c.what, got, c.long)
		}
	}
}
