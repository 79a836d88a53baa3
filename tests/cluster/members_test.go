package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/membership"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// shortLeases make nodes find out soon that one of them is gone.
var shortLeases = membership.Options{Interval: 500 * time.Millisecond, Lease: 6 * time.Second, Gone: 9 * time.Second, HoldFor: 2 * time.Second}

// freezable opens a node that neither folds nor sends heartbeats while it is held.
func freezable(t *testing.T, url string, leases membership.Options) (*harness.Store, *harness.ActivationHold) {
	t.Helper()
	hold := harness.NewActivationHold()
	hold.Release()
	leases.Pause = func(ctx context.Context) { _ = hold.Wait(ctx) }
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Members: leases, FailWrite: func() error { return hold.Wait(context.Background()) }})
	t.Cleanup(func() {
		s.Verify()
		s.Close()
	})
	return s, hold
}

// statusOf returns a node's status.
func statusOf(t *testing.T, c *harness.Client) (s node.Status) {
	t.Helper()
	harness.Decode(t, c.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body, &s)
	return s
}

// awaitStatus waits until a node's status is as it should be, half a minute at most.
func awaitStatus(t *testing.T, c *harness.Client, what string, so func(s node.Status) bool) node.Status {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		s := statusOf(t, c)
		if so(s) {
			return s
		}
		if time.Since(begin) > suite.Deadline(30*time.Second) {
			t.Fatalf("%s does not come: %+v", what, s)
		}
	}
}

// liveNodes counts the nodes that a node takes for live.
func liveNodes(s node.Status) (live int) {
	for _, n := range s.Nodes {
		if n.Live {
			live++
		}
	}
	return live
}

// TestStatusOfAllNodes: every node shows all, with what each says of itself; one that ends leaves at once.
func TestStatusOfAllNodes(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	a := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	defer a.Close()
	dir := t.TempDir()
	b := harness.Open(t, harness.Options{Dir: dir, NATS: url})
	both := func(s node.Status) bool { return liveNodes(s) == 2 && s.Nodes[0].Ready && s.Nodes[1].Ready }
	id := awaitStatus(t, b.Client, "both nodes", both).Node
	b.Put("c", "1", `{}`)
	s := awaitStatus(t, a.Client, "the other node's position", func(s node.Status) bool {
		return both(s) && !slices.ContainsFunc(s.Nodes, func(n wire.Node) bool { return n.Applied < 2 })
	})
	for _, n := range s.Nodes {
		if want := map[bool]string{true: a.Node.URL(), false: b.Node.URL()}[n.Self]; n.Address != want || n.Version == "" || n.Folds[1] == 0 || !membership.ValidID(n.ID) || n.Self != (n.ID == s.Node) {
			t.Errorf("%+v, want %s", n, want)
		}
	}
	metrics := string(a.Want(http.StatusOK, http.MethodGet, "/metrics", "").Body)
	for _, line := range []string{"\nfanfold_nodes 2\n", "\nfanfold_node_lapsed 0\n", "\nfanfold_node_late_writes_total 0\n"} {
		if !strings.Contains(metrics, line) {
			t.Errorf("the metrics lack %q", line)
		}
	}
	b.Close()
	if s := awaitStatus(t, a.Client, "the end of the other node", func(s node.Status) bool { return len(s.Nodes) == 1 }); s.Nodes[0].ID != s.Node {
		t.Errorf("%+v", s.Nodes)
	}
	b = harness.Open(t, harness.Options{Dir: dir, NATS: url})
	defer b.Close()
	if again := awaitStatus(t, b.Client, "both nodes", both).Node; again != id {
		t.Errorf("the node was %s and is %s", id, again)
	}
	alone := harness.OpenTemp(t, "")
	if s := statusOf(t, alone.Client); s.Node != "" || len(s.Nodes) != 1 || !s.Nodes[0].Self || !s.Nodes[0].Live || s.Nodes[0].Address != alone.Node.URL() {
		t.Errorf("a node by itself shows %+v", s.Nodes)
	}
}

const (
	unguardedModel = "collections: {as: {}, bs: {relations: {a: {path: a, to: as}}}}"
	guardedModel   = "collections: {as: {}, bs: {unique: [u], relations: {a: {path: a, to: as, strict: true}}}}"
)

// putModel applies a model, and sends the answer's status once there is one.
func putModel(c *harness.Client, query string) <-chan string {
	done := make(chan string, 1)
	go func() {
		r, err := c.Do(http.MethodPut, "/v1/_model?"+query, []byte(guardedModel), "Content-Type", "application/yaml", "Fanfold-Timeout", "60")
		if err != nil {
			done <- err.Error()
			return
		}
		done <- fmt.Sprintf("%d %s", r.Status, r.Body)
	}()
	return done
}

// refusedUntilGuarded wants a write that breaks the guards to be refused, first because the node may not write, then by
// them.
func refusedUntilGuarded(c *harness.Client, body string) error {
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		r, err := c.Do(http.MethodPut, "/v1/bs/late", []byte(body), "Prefer", "respond-async")
		switch {
		case err != nil:
			return err
		case r.Status == http.StatusConflict || r.Status == http.StatusUnprocessableEntity:
			return nil
		case r.Status != http.StatusServiceUnavailable:
			return fmt.Errorf("%s is answered %d %s", body, r.Status, r.Body)
		}
	}
	return errors.New("the node does not come back")
}

// TestModelWaitsForFrozenNode: a node is frozen while a model with new guards comes. The model says for whom it waits, and
// applies once that node cannot write any more; writes of the others go on. When the node comes back it stores nothing
// that breaks the guards, not even what is asked of it before it has folded the model.
func TestModelWaitsForFrozenNode(t *testing.T) {
	suite.Concurrent(t)
	for _, query := range []string{"background=false", "background=true"} {
		t.Run(query, func(t *testing.T) {
			suite.Parallel(t)
			url := natsserver.Start(t, 1)[0]
			a := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Members: shortLeases})
			defer a.Close()
			b, hold := freezable(t, url, shortLeases)
			a.Model(unguardedModel)
			a.Put("bs", "1", `{"u":"x"}`)
			awaitStatus(t, a.Client, "both nodes", func(s node.Status) bool { return liveNodes(s) == 2 })
			b.CatchUp()
			id := statusOf(t, b.Client).Node
			hold.Renew()
			done := putModel(a.Client, query)
			awaitStatus(t, a.Client, "the frozen node's name", func(s node.Status) bool {
				return s.Preparing != nil && slices.ContainsFunc(s.Preparing.WaitingFor, func(name string) bool { return strings.HasPrefix(name, id) })
			})
			a.Put("bs", "2", `{"u":"y"}`)
			for i := 0; ; i++ { // until b's lease has lapsed by its own clock
				r, err := b.Do(http.MethodPut, fmt.Sprintf("/v1/bs/b%d", i), fmt.Appendf(nil, `{"u":"b%d"}`, i), "Prefer", "respond-async")
				if err != nil || r.Status != http.StatusAccepted && r.Status != http.StatusServiceUnavailable {
					t.Fatalf("%v %+v", err, r)
				}
				if r.Status == http.StatusServiceUnavailable {
					if !bytes.Contains(r.Body, []byte("lease")) {
						t.Errorf("the refusal says %s", r.Body)
					}
					break
				}
			}
			b.Want(http.StatusServiceUnavailable, http.MethodGet, "/readyz", "")
			if answer := <-done; !strings.HasPrefix(answer, "200") {
				t.Fatal(answer)
			}
			var wg sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				wg.Go(func() {
					errs[i] = refusedUntilGuarded(b.Client, []string{`{"u":"x"}`, `{"a":"none"}`}[i%2])
				})
			}
			hold.Release()
			wg.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
			if s := statusOf(t, a.Client); s.Preparing != nil {
				t.Errorf("%+v", s.Preparing)
			}
		})
	}
}

// TestGuardsComeToAllNodesAtOnce: two documents with one value are written on two nodes while a model makes the value unique. One node
// folds late. Both are stored, or the model applies, never both.
func TestGuardsComeToAllNodesAtOnce(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	a := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Members: shortLeases})
	defer a.Close()
	b := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Members: shortLeases, FailWrite: func() error {
		time.Sleep(3 * time.Millisecond) // what makes the node lag
		return nil
	}})
	defer b.Close()
	awaitStatus(t, a.Client, "both nodes", func(s node.Status) bool { return liveNodes(s) == 2 })
	applied, refused := 0, 0
	for round := range 24 {
		a.Want(http.StatusOK, http.MethodPut, "/v1/_model?allowRemoval=true", strings.ReplaceAll(unguardedModel, "as: {}", fmt.Sprintf("as: {}, c%d: {}", round)), "Content-Type", "application/yaml", "Fanfold-Timeout", "60")
		b.CatchUp()
		value := fmt.Sprintf(`{"u":"%d"}`, round)
		first, second := fmt.Sprintf("a%d", round), fmt.Sprintf("b%d", round)
		a.Put("bs", first, value)
		done, stop, stored := putModel(a.Client, ""), make(chan struct{}), make(chan bool, 1)
		go func() { // the second document comes to be written whenever the node lets it
			for i := 0; ; i++ {
				select {
				case <-stop:
					stored <- false
					return
				case <-time.After(time.Duration(round) * time.Millisecond):
				}
				if r, err := b.Do(http.MethodPut, "/v1/bs/"+second, []byte(value), "Prefer", "respond-async"); err == nil && r.Status == http.StatusAccepted {
					stored <- true
					return
				}
			}
		}()
		answer := <-done
		close(stop)
		both := <-stored
		switch {
		case strings.HasPrefix(answer, "200") && !both:
			applied++
		case strings.HasPrefix(answer, "422") && both:
			refused++
		case strings.HasPrefix(answer, "422"): // the write's answer was lost to this test, not the write
		default:
			t.Fatalf("round %d: the model is answered %s, and the second document is stored: %v", round, answer, both)
		}
		b.CatchUp()
		a.Verify()
		for _, id := range []string{first, second} {
			if _, err := a.Do(http.MethodDelete, "/v1/bs/"+id, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.Verify()
	t.Logf("the model applied %d times and was refused %d times", applied, refused)
}

// TestOneNameOnAllNodes: the first document of orders is written on one node while a model that declares Orders comes on another, which
// folds late. Either the document is stored or the model applies, never both.
func TestOneNameOnAllNodes(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	a := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Members: shortLeases})
	defer a.Close()
	b := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Members: shortLeases, FailWrite: func() error {
		time.Sleep(3 * time.Millisecond) // what makes the node lag
		return nil
	}})
	defer b.Close()
	awaitStatus(t, a.Client, "both nodes", func(s node.Status) bool { return liveNodes(s) == 2 })
	a.Model("collections: {notes: {}}")
	for round := range 12 {
		small := fmt.Sprintf("orders%d", round)
		a.Put("notes", "n", fmt.Sprintf(`{"n":%d}`, round))
		begin, written := make(chan struct{}), make(chan int, 1)
		go func() {
			<-begin
			for range round { // so that it comes earlier or later in the model's way
				_, _ = b.Do(http.MethodGet, "/v1/notes/n", nil)
			}
			r, err := b.Do(http.MethodPut, "/v1/"+small+"/1", []byte(`{}`), "Fanfold-Timeout", "60")
			if err != nil {
				r = &harness.Response{}
			}
			written <- r.Status
		}()
		close(begin)
		r, err := a.Do(http.MethodPut, "/v1/_model?allowRemoval=true", []byte(fmt.Sprintf("collections: {notes: {}, Orders%d: {}}", round)), "Content-Type", "application/yaml", "Fanfold-Timeout", "60")
		if err != nil {
			t.Fatal(err)
		}
		write := <-written
		if r.Status == http.StatusOK && write == http.StatusNotFound || r.Status == http.StatusUnprocessableEntity && write == http.StatusCreated {
			continue
		}
		t.Fatalf("round %d: the model is answered %d %s, and the document %d", round, r.Status, r.Body, write)
	}
	b.CatchUp()
	a.WantSameDigest(b)
}

// TestStoppedProcess: a node's process is stopped (SIGSTOP) while a model with new guards comes, which applies twenty seconds later.
// Requests that were sent meanwhile are read when it goes on, and break no guard.
func TestStoppedProcess(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	a := harness.StartProcess(t, "--data", t.TempDir(), "--nats", url)
	b := harness.StartProcess(t, "--data", t.TempDir(), "--nats", url)
	a.Model(unguardedModel)
	a.Put("bs", "1", `{"u":"x"}`)
	awaitStatus(t, b.Client, "both nodes", func(s node.Status) bool { return liveNodes(s) == 2 && s.Applied > 3 })
	b.Want(http.StatusCreated, http.MethodPut, "/v1/bs/2", `{"u":"y"}`)
	began := time.Now()
	if err := b.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, "a stopped process", time.Minute, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.Cmd.Process.Pid))
		return err != nil || strings.Contains(string(stat), ") T ")
	})
	done := putModel(a.Client, "")
	errs := make(chan error, 16)
	for i := range cap(errs) { // in the stopped process's sockets
		go func() { errs <- refusedUntilGuarded(b.Client, []string{`{"u":"x"}`, `{"a":"none"}`}[i%2]) }()
	}
	if answer := <-done; !strings.HasPrefix(answer, "200") || time.Since(began) < 15*time.Second || time.Since(began) > 40*time.Second {
		t.Errorf("after %v: %s", time.Since(began), answer)
	}
	if err := b.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	for _, p := range []*harness.Process{a, b} {
		var report struct{ Wrong []json.RawMessage }
		harness.Decode(t, p.Want(http.StatusOK, http.MethodPost, "/v1/_verify", "").Body, &report)
		if len(report.Wrong) > 0 {
			t.Errorf("%s", report.Wrong)
		}
	}
}
