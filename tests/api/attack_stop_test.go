package api_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
)

// slowModel makes verifying, and previewing another model, take seconds for the documents of loadSlow: each of many values
// looks at all of them.
func slowModel(rules int) string {
	var b strings.Builder
	b.WriteString("collections:\n  books: {relations: {author: {path: author, to: authors}}}\n  authors:\n    derive:\n")
	for i := range rules {
		fmt.Fprintf(&b, "      n%d: {count: books.author, where: \"doc.n > %d\"}\n", i, i)
	}
	return b.String()
}

// loadSlow loads what slowModel is slow for.
func loadSlow(t *testing.T, c *harness.Client) {
	t.Helper()
	c.Model(slowModel(20))
	c.Put("authors", "a", `{"name":"A"}`)
	var lines strings.Builder
	for i := range 8_000 {
		fmt.Fprintf(&lines, `{"id":"%d","author":"a","n":%d}`+"\n", i, i%20)
	}
	harness.ImportText(t, c, "collection=books", lines.String())
}

// running returns how many requests a node is answering, that for its metrics not counted.
func running(t *testing.T, c *harness.Client) int {
	t.Helper()
	r := c.Want(http.StatusOK, "GET", "/metrics", "")
	_, rest, _ := strings.Cut(string(r.Body), "\nfanfold_requests_running ")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n - 1
}

// awaitRunning waits until a node answers n requests, and fails after limit.
func awaitRunning(t *testing.T, c *harness.Client, n int, limit time.Duration) {
	t.Helper()
	for begun := time.Now(); ; {
		have := running(t, c)
		if have == n {
			return
		}
		if time.Since(begun) > limit {
			t.Fatalf("%d requests are running after %v, want %d", have, limit, n)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// rawRequest opens a connection and sends a part of a request.
func rawRequest(t *testing.T, c *harness.Client, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// request returns a request with a body, and announces length bytes of it.
func request(method, path, contentType, body string, length int, headers ...string) string {
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n", method, path, contentType, length)
	return text + strings.Join(append(headers, "\r\n"), "\r\n") + body
}

// slowRequests are requests that are still running a while after they were sent, of a node with what loadSlow loads.
func slowRequests() map[string]string {
	model := slowModel(21)
	get := func(path string, headers ...string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + strings.Join(append(headers, "\r\n"), "\r\n")
	}
	return map[string]string{
		"verify":             request("POST", "/v1/_verify", "application/json", "", 0),
		"preview":            request("PUT", "/v1/_model?dryRun=true", "application/yaml", model, len(model)),
		"import":             request("POST", "/v1/_import?collection=slow", "application/x-ndjson", `{"id":1}`+"\n", 1000),
		"upload":             request("PUT", "/v1/slow/1", "application/json", `{"id":`, 1000),
		"read of the future": get("/v1/books/1", "Fanfold-Min-Position: 100000000-0", "Fanfold-Timeout: 60"),
		"long poll":          get("/v1/_changes?feed=longpoll&since=now&timeout=60000"),
		"event stream":       get("/v1/_changes?feed=eventsource&since=now"),
		"export":             get("/v1/_export"),
		"feed":               get("/v1/_changes?mode=all&include_docs=true"),
		"expand":             get("/v1/books?limit=1000&expand=author"),
	}
}

// TestWorkEndsWithItsClient: whatever a request does, it ends soon after its client has gone.
func TestWorkEndsWithItsClient(t *testing.T) {
	s := harness.OpenTemp(t, "")
	loadSlow(t, s.Client)
	begun := time.Now()
	s.Verify()
	t.Logf("verify takes %v", time.Since(begun))
	// So that pages with it expanded are large, and that an export is more than the system holds between the two.
	s.Put("authors", "a", `{"name":"`+strings.Repeat("A", 100_000)+`"}`)
	for i := range 8 {
		s.Put("big", strconv.Itoa(i), `{"x":"`+strings.Repeat("x", 1<<20)+`"}`)
	}
	for name, text := range slowRequests() {
		t.Run(name, func(t *testing.T) {
			awaitRunning(t, s.Client, 0, harness.WaitTime)
			conn := rawRequest(t, s.Client, text)
			awaitRunning(t, s.Client, 1, harness.WaitTime)
			begun := time.Now()
			_ = conn.Close()
			awaitRunning(t, s.Client, 0, harness.WaitTime)
			t.Logf("it ended after %v", time.Since(begun))
		})
	}
}

// TestWritesEndWithTheirClients: a patch and a delete that wait for a fold that stands still end with their clients.
func TestWritesEndWithTheirClients(t *testing.T) {
	var still atomic.Bool
	goOn := make(chan struct{})
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), FailWrite: func() error {
		if still.Load() {
			<-goOn
		}
		return nil
	}})
	defer s.Close()
	defer close(goOn)
	s.Put("books", "b", `{}`)
	still.Store(true)
	s.Want(http.StatusAccepted, "PUT", "/v1/books/b", `{"a":1}`, "Fanfold-Timeout", "0")
	for name, text := range map[string]string{
		"patch":  request("PATCH", "/v1/books/b", harness.MergeType, `{"a":2}`, 7, "Fanfold-Timeout: 60"),
		"delete": request("DELETE", "/v1/books/b", "application/json", "", 0, "Fanfold-Timeout: 60"),
		"put":    request("PUT", "/v1/books/c", "application/json", `{}`, 2, "Fanfold-Timeout: 60"),
	} {
		t.Run(name, func(t *testing.T) {
			conn := rawRequest(t, s.Client, text)
			awaitRunning(t, s.Client, 1, harness.WaitTime)
			_ = conn.Close()
			awaitRunning(t, s.Client, 0, harness.WaitTime)
		})
	}
}

// TestStopUnderLoad: SIGTERM ends a node within ten seconds and with exit code 0, whatever it is doing.
func TestStopUnderLoad(t *testing.T) {
	p := harness.StartProcess(t, "--data", t.TempDir(), "--durability", "interval")
	loadSlow(t, p.Client)
	for range 100 {
		rawRequest(t, p.Client, "GET /v1/_changes?feed=eventsource&since=0&mode=all HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	for _, text := range slowRequests() {
		rawRequest(t, p.Client, text)
	}
	for _, text := range []string{"", "GET /v1/books/1 HT", "GET /v1/_changes HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"} {
		rawRequest(t, p.Client, text)
	}
	p.Want(http.StatusAccepted, "POST", "/v1/_replay", "")
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for w := range 4 {
		wg.Go(func() { writeUntil(p.Client, w, stop) })
	}
	p.Want(http.StatusOK, "GET", "/v1/books/1", "")
	begun := time.Now()
	_ = p.Cmd.Process.Signal(syscall.SIGTERM)
	err := p.Cmd.Wait()
	close(stop)
	wg.Wait()
	took := time.Since(begun)
	t.Logf("it ended after %v", took)
	var exit *exec.ExitError
	if errors.As(err, &exit) || err != nil {
		t.Errorf("the process ended with %v", err)
	}
	if took > 20*time.Second {
		t.Errorf("it took %v to end", took)
	}
}

// writeUntil writes, patches and deletes until stop is closed; the node may be gone by then.
func writeUntil(c *harness.Client, w int, stop chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		path := fmt.Sprintf("/v1/busy/%d", i%10)
		_, _ = c.Do("PUT", path, fmt.Appendf(nil, `{"w":%d}`, w))
		_, _ = c.Do("PATCH", path, []byte(`{"a":1}`), "Content-Type", harness.MergeType)
		_, _ = c.Do("DELETE", path, nil)
	}
}

// TestStopDuringALongFold: SIGTERM ends a node that folds for minutes, because one small write has a thousand documents
// evaluated by forty costly expressions. The event that it folds is rolled back.
func TestStopDuringALongFold(t *testing.T) {
	rules := make([]string, 40)
	for k := range rules {
		rules[k] = fmt.Sprintf(`"r[].w%d": {copy: r, value: "doc.l.all(x, doc.l.all(y, x<=y+%d))"}`, k, k)
	}
	p := harness.StartProcess(t, "--data", t.TempDir(), "--durability", "interval")
	p.Model("collections: {t: {}, h: {relations: {r: {path: \"r[].id\", to: t}}, derive: {" + strings.Join(rules, ", ") + "}}}")
	list := strings.TrimSuffix(strings.Repeat("0,", 150), ",")
	operations, ids := make([]string, 1000), make([]string, 1000)
	for i := range operations {
		operations[i] = fmt.Sprintf(`{"op":"put","collection":"t","id":"%d","body":{"l":[%s]}}`, i, list)
		ids[i] = fmt.Sprintf(`{"id":%d}`, i)
	}
	p.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[`+strings.Join(operations, ",")+`]}`, "Fanfold-Timeout", "60")
	p.Want(http.StatusAccepted, http.MethodPut, "/v1/h/1", `{"r":[`+strings.Join(ids, ",")+`]}`, "Fanfold-Timeout", "100ms")
	begun := time.Now()
	p.Signal(syscall.SIGTERM)
	if took, code := time.Since(begun), p.Cmd.ProcessState.ExitCode(); code != 0 || took > 20*time.Second {
		t.Errorf("the node ended with %d after %v", code, took)
	}
}
