package inspect

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold/sqlite"
)

// TestCountsWait: a count is made at once of another model or file, and otherwise once events came and the one before has
// waited.
func TestCountsWait(t *testing.T) {
	t.Parallel()
	of := countedState{model: 1, version: 8, file: new(sqlite.DB), seq: 10}
	ago := func(d time.Duration) *valueCount {
		return &valueCount{of: of, took: time.Second, ended: time.Now().Add(-d)}
	}
	for name, c := range map[string]struct {
		last   *valueCount
		change func(s *countedState)
		want   bool
	}{
		"the first":            {nil, func(*countedState) {}, true},
		"nothing new":          {ago(time.Hour), func(*countedState) {}, false},
		"events":               {ago(2 * waitTimes * time.Second), func(s *countedState) { s.seq++ }, true},
		"events, and no rest":  {ago(waitTimes / 2 * time.Second), func(s *countedState) { s.seq++ }, false},
		"twice the events":     {ago(3 * waitTimes / 2 * time.Second), func(s *countedState) { s.seq *= 2 }, false},
		"many more events":     {ago(2 * maxGrowth * waitTimes * time.Second), func(s *countedState) { s.seq *= 1000 }, true},
		"a model, and no rest": {ago(0), func(s *countedState) { s.model, s.seq = 11, 11 }, true},
		"a fold version":       {ago(0), func(s *countedState) { s.version++ }, true},
		"a replay":             {ago(0), func(s *countedState) { s.file = new(sqlite.DB) }, true},
	} {
		now := of
		c.change(&now)
		if got := (&ValueCounter{last: c.last}).due(now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
