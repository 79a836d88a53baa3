package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
)

// How long requests may go on after Run's context has ended: until their own contexts end, until their connections are cut,
// and until Run returns although some are still there.
const (
	finishTime = 3 * time.Second
	cutTime    = 5 * time.Second
	leaveTime  = 7 * time.Second
)

// errStopping is the cause with which the contexts of requests end where the server ends.
var errStopping = fanfold.Errorf(fanfold.Unavailable, "the node is stopping: ask another one, or this one when it is back")

// Run serves on l until ctx ends. Then it calls closeFeeds, so that open feeds end, and gives running requests three
// seconds to finish. After that their contexts end, and after two more seconds their connections, and Run returns nil. It
// returns an error only where the server could not serve.
func (s *Server) Run(ctx context.Context, l net.Listener, closeFeeds func()) error {
	base, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(errStopping)
	srv := &http.Server{Handler: s.running, BaseContext: func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: s.opt.HeaderTime, WriteTimeout: answerTime, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(s.opt.Logger.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		closeFeeds()
		return err
	case <-ctx.Done():
	}
	closeFeeds()
	finish := time.AfterFunc(finishTime, func() { end(errStopping) })
	defer finish.Stop()
	last, cancel := context.WithTimeout(context.Background(), cutTime)
	defer cancel()
	if err := srv.Shutdown(last); err != nil {
		s.opt.Logger.Warn("connections are cut that did not end in time", "requests", s.Running(), "err", errors.Join(err, srv.Close()))
		s.running.wait(leaveTime - cutTime)
	}
	return nil
}

// Running returns how many requests are being answered.
func (s *Server) Running() int64 { return s.running.count.Load() }

// running counts the requests that a handler is answering.
type running struct {
	handler http.Handler
	count   atomic.Int64
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
	r.handler.ServeHTTP(w, req)
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
