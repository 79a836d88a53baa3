package natsserver

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// connectTime bounds a connection's beginning. The client's own default of two seconds is too short for a busy machine.
const connectTime = 30 * time.Second

// Connect returns a plain client of a server, which is closed at the test's end.
func Connect(t testing.TB, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, nats.Timeout(connectTime))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}
