package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/linear"
	"github.com/fanfold/fanfold/tests/suite"
)

// fillUnderLoad fills a small disk under load and frees it, under -full twice. While it is full writes are refused with the reason, and
// reads and the feed go on. Once there is space the node takes writes by itself. Nothing acknowledged is lost, what the feed gave stays,
// and the history is linearizable.
func fillUnderLoad(t *testing.T) {
	for _, disk := range []string{"nats", "."} { // the log's alone, and the read model's, too
		t.Run(disk, func(t *testing.T) {
			suite.Parallel(t)
			dir := t.TempDir()
			small := filepath.Join(dir, disk)
			mountSmallDisk(t, small, "256m")
			s := harness.Open(t, harness.Options{Dir: dir, Sync: true})
			l := &diskLoad{t: t, s: s, began: time.Now()}
			l.run(func() {
				for range suite.Amount(1, 2) {
					l.fillAndFree(small)
				}
			})
			l.check(s)
			s = s.Reopen()
			defer s.Close()
			l.check(s)
			before := s.Digest()
			if s.Replay(); s.Digest() != before {
				t.Error("a replay gives another read model")
			}
		})
	}
}

// fillUnderTransactions: nothing is written but transactions, which the server does not answer for lack of space. Once the first
// has no answer they are refused with the reason, and they are taken once there is space. None of them is stored in part.
func fillUnderTransactions(t *testing.T) {
	dir := t.TempDir()
	small := filepath.Join(dir, "nats")
	mountSmallDisk(t, small, "48m")
	s := harness.Open(t, harness.Options{Dir: dir, Sync: true})
	defer s.Close()
	l := &diskLoad{t: t, s: s}
	l.write(0)
	ballast := filepath.Join(small, "ballast")
	if err := fillDisk(ballast); err != nil {
		t.Fatal(err)
	}
	refused := func() string {
		r := s.Want(http.StatusServiceUnavailable, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"series","id":"x","body":{"pad":"`+strings.Repeat("x", 10_000)+`"}}]}`)
		return string(r.Body)
	}
	const why = "no space left on device"
	l.await("the reason", func() bool { return strings.Contains(refused(), why) })
	for range 20 {
		if told := refused(); !strings.Contains(told, why) || strings.Contains(told, "nats") {
			t.Fatalf("a transaction is told %s", told)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	before := l.acked[0].Load()
	l.await("a transaction after the disk was freed", func() bool {
		l.write(0)
		return l.acked[0].Load() > before
	})
	l.awaitReady()
	l.checkWriters(s)
	s.Verify()
}

// mountSmallDisk mounts a disk of a size until the test ends. It skips the test where this machine does not allow it.
func mountSmallDisk(t *testing.T, dir, size string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("this test mounts a small disk, which this machine does not allow: %v", err)
	}
	t.Cleanup(func() {
		// The server leaves files of refused transactions open: see events/DESIGN.md.
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
}

// diskLoad is the load on a node whose disk becomes full: clients whose history is checked, writers of larger documents and of
// transactions, and a follower of the feed.
type diskLoad struct {
	t       *testing.T
	s       *harness.Store
	began   time.Time
	stop    atomic.Bool
	ops     atomic.Int64
	refused atomic.Int64
	acked   [4]atomic.Int64 // of each writer: the last number that was acknowledged
	sent    [4]atomic.Int64
	clients []*linear.Client
	fed     []string // positions that the feed gave, in order
}

// wide says how large the transactions of the clients become.
func wide(group int) int { return []int{1, 2, 30, 300}[group%4] }

// run puts the load on the node while fn runs.
func (l *diskLoad) run(fn func()) {
	var wg sync.WaitGroup
	for i := range 4 {
		c := &linear.Client{T: l.t, HTTP: l.s.Client, Worker: i, Rand: rand.New(rand.NewPCG(1, uint64(i))), Began: l.began, Tags: map[string]string{}, Wide: wide}
		l.clients = append(l.clients, c)
		wg.Go(func() {
			for at := -1; !l.stop.Load(); {
				group := int(l.ops.Add(1)) / linear.GroupOps
				if group != at {
					at, c.Last = group, [linear.GroupDocs]string{}
				}
				c.Step(group)
			}
		})
		wg.Go(func() {
			for !l.stop.Load() {
				l.write(i)
			}
		})
	}
	wg.Go(l.follow)
	fn()
	l.stop.Store(true)
	wg.Wait()
}

// write writes a writer's two documents in one transaction, larger ones now and then.
func (l *diskLoad) write(i int) {
	n := l.sent[i].Add(1)
	pad := strings.Repeat("x", rand.IntN(2)*rand.IntN(20_000))
	ops := make([]string, 2)
	for j := range ops {
		ops[j] = fmt.Sprintf(`{"op":"put","collection":"series","id":"%d-%d","body":{"n":%d,"pad":%q}}`, i, j, n, pad)
	}
	r, err := l.s.Do("POST", "/v1/_transactions", []byte(`{"operations":[`+strings.Join(ops, ",")+`]}`), "Fanfold-Timeout", "1")
	switch {
	case err != nil:
		l.t.Error(err)
	case r.Status < 300:
		l.acked[i].Store(n)
	case r.Status == http.StatusServiceUnavailable:
		l.refused.Add(1)
	default:
		l.t.Errorf("a transaction: %d %s", r.Status, r.Body)
	}
}

// follow reads the feed until the load ends.
func (l *diskLoad) follow() {
	for since := "0"; ; {
		last := l.stop.Load()
		var page struct {
			Results []struct{ Seq string }
			LastSeq string `json:"last_seq"`
		}
		r, err := l.s.Do("GET", "/v1/_changes?mode=all&feed=longpoll&timeout=500&since="+since, nil)
		if err == nil && r.Status == http.StatusOK {
			err = json.Unmarshal(r.Body, &page)
		}
		if err != nil || r.Status != http.StatusOK {
			l.t.Errorf("the feed: %v %+v", err, r)
			return
		}
		for _, row := range page.Results {
			l.fed = append(l.fed, row.Seq)
		}
		since = page.LastSeq
		if last && len(page.Results) == 0 {
			return
		}
	}
}

// fillAndFree fills the disk until writes are refused, looks at what goes on, and frees it until they are taken.
func (l *diskLoad) fillAndFree(disk string) {
	l.t.Helper()
	l.await("a write", func() bool {
		return l.write1("before") == http.StatusCreated || l.write1("before") == http.StatusNoContent
	})
	enough := l.ops.Load() + 150
	l.await("operations", func() bool { return l.ops.Load() >= enough })
	ballast := filepath.Join(disk, "ballast")
	if err := fillDisk(ballast); err != nil {
		l.t.Fatal(err)
	}
	l.await("the reason", func() bool {
		r, err := l.s.Do("PUT", harness.Path("docs", "x"), []byte(`{}`))
		return err == nil && r.Status == http.StatusServiceUnavailable && strings.Contains(string(r.Body), "the log's disk is full") &&
			strings.Contains(string(r.Body), "no space left on device") && r.Problem() == "urn:fanfold:problem:unavailable"
	})
	l.s.Want(http.StatusServiceUnavailable, "GET", "/readyz", "")
	l.s.Want(http.StatusOK, "GET", "/healthz", "")
	l.s.Want(http.StatusOK, "GET", harness.Path("series", "before"), "")
	l.s.Want(http.StatusOK, "GET", "/v1/_changes?limit=5", "")
	refused := l.refused.Load()
	l.await("refused writes", func() bool { return l.refused.Load() > refused+10 })
	if err := os.Remove(ballast); err != nil {
		l.t.Fatal(err)
	}
	freed := time.Now()
	l.await("a write after the disk was freed", func() bool { s := l.write1("after"); return s == http.StatusCreated || s == http.StatusNoContent })
	l.awaitReady()
	l.t.Logf("%v from free space to readiness", time.Since(freed).Round(time.Millisecond))
}

// AwaitReady waits until the node is ready.
func (l *diskLoad) awaitReady() {
	l.t.Helper()
	l.await("readiness", func() bool {
		r, err := l.s.Do("GET", "/readyz", nil)
		return err == nil && r.Status == http.StatusOK
	})
}

// write1 writes one document, and returns the answer's status.
func (l *diskLoad) write1(id string) int {
	r, err := l.s.Do("PUT", harness.Path("series", id), []byte(`{}`))
	if err != nil {
		l.t.Fatal(err)
	}
	return r.Status
}

// await waits until done says so, for a minute at most.
func (l *diskLoad) await(what string, done func() bool) {
	l.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !done(); <-tick.C {
		if time.Now().After(deadline) {
			err := l.s.Node.Log.Failing()
			l.t.Fatalf("waited in vain for %s: %v", what, err)
		}
	}
}

// fillDisk writes a file until the disk is full.
func fillDisk(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for chunk := make([]byte, 4096); err == nil; {
		_, err = f.Write(chunk)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return f.Close()
}

// check fails the test where something acknowledged is not there, a transaction is not whole, the history is not linearizable, or
// the feed is not what it was.
func (l *diskLoad) check(s *harness.Store) {
	l.t.Helper()
	l.checkWriters(s)
	s.Verify()
	l.checkHistory(s)
}

// checkWriters fails the test where a transaction is not whole, or one that was acknowledged is not there.
func (l *diskLoad) checkWriters(s *harness.Store) {
	l.t.Helper()
	for i := range l.acked {
		if l.sent[i].Load() == 0 {
			continue
		}
		var docs [2]struct{ N int64 }
		for j := range docs {
			harness.Decode(l.t, s.Want(http.StatusOK, "GET", harness.Path("series", fmt.Sprintf("%d-%d", i, j))+"?consistency=strong", "").Body, &docs[j])
		}
		if n := docs[0].N; n != docs[1].N || n < l.acked[i].Load() || n > l.sent[i].Load() {
			l.t.Errorf("writer %d: %d and %d are there, %d was acknowledged", i, n, docs[1].N, l.acked[i].Load())
		}
	}
}

// checkHistory fails the test where the history is not linearizable, or the feed is not what it was.
func (l *diskLoad) checkHistory(s *harness.Store) {
	l.t.Helper()
	rows, _ := s.Changes("since=0&mode=all")
	if len(rows) < len(l.fed) {
		l.t.Fatalf("the feed has %d changes, and gave %d", len(rows), len(l.fed))
	}
	for i, seq := range l.fed {
		if rows[i].Seq != seq {
			l.t.Fatalf("change %d of the feed is %s, and was %s", i, rows[i].Seq, seq)
		}
	}
	var history []porcupine.Operation
	unknown := 0
	for _, c := range l.clients {
		history, unknown = append(history, c.History...), unknown+c.Unknown
	}
	history = append(history, linear.ReadAll(l.t, s.Client, l.began, wide, int(l.ops.Load())/linear.GroupOps+1)...)
	l.t.Logf("%d operations, %d of unknown outcome, %d transactions refused, %d restarts of the log's server", len(history), unknown, l.refused.Load(), s.Node.Log.Recovery().Restarts())
	if !porcupine.CheckOperations(linear.Model, history) {
		l.t.Error("the history is not linearizable")
	}
}
