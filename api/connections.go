package api

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/fanfold/fanfold/access"
)

// Connections is told of connections that others may have the places of: see connections.Listener.
type Connections interface {
	// Idle is told that a connection has no request, and that its last one came from nobody who was let in.
	Idle(c net.Conn)
	// Busy is told that a connection has a request, or has ended.
	Busy(c net.Conn)
}

// visitor tells whether the last request on a connection came from somebody who was let in.
type visitor struct{ known atomic.Bool }

// visitorKey is the key of a visitor in the contexts of its requests.
type visitorKey struct{}

// seen takes note of the sender of a request, nil for one that was not let in.
func seen(ctx context.Context, rights *access.Rights) {
	if v, ok := ctx.Value(visitorKey{}).(*visitor); ok {
		v.known.Store(rights != nil && (rights.IsOpen() || rights.ID != ""))
	}
}

// watch has a server tell connections of those that are idle.
func watch(srv *http.Server, connections Connections) {
	if connections == nil {
		return
	}
	var visitors sync.Map // by net.Conn
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		v := &visitor{}
		visitors.Store(c, v)
		return context.WithValue(ctx, visitorKey{}, v)
	}
	srv.ConnState = func(c net.Conn, state http.ConnState) {
		switch state {
		case http.StateIdle:
			if v, found := visitors.Load(c); found && !v.(*visitor).known.Load() {
				connections.Idle(c)
			}
		case http.StateClosed, http.StateHijacked:
			visitors.Delete(c)
			connections.Busy(c)
		case http.StateActive:
			connections.Busy(c)
		case http.StateNew:
		}
	}
}
