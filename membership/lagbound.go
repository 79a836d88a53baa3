package membership

import (
	"strconv"
	"time"

	"github.com/fanfold/fanfold"
)

// LagBound bounds how far a node may lag: in events, or by the age of the oldest event that it has not
// folded. One of the two is set; the zero value bounds nothing.
type LagBound struct {
	Events uint64
	Age    time.Duration
}

// The largest bounds.
const (
	maxLagEvents = 1_000_000_000
	maxLagAge    = 24 * time.Hour
)

// ParseLagBound reads a number of events, such as 10000, or a time with a unit, such as 30s. The error is Invalid.
func ParseLagBound(s string) (LagBound, error) {
	if n, err := strconv.ParseUint(s, 10, 64); err == nil && n > 0 && n <= maxLagEvents {
		return LagBound{Events: n}, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= time.Millisecond && d <= maxLagAge {
		return LagBound{Age: d}, nil
	}
	return LagBound{}, fanfold.Errorf(fanfold.Invalid, "%q bounds no lag: give a number of events up to %d, such as 10000, or a time from 1ms to %v, such as 30s", fanfold.Clip(s), maxLagEvents, maxLagAge)
}

// Holds tells whether a node that lags so far is within the bound.
func (b LagBound) Holds(events uint64, age time.Duration) bool {
	return (b.Events == 0 || events <= b.Events) && (b.Age == 0 || age <= b.Age)
}

// String returns the bound as ParseLagBound reads it.
func (b LagBound) String() string {
	if b.Events > 0 {
		return strconv.FormatUint(b.Events, 10)
	}
	return b.Age.String()
}
