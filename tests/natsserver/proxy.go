package natsserver

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy stands between a client and a NATS server and can lose acknowledgements.
type Proxy struct {
	URL  string
	drop atomic.Int64 // acknowledgements still to be lost
	lost atomic.Int64
}

// DropAcks makes the proxy cut the connection instead of passing on each of the next n
// acknowledgements: the server has the message, and the client does not know.
func (p *Proxy) DropAcks(n int64) { p.drop.Store(n) }

// Lost is how many acknowledgements were lost so far.
func (p *Proxy) Lost() int64 { return p.lost.Load() }

// StartProxy runs a proxy before the server at url; it ends with the test.
func StartProxy(t testing.TB, url string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{URL: "nats://" + l.Addr().String()}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", strings.TrimPrefix(url, "nats://"))
			if err != nil {
				_ = client.Close()
				continue
			}
			wg.Go(func() { p.pipe(upstream, client, nil) })
			wg.Go(func() { p.pipe(client, upstream, p.loses) })
		}
	})
	return p
}

// loses tells whether a piece of the server's output holds an acknowledgement to be lost.
func (p *Proxy) loses(b []byte) bool {
	if !bytes.Contains(b, []byte(`"stream":`)) || !bytes.Contains(b, []byte(`"seq":`)) || bytes.Contains(b, []byte(`"type":`)) {
		return false
	}
	if p.drop.Add(-1) < 0 {
		return false
	}
	p.lost.Add(1)
	return true
}

func (p *Proxy) pipe(dst, src net.Conn, cut func([]byte) bool) {
	defer dst.Close()
	defer src.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if err != nil || cut != nil && cut(buf[:n]) {
			return
		}
		if _, err := dst.Write(buf[:n]); err != nil {
			return
		}
	}
}
