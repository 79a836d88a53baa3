//go:build console

package console_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/tests/openapi"
)

// proxy stands between a browser and a server, and holds every request and answer against the OpenAPI document.
type proxy struct {
	*httptest.Server
	contract *openapi.Contract
	prefix   string // of every path, as a proxy of an organisation may have one; "" for none

	mu     sync.Mutex
	target *url.URL
	wrong  []string // what the document does not have
}

// sentBody is the key of a request's context for the body that it was sent with.
type sentBody struct{}

// newProxy starts a proxy. Close it.
func newProxy(contract *openapi.Contract, prefix, target string) (*proxy, error) {
	p := &proxy{contract: contract, prefix: prefix}
	if err := p.forwardTo(target); err != nil {
		return nil, err
	}
	reverse := &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		ModifyResponse: p.examine,
		FlushInterval:  -1,
		Transport:      &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // as where nobody listens
		ErrorLog:       nothing,
	}
	p.Server = httptest.NewUnstartedServer(http.StripPrefix(prefix, keepingBody(reverse)))
	p.Config.ErrorLog = nothing
	p.Start()
	return p, nil
}

// forwardTo makes a URL the server of requests to come.
func (p *proxy) forwardTo(target string) error {
	u, err := url.Parse(target)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = u
	return err
}

// keepingBody reads the body of a request, and keeps it for what examines the answer. An import answers before its body was read,
// and Go's server takes no body from there on.
func keepingBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
		next.ServeHTTP(w, r.WithContext(withBody(r.Context(), sent)))
	})
}

// rewrite sends a request on as it is. The name of the server stays the proxy's, which is what the browser has as origin.
func (p *proxy) rewrite(r *httputil.ProxyRequest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.SetURL(p.target)
	r.Out.Host = r.In.Host
	r.Out.URL.RawQuery = r.In.URL.RawQuery
}

// examine holds an answer against the document. The files of the console are not in that.
func (p *proxy) examine(resp *http.Response) error {
	r := resp.Request
	if path := r.URL.Path; path == "/_console" || strings.HasPrefix(path, "/_console/") {
		return nil
	}
	time.Sleep(rand.N(*late))
	sent, _ := r.Context().Value(sentBody{}).([]byte)
	if endless(resp) {
		p.note(r, resp, p.contract.Check(r, sent, resp, nil))
		resp.Body = p.watch(r, resp)
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if resp.Header.Get("Content-Encoding") == "gzip" && len(body) > 0 {
		in, err := gzip.NewReader(bytes.NewReader(body))
		if err == nil {
			body, err = io.ReadAll(in)
		}
		if err != nil {
			return err
		}
	}
	p.note(r, resp, p.contract.Check(r, sent, resp, body))
	return nil
}

// endless tells whether an answer is a feed that stays open.
func endless(resp *http.Response) bool {
	kind := resp.Header.Get("Content-Type")
	return resp.StatusCode == http.StatusOK && strings.HasSuffix(resp.Request.URL.Path, "/_changes") &&
		(strings.HasPrefix(kind, "application/x-ndjson") || strings.HasPrefix(kind, "text/event-stream"))
}

// watch returns the body of a feed whose lines are each held against the document as it passes.
func (p *proxy) watch(r *http.Request, resp *http.Response) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		defer func() { _ = out.Close() }() // nothing is lost by it
		var rows io.Reader = out
		if resp.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(out)
			if err != nil {
				return // it was cut at once
			}
			rows = unpacked
		}
		lines := bufio.NewReader(rows)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil { // what is not whole was cut
				return
			}
			if line = bytes.TrimSpace(line); len(line) > 0 {
				p.note(r, resp, p.contract.CheckRow(line))
			}
		}
	}()
	return &watched{Reader: io.TeeReader(resp.Body, ignoring{in}), body: resp.Body, in: in}
}

// watched is the body of a feed with a copy that is written elsewhere.
type watched struct {
	io.Reader
	body io.Closer
	in   io.Closer
}

// Close closes both.
func (w *watched) Close() error { return errors.Join(w.in.Close(), w.body.Close()) }

// ignoring takes all that is written, also where nobody reads it any more.
type ignoring struct{ io.Writer }

// Write writes, and hides what comes of it.
func (i ignoring) Write(b []byte) (int, error) {
	_, _ = i.Writer.Write(b)
	return len(b), nil
}

// note keeps what the document does not have.
func (p *proxy) note(r *http.Request, resp *http.Response, err error) {
	if err == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = append(p.wrong, fmt.Sprintf("%s %s, answered with %d: %v", r.Method, r.URL.RequestURI(), resp.StatusCode, err))
}

// taken returns what the document does not have, once.
func (p *proxy) taken() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.wrong
	p.wrong = nil
	return out
}
