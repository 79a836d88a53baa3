package harness_test

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestRequestThatWasSent: a server has got a request and not answered. Because of its key the transport sends it again, to an address
// where nobody listens any more. It is not reported as one that no server has.
func TestRequestThatWasSent(t *testing.T) {
	suite.Concurrent(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan int, 1)
	go func() {
		n := 0
		defer func() { got <- n }()
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		defer l.Close() // before the connection, so that nobody takes the next
		for r := bufio.NewReader(conn); n < 2; n++ {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			req.Body.Close()
			if n == 0 {
				_, _ = conn.Write([]byte("HTTP/1.1 204 No Content\r\n\r\n"))
			}
		}
	}()
	c := harness.NewClient(t, "http://"+l.Addr().String())
	c.Want(http.StatusNoContent, "DELETE", "/1", "", "Idempotency-Key", "1")
	if _, err := c.Do("DELETE", "/2", nil, "Idempotency-Key", "2"); err == nil || errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a request that was sent: %v", err)
	}
	if n := <-got; n != 2 {
		t.Errorf("the server got %d requests", n)
	}
	if _, err := c.Do("DELETE", "/3", nil, "Idempotency-Key", "3"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a request that nobody got: %v", err)
	}
}
