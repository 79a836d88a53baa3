package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestSlowHeaders: a client that sends its headers byte by byte loses its connection.
func TestSlowHeaders(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{HeaderTime: 300 * time.Millisecond}})
	defer s.Close()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /v1/books/b HTTP/1.1\r\nHo"); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(suite.Deadline(20 * time.Second))); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil { // it may be told why
		t.Errorf("the connection is still open: %v", err)
	}
}

// TestCutBodyWritesNothing: a body that ends before its end is not one, chunked or not.
func TestCutBodyWritesNothing(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for _, framing := range []string{"Transfer-Encoding: chunked\r\n\r\n8\r\n{\"a\":1} \r\n", "Content-Length: 100\r\n\r\n{\"a\":1}"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "PUT /v1/books/cut HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+framing); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, conn) // until the server is done with it
		_ = conn.Close()
	}
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/books/cut?consistency=strong", "")
}

// TestHugeBodies: 100 MB, announced or not, are refused without being taken in.
func TestHugeBodies(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, harness.RefusalModel)
	s.Put("books", "b1", `{"title":"T"}`)
	for _, path := range []string{"PUT /v1/books/b1", "PATCH /v1/books/b1", "POST /v1/books", "PUT /v1/_model"} {
		for _, framing := range []string{"Content-Length: 104857600", "Transfer-Encoding: chunked"} {
			t.Run(path+" "+framing, func(t *testing.T) { hugeBody(t, s, path, framing) })
		}
	}
	s.WantDoc("books", "b1", `{"id":"b1","title":"T"}`)
}

func hugeBody(t *testing.T, s *harness.Store, path, framing string) {
	conn, err := net.Dial("tcp", s.Node.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	contentType := "application/json"
	if strings.HasPrefix(path, "PATCH") {
		contentType = harness.MergeType
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var taken int
	var wg sync.WaitGroup
	wg.Go(func() {
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n%s\r\n\r\n", path, contentType, framing)
		chunk := append([]byte(nil), strings.Repeat(" ", 1<<16)...)
		if strings.Contains(framing, "chunked") {
			chunk = []byte("10000\r\n" + string(chunk) + "\r\n")
		}
		for taken < 100<<20 {
			n, err := conn.Write(chunk)
			taken += n
			if err != nil { // the server has hung up
				return
			}
		}
	})
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(body), "urn:fanfold:problem:too-large") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	conn.Close()
	wg.Wait()
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 24<<20 || taken > 50<<20 {
		t.Errorf("the server allocated %d bytes and took %d", grown, taken)
	}
}

// TestClientThatDoesNotRead: a feed that nobody reads costs the others nothing.
func TestClientThatDoesNotRead(t *testing.T) {
	suite.Concurrent(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{ShutdownTimeout: time.Minute}})
	var feeds []net.Conn
	for _, feed := range []string{"feed=eventsource&mode=all&include_docs=true", "feed=eventsource", "feed=longpoll"} {
		conn, err := net.Dial("tcp", s.Node.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /v1/_changes?%s HTTP/1.1\r\nHost: localhost\r\n\r\n", feed)
		feeds = append(feeds, conn)
	}
	const writers, each = 8, 400
	pad := strings.Repeat("x", 4000)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				s.Put("books", fmt.Sprintf("%d-%d", w, i), `{"pad":"`+pad+`"}`)
			}
		})
	}
	wg.Wait()
	rows, _ := s.Changes("since=0")
	if len(rows) != writers*each {
		t.Errorf("%d changes, want %d", len(rows), writers*each)
	}
	s.Verify()
	begin := time.Now()
	s.Close()
	if took := time.Since(begin); took > harness.EndsByItself {
		t.Errorf("closing took %v with %d feeds that nobody reads", took, len(feeds))
	}
}
