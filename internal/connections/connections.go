// Package connections bounds how many connections a server has. If there are as many as may be, idle ones end whose last request came from nobody
// who was let in. So others get a place.
package connections

import (
	"container/list"
	"net"
	"sync"
	"time"
)

// lookEvery is how often a listener looks for an idle connection while another one waits.
const lookEvery = 50 * time.Millisecond

// Listener accepts a number of connections at a time. It implements net.Listener. Its methods may be called from many goroutines.
type Listener struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once

	mu   sync.Mutex
	idle *list.List // of net.Conn without a right, the oldest first
	at   map[net.Conn]*list.Element
}

// New returns a listener that has most connections of another one at a time.
func New(l net.Listener, most int) *Listener {
	return &Listener{Listener: l, places: make(chan struct{}, most), closed: make(chan struct{}), idle: list.New(), at: map[net.Conn]*list.Element{}}
}

// Accept waits for a connection, and for a place for it. The error is the other listener's, or net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &conn{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

// enter waits for a place, and ends idle connections meanwhile.
func (l *Listener) enter() error {
	for {
		select {
		case l.places <- struct{}{}:
			return nil
		default:
		}
		l.endIdle()
		select {
		case l.places <- struct{}{}:
			return nil
		case <-l.closed:
			return net.ErrClosed
		case <-time.After(lookEvery):
		}
	}
}

// endIdle ends the connection without a right that has been idle for longest.
func (l *Listener) endIdle() {
	l.mu.Lock()
	first := l.idle.Front()
	l.mu.Unlock()
	if first == nil {
		return
	}
	c := first.Value.(net.Conn)
	l.Busy(c)
	_ = c.Close()
}

// Idle takes note that a connection has no request, and that its last one came from nobody who was let in. The connection is one that
// Accept has returned, or is around it: closing it closes that.
func (l *Listener) Idle(c net.Conn) {
	l.Busy(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at[c] = l.idle.PushBack(c)
}

// Busy takes note that a connection has a request, or has ended.
func (l *Listener) Busy(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.at[c]; e != nil {
		l.idle.Remove(e)
		delete(l.at, c)
	}
}

// Close closes the other listener. Accept returns.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// conn is a connection with a place.
type conn struct {
	net.Conn
	leave func()
}

// Close closes the connection, and gives its place back.
func (c *conn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
