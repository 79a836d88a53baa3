package api_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestRefusedBeforeTheAPI: net/http refuses what is no request of HTTP, or none that a server has to answer, without a problem document.
// The answer is the one in docs/use/http.md, the connection ends then, and nothing is written.
func TestRefusedBeforeTheAPI(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, "")
	const put = "PUT /v1/books/b1 HTTP/1.1\r\nHost: localhost\r\n"
	refused := map[int]bool{}
	for _, c := range []struct {
		status int
		text   string // of the answer's body
		head   string
	}{
		{400, "400 Bad Request", "NO REQUEST\r\n"},
		{400, "400 Bad Request", "PUT books HTTP/1.1\r\nHost: localhost\r\n"},
		{400, "400 Bad Request", "PUT /v1/books/%zz HTTP/1.1\r\nHost: localhost\r\n"},
		{400, "400 Bad Request: missing required Host header", "PUT /v1/books/b1 HTTP/1.1\r\n"},
		{400, "400 Bad Request: malformed Host header", "PUT /v1/books/b1 HTTP/1.1\r\nHost: a b\r\n"},
		{400, "400 Bad Request", put + "Host: localhost\r\n"},
		{400, "400 Bad Request", put + "no header\r\n"},
		{400, "400 Bad Request", put + "Content-Length: x\r\n"},
		{417, "", put + "Expect: wonders\r\nContent-Length: 2\r\n"},
		{431, "431 Request Header Fields Too Large", put + "X: " + strings.Repeat("x", 80<<10) + "\r\n"},
		{501, "Unsupported transfer encoding", put + "Transfer-Encoding: gzip\r\n"},
		{505, "505 HTTP Version Not Supported: unsupported protocol version", "PUT /v1/books/b1 HTTP/3.0\r\nHost: localhost\r\n"},
	} {
		r, body := ask(t, s, c.head+"\r\n{}")
		if r.StatusCode != c.status || body != c.text || c.text != "" && r.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%.60q is answered with %d %q, %v", c.head, r.StatusCode, body, r.Header)
		}
		refused[c.status] = true
	}
	if r, body := ask(t, s, "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); r.StatusCode != http.StatusOK || body != "" {
		t.Errorf("OPTIONS * is answered with %d %q", r.StatusCode, body)
	}
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/books/b1", "")
	text, err := os.ReadFile("../../docs/use/http.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### Answers that are no problem documents\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var told []string
	for _, row := range regexp.MustCompile(`(?m)^\| (\d{3}) \|`).FindAllStringSubmatch(section, -1) {
		told = append(told, row[1])
	}
	for status := range refused {
		if !slices.Contains(told, fmt.Sprint(status)) {
			t.Errorf("docs/use/http.md tells of %v, and not of %d", told, status)
		}
	}
	if len(told) != len(refused) {
		t.Errorf("docs/use/http.md tells of %v, and %v are answered", told, refused)
	}
}

// ask sends bytes to a store's server, and returns the answer with its body. The connection must end then.
func ask(t *testing.T, s *harness.Store, request string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Node.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(suite.Deadline(time.Minute))); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = conn.Write([]byte(request)) }() // the server may answer, and end the connection, before it has read all
	in := bufio.NewReader(conn)
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	defer r.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(r.Body)
	if err != nil && body.Len() == 0 && r.ContentLength != 0 {
		t.Fatalf("%.60q: %v", request, err)
	}
	return r, body.String()
}
