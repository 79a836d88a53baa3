package api_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// marker is a part of every credential of the attack that is no key, so that an echo of it is found.
const marker = "sEcReTmArKeR"

// rawConn sends requests byte by byte, as no client of HTTP would.
type rawConn struct {
	address string
	conn    net.Conn
	in      *bufio.Reader
}

// send sends the text of a request, and returns the answer to its end. The connection stays where the answer lets it.
func (w *rawConn) send(t *testing.T, text string) *harness.Response {
	t.Helper()
	out, err := w.try(t, text)
	if err != nil {
		t.Fatalf("%.200q: %v", text, err)
	}
	return out
}

// try is send with an error where the connection ends before the answer.
func (w *rawConn) try(t *testing.T, text string) (*harness.Response, error) {
	t.Helper()
	if w.conn == nil {
		conn, err := net.Dial("tcp", w.address)
		if err != nil {
			t.Fatal(err)
		}
		w.conn, w.in = conn, bufio.NewReader(conn)
	}
	if err := w.conn.SetDeadline(time.Now().Add(suite.Deadline(time.Minute))); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w.conn, text); err != nil {
		return nil, err
	}
	r, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	out := &harness.Response{Status: r.StatusCode, Header: r.Header}
	if out.Body, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	if r.Close {
		w.close()
	}
	return out, nil
}

func (w *rawConn) close() {
	if w.conn != nil {
		_ = w.conn.Close()
	}
	w.conn = nil
}

// collector takes the spans of a node.
type collector struct {
	mu   sync.Mutex
	sent bytes.Buffer
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		if zip, err := gzip.NewReader(r.Body); err == nil {
			body = zip
		}
	}
	text, _ := io.ReadAll(body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent.Write(text)
	w.WriteHeader(http.StatusOK)
}

func (c *collector) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.sent.Bytes())
}

// wrongKeys returns a function that makes credentials which open nothing: keys that nobody made, keys of another store, keys with one
// character changed. Others have another secret and the checksum that fits it, or are no keys.
func wrongKeys(right, foreign string) func(r *rand.Rand) string {
	id := strings.Split(right, "_")[1]
	changed := func(r *rand.Rand) string {
		text := []byte(right)
		at := r.IntN(len(text))
		for was := text[at]; text[at] == was; {
			text[at] = byte('0' + r.IntN(75))
		}
		return string(text)
	}
	return func(r *rand.Rand) string {
		switch r.IntN(9) {
		case 0:
			return "Bearer " + access.NewKey().Text()
		case 1:
			return "Bearer " + access.Rotated(id).Text()
		case 2:
			return "Bearer " + foreign
		case 3:
			return "Bearer " + changed(r)
		case 4:
			return "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+access.Rotated(id).Text()))
		case 5:
			return "Basic " + marker
		case 6:
			return "Bearer " + marker + strings.Repeat("é\xff\x80", r.IntN(50))
		case 7:
			return "Bearer " + right[:r.IntN(len(right))] + strings.Repeat(marker, r.IntN(3))
		default:
			return "Digest username=\"" + marker + "\""
		}
	}
}

// attackedHouse is a house whose log, spans and files are searched.
type attackedHouse struct {
	*house
	log   *harness.LockedBuffer
	spans *collector
	seen  *harness.LockedBuffer // the bodies and headers of answers
	dir   string
}

func openAttacked(t *testing.T) *attackedHouse {
	t.Helper()
	a := &attackedHouse{log: &harness.LockedBuffer{}, spans: &collector{}, seen: &harness.LockedBuffer{}}
	server := httptest.NewServer(a.spans)
	t.Cleanup(server.Close)
	a.house = openHouse(t, matrixModel, func(cfg *node.Config) {
		cfg.Logger = slog.New(slog.NewTextHandler(a.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		cfg.Trace = node.Trace{Endpoint: server.URL, Ratio: 1}
		cfg.API.SlowRequest = 1 // so that requests are in the log
		a.dir = cfg.Data
	})
	a.admin.Put("books", "d", `{}`)
	return a
}

// note keeps an answer for the search.
func (a *attackedHouse) note(r *harness.Response) {
	fmt.Fprintf(a.seen, "%d %v %s\n", r.Status, r.Header, r.Body)
}

// TestAttackByKeys: 10,000 credentials that open nothing are refused, with no word about why. None of them, and none of the keys
// that work, is in an answer, a file, a line of the log, a span or a metric.
func TestAttackByKeys(t *testing.T) {
	a := openAttacked(t)
	key := a.newKey(t, "read", "write")
	other := openHouse(t, "", nil)
	wrong, r := wrongKeys(key, other.newKey(t, "admin")), rand.New(rand.NewPCG(4, 8))
	w := &rawConn{address: a.Node.Addr()}
	defer w.close()
	requests := []string{"GET /v1/books/d", "GET /v1/_changes?since=0", "DELETE /v1/books/d", "GET /v1/_status", "GET /v1/_me", "POST /v1/_verify", "GET /v1/none/none", "GET /metrics", "GET /v1/_groups/g"}
	for n := range 10_000 {
		request, credentials := requests[n%len(requests)], wrong(r)
		answer := w.send(t, request+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: "+credentials+"\r\nContent-Length: 0\r\n\r\n")
		if a.note(answer); answer.Status != http.StatusUnauthorized {
			t.Fatalf("%s by %q: %d %s", request, credentials, answer.Status, answer.Body)
		}
		if n%500 == 0 { // the right one still opens
			a.clientWith(t, key).Want(http.StatusOK, "GET", "/v1/books/d", "")
		}
	}
	a.search(t)
}

// TestAttackByHeaders: headers that are too long, of other bytes, or more than one are refused, and never a fault of the node.
func TestAttackByHeaders(t *testing.T) {
	a := openAttacked(t)
	key := a.newKey(t, "read")
	padded := func(size int) string { return "Bearer" + strings.Repeat(" ", size-len("Bearer")-len(key)) + key }
	for _, c := range []struct {
		name, headers string
		want          int
	}{
		{"8 KiB", "Authorization: " + padded(8<<10), 200},
		{"a byte more", "Authorization: " + padded(8<<10+1), 401},
		{"8 KiB of nothing", "Authorization: Bearer " + strings.Repeat(marker, 8<<10/len(marker)), 401},
		{"100 KiB", "Authorization: Bearer " + strings.Repeat(marker, 100<<10/len(marker)), 431},
		{"NUL", "Authorization: Bearer " + marker + "\x00", 400},
		{"NUL in a key", "Authorization: Bearer " + key[:20] + "\x00" + key[21:], 400},
		{"bytes that are no ASCII", "Authorization: Bearer \xff\xfe" + marker + "é", 401},
		{"a key of other letters", "Authorization: Bearer " + strings.ToUpper(key), 401},
		{"a folded line", "Authorization: Bearer\r\n " + key, 200}, // as net/http reads it (RFC 9112, 5.2)
		{"two", "Authorization: Bearer " + key + "\r\nAuthorization: Bearer " + key, 400},
		{"two, one empty", "Authorization: Bearer " + key + "\r\nAuthorization:", 400},
		{"two in one", "Authorization: Bearer " + key + ", Bearer " + key, 401},
		{"empty", "Authorization:", 401},
		{"Basic", "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("any:"+key)), 200},
		{"Basic without a user", "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(":"+key)), 200},
		{"Basic without a colon", "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(key)), 401},
		{"Basic with the key as user", "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(key+":")), 401},
		{"in the query", "Authorization: Bearer\r\nX-Key: " + key, 401},
	} {
		w := &rawConn{address: a.Node.Addr()}
		answer, err := w.try(t, "GET /v1/books/d HTTP/1.1\r\nHost: localhost\r\n"+c.headers+"\r\nConnection: close\r\n\r\n")
		w.close()
		if err != nil && c.want == 431 { // the connection ends while the node has not read all of it
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if a.note(answer); answer.Status != c.want {
			t.Errorf("%s: status %d, want %d: %s", c.name, answer.Status, c.want, answer.Body)
		}
	}
	a.search(t)
}

// TestAttackByBodies: a request that is refused for its sender is answered before its body comes. The body is not asked for, and
// hardly any of it is read.
func TestAttackByBodies(t *testing.T) {
	suite.Concurrent(t)
	a := openAttacked(t)
	reader := "Authorization: Bearer " + a.newKey(t, "read") + "\r\n"
	for _, route := range []string{"PUT /v1/books/m", "PATCH /v1/books/m", "POST /v1/books", "PUT /v1/_model", "POST /v1/_keys", "POST /v1/_groups/g/_lease", "POST /v1/_transactions", "POST /v1/_import"} {
		for headers, want := range map[string]int{"": 401, "Authorization: Bearer " + access.NewKey().Text() + "\r\n": 401, reader: 403} {
			if want == 403 && (strings.HasSuffix(route, "_transactions") || strings.HasSuffix(route, "_import")) {
				continue // whose operations and lines are judged
			}
			for _, expect := range []string{"Expect: 100-continue\r\n", ""} {
				status, taken := sendEndless(t, a.Node.Addr(), route+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1073741824\r\n"+headers+expect+"\r\n", expect == "")
				if status != want || taken > 32<<20 {
					t.Errorf("%s, %q: status %d, want %d; %d bytes were taken", route, expect, status, want, taken)
				}
			}
		}
	}
	a.search(t)
}

// sendEndless sends the head of a request, and its body where it has no Expect, until the connection ends. It returns the status of
// the first answer, which is 100 where the body was asked for, and how much of the body was taken.
func sendEndless(t *testing.T, address, head string, body bool) (status, taken int) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(suite.Deadline(time.Minute))); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	if body {
		done := make(chan int)
		go func() {
			all, piece := 0, make([]byte, 64<<10)
			for {
				n, err := conn.Write(piece)
				if all += n; err != nil || all >= 1<<30 {
					done <- all
					return
				}
			}
		}()
		defer func() { _ = conn.Close(); taken = <-done }()
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatalf("%.60q: %v", head, err)
	}
	if _, err := fmt.Sscanf(line, "HTTP/1.1 %d", &status); err != nil {
		t.Fatal(err)
	}
	if body {
		time.Sleep(50 * time.Millisecond) // what the node would read by then
	}
	return status, taken
}

// search fails the test where a key, or what was sent as one, is in a file of the node, its log, its spans, its metrics or an answer.
func (a *attackedHouse) search(t *testing.T) {
	t.Helper()
	a.note(a.admin.Want(http.StatusOK, "GET", "/metrics", ""))
	a.note(a.admin.Want(http.StatusOK, "GET", "/v1/_status", ""))
	let := newTicket(t, a.admin, "/v1/_changes?since=now", "1h")
	plain := harness.NewClient(t, a.URL)
	defer plain.HTTP.CloseIdleConnections()
	a.note(plain.Want(http.StatusOK, "GET", let.URL, ""))
	whole := newTicket(t, a.admin, "/v1/_backup", "1m")
	plain.Want(http.StatusOK, "GET", whole.URL, "") // what is in it is of documents
	a.note(plain.Want(http.StatusUnauthorized, "GET", "/v1/_backup?after=0&ticket="+whole.Ticket, ""))
	for _, path := range []string{"/v1/books?ticket=", "/nothing?ticket=", "/v1/_changes?since=x&ticket=", "/v1/_changes?since=now&x=1&ticket="} {
		a.note(plain.Want(http.StatusUnauthorized, "GET", path+let.Ticket, ""))
	}
	for begun := time.Now(); len(a.spans.bytes()) == 0 && time.Since(begun) < 20*time.Second; {
		time.Sleep(50 * time.Millisecond)
	}
	places := map[string][]byte{"the log": []byte(a.log.String()), "an answer": []byte(a.seen.String()), "a span": a.spans.bytes()}
	files := 0
	if err := filepath.WalkDir(a.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files++
			places[path], err = os.ReadFile(path)
		}
		return err
	}); err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
	anyKey := regexp.MustCompile(`fan_[a-z0-9]{12}_[A-Za-z0-9]{40}`)
	for place, text := range places {
		if found := anyKey.Find(text); found != nil || bytes.Contains(text, []byte(marker)) {
			t.Errorf("%s has a key or what was sent as one: %s", place, found)
		}
		if bytes.Contains(text, []byte(let.Ticket)) || bytes.Contains(text, []byte(whole.Ticket)) {
			t.Errorf("%s has a ticket", place)
		}
		for _, key := range a.secrets {
			if secret := strings.Split(key, "_")[2]; bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s has the secret of a key", place)
			}
		}
	}
	if len(places["the log"]) == 0 || len(places["an answer"]) == 0 || len(places["a span"]) == 0 {
		t.Errorf("there is nothing to search: %d bytes of log, %d of spans", len(places["the log"]), len(places["a span"]))
	}
}

// TestOpenHouseAsksNobody: in an open store no header of a sender changes an answer.
func TestOpenHouseAsksNobody(t *testing.T) {
	s := harness.OpenTemp(t, matrixModel)
	s.Put("vault", "d", `{}`)
	w := &rawConn{address: s.Node.Addr()}
	defer w.close()
	text := func(headers string) string {
		r := w.send(t, "GET /v1/vault/d HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: r\r\n"+headers+"\r\n")
		r.Header.Del("Date")
		return fmt.Sprint(r.Status, r.Header, string(r.Body))
	}
	want := text("")
	for _, headers := range []string{"Authorization: Bearer " + marker + "\r\n", "Authorization: Basic a\r\nAuthorization: b\r\n", "Authorization:\r\n"} {
		if got := text(headers); got != want || !strings.HasPrefix(got, "200") || strings.Contains(got, "private") {
			t.Errorf("%q changes the answer from %s to %s", headers, want, got)
		}
	}
}
