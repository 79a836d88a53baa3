package tests

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/writer"
)

// modelFile writes a model for `serve --model`.
func modelFile(t *testing.T, src string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.yaml")
	if err := os.WriteFile(path, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// bigShop fills a store with so many books that fullShopModel is prepared, for a second or so, and not applied at
// once.
func bigShop(t *testing.T, s *harness.Store) {
	t.Helper()
	s.Model(shopModel)
	shop(s, 0)
	var lines strings.Builder
	for i := range 12_000 {
		fmt.Fprintf(&lines, `{"id":"%d",%s`+"\n", i, shopBook(i, 0)[1:])
	}
	// A log on a busy machine may not say in time what became of a batch; the import then goes on where it was.
	for try := 0; ; try++ {
		r := s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=books&id=shop&resume="+strconv.FormatBool(try > 0), lines.String(), "Content-Type", ndjson)
		if done := strings.Contains(string(r.Body), `"done":true`); done || try == 10 || !strings.Contains(string(r.Body), `"status":503`) {
			if !done {
				t.Fatalf("the import says %s", r.Body)
			}
			return
		}
	}
}

// applies tells whether fullShopModel applies; it fails the test where the process has ended.
func (p *process) applies(t *testing.T) bool {
	t.Helper()
	r, err := p.Do(http.MethodGet, "/v1/_model", nil)
	if err != nil {
		p.log.end()
		t.Fatalf("the node has ended: %v", err)
	}
	return strings.Contains(string(r.Body), `"frozen":true`)
}

// waitApplies waits until fullShopModel applies on every node.
func waitApplies(t *testing.T, nodes ...*process) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for _, p := range nodes {
		for !p.applies(t) {
			if time.Now().After(deadline) {
				t.Fatalf("the model does not apply: %s", p.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body)
			}
			time.Sleep(10 * time.Millisecond) // a model that is prepared has no position yet
		}
	}
}

// stop asks the process to end and wants it to have ended well.
func (p *process) stop(t *testing.T) {
	t.Helper()
	p.HTTP.CloseIdleConnections()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.log.end()
	if err := p.cmd.Wait(); err != nil {
		t.Fatalf("the node ended with %v", err)
	}
}

// TestServeModelBeingPrepared: a node that is started again with the model that it was preparing comes up, serves,
// and goes on with it.
func TestServeModelBeingPrepared(t *testing.T) {
	plainOnly(t, otherProcess)
	t.Parallel()
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir, Writer: writer.Options{BeforeActivate: harness.NewGate().Wait}})
	bigShop(t, s)
	s.Propose(fullShopModel)
	s.Close()
	p := startProcess(t, "--data", dir, "--model", modelFile(t, fullShopModel))
	p.Put("authors", "new", `{}`)
	waitApplies(t, p)
	p.Put("authors", "newer", `{}`)
	p.verify(t)
	p.stop(t)
}

// TestServeModelOnTwoNodes: two nodes that are started with the same new model on one log both stay, and both come to
// have it.
func TestServeModelOnTwoNodes(t *testing.T) {
	plainOnly(t, otherProcess)
	t.Parallel()
	server := natsserver.Start(t, 1)[0]
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: server})
	bigShop(t, s)
	s.Close()
	file := modelFile(t, fullShopModel)
	nodes := make([]*process, 2)
	for i := range nodes {
		nodes[i] = startProcess(t, "--data", t.TempDir(), "--nats", server, "--model", file)
	}
	waitApplies(t, nodes...)
	for i, p := range nodes {
		p.Put("authors", fmt.Sprint("new", i), `{}`)
		p.verify(t)
	}
	for _, p := range nodes {
		p.stop(t)
	}
}

// TestServeModelSaysWhenItApplies: `serve --model` says that the model is applied once it is, and not where the node
// has answered that it works on it.
func TestServeModelSaysWhenItApplies(t *testing.T) {
	plainOnly(t, otherProcess)
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	bigShop(t, s)
	s.Close()
	// The node answers so after a minute. A proxy between serve and its own node has it answer at once; a client goes
	// through no proxy to a loopback address, so that the node listens on another.
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.Header.Set("Fanfold-Timeout", "0") },
		Transport: &http.Transport{}, // which asks no proxy itself
	})
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	p := startProcessOn(t, "0.0.0.0", "--insecure", "--data", dir, "--model", modelFile(t, fullShopModel))
	for applies := false; !applies; time.Sleep(time.Millisecond) { // a model that is prepared has no position yet
		said := strings.Contains(p.log.String(), "model applied")
		if applies = p.applies(t); said && !applies {
			t.Fatal("serve says that the model is applied, and it is not yet")
		}
	}
	p.verify(t)
}
