package client_test

import (
	"net"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
)

// proxy stands between clients and a store, and breaks what goes through it.
type proxy struct {
	listener net.Listener

	mu      sync.Mutex
	backend string
	open    map[net.Conn]bool
	drop    int // answers that are not passed on; the connection breaks instead
	dropped int
	opened  int // connections so far
	wait    sync.WaitGroup
}

// newProxy starts a proxy to the store. It ends with the test.
func newProxy(t *testing.T, s *harness.Store) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, open: map[net.Conn]bool{}}
	p.lead(s)
	p.wait.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.cut()
		p.wait.Wait()
	})
	return p
}

func (p *proxy) url() string { return "http://" + p.listener.Addr().String() }

// lead makes new connections go to this store; nil for nowhere.
func (p *proxy) lead(s *harness.Store) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.backend = ""; s != nil {
		p.backend = s.URL[len("http://"):]
	}
}

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		conn.Close()
	}
}

// dropAnswers breaks the next n connections when an answer comes on them.
func (p *proxy) dropAnswers(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop = n
}

// counts returns how many answers were dropped, and how many connections were opened.
func (p *proxy) counts() (dropped, opened int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped, p.opened
}

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		backend := p.backend
		p.opened++
		p.mu.Unlock()
		out, err := net.Dial("tcp", backend)
		if err != nil {
			in.Close()
			continue
		}
		p.mu.Lock()
		p.open[in], p.open[out] = true, true
		p.mu.Unlock()
		p.wait.Go(func() { p.copy(out, in, false) })
		p.wait.Go(func() { p.copy(in, out, true) })
	}
}

// copy passes on what comes from a connection until it breaks, and breaks the other one.
func (p *proxy) copy(to, from net.Conn, answers bool) {
	defer func() {
		to.Close()
		from.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, to)
		delete(p.open, from)
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		drop := answers && p.drop > 0
		if drop {
			p.drop--
			p.dropped++
		}
		p.mu.Unlock()
		if drop {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// connect returns a client of a server.
func connect(t testing.TB, url string, opt client.Options) *client.Client {
	t.Helper()
	c, err := client.New(url, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// book and author are documents of the tests.
type book struct {
	ID      string   `json:"id,omitempty"`
	Title   string   `json:"title"`
	Pages   int      `json:"pages,omitempty"`
	Authors []author `json:"authors,omitempty"`
}

type author struct {
	ID           string `json:"id,omitempty"`
	Name         string `json:"name,omitempty"`
	CountOfBooks int    `json:"countOfBooks,omitempty"`
}

const model = `
collections:
  authors:
    derive: { countOfBooks: { count: books.authors } }
  books:
    relations: { authors: { path: "authors[].id", to: authors } }
    derive: { "authors[].name": { copy: authors, value: "doc.name" } }
`
