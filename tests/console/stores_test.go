//go:build console

package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/console"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/openapi"
	"github.com/fanfold/fanfold/writer"
)

// nothing logs nothing.
var nothing = log.New(io.Discard, "", 0)

// withBody keeps a body in a context.
func withBody(ctx context.Context, body []byte) context.Context {
	return context.WithValue(ctx, sentBody{}, body)
}

// house has the stores of the scenarios, which ask for them by HTTP.
type house struct {
	t       *testing.T
	url     string
	console *console.Console

	mu       sync.Mutex
	contract *openapi.Contract
	stores   map[string]*store
	made     int
	figures  []figure
}

// wanted says what store a scenario wants.
type wanted struct {
	Closed  bool     `json:"closed"`  // it has keys
	Process bool     `json:"process"` // it is a process, which can be killed
	Prefix  string   `json:"prefix"`  // the proxy has this path before all others
	Shared  string   `json:"shared"`  // all who name the same get the same, until the end
	Held    bool     `json:"held"`    // models that are prepared wait until they are released
	Args    []string `json:"args"`    // of the process
	NATS    bool     `json:"nats"`    // its log is on an outside server
	Bare    bool     `json:"bare"`    // the browser asks it without the proxy, for what is measured
}

// store is a server and the proxy before it.
type store struct {
	wanted
	*proxy
	name, dir string
	keyFile   string
	key       string // of an admin; "" where the store is open
	atHand    sync.Mutex
	node      *harness.Store // in this process
	hold      *harness.ActivationHold
	process   *harness.Process // or another one
	outside   *natsserver.Cluster
	opened    bool
	readOnly  bool          // it takes no writes, and verifies nothing
	filled    chan struct{} // is closed once the first who shares it has filled it
}

// figure is something that a scenario measured.
type figure struct {
	What, Got, Goal string
}

// newHouse starts to listen for the scenarios.
func newHouse(t *testing.T) *house {
	t.Helper()
	of, err := console.New(*consoleDir)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, console: of, stores: map[string]*store{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /stores", h.open)
	mux.HandleFunc("DELETE /stores/{name}", h.close)
	mux.HandleFunc("POST /stores/{name}/{deed}", h.do)
	mux.HandleFunc("/stores/{name}/direct/{path...}", h.direct)
	mux.HandleFunc("POST /figures", h.figure)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// open starts a store, or finds one that is shared.
func (h *house) open(w http.ResponseWriter, r *http.Request) {
	var want wanted
	if err := json.NewDecoder(r.Body).Decode(&want); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s, fresh, err := h.started(want)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if !fresh {
		<-s.filled
	}
	answer(w, s.described(fresh))
}

// started starts a store, one at a time: nodes that start are busy. It returns the one that is shared where that is there, and
// whether the store is fresh: whoever has asked for it fills it.
func (h *house) started(want wanted) (s *store, fresh bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.stores {
		if want.Shared != "" && s.Shared == want.Shared {
			return s, false, nil
		}
	}
	h.made++
	s = &store{wanted: want, name: fmt.Sprint("s", h.made), dir: h.t.TempDir(), filled: make(chan struct{})}
	if want.Closed {
		s.keyFile, s.key = harness.NewKeyFile(h.t)
	}
	s.start(h)
	if s.proxy, err = newProxy(h.contractOf(s), want.Prefix, s.client().URL); err == nil {
		h.stores[s.name] = s
	}
	return s, true, err
}

// described tells a scenario of a store.
func (s *store) described(fresh bool) map[string]any {
	url := s.URL + s.Prefix
	if s.Bare {
		url = s.client().URL
	}
	return map[string]any{"name": s.name, "url": url, "key": s.key, "new": fresh}
}

// contractOf returns the document of the program, which all stores have.
func (h *house) contractOf(s *store) *openapi.Contract {
	if h.contract == nil {
		of, err := openapi.Read(s.client().Want(http.StatusOK, http.MethodGet, "/openapi.json", "").Body)
		if err != nil {
			h.t.Fatal(err)
		}
		h.contract = of
	}
	return h.contract
}

// client returns a client of the server itself.
func (s *store) client() *harness.Client {
	if s.process != nil {
		return s.process.Client
	}
	return s.node.Client
}

// start starts the server, on the files that it has.
func (s *store) start(h *house) {
	switch {
	case s.Process:
		args := append([]string{"--data", s.dir}, s.Args...)
		if *consoleDir != "" {
			args = append(args, "--console-dir", *consoleDir)
		}
		if s.keyFile != "" {
			args = append(args, "--admin-key-file", s.keyFile)
		}
		s.process = harness.StartProcess(h.t, args...)
		s.process.Client = s.process.With(s.key)
	default:
		var held writer.Options
		if s.Held {
			s.hold = harness.NewActivationHold()
			held.BeforeActivate = s.hold.Wait
		}
		s.node = harness.Open(h.t, harness.Options{Dir: s.dir, Writer: held, NATS: s.outsideURL(h.t), Key: s.key, AdminKeyFile: s.keyFile, Configure: func(cfg *node.Config) { cfg.API.Console = h.console }})
		harness.AwaitReady(h.t, s.node, http.StatusOK)
	}
	s.opened = true
}

// serveReadOnly ends the process, and serves in its place what it had, by one that takes no writes.
func (s *store) serveReadOnly(t *testing.T) error {
	_, head := s.process.Changes("since=now")
	s.stop()
	out := filepath.Join(t.TempDir(), "out")
	if said, err := harness.RunProgram(t, "replay", "--data", s.dir, "--to", head, "--out", out); err != nil {
		return fmt.Errorf("replay --to: %w: %s", err, said)
	}
	s.process = harness.StartProcess(t, "--read-only", out)
	s.opened, s.readOnly = true, true
	return s.forwardTo(s.client().URL)
}

// stop ends the server: as a kill does where it is a process.
func (s *store) stop() {
	if s.Process {
		s.process.Signal(syscall.SIGKILL)
	} else {
		s.node.Close()
	}
	s.opened = false
}

// find returns the store of a request, or answers that there is none.
func (h *house) find(w http.ResponseWriter, r *http.Request) *store {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.stores[r.PathValue("name")]
	if s == nil {
		http.NotFound(w, r)
	}
	return s
}

// do does something to a store.
func (h *house) do(w http.ResponseWriter, r *http.Request) {
	s := h.find(w, r)
	if s == nil {
		return
	}
	s.atHand.Lock()
	defer s.atHand.Unlock()
	switch r.PathValue("deed") {
	case "stop":
		s.stop()
	case "start":
		s.start(h)
		if err := s.forwardTo(s.client().URL); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	case "filled":
		close(s.filled)
	case "release":
		s.hold.Release()
	case "cut":
		s.CloseClientConnections()
	case "cpu":
		answer(w, computed(h.t, s.process.Cmd.Process.Pid).Milliseconds())
	case "lose-log":
		s.outside.Stop(0)
	case "find-log":
		s.outside.Restart(0)
	case "read-only":
		if err := s.serveReadOnly(h.t); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	case "damage":
		var statement string
		if err := json.NewDecoder(r.Body).Decode(&statement); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		harness.RunOutside(h.t, harness.ReadModel(h.t, s.dir), statement)
	default:
		http.NotFound(w, r)
	}
}

// outsideURL returns where the log's server is, "" for the embedded one.
func (s *store) outsideURL(t *testing.T) string {
	t.Helper()
	if !s.NATS {
		return ""
	}
	if s.outside == nil {
		s.outside = natsserver.StartCluster(t, 1, false)
	}
	return s.outside.URLs()[0]
}

// computed returns the time that a process has computed.
func computed(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name of the program may have blanks
	fields := strings.Fields(rest)
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		t.Fatal(err)
	}
	system, err := strconv.Atoi(fields[12])
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * time.Second / 100 // the ticks of Linux
}

// noted returns what the document does not have, never null.
func (s *store) noted() []string { return append([]string{}, s.taken()...) }

// verify fails the test where a derived value is wrong.
func (s *store) verify(t *testing.T) {
	if s.Process {
		s.process.Verify(t)
	} else {
		s.node.Verify()
	}
}

// close verifies a store and ends it, but for one that is shared, and tells what passed that the document does not have.
func (h *house) close(w http.ResponseWriter, r *http.Request) {
	s := h.find(w, r)
	if s == nil {
		return
	}
	s.atHand.Lock()
	defer s.atHand.Unlock()
	wrong := s.noted()
	if s.Shared == "" {
		h.mu.Lock()
		delete(h.stores, s.name)
		h.mu.Unlock()
		s.end(h.t)
		wrong = append(wrong, s.noted()...)
	}
	if len(wrong) > 0 {
		h.t.Errorf("%s: openapi.json does not have %q", s.name, wrong)
	}
	answer(w, wrong)
}

// end verifies a store and ends it.
func (s *store) end(t *testing.T) {
	s.CloseClientConnections()
	s.Close()
	if !s.opened {
		return
	}
	if !s.readOnly {
		s.verify(t)
	}
	s.stop()
}

// direct hands a request to the server itself, with the key of an admin where it has none.
func (h *house) direct(w http.ResponseWriter, r *http.Request) {
	s := h.find(w, r)
	if s == nil {
		return
	}
	s.atHand.Lock()
	target, err := url.Parse(s.client().URL)
	s.atHand.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	reverse := &httputil.ReverseProxy{FlushInterval: -1, ErrorLog: nothing, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(target)
		p.Out.URL.RawQuery = p.In.URL.RawQuery
		if s.key != "" && p.Out.Header.Get("Authorization") == "" {
			p.Out.Header.Set("Authorization", "Bearer "+s.key)
		}
	}}
	http.StripPrefix("/stores/"+s.name+"/direct", keepingBody(reverse)).ServeHTTP(w, r)
}

// figure keeps what a scenario measured.
func (h *house) figure(w http.ResponseWriter, r *http.Request) {
	var f figure
	if err := json.NewDecoder(r.Body).Decode(&f); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.figures = append(h.figures, f)
}

// end ends the stores that are shared, and prints the figures.
func (h *house) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.stores {
		s.end(h.t)
		if wrong := s.taken(); len(wrong) > 0 {
			h.t.Errorf("%s: openapi.json does not have %q", s.name, wrong)
		}
	}
	for _, f := range h.figures {
		fmt.Printf("%-72s %14s   (goal %s)\n", f.What, f.Got, f.Goal)
	}
}

// answer answers with JSON.
func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the scenario sees that nothing came
}
