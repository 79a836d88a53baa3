package faults_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// syncGate holds every fsync of the log while it is shut.
type syncGate struct {
	mu      sync.Mutex
	open    chan struct{} // closed while the gate is open
	waiting chan struct{} // receives a value for every fsync that is held
}

func newSyncGate() *syncGate {
	g := &syncGate{open: make(chan struct{}), waiting: make(chan struct{}, 100)}
	close(g.open)
	return g
}

// fsync waits until the gate is open, and syncs.
func (g *syncGate) fsync(f *os.File) error {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	select {
	case <-open:
	default:
		g.waiting <- struct{}{}
		<-open
	}
	return f.Sync()
}

func (g *syncGate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *syncGate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.open)
}

// TestNothingIsSeenBeforeItIsSynced: while the fsync for an event is under way, the event is not acknowledged, not shown and not in the
// feed, and no answer comes from it. Other writes are published meanwhile, and share the next fsync.
func TestNothingIsSeenBeforeItIsSynced(t *testing.T) {
	suite.Concurrent(t)
	gate := newSyncGate()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Sync: true, Fsync: gate.fsync})
	defer s.Close()
	s.Model(`{"collections":{"books":{}}}`)
	s.Put("books", "0", `{}`)
	s.CatchUp()
	before := s.Node.Store.Applied.Seq()
	rounds := s.Node.Log.Stats().Syncs
	gate.shut()

	var answered atomic.Int64
	requests := []struct {
		id      string
		headers []string
		want    int
	}{
		{"1", nil, http.StatusCreated},
		{"2", []string{"Prefer", "respond-async"}, http.StatusAccepted},
		{"3", nil, http.StatusCreated},
		{"0", []string{"If-Match", `"` + fmt.Sprint(before) + `"`}, http.StatusNoContent},
	}
	var wg sync.WaitGroup
	send := func(method, id, body string, want int, headers ...string) {
		wg.Go(func() {
			r, err := s.Do(method, "/v1/books/"+id, []byte(body), headers...)
			answered.Add(1)
			if err != nil || r.Status != want {
				t.Errorf("%s %s: %v %+v, want %d", method, id, err, r, want)
			}
		})
	}
	for _, r := range requests {
		send("PUT", r.id, `{"n":1}`, r.want, r.headers...)
	}
	<-gate.waiting
	for last := before; last < before+uint64(len(requests)); { // all of them are published while the first is synced
		var err error
		if last, err = s.Node.Log.LastSeq(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// Stored events refuse these already, and they must not say so yet.
	send("PUT", "1", `{}`, http.StatusPreconditionFailed, "If-None-Match", "*")
	send("GET", "1?consistency=strong", "", http.StatusOK)
	for range 20 {
		s.Want(http.StatusNotFound, "GET", harness.Path("books", "1"), "")
		if rows, _ := s.Changes("since=" + fmt.Sprint(before)); len(rows) > 0 {
			t.Fatalf("the feed has %+v", rows)
		}
	}
	if n := answered.Load(); n > 0 {
		t.Errorf("%d requests were answered before anything was synced", n)
	}
	if at := s.Node.Store.Applied.Seq(); at != before {
		t.Errorf("event %d is folded, and nothing behind %d was synced", at, before)
	}
	gate.release()
	wg.Wait()
	if n := s.Node.Log.Stats().Syncs - rounds; n > 6 {
		t.Errorf("%d writes at a time took %d rounds", len(requests), n)
	}
}

// TestStartSyncs: what a killed process left in the log is synced before the node is open.
func TestStartSyncs(t *testing.T) {
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	s.Put("books", "1", `{}`)
	s.Close()
	var mu sync.Mutex
	synced := map[string]int{}
	s = harness.Open(t, harness.Options{Dir: dir, Sync: true, Fsync: func(f *os.File) error {
		mu.Lock()
		defer mu.Unlock()
		synced[f.Name()]++
		return f.Sync()
	}})
	mu.Lock()
	for _, path := range append(logBlocks(t, dir), filepath.Dir(logBlocks(t, dir)[0])) {
		if synced[path] != 1 {
			t.Errorf("%s was synced %d times", path, synced[path])
		}
	}
	mu.Unlock()
	s.Close()
}

// TestSyncOverBlocks: where writes fill blocks of the log, each block is synced to its end, and the directory that names
// it, before they are acknowledged.
func TestSyncOverBlocks(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	dir := t.TempDir()
	var mu sync.Mutex
	synced, named := map[string]int64{}, map[string]bool{}
	s := harness.Open(t, harness.Options{Dir: dir, Sync: true, Fsync: func(f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if !info.IsDir() {
			synced[f.Name()] = info.Size()
			return f.Sync()
		}
		entries, err := os.ReadDir(f.Name())
		for _, e := range entries {
			named[filepath.Join(f.Name(), e.Name())] = true
		}
		return errors.Join(err, f.Sync())
	}})
	defer s.Close()
	body := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 12 {
				s.Put("books", fmt.Sprint(w, "-", i), body)
			}
		})
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	blocks := logBlocks(t, dir)
	if len(blocks) < 5 {
		t.Fatalf("there are %d blocks", len(blocks))
	}
	for _, path := range blocks {
		if size := mustSize(t, path); synced[path] != size || !named[path] {
			t.Errorf("%s: %d of %d bytes are synced, its name: %v", path, synced[path], size, named[path])
		}
	}
}

// TestFailedSync: an fsync that fails is not tried again: writes are refused with the reason, reads go on, the node is not
// ready, and a new start ends it.
func TestFailedSync(t *testing.T) {
	dir := t.TempDir()
	var fail atomic.Bool
	var after atomic.Int64
	s := harness.Open(t, harness.Options{Dir: dir, Sync: true, Fsync: func(f *os.File) error {
		if fail.Load() {
			if after.Add(1) == 1 {
				return fmt.Errorf("sync %s: %w", f.Name(), syscall.EIO)
			}
		}
		return f.Sync()
	}})
	s.Put("books", "1", `{"n":1}`)
	fail.Store(true)
	r := s.Want(http.StatusServiceUnavailable, "PUT", harness.Path("books", "2"), `{}`)
	if !strings.Contains(string(r.Body), "outcome unknown") || !strings.Contains(string(r.Body), "input/output error") {
		t.Errorf("the write whose fsync failed is told %s", r.Body)
	}
	for i := range 3 {
		r := s.Want(http.StatusServiceUnavailable, "PUT", harness.Path("books", fmt.Sprint("later", i)), `{}`)
		if !strings.Contains(string(r.Body), "started again") || strings.Contains(string(r.Body), "outcome unknown") {
			t.Errorf("a later write is told %s", r.Body)
		}
		s.Want(http.StatusServiceUnavailable, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"3","body":{}}]}`, "Content-Type", "application/json")
	}
	s.WantDoc("books", "1", `{"id":"1","n":1}`)
	s.Want(http.StatusNotFound, "GET", harness.Path("books", "2"), "")
	s.Want(http.StatusServiceUnavailable, "GET", "/readyz", "")
	if n := after.Load(); n != 1 {
		t.Errorf("fsync was called %d times after it had failed", n-1)
	}
	s = s.Abandon()
	s.CatchUp()
	s.WantDoc("books", "2", `{"id":"2"}`) // it had come to the disk all the same
	s.Put("books", "3", `{}`)
	s.Close()
}

// TestFailedSyncOfTransaction: where the fsync of a transaction fails it is not acknowledged and no part of it is shown; after a new start it
// is there as a whole.
func TestFailedSyncOfTransaction(t *testing.T) {
	const size = 40
	var fail atomic.Bool
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Sync: true, Fsync: func(f *os.File) error {
		if fail.Swap(false) {
			return fmt.Errorf("sync %s: %w", f.Name(), syscall.EIO)
		}
		return f.Sync()
	}})
	s.Put("series", "before", `{}`)
	s.CatchUp()
	var ops []string
	for i := range size {
		ops = append(ops, fmt.Sprintf(`{"op":"put","collection":"series","id":"%d","body":{}}`, i))
	}
	fail.Store(true)
	r := s.Want(http.StatusServiceUnavailable, "POST", "/v1/_transactions", `{"operations":[`+strings.Join(ops, ",")+`]}`, "Content-Type", "application/json")
	if !strings.Contains(string(r.Body), "outcome unknown") {
		t.Errorf("the transaction whose fsync failed is told %s", r.Body)
	}
	for i := range size {
		s.Want(http.StatusNotFound, "GET", harness.Path("series", fmt.Sprint(i)), "")
	}
	s = s.Abandon()
	defer s.Close()
	s.CatchUp()
	for i := range size {
		s.WantDoc("series", fmt.Sprint(i), fmt.Sprintf(`{"id":"%d"}`, i))
	}
}

// TestLayoutFallback: where the server's files are not as the log expects them, the server syncs every message itself, and
// the status says so.
func TestLayoutFallback(t *testing.T) {
	dir := t.TempDir()
	server, err := embedded.Start(t.Context(), embedded.Options{Dir: filepath.Join(dir, "nats"), Durability: embedded.Interval})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := events.Open(t.Context(), nc, events.Options{}); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "fanfold")
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.Compression = jetstream.S2Compression // a full block is replaced by another file
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	nc.Close()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	s := harness.Open(t, harness.Options{Dir: dir, Sync: true})
	defer s.Close()
	if status := s.Want(http.StatusOK, "GET", "/v1/_status", "").Body; !strings.Contains(string(status), `"sync":"server"`) {
		t.Errorf("status %s", status)
	}
	s.Put("books", "1", `{}`)
	if n := s.Node.Log.Stats().Syncs; n != 0 {
		t.Errorf("the log synced %d times", n)
	}
}
