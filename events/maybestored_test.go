package events

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold/events/servers"
)

// TestMaybeStored: only where a message may have left this process is its outcome unknown.
func TestMaybeStored(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errNotSent, false},
		{nats.ErrNoResponders, false},
		{fmt.Errorf("publish: %w", nats.ErrReconnectBufExceeded), false},
		{&jetstream.APIError{ErrorCode: servers.CodeWrongLastSequence}, false},
		{nats.ErrTimeout, true},
		{context.DeadlineExceeded, true},
		{errors.New("anything else"), true},
	} {
		if got := maybeStored(c.err); got != c.want {
			t.Errorf("after %v a message may be stored: %v, want %v", c.err, got, c.want)
		}
	}
}
