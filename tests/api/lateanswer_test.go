package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestRevokedWhileItReads: a key that is revoked while its client reads an export or a backup gets no more than was on its way.
func TestRevokedWhileItReads(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenClosed(t, "")
	random := rand.NewChaCha8([32]byte{})
	half := make([]byte, 900<<10)
	for i := range 12 { // more than sockets hold, also as a backup has it
		if _, err := random.Read(half); err != nil {
			t.Fatal(err)
		}
		s.Put("books", fmt.Sprint(i), fmt.Sprintf(`{"x":%q}`, fmt.Sprintf("%x", half)))
	}
	for _, path := range []string{"/v1/_export", "/v1/_export?collections=books&at=12", "/v1/_backup"} {
		key := s.NewKey("admin")
		conn, err := net.Dial("tcp", s.Node.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := errors.Join(conn.(*net.TCPConn).SetReadBuffer(64<<10), conn.SetDeadline(time.Now().Add(harness.WaitTime))); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", path, key); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s is answered %v, %v", path, resp, err)
		}
		defer resp.Body.Close()
		if err := s.Node.Keys().Revoke(t.Context(), strings.Split(key, "_")[1]); err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, resp.Body); err == nil {
			t.Errorf("%s: a revoked key gets all of %d bytes", path, n)
		}
	}
}
