package suite

import (
	"testing"
	"time"
)

// TestBudget: a test that is never through does one round at least, no more than enough, and none after its budget.
func TestBudget(t *testing.T) {
	left, used := Budget{began: time.Now(), most: time.Hour}, Budget{began: time.Now().Add(-2 * time.Hour), most: time.Hour}
	endless := Budget{began: time.Now(), Long: time.Hour}
	for what, c := range map[string]struct {
		budget    Budget
		n, enough int
		want      bool
	}{
		"the first round":                    {left, 0, 5, true},
		"another round":                      {left, 4, 5, true},
		"enough rounds":                      {left, 5, 5, false},
		"the first round after the budget":   {used, 0, 5, true},
		"another round after the budget":     {used, 1, 5, false},
		"more than enough under -soak":       {endless, 500, 5, true},
		"under -soak once the share is used": {Budget{began: time.Now().Add(-2 * time.Hour), Long: time.Hour}, 1, 5, false},
	} {
		if got := c.budget.GoesOn(c.n, c.enough); got != c.want {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
}
