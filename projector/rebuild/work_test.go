package rebuild

import (
	"testing"

	"github.com/fanfold/fanfold"
)

// TestWhatIsRebuiltAfterAKill: of a log that begins with a base only the events after it count, and the documents that the base may have.
func TestWhatIsRebuiltAfterAKill(t *testing.T) {
	for _, c := range []struct {
		what string
		work work
		long bool
	}{
		{"an empty log", work{}, false},
		{"as many events as are replayed", work{last: 100_000, changes: 200_000}, false},
		{"more events", work{last: 100_001}, true},
		{"more changes", work{last: 1000, changes: 200_001}, true},
		{"a base and few events", work{last: 5_000_100, base: 5_000_000, horizon: fanfold.Horizon{Changes: 9_000_000}, changes: 9_000_100, documents: 50_000}, false},
		{"a base and many events", work{last: 5_100_001, base: 5_000_000}, true},
		{"a base and many changes", work{last: 5_000_100, base: 5_000_000, horizon: fanfold.Horizon{Changes: 9_000_000}, changes: 9_200_001}, true},
		{"a base with many documents", work{last: 5_000_100, base: 5_000_000, documents: 99_901}, true},
	} {
		if got := c.work.isLong(); got != c.long {
			t.Errorf("%s: %v, want %v", c.what, got, c.long)
		}
	}
}
