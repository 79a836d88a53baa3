package model_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
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
		r := s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=books&id=shop&resume="+strconv.FormatBool(try > 0), lines.String(), "Content-Type", harness.NDJSON)
		if done := strings.Contains(string(r.Body), `"done":true`); done || try == 10 || !strings.Contains(string(r.Body), `"status":503`) {
			if !done {
				t.Fatalf("the import says %s", r.Body)
			}
			return
		}
	}
}

// waitApplies waits until fullShopModel applies on every node.
func waitApplies(t *testing.T, nodes ...*harness.Process) {
	t.Helper()
	deadline := time.Now().Add(suite.Deadline(2 * time.Minute))
	for _, p := range nodes {
		for !p.Applies(t) {
			if time.Now().After(deadline) {
				t.Fatalf("the model does not apply: %s", p.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body)
			}
			time.Sleep(10 * time.Millisecond) // a model that is prepared has no position yet
		}
	}
}

// TestServeModelBeingPrepared: a node that is started again with the model that it was preparing comes up, serves,
// and goes on with it.
func TestServeModelBeingPrepared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir, Writer: writer.Options{BeforeActivate: harness.NewActivationHold().Wait}})
	bigShop(t, s)
	s.Propose(fullShopModel)
	s.Close()
	p := harness.StartProcess(t, "--data", dir, "--model", modelFile(t, fullShopModel))
	p.Put("authors", "new", `{}`)
	waitApplies(t, p)
	p.Put("authors", "newer", `{}`)
	p.Verify(t)
	p.Stop(t)
}

// TestServeModelOnTwoNodes: two nodes that are started with the same new model on one log both stay, and both come to
// have it.
func TestServeModelOnTwoNodes(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, 1)[0]
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: server})
	bigShop(t, s)
	s.Close()
	file := modelFile(t, fullShopModel)
	nodes := make([]*harness.Process, 2)
	for i := range nodes {
		nodes[i] = harness.StartProcess(t, "--data", t.TempDir(), "--nats", server, "--model", file)
	}
	waitApplies(t, nodes...)
	for i, p := range nodes {
		p.Put("authors", fmt.Sprint("new", i), `{}`)
		p.Verify(t)
	}
	for _, p := range nodes {
		p.Stop(t)
	}
}

// TestServeModelSaysWhenItApplies: `serve --model` says that the model is applied once it is, and not where the node
// has answered that it works on it.
func TestServeModelSaysWhenItApplies(t *testing.T) {
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
	p := harness.StartProcessOn(t, "0.0.0.0", "--insecure", "--data", dir, "--model", modelFile(t, fullShopModel))
	for applies := false; !applies; time.Sleep(time.Millisecond) { // a model that is prepared has no position yet
		said := strings.Contains(p.Log.String(), "model applied")
		if applies = p.Applies(t); said && !applies {
			t.Fatal("serve says that the model is applied, and it is not yet")
		}
	}
	p.Verify(t)
}
