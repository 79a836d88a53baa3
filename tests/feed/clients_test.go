//go:build clients

package feed_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
)

// These tests need what make clients installs: node with the packages of tests/clients, curl and Chromium.

// followCommand hands each line that a command prints to a follower, until the command or the test ends.
func followCommand(f *follower, name string, args ...string) (ended chan struct{}) {
	cmd := exec.CommandContext(f.t.Context(), name, args...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		in := bufio.NewScanner(out)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			f.take(in.Bytes())
		}
		_ = cmd.Wait() // it is killed, or its connection cut
	}()
	return ended
}

// TestClientsSurvive: clients that others wrote miss nothing, whatever happens to their connections and the server.
func TestClientsSurvive(t *testing.T) {
	const query = "/v1/_changes?mode=all&heartbeat=1000&feed="
	for name, start := range map[string]func(f *follower, url string){
		"npm eventsource": func(f *follower, url string) {
			ended := followCommand(f, "node", "../clients/eventsource.js", url+query+"eventsource")
			f.t.Cleanup(func() { <-ended })
		},
		"npm ws": func(f *follower, url string) {
			ended := followCommand(f, "node", "../clients/ws.js", strings.Replace(url, "http:", "ws:", 1)+query+"websocket")
			f.t.Cleanup(func() { <-ended })
		},
		"curl": func(f *follower, url string) { followByCurl(f, url+query+"continuous") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, nil)
			surviving(t, p, func(f *follower) { start(f, p.URL) })
		})
	}
	for _, kind := range []string{"eventsource", "websocket"} {
		t.Run("Chromium "+kind, func(t *testing.T) {
			reports := &pageReports{taken: map[string]bool{}}
			p := newProxy(t, reports)
			surviving(t, p, func(f *follower) {
				reports.f = f
				browse(t, p.URL+"/test/page?"+kind)
			})
		})
	}
}

// followByCurl runs curl, and runs it again from the last position whenever it ends.
func followByCurl(f *follower, url string) {
	since, ended := "0", make(chan struct{})
	f.t.Cleanup(func() { <-ended })
	go func() {
		defer close(ended)
		for f.t.Context().Err() == nil {
			cmd := exec.CommandContext(f.t.Context(), "curl", "-sN", url+"&since="+since)
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				return // the test has ended, or says that nothing comes
			}
			in := bufio.NewReader(out)
			for {
				line, err := in.ReadBytes('\n')
				if err != nil { // what is not whole is left out
					break
				}
				var row struct {
					Seq     string
					LastSeq string `json:"last_seq"`
				}
				if json.Unmarshal(line, &row) == nil {
					since = row.Seq + row.LastSeq
				}
				f.take(line)
			}
			_ = cmd.Wait()
		}
	}()
}

// pageReports serves the page for a browser, and takes what it reports. If a connection is cut, the page sends a batch again, for
// it cannot tell whether that was taken.
type pageReports struct {
	f     *follower
	mu    sync.Mutex
	taken map[string]bool // by a batch's number
}

// ServeHTTP implements http.Handler.
func (p *pageReports) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		page, err := os.ReadFile("../clients/page.html")
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(page)
		return
	}
	text, err := io.ReadAll(r.Body)
	if err != nil { // the browser sends it again
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.mu.Lock() // also while it is taken: an answer to the second try says that it was
	defer p.mu.Unlock()
	batch := r.Header.Get("X-Batch")
	if p.taken[batch] {
		return
	}
	p.taken[batch] = true
	for line := range strings.Lines(string(text)) {
		p.f.take([]byte(line))
	}
}

// browse opens a page in a headless browser until the test ends.
func browse(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--user-data-dir="+filepath.Join(t.TempDir(), "browser"), "--remote-debugging-port=0", url)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was interrupted
	})
}

// TestCurlReadsEveryTransport: what a person types works.
func TestCurlReadsEveryTransport(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("books", "b1", `{}`)
	for _, query := range []string{"feed=normal", "feed=longpoll", "feed=continuous&timeout=100", "feed=eventsource&timeout=100"} {
		out, err := exec.CommandContext(t.Context(), "curl", "-sSN", s.URL+"/v1/_changes?"+query).CombinedOutput()
		if err != nil || !strings.Contains(string(out), fmt.Sprintf(`"id":%q`, "b1")) {
			t.Errorf("%s: %v, %s", query, err, out)
		}
	}
}
