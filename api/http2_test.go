package api

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/suite"
)

// serveHTTP2 serves a handler over HTTP/2, as a Server does, with a time for each answer.
func serveHTTP2(t *testing.T, answer time.Duration, handle func(w http.ResponseWriter, r *http.Request, control *http.ResponseController)) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(&running{none: make(chan struct{}, 1), handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("the request is one of %s", r.Proto)
		}
		handle(w, r, http.NewResponseController(w))
	})})
	srv.EnableHTTP2, srv.Config.WriteTimeout = true, answer
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

const short = 100 * time.Millisecond

// TestQuietStreams: over HTTP/2 a write deadline bounds how long a write waits, and not how long there is nothing to write. Nor does the
// server's own time for an answer end a stream that does not write.
func TestQuietStreams(t *testing.T) {
	srv := serveHTTP2(t, short, func(w http.ResponseWriter, _ *http.Request, control *http.ResponseController) {
		for range 3 {
			time.Sleep(3 * short) // until a deadline has passed, which is a time: there is no position to wait for
			if err := control.SetWriteDeadline(time.Now().Add(suite.Deadline(time.Minute))); err != nil {
				t.Error(err)
			}
			if _, err := w.Write([]byte("row\n")); err != nil {
				t.Error(err)
			}
			if err := control.Flush(); err != nil {
				t.Error(err)
			}
			if err := control.SetWriteDeadline(time.Now().Add(short)); err != nil { // it passes while nothing is written
				t.Error(err)
			}
		}
		time.Sleep(3 * short)
		if err := control.SetWriteDeadline(time.Now().Add(suite.Deadline(time.Minute))); err != nil {
			t.Error(err)
		}
	})
	resp, err := srv.Client().Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "row\nrow\nrow\n" {
		t.Errorf("the client has %q, %v", text, err)
	}
}

// TestSilentStreams: over HTTP/2 a client that does not read ends its own stream: by the deadline of a write
// that waits, or by one that is set meanwhile. The handler may also leave something to be sent when it returns.
func TestSilentStreams(t *testing.T) {
	for name, set := range map[string]func(control *http.ResponseController) error{
		"before": func(control *http.ResponseController) error { return control.SetWriteDeadline(time.Now().Add(short)) },
		"meanwhile": func(control *http.ResponseController) error {
			time.AfterFunc(short, func() { _ = control.SetWriteDeadline(time.Now()) })
			return control.SetWriteDeadline(time.Now().Add(time.Hour))
		},
	} {
		ended := make(chan error, 1)
		srv := serveHTTP2(t, 0, func(w http.ResponseWriter, _ *http.Request, control *http.ResponseController) {
			err := set(control)
			for err == nil {
				_, err = w.Write(make([]byte, 64<<10))
			}
			ended <- err
		})
		resp, err := srv.Client().Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if err == nil {
				t.Errorf("%s: the write ends without an error", name)
			}
		case <-time.After(suite.Deadline(10 * time.Second)):
			t.Fatalf("%s: the write goes on to wait", name)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err == nil {
			t.Errorf("%s: an answer that was cut looks complete", name)
		}
		resp.Body.Close()
	}
}

// TestLastPieceHasADeadline: over HTTP/2 what is buffered when a handler returns does not wait for its client for ever.
func TestLastPieceHasADeadline(t *testing.T) {
	returned := make(chan struct{})
	handler := &running{none: make(chan struct{}, 1), handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		if err := control.SetWriteDeadline(time.Now().Add(time.Hour)); err != nil {
			t.Error(err)
		}
		for range 64 { // up to the window of the client, which the last write goes beyond
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				t.Error(err)
			}
		}
		_, _ = w.Write(make([]byte, 100))
		_ = control.SetWriteDeadline(time.Now().Add(short))
	})}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
		close(returned)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	resp, err := srv.Client().Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	<-returned
	time.Sleep(5 * short) // until the deadline has passed, and no client can have been in time
	if n, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Errorf("%d bytes are read to the end by a client that was late", n)
	}
}

// TestReadsOverHTTP2: a read deadline bounds how long a read waits, and not how long nobody reads.
func TestReadsOverHTTP2(t *testing.T) {
	suite.Concurrent(t)
	srv := serveHTTP2(t, 0, func(w http.ResponseWriter, r *http.Request, control *http.ResponseController) {
		if err := control.SetReadDeadline(time.Now().Add(short)); err != nil {
			t.Error(err)
		}
		time.Sleep(3 * short) // as a node that is busy
		if err := control.SetReadDeadline(time.Now().Add(suite.Deadline(10 * time.Second))); err != nil {
			t.Error(err)
		}
		got := make([]byte, 5)
		if _, err := io.ReadFull(r.Body, got); err != nil || string(got) != "first" {
			t.Errorf("the body begins with %q, %v", got, err)
		}
		if err := control.SetReadDeadline(time.Now().Add(short)); err != nil {
			t.Error(err)
		}
		if _, err := r.Body.Read(got); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a silent body ends with %v", err)
		}
		w.WriteHeader(http.StatusRequestTimeout)
	})
	body, send := io.Pipe()
	defer func() { _ = send.Close() }()
	go func() { _, _ = io.Copy(send, strings.NewReader("first")) }()
	resp, err := srv.Client().Post(srv.URL, "text/plain", body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("the status is %d", resp.StatusCode)
	}
}

// TestSoundVersions: HTTP/2 is offered by versions of Go in which clients cannot end the process by it, and by no others.
func TestSoundVersions(t *testing.T) {
	for goVersion, offered := range map[string]bool{"go1.26.8": false, "go1.26.9": true, "go1.26.10": true, "go1.26.11-house": true, "go1.26.10 X:nodwarf5": true, "go1.26.8 X:nodwarf5": false,
		"go1.26": false, "go1.26.0": false, "go1.25.20": false, "go1.27rc1": false, "go1.27.1": false, "go1.27.2": true, "go1.28rc1": true, "go1.28.0": true, "go1.29": true, "go2.0": true,
		"devel go1.29-abcdef": false, "": false} {
		if got := OffersHTTP2(goVersion); got != offered {
			t.Errorf("%s: HTTP/2 is offered: %v", goVersion, got)
		}
		opt := &Options{Runtime: goVersion}
		if p := opt.protocols(); goVersion != "" && (p.HTTP2() != offered || !p.HTTP1() || p.UnencryptedHTTP2()) {
			t.Errorf("%s: the protocols are %v", goVersion, p)
		}
	}
}
