package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/admission"
)

// How requests may go on once the server takes no new ones, as shares of Options.ShutdownTimeout. The first ends their own
// contexts, the second their connections, and after the third Run returns although some are still there. The rest is the
// node's, for the fold and the files.
const (
	finishShare = 0.3
	cutShare    = 0.5
	leaveShare  = 0.6
)

// errStopping is the cause with which the contexts of requests end where the server ends.
var errStopping = fanfold.Errorf(fanfold.Unavailable, "the node is stopping: ask another one, or this one when it is back")

// Ending says what belongs to the end of a server.
type Ending struct {
	CloseFeeds func()          // ends open feeds, and lets no new ones begin
	Failed     <-chan struct{} // closed where what the server needs has failed: it ends without a delay; nil for never
}

// Run serves on l until ctx ends, and then in steps. At once the server is leaving: it is not ready any more, and each
// answer closes its connection, so that whoever distributes requests goes elsewhere; it serves on for Options.ShutdownDelay.
// Then it takes no more connections, and closes the feeds; each ends with its position. Running requests have three
// tenths of Options.ShutdownTimeout to finish. Then their contexts end, after two tenths more their connections, and Run
// returns nil. It returns an error only where the server could not serve.
func (s *Server) Run(ctx context.Context, l net.Listener, ending Ending) error {
	base, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(errStopping)
	srv := &http.Server{Handler: s.running, BaseContext: func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: s.opt.HeaderTime, WriteTimeout: admission.AnswerTime, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, Protocols: s.opt.protocols(), ErrorLog: slog.NewLogLogger(s.opt.Logger.Handler(), slog.LevelDebug)}
	watch(srv, l)
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		ending.CloseFeeds()
		return err
	case <-ctx.Done():
	}
	s.running.leaving.Store(true)
	s.opt.Logger.Info("the node is stopping", "delay", s.opt.ShutdownDelay, "timeout", s.opt.ShutdownTimeout, "requests", s.Running())
	select {
	case <-time.After(s.opt.ShutdownDelay):
	case <-ending.Failed:
	}
	ending.CloseFeeds()
	defer s.jobs.close(s.share(leaveShare - cutShare))
	s.jobs.end(errStopping)
	s.drain(srv, func() { end(errStopping) })
	return nil
}

// share returns a share of Options.ShutdownTimeout.
func (s *Server) share(of float64) time.Duration {
	return time.Duration(of * float64(s.opt.ShutdownTimeout))
}

// drain ends a server: it waits for its requests, and calls end where their contexts are to end.
func (s *Server) drain(srv *http.Server, end func()) {
	finish := time.AfterFunc(s.share(finishShare), end)
	defer finish.Stop()
	last, cancel := context.WithTimeout(context.Background(), s.share(cutShare))
	defer cancel()
	if err := srv.Shutdown(last); err != nil {
		s.opt.Logger.Warn("connections are cut that did not end in time", "requests", s.Running(), "err", errors.Join(err, srv.Close()))
	}
	s.running.wait(s.share(leaveShare - cutShare)) // also for WebSockets, whose connections the server does not know any more
}

// Running returns how many requests are being answered.
func (s *Server) Running() int64 { return s.running.count.Load() }

// Leaving tells whether the server is about to end: it serves, and is not to be given any more requests.
func (s *Server) Leaving() bool { return s.running.leaving.Load() }

// running counts the requests that a handler is answering.
type running struct {
	handler http.Handler
	count   atomic.Int64
	leaving atomic.Bool   // connections are not to be used again
	none    chan struct{} // receives where the last of them has ended
}

// ServeHTTP implements http.Handler.
func (r *running) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.count.Add(1)
	defer func() {
		if r.count.Add(-1) == 0 {
			select {
			case r.none <- struct{}{}:
			default: // one is there already
			}
		}
	}()
	// A request with both Content-Length and Transfer-Encoding must end its connection. Whoever passed it on may take its
	// end to be elsewhere (RFC 9112, 6.1); net/http shows only that it came in chunks.
	if r.leaving.Load() || len(req.TransferEncoding) > 0 {
		w.Header().Set("Connection", "close")
	}
	w, req, last := asStream(w, req)
	r.handler.ServeHTTP(w, req)
	last()
}

// wait waits until no request runs, for limit at most. No request may begin meanwhile.
func (r *running) wait(limit time.Duration) {
	timeout := time.After(limit)
	for r.count.Load() > 0 {
		select {
		case <-r.none: // which may be from before
		case <-timeout:
			return
		}
	}
}

// stopping tells whether a request's context has ended because the node stops.
func stopping(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errStopping) }

// cut aborts an answer that has begun, so that it does not look complete, and logs why. A client that has hung up is no error.
func cut(ctx context.Context, logger *slog.Logger, what string, err error) {
	hungUp := ctx.Err() != nil && !stopping(ctx) && !errors.Is(err, os.ErrDeadlineExceeded) // a client that is too slow has not
	if !hungUp && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		logger.Error(what+" ended early", "err", err)
	}
	panic(http.ErrAbortHandler)
}

// Connections is a listener that is told which connections may make room for others: see connections.Listener.
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
		v.known.Store(rights != nil && (rights.IsOpen() || rights.Actor() != ""))
	}
}

// watch has a server tell its listener which connections are idle, where that is Connections.
func watch(srv *http.Server, l net.Listener) {
	connections, ok := l.(Connections)
	if !ok {
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
