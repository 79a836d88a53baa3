package natsserver

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Link passes TCP connections on to an address, until it is cut or darkened. If cut, it ends them and takes no others. If darkened, they
// stay and nothing comes through, as over a network that loses every packet.
type Link struct {
	Addr   string // on which it listens
	target string

	mu    sync.Mutex
	cut   bool
	light chan struct{} // closed while bytes come through
	conns map[net.Conn]struct{}
}

// StartLink runs a link to the address until the test ends.
func StartLink(t testing.TB, target string) *Link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{Addr: listener.Addr().String(), target: target, light: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	close(l.light)
	var wg sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		l.Mend()
		l.Cut()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { l.serve(from) })
		}
	})
	return l
}

// serve passes on one connection until it ends.
func (l *Link) serve(from net.Conn) {
	defer from.Close()
	if !l.add(from) {
		return
	}
	defer l.remove(from)
	l.wait()
	to, err := net.Dial("tcp", l.target)
	if err != nil {
		return
	}
	defer to.Close()
	if !l.add(to) {
		return
	}
	defer l.remove(to)
	var wg sync.WaitGroup
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		wg.Go(func() {
			_, _ = io.Copy(&lit{pair[1], l}, pair[0])
			_ = from.Close()
			_ = to.Close()
		})
	}
	wg.Wait()
}

// lit writes once the link has light.
type lit struct {
	net.Conn
	link *Link
}

// Write waits until bytes come through, and writes them.
func (w *lit) Write(b []byte) (int, error) {
	w.link.wait()
	return w.Conn.Write(b)
}

// wait blocks until bytes come through.
func (l *Link) wait() {
	l.mu.Lock()
	light := l.light
	l.mu.Unlock()
	<-light
}

// add takes note of a connection. It returns false where the link is cut.
func (l *Link) add(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.cut {
		l.conns[c] = struct{}{}
	}
	return !l.cut
}

func (l *Link) remove(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// Cut ends all connections, and takes no others until Mend is called.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for c := range l.conns {
		_ = c.Close()
	}
}

// Darken lets nothing through until Mend is called.
func (l *Link) Darken() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.light = make(chan struct{})
}

// Mend ends what Cut or Darken began.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
	select {
	case <-l.light:
	default:
		close(l.light)
	}
}
