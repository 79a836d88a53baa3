package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// balancer gives requests to servers in turn, of those whose /readyz was 200 when last asked. It tries nothing again.
type balancer struct {
	servers []*backend
	turn    atomic.Uint64
}

// backend is one server of a balancer.
type backend struct {
	proxy atomic.Pointer[httputil.ReverseProxy] // nil while there is no server
	url   atomic.Pointer[string]
	ready atomic.Bool
}

// checkEvery is how often a balancer asks its servers whether they are ready.
const checkEvery = 50 * time.Millisecond

// shutdownDelay is how long a server goes on that is not ready any more: enough for a balancer to see it on a busy machine.
const shutdownDelay = 60 * checkEvery

// set gives a backend a server.
func (b *backend) set(address string) {
	target, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	p := httputil.NewSingleHostReverseProxy(target)
	p.Transport = &http.Transport{MaxIdleConnsPerHost: 128}
	p.ErrorLog = nil
	b.proxy.Store(p)
	b.url.Store(&address)
}

// check asks the server whether it is ready until ctx ends.
func (b *backend) check(ctx context.Context) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	for ctx.Err() == nil {
		if address := b.url.Load(); address != nil {
			resp, err := client.Get(*address + "/readyz") //nolint:noctx // it has a timeout
			b.ready.Store(err == nil && resp.StatusCode == http.StatusOK)
			if err == nil {
				_ = resp.Body.Close()
			}
		}
		select {
		case <-time.After(checkEvery):
		case <-ctx.Done():
		}
	}
}

// ServeHTTP implements http.Handler.
func (l *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	first := l.turn.Add(1)
	for k := range l.servers {
		b := l.servers[(first+uint64(k))%uint64(len(l.servers))]
		if b.ready.Load() {
			b.proxy.Load().ServeHTTP(w, r)
			return
		}
	}
	http.Error(w, "no server is ready", http.StatusBadGateway)
}

// newBalancer starts a balancer before n servers, which ends with the test.
func newBalancer(t *testing.T, n int) *balancer {
	t.Helper()
	l := &balancer{}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range n {
		b := &backend{}
		l.servers = append(l.servers, b)
		wg.Go(func() { b.check(ctx) })
	}
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return l
}

// await waits until n servers are ready.
func (l *balancer) await(t *testing.T, n int) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		ready := 0
		for _, b := range l.servers {
			if b.ready.Load() {
				ready++
			}
		}
		if ready == n {
			return
		}
		if time.Since(begun) > suite.Deadline(time.Minute) {
			t.Fatalf("%d servers are ready, want %d", ready, n)
		}
	}
}

// writing is what one writer has done through a balancer.
type writing struct {
	writes, firstFailures, failures int
	last                            int // the value acknowledged last
}

// write writes a document again and again, each time once more where the first try fails, until stop is closed.
func (w *writing) write(t *testing.T, client *http.Client, path string, stop chan struct{}) {
	for i := 1; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		w.writes++
		err := putNumber(client, path, i)
		if err != nil {
			w.firstFailures++
			t.Logf("write %d: %v", i, err)
			time.Sleep(time.Second) // as a client does that tries again
			if err = putNumber(client, path, i); err != nil {
				w.failures++
				t.Logf("write %d: %v", i, err)
				continue
			}
		}
		w.last = i
	}
}

// putNumber writes a document with a number.
func putNumber(client *http.Client, path string, i int) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPut, path, bytes.NewReader(fmt.Appendf(nil, `{"n":%d}`, i)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	return err
}

// TestNodesLeaveUnseen: while 64 writers write through a balancer, its two nodes are stopped and started in turn. No writer
// sees an error that tries once more, nothing that was acknowledged is lost, and every node ends in time with exit code 0.
func TestNodesLeaveUnseen(t *testing.T) {
	suite.Parallel(t)
	nats := natsserver.Start(t, 1)[0]
	dirs, nodes := []string{t.TempDir(), t.TempDir()}, make([]*harness.Process, 2)
	start := func(i int) {
		nodes[i] = harness.StartProcess(t, "--data", dirs[i], "--nats", nats, "--shutdown-delay", shutdownDelay.String())
	}
	l := newBalancer(t, 2)
	for i := range nodes {
		start(i)
		l.servers[i].set(nodes[i].URL)
	}
	l.await(t, 2)
	front := http.Server{Handler: l, ReadHeaderTimeout: time.Minute}
	p := newProxyServer(t, &front)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}, Timeout: time.Minute}
	const writers, leaves = 64, 4
	work, stop := make([]writing, writers), make(chan struct{})
	var wg sync.WaitGroup
	for w := range work {
		wg.Go(func() { work[w].write(t, client, p+harness.Path("books", strconv.Itoa(w)), stop) })
	}
	for leave := range leaves {
		i := leave % len(nodes)
		begun := time.Now()
		nodes[i].Signal(syscall.SIGTERM)
		if took, code := time.Since(begun), nodes[i].Cmd.ProcessState.ExitCode(); code != 0 || took > shutdownDelay+15*time.Second {
			t.Errorf("node %d ended with %d after %v", i, code, took)
		}
		start(i)
		l.servers[i].set(nodes[i].URL)
		l.await(t, 2)
	}
	close(stop)
	wg.Wait()
	var all writing
	for w := range work {
		all.writes, all.firstFailures, all.failures = all.writes+work[w].writes, all.firstFailures+work[w].firstFailures, all.failures+work[w].failures
		var doc struct{ N int }
		harness.Decode(t, nodes[0].Want(http.StatusOK, "GET", harness.Path("books", strconv.Itoa(w))+"?consistency=strong", "").Body, &doc)
		if doc.N != work[w].last {
			t.Errorf("document %d has %d, acknowledged was %d", w, doc.N, work[w].last)
		}
	}
	t.Logf("%d writes, %d nodes left: %d failed at the first try, %d at the second", all.writes, leaves, all.firstFailures, all.failures)
	if all.failures > 0 {
		t.Errorf("%d writes failed, also at the second try", all.failures)
	}
}

// newProxyServer serves on a free port until the test's end, and returns the URL.
func newProxyServer(t *testing.T, srv *http.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	return "http://" + l.Addr().String()
}

// TestLeavingNode: a node that was told to end is at once not ready and says why. It is alive, serves on, and closes each connection after
// its answer. A second signal ends it at once.
func TestLeavingNode(t *testing.T) {
	suite.Parallel(t)
	p := harness.StartProcess(t, "--data", t.TempDir(), "--durability", "interval", "--shutdown-delay", "5m")
	p.Put("books", "b", `{}`)
	p.Want(http.StatusOK, "GET", "/readyz", "")
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.Log.Wait("the node is stopping")
	r := p.Want(http.StatusServiceUnavailable, "GET", "/readyz", "")
	var problem struct {
		Problems []struct{ Path, Detail string }
	}
	if err := json.Unmarshal(r.Body, &problem); err != nil || len(problem.Problems) != 1 || problem.Problems[0].Path != "shutdown" {
		t.Errorf("/readyz says %s", r.Body)
	}
	p.Want(http.StatusServiceUnavailable, "HEAD", "/readyz", "")
	p.Want(http.StatusOK, "GET", "/healthz", "")
	p.Want(http.StatusOK, "HEAD", "/healthz", "")
	if harness.MetricOf(t, p.Client, "fanfold_ready") != 0 {
		t.Error("the metrics say that it is ready")
	}
	p.Put("books", "b", `{"n":1}`)
	conn := rawRequest(t, p.Client, "GET /v1/books/b HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if text, err := io.ReadAll(conn); err != nil || !strings.Contains(string(text), "\r\nConnection: close\r\n") {
		t.Errorf("the answer is %q, %v", text, err)
	}
	begun := time.Now()
	p.Signal(syscall.SIGTERM)
	if took := time.Since(begun); took > 30*time.Second || !p.Cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
		t.Errorf("after a second signal it took %v to end: %v", took, p.Cmd.ProcessState)
	}
}

// TestShutdownTimes: the times of a shutdown have bounds, and one that is over ends what does not end by itself.
func TestShutdownTimes(t *testing.T) {
	suite.Parallel(t)
	for flag, value := range map[string]string{"--shutdown-delay": "-1s", "--shutdown-timeout": "20m"} {
		if out, err := harness.RunProgram(t, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", flag, value); err == nil || !strings.Contains(out, flag+" ") {
			t.Errorf("%s %s: %v, %s", flag, value, err, out)
		}
	}
	p := harness.StartProcess(t, "--data", t.TempDir(), "--durability", "interval", "--shutdown-timeout", "2s")
	rawRequest(t, p.Client, request("PUT", "/v1/slow/1", "application/json", `{"id":`, 1000))
	rawRequest(t, p.Client, "GET /v1/books/1 HTTP/1.1\r\nHost: localhost\r\nFanfold-Min-Position: 100000000-0\r\nFanfold-Timeout: 60\r\n\r\n")
	awaitRunning(t, p.Client, 2, harness.WaitTime)
	begun := time.Now()
	p.Signal(syscall.SIGTERM)
	if took, code := time.Since(begun), p.Cmd.ProcessState.ExitCode(); code != 0 || took > 10*time.Second {
		t.Errorf("it ended with %d after %v", code, took)
	}
}

// positionText finds the positions in what a feed has said.
var positionText = regexp.MustCompile(`\d+-\d+-\w+`)

// readFeed reads a feed by a transport to its end, and returns what it has said.
func readFeed(t *testing.T, s *harness.Store, kind string) (string, error) {
	const query = "since=now&collections=books&timeout=60000&feed="
	if kind != "websocket" {
		resp, err := s.HTTP.Get(s.URL + "/v1/_changes?" + query + kind) //nolint:noctx // the client has a timeout
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return resp.Header.Get("Fanfold-Position") + string(text), err
	}
	conn, _, err := harness.DialFeed(t, s, query+kind)
	for text := ""; ; {
		var message []byte
		if err == nil {
			_, message, err = conn.Read(t.Context())
		}
		if websocket.CloseStatus(err) == websocket.StatusGoingAway {
			return text, nil
		}
		if err != nil {
			return text, err
		}
		text += string(message)
	}
}

// TestFeedsEndWithAPosition: a feed of a node that stops ends, by every transport, as a whole answer does. From the last position that it
// has told the next change follows.
func TestFeedsEndWithAPosition(t *testing.T) {
	suite.Concurrent(t)
	t.Parallel()
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	s.Put("books", "before", `{}`)
	said := map[string]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, kind := range []string{"continuous", "eventsource", "longpoll", "websocket"} {
		wg.Go(func() {
			text, err := readFeed(t, s, kind)
			if err != nil {
				t.Errorf("%s ended with %v behind %s", kind, err, text)
			}
			mu.Lock()
			defer mu.Unlock()
			said[kind] = text
		})
	}
	awaitRunning(t, s.Client, 4, harness.WaitTime)
	s.Put("others", "o", `{}`) // moves the position on without a row
	next := s.Reopen()
	wg.Wait()
	defer next.Close()
	next.Put("books", "after", `{}`)
	for kind, text := range said {
		positions := positionText.FindAllString(text, -1)
		if len(positions) == 0 {
			t.Errorf("%s said no position: %s", kind, text)
			continue
		}
		rows, _ := next.Changes("collections=books&since=" + positions[len(positions)-1])
		if len(rows) != 1 || rows[0].ID != "after" {
			t.Errorf("behind %s, as %s said at its end, are %v", positions[len(positions)-1], kind, rows)
		}
	}
}
