package events

import (
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// link knows whether there is a connection to the log's server. The connection itself does not answer while it looks for a
// server, which may take seconds.
type link struct {
	up     atomic.Bool
	server atomic.Pointer[string] // the URL of the server, or of the last one
}

// watch follows a connection in a goroutine of its own, until the connection is closed.
func (k *link) watch(nc *nats.Conn) {
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

// Connected tells whether there is a connection to the log's server. It does not block.
func (l *Log) Connected() bool { return l.link.up.Load() }

// Server returns the URL of the server that the log is connected to, "" while it is to none. It does not block.
func (l *Log) Server() string {
	if url := l.link.server.Load(); url != nil && l.Connected() {
		return *url
	}
	return ""
}
