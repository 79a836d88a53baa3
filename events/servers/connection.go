package servers

import (
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// Connection knows whether there is a connection to a NATS server. The connection itself does not answer while it looks for a
// server, which may take seconds.
type Connection struct {
	up     atomic.Bool
	server atomic.Pointer[string] // the URL of the server, or of the last one
}

// Watch follows a connection in a goroutine of its own, until the connection is closed.
func (k *Connection) Watch(nc *nats.Conn) {
	changes := nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	see := func(s nats.Status) {
		if s == nats.CONNECTED {
			url := nc.ConnectedUrl()
			k.server.Store(&url)
		}
		k.up.Store(s == nats.CONNECTED)
	}
	see(nc.Status())
	go func() {
		defer nc.RemoveStatusListener(changes)
		for s := range changes {
			if see(s); s == nats.CLOSED {
				return
			}
		}
	}()
}

// Up tells whether there is a connection. It does not block.
func (k *Connection) Up() bool { return k.up.Load() }

// Server returns the URL of the server that there is a connection to, "" while there is none. It does not block.
func (k *Connection) Server() string {
	if url := k.server.Load(); url != nil && k.Up() {
		return *url
	}
	return ""
}
