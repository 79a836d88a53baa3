package serving

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"golang.org/x/net/netutil"

	"github.com/fanfold/fanfold"
)

// Bounds of the debugging server.
const (
	debugConnections = 4
	debugTime        = 2 * time.Minute // in which a request must arrive, and an answer be read
	maxProfile       = time.Minute     // that a profile is of
)

// openDebug listens on the address of the profiles, where there is one. Errors are Invalid and Unavailable.
func (f *Front) openDebug() (err error) {
	address := f.opt.DebugListen
	if address == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "--debug-listen %q is not an address such as 127.0.0.1:6060", address)
	}
	if !f.opt.Insecure && !isLoopback(host) {
		return fanfold.Errorf(fanfold.Invalid, "--debug-listen %s can be reached by others, who may then read the process's memory: listen on 127.0.0.1, or say --insecure", address)
	}
	if f.debug, err = listen("--debug-listen", address); err != nil {
		return err
	}
	f.debug = netutil.LimitListener(f.debug, debugConnections)
	f.opt.Logger.Info("profiles are served", "at", "http://"+f.debug.Addr().String()+"/debug/pprof/")
	return nil
}

// serveProfiles serves profiles until ctx ends, where there is an address for them. It returns nil then.
func (f *Front) serveProfiles(ctx context.Context) error {
	if f.debug == nil {
		return nil
	}
	srv := &http.Server{Handler: f.profiles(), ReadHeaderTimeout: debugTime, ReadTimeout: debugTime, WriteTimeout: debugTime, MaxHeaderBytes: 64 << 10}
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
	if err := srv.Serve(f.debug); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// profiles returns a handler of the profiles. Unless others may reach the address, it answers only who calls it by a name of
// this machine: a web page whose name was made to lead here does not.
func (f *Front) profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !f.opt.Insecure && !isLoopback(host) {
			http.Error(w, "call this address by its number", http.StatusForbidden)
			return
		}
		if text := r.URL.Query().Get("seconds"); text != "" {
			if seconds, err := strconv.ParseFloat(text, 64); err != nil || seconds < 0 || seconds > maxProfile.Seconds() {
				http.Error(w, "seconds is a number up to 60", http.StatusBadRequest)
				return
			}
		}
		mux.ServeHTTP(w, r)
	})
}
