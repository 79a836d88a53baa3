package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// lateRequest is a request whose body the node has asked for, and has not got.
type lateRequest struct {
	conn net.Conn
	in   *bufio.Reader
	body string
}

// sendLate sends the head of a request. It returns nil where the node does not ask for the body.
func sendLate(t *testing.T, address, method, path, media, key, body string) *lateRequest {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(harness.WaitTime)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", method, path, key, media, len(body)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	if !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		return nil
	}
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return &lateRequest{conn, in, body}
}

// finish sends the body, and returns the answer's status and body.
func (l *lateRequest) finish(t *testing.T) (int, string) {
	t.Helper()
	if _, err := io.WriteString(l.conn, l.body); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(l.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// withoutBody are the routes that take a method with which others have a body, and ask for none.
var withoutBody = []string{"POST /v1/:collection/:id/_history", "POST /v1/_verify", "POST /v1/_snapshot", "POST /v1/_groups/:name/_parked/:batch/_retry", "POST /v1/_import"}

// TestRevokedWhileTheBodyComes: a key that is revoked while its request's body comes does nothing more, on every route that reads a body.
func TestRevokedWhileTheBodyComes(t *testing.T) {
	s := harness.OpenClosed(t, `{"collections": {"authors": {"derive": {"n": {"count": "books.author"}}}, "books": {"relations": {"author": {"path": "author", "to": "authors"}}}}, "functions": {"g": {"source": "export default ctx => ctx.create('books', {})"}}}`)
	s.Put("books", "d", `{}`)
	s.Want(http.StatusCreated, http.MethodPut, "/v1/_groups/g", `{}`)
	before := len(s.Node.Keys().List())
	names := regexp.MustCompile(`:\w+`)
	routes := 0
	for _, route := range s.Node.API().Routes() {
		method, path, _ := strings.Cut(route, " ")
		if method != http.MethodPost && method != http.MethodPut && method != http.MethodPatch || slices.Contains(withoutBody, route) {
			continue
		}
		media := "application/json"
		switch {
		case method == http.MethodPatch:
			media = "application/merge-patch+json"
		case path == "/v1/_drift":
			path, media = path+"?collection=books", "application/x-ndjson"
		}
		path = names.ReplaceAllStringFunc(path, func(name string) string {
			return map[string]string{":collection": "books", ":name": "g"}[name] + map[string]string{":id": "d"}[name]
		})
		if route == "PATCH /v1/:collection" {
			path += "?filter=true"
		}
		path = strings.Replace(path, "/v1/_keys//_rotate", "/v1/_keys/d/_rotate", 1)
		key := s.NewKey("admin")
		late := sendLate(t, s.Node.Addr(), method, path, media, key, `{"name":"n","roles":["admin"]}`)
		if late == nil {
			t.Errorf("%s asks for no body", route)
			continue
		}
		routes++
		if err := s.Node.Keys().Revoke(t.Context(), strings.Split(key, "_")[1]); err != nil {
			t.Fatal(err)
		}
		if status, text := late.finish(t); status != http.StatusUnauthorized {
			t.Errorf("%s: a revoked key is answered %d %s", route, status, text)
		}
	}
	if made := len(s.Node.Keys().List()) - before; routes < 20 || made != routes {
		t.Errorf("%d routes read a body, and there are %d keys more", routes, made)
	}
}

// TestClosedWhileTheBodyComes: a model that closes a collection while the body of a write comes refuses the write.
func TestClosedWhileTheBodyComes(t *testing.T) {
	s := harness.OpenClosed(t, `collections: {books: {access: {read: [clerks], write: [clerks]}}}`)
	key := s.NewKey("clerks")
	write := sendLate(t, s.Node.Addr(), "PUT", "/v1/books/d", "application/json", key, `{}`)
	query := sendLate(t, s.Node.Addr(), "POST", "/v1/books/_query", "application/json", key, `{}`)
	several := sendLate(t, s.Node.Addr(), "POST", "/v1/_transactions", "application/json", key, `{"operations":[{"op":"create","collection":"books","body":{}}]}`)
	s.Model(`collections: {books: {access: {read: [clerks], write: [editors]}}}`)
	if status, text := query.finish(t); status != http.StatusOK {
		t.Errorf("a query is answered %d %s", status, text)
	}
	for name, late := range map[string]*lateRequest{"a write": write, "a transaction": several} {
		if status, text := late.finish(t); status != http.StatusForbidden {
			t.Errorf("%s is answered %d %s", name, status, text)
		}
	}
}

// TestRevokedWhileItWaits: a key that is revoked while its request waits for a position does nothing more.
func TestRevokedWhileItWaits(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenClosed(t, "")
	r := s.Put("books", "d", `{}`)
	var position uint64
	if _, err := fmt.Sscanf(r.Header.Get("Fanfold-Position"), "%d", &position); err != nil {
		t.Fatal(err)
	}
	for _, request := range []string{"GET /v1/books/d", "POST /v1/books/d/_erase"} {
		key := s.NewKey("admin")
		method, path, _ := strings.Cut(request, " ")
		answer := make(chan int, 1)
		go func() {
			req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, nil)
			if err != nil {
				t.Error(err)
			}
			req.Header.Set("Authorization", "Bearer "+key)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Fanfold-Min-Position", fmt.Sprint(position+1))
			req.Header.Set("Fanfold-Timeout", "60")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				answer <- 0
				return
			}
			defer resp.Body.Close()
			answer <- resp.StatusCode
		}()
		harness.Await(t, "a request that waits", harness.WaitTime, func() bool { return s.Node.API().Running() == 1 })
		if err := s.Node.Keys().Revoke(t.Context(), strings.Split(key, "_")[1]); err != nil {
			t.Fatal(err)
		}
		s.Put("books", "other", fmt.Sprintf(`{"at":%d}`, position))
		if status := <-answer; status != http.StatusUnauthorized {
			t.Errorf("%s of a revoked key is answered %d", request, status)
		}
		position++
	}
}
