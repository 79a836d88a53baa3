package api_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// postText is the head of a request that posts a body of a length to a path.
func postText(path, mediaType string, length int) string {
	return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + mediaType + "\r\nContent-Length: " + strconv.Itoa(length) + "\r\n\r\n"
}

// TestSilentBodiesRefuseNobody: many connections that announce a large body and send nothing of it, one byte, or the
// first kilobyte keep nobody from writing, neither small documents nor large ones.
func TestSilentBodiesRefuseNobody(t *testing.T) {
	const conns = 1700
	for name, begin := range map[string]string{"nothing": "", "one byte": "{", "a kilobyte": strings.Repeat(" ", 1<<10)} {
		t.Run(name, func(t *testing.T) {
			// The time to send stands still for the test, and a write that finds no room is refused at once.
			s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{BodyGrace: time.Hour, Admission: time.Millisecond}})
			defer s.Close()
			announced := postText("/v1/_transactions", "application/json", 68_000_000) + begin
			chunked := strings.Replace(postText("/v1/_transactions", "application/json", 0), "Content-Length: 0", "Transfer-Encoding: chunked", 1)
			if begin != "" {
				chunked += strconv.FormatInt(int64(len(begin)), 16) + "\r\n" + begin + "\r\n"
			}
			for i := range conns {
				text := announced
				if i%2 == 0 {
					text = chunked
				}
				defer rawRequest(t, s.Client, text).Close()
			}
			awaitRunning(t, s.Client, conns, harness.WaitTime)
			for i := range 20 {
				s.Put("books", "small", `{"n":`+strconv.Itoa(i)+`}`)
				s.Put("books", "large", `{"x":"`+strings.Repeat("x", 1<<20)+`"}`)
			}
		})
	}
}

// TestLargeBodiesLeaveRoomForSmall: bodies that take all the room there is for large ones leave small ones theirs.
func TestLargeBodiesLeaveRoomForSmall(t *testing.T) {
	const room = 1 << 20
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{MaxInFlight: room, BodyGrace: time.Hour, Admission: time.Millisecond}})
	defer s.Close()
	for range 10 { // each has sent nearly all of it
		defer rawRequest(t, s.Client, postText("/v1/books", "application/json", room)+strings.Repeat(" ", room/4)).Close()
	}
	large := `{"x":"` + strings.Repeat("x", room/2) + `"}`
	harness.Await(t, "a large body without room", harness.WaitTime, func() bool {
		r, err := s.Do(http.MethodPut, "/v1/books/large", []byte(large))
		return err == nil && r.Status == http.StatusTooManyRequests
	})
	for i := range 100 {
		s.Put("books", "small", `{"n":`+strconv.Itoa(i)+`,"x":"`+strings.Repeat("x", 32<<10)+`"}`)
	}
}

// TestSilentBodyIsEnded: a client that sends no byte, or no more, is told so, on every route, whether the route reads a body
// or not, and the connection ends.
func TestSilentBodyIsEnded(t *testing.T) {
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{BodyGrace: 200 * time.Millisecond}})
	defer s.Close()
	for _, route := range []string{
		"POST /v1/_transactions", "POST /v1/books", "PUT /v1/books/b", "PATCH /v1/books/b", "PUT /v1/_model", "PATCH /v1/_model",
		"PUT /v1/_model/books", "PUT /v1/_groups/g", "PUT /v1/_fold", "PUT /v1/_replicas",
	} {
		media := "application/json"
		if strings.HasPrefix(route, "PATCH") {
			media = harness.MergeType
		}
		for _, begin := range []string{"", "{", strings.Repeat(" ", 5000)} {
			for _, coding := range []string{"identity", "gzip"} {
				head := route + " HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: " + coding + "\r\nContent-Type: " + media + "\r\nContent-Length: 20000\r\n\r\n"
				if coding == "gzip" && begin != "" {
					begin = "\x1f\x8b"
				}
				resp := answerTo(t, s, head+begin)
				if resp.StatusCode != http.StatusRequestTimeout || !strings.Contains(resp.body, "urn:fanfold:problem:too-slow") || !strings.Contains(resp.body, "1024 bytes a second") {
					t.Errorf("%s %s after %.10q: %d %s", route, coding, begin, resp.StatusCode, resp.body)
				}
			}
		}
	}
	for _, route := range []string{"POST /v1/_verify", "DELETE /v1/books/b", "GET /v1/books"} { // these read no body
		if resp := answerTo(t, s, route+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 20000\r\n\r\n"); resp.StatusCode == 0 {
			t.Errorf("%s has no answer", route)
		}
	}
}

// TestRefusedAtOnce: a request whose body is withheld until the node asks for it is answered at once where the node does not, and the connection ends.
func TestRefusedAtOnce(t *testing.T) {
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{BodyGrace: 10 * harness.WaitTime}})
	defer s.Close()
	s.CloseHouse()
	key := "Authorization: Bearer " + s.Key + "\r\n"
	for request, want := range map[string]int{
		"PUT /v1/books/b HTTP/1.1\r\n" + key + "Content-Type: text/plain\r\nContent-Length: 20":                     http.StatusUnsupportedMediaType,
		"PUT /v1/books/b HTTP/1.1\r\n" + key + "Content-Type: application/json\r\nContent-Length: 3000000":          http.StatusRequestEntityTooLarge,
		"PUT /v1/books/b?x=1 HTTP/1.1\r\n" + key + "Content-Type: application/json\r\nContent-Length: 20":           http.StatusBadRequest,
		"PUT /v1/books/b HTTP/1.1\r\n" + key + "If-Match: x\r\nContent-Type: application/json\r\nContent-Length: 2": http.StatusBadRequest,
		"POST /v1/_verify HTTP/1.1\r\n" + key + "Content-Type: application/json\r\nContent-Length: 20":              http.StatusOK,
		"GET /v1/_me HTTP/1.1\r\n" + key + "Content-Length: 20":                                                     http.StatusOK,
		"DELETE /v1/books/b HTTP/1.1\r\n" + key + "Transfer-Encoding: chunked":                                      http.StatusNotFound,
		"PUT /v1/books/b HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 20":                          http.StatusUnauthorized,
		"PUT /v1/_nothing/b HTTP/1.1\r\n" + key + "Content-Length: 20":                                              http.StatusNotFound,
		"PUT /v1/_me HTTP/1.1\r\n" + key + "Content-Length: 20":                                                     http.StatusMethodNotAllowed,
	} {
		resp := answerTo(t, s, request+"\r\nHost: localhost\r\nExpect: 100-continue\r\n\r\n")
		if resp.StatusCode != want || !resp.Close {
			t.Errorf("%s\n%d %s, want %d; the connection is to end: %v", request, resp.StatusCode, resp.body, want, resp.Close)
		}
	}
}

// TestWithheldBodiesEnd: a refused request whose body is announced, and never sent, does not hold its connection.
func TestWithheldBodiesEnd(t *testing.T) {
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{BodyGrace: 200 * time.Millisecond}})
	defer s.Close()
	s.CloseHouse()
	for route, want := range map[string]int{"PUT /v1/books/b": http.StatusUnauthorized, "PUT /v1/_nothing/b": http.StatusUnauthorized, "PUT /healthz": http.StatusUnauthorized, "GET /healthz": http.StatusOK} {
		if resp := answerTo(t, s, route+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n"); resp.StatusCode != want {
			t.Errorf("%s: %d %s, want %d", route, resp.StatusCode, resp.body, want)
		}
	}
}

// rawAnswer is an answer with its body.
type rawAnswer struct {
	*http.Response
	body string
}

// answerTo sends a part of a request, and returns the answer, after which the connection has ended.
func answerTo(t *testing.T, s *harness.Store, text string) rawAnswer {
	t.Helper()
	conn := rawRequest(t, s.Client, text)
	defer conn.Close()
	return readRaw(t, conn)
}

// readRaw reads the answer on a connection, and waits until the server has ended the connection.
func readRaw(t *testing.T, conn net.Conn) rawAnswer {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(suite.Deadline(harness.WaitTime))); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.ReadByte(); err == nil {
		t.Error("more comes after the answer")
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection stays open")
	}
	return rawAnswer{resp, string(body)}
}

// TestSlowBodiesYield: where others wait for room, a body that has stopped to come makes room.
func TestSlowBodiesYield(t *testing.T) {
	const room = 1 << 20
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{MaxInFlight: room, Admission: harness.WaitTime}})
	defer s.Close()
	for tries := 1; ; tries++ {
		awaitRunning(t, s.Client, 0, harness.WaitTime)
		slow := rawRequest(t, s.Client, postText("/v1/books", "application/json", room)+strings.Repeat(" ", room*6/10))
		defer slow.Close()
		awaitRunning(t, s.Client, 1, harness.WaitTime)
		large, err := s.Do(http.MethodPut, "/v1/books/large", []byte(`{"x":"`+strings.Repeat("x", room/2)+`"}`), "Fanfold-Timeout", "60")
		if err != nil {
			t.Fatal(err)
		}
		if large.Status == http.StatusTooManyRequests && tries < 5 { // a busy machine has not read what the slow one has sent: each has a part of the room
			_ = slow.Close()
			continue
		}
		if large.Status != http.StatusCreated {
			t.Errorf("the large one is told %d %s", large.Status, large.Body)
		}
		if resp := readRaw(t, slow); resp.StatusCode != http.StatusRequestTimeout {
			t.Errorf("the slow one is told %d %s", resp.StatusCode, resp.body)
		}
		return
	}
}

// TestSilentImportsYield: imports that send blanks and no line, or hardly any, keep nobody from importing.
func TestSilentImportsYield(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	s := harness.OpenTemp(t, "")
	for name, begin := range map[string]string{"nothing": "", "blanks": " \n \n", "a line": `{"id":"1"}` + "\n"} {
		t.Run(name, func(t *testing.T) {
			stop := make(chan struct{})
			defer close(stop)
			for range 4 {
				conn := rawRequest(t, s.Client, postText("/v1/_import?collection=books", harness.NDJSON, 1_000_000)+begin)
				defer conn.Close()
				go func() {
					for {
						select {
						case <-stop:
							return
						case <-time.After(50 * time.Millisecond):
							_, _ = io.WriteString(conn, " ")
						}
					}
				}()
			}
			awaitRunning(t, s.Client, 4, harness.WaitTime)
			harness.Await(t, "an import beside four silent ones", harness.WaitTime, func() bool {
				r, err := s.Do(http.MethodPost, "/v1/_import?collection=books", []byte(`{"id":"2"}`), "Content-Type", harness.NDJSON)
				return err == nil && r.Status == http.StatusOK && strings.Contains(string(r.Body), `"done":true`)
			})
		})
	}
}

// TestImportWithoutLinesIsEnded: an import that sends nothing but blanks, however many, is ended, and says so.
func TestImportWithoutLinesIsEnded(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{BodyGrace: 200 * time.Millisecond}})
	defer s.Close()
	for _, blank := range []string{" ", "\n", " \r\n"} {
		conn := rawRequest(t, s.Client, "POST /v1/_import?collection=books HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+harness.NDJSON+"\r\nContent-Length: 100000000\r\n\r\n"+`{"id":"1"}`+"\n")
		defer conn.Close()
		go func() {
			for {
				if _, err := io.WriteString(conn, strings.Repeat(blank, 100)); err != nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		resp := readRaw(t, conn)
		if !strings.Contains(resp.body, `"written":1`) || !strings.Contains(resp.body, "urn:fanfold:problem:too-slow") || !strings.Contains(resp.body, "whole line") || !strings.Contains(resp.body, `"done":false`) {
			t.Errorf("after blanks %q the import says %s", blank, resp.body)
		}
	}
}
