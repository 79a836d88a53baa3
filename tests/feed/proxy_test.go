package feed_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// proxy forwards connections to a server, which may be replaced, and cuts them when told to. It answers paths below /test/
// itself.
type proxy struct {
	URL     string
	handler http.Handler // of /test/; nil for none

	mu     sync.Mutex
	target string // the server's address
	open   map[net.Conn]struct{}
}

// newProxy starts a proxy, which ends with the test.
func newProxy(t *testing.T, handler http.Handler) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{URL: "http://" + l.Addr().String(), handler: handler, open: map[net.Conn]struct{}{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		wg.Wait()
	})
	return p
}

// forwardTo makes url the server of connections to come.
func (p *proxy) forwardTo(url string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = strings.TrimPrefix(url, "http://")
}

// cut resets every open connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
}

// hold keeps a connection for cut.
func (p *proxy) hold(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[conn] = struct{}{}
}

// end closes a connection.
func (p *proxy) end(conn net.Conn) {
	_ = conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, conn)
}

// serve forwards a connection until one of its ends is closed.
func (p *proxy) serve(client net.Conn) {
	p.hold(client)
	defer p.end(client)
	in := bufio.NewReader(client)
	line, err := in.Peek(len("POST /test/"))
	if err != nil {
		return
	}
	if p.handler != nil && strings.Contains(string(line), " /test/") {
		p.answer(client, in)
		return
	}
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	p.hold(server)
	defer p.end(server)
	go func() {
		_, _ = io.Copy(server, in)
		p.end(server)
	}()
	_, _ = io.Copy(client, server)
}

// answer answers one request with the handler.
func (p *proxy) answer(client net.Conn, in *bufio.Reader) {
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	w := &plainResponse{header: http.Header{}, status: http.StatusOK}
	p.handler.ServeHTTP(w, r)
	resp := &http.Response{StatusCode: w.status, ProtoMajor: 1, ProtoMinor: 1, Header: w.header, Close: true, Request: r,
		Body: io.NopCloser(strings.NewReader(w.body.String())), ContentLength: int64(w.body.Len())}
	_ = resp.Write(client)
}

// plainResponse is an http.ResponseWriter in memory.
type plainResponse struct {
	header http.Header
	status int
	body   strings.Builder
}

func (w *plainResponse) Header() http.Header         { return w.header }
func (w *plainResponse) WriteHeader(status int)      { w.status = status }
func (w *plainResponse) Write(b []byte) (int, error) { return w.body.Write(b) }
