package events

import (
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
)

// timeOf returns when a message's event was stored first: what its header says, which a restored log has, and otherwise the
// server's time. The error is Invalid for a header that cannot be read; the time is the server's then.
func timeOf(server time.Time, h nats.Header) (time.Time, error) {
	values := h[headerTime]
	if len(values) == 0 {
		return server, nil
	}
	nanos, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || len(values) > 1 || nanos < 0 || formatTime(time.Unix(0, nanos)) != values[0] {
		return server, fanfold.Errorf(fanfold.Invalid, "the event's %s cannot be read: %q", headerTime, fanfold.Clip(values[0]))
	}
	return time.Unix(0, nanos), nil
}

// formatTime returns a time as its header has it.
func formatTime(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }
