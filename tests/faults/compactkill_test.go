package faults_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// compactionKills is how many times TestKillWhileCompacting kills a process.
const compactionKills, longCompactionKills = 8, 200

// TestKillWhileCompacting kills a process with SIGKILL while it compacts and takes writes, again and again on the same data. Everything
// acknowledged is there, the log and the base are whole, and the rows are those of a replay.
func TestKillWhileCompacting(t *testing.T) {
	suite.PlainOnly(t, suite.OtherProcess)
	suite.Parallel(t)
	dir := t.TempDir()
	acked := -1
	for range suite.Amount(compactionKills, longCompactionKills) {
		p := harness.StartProcess(t, "--data", dir, "--durability", "always")
		requireCounted(t, p, acked)
		for range 30 {
			acked++
			p.Put("shelves", "s", fmt.Sprintf(`{"n":%d}`, acked))
			p.Put("shelves", fmt.Sprint("s", acked%7), fmt.Sprintf(`{"n":%d}`, acked))
		}
		compactToNow(t, p)
		for end := time.Now().Add(time.Duration(rand.IntN(800)) * time.Millisecond); time.Now().Before(end); { //nolint:gosec // the moment of the kill is any
			acked++
			p.Put("shelves", "s", fmt.Sprintf(`{"n":%d}`, acked))
		}
		p.Signal(syscall.SIGKILL)
	}
	p := harness.StartProcess(t, "--data", dir, "--durability", "always")
	requireCounted(t, p, acked)
	last := compactToNow(t, p)
	harness.Await(t, "the last compaction to end", time.Minute, func() bool {
		var c struct {
			Running bool
			Error   string
		}
		harness.Decode(t, p.Want(http.StatusOK, http.MethodGet, "/v1/_compact", "").Body, &c)
		if c.Error != "" {
			t.Fatal(c.Error)
		}
		return !c.Running
	})
	requireSameByHTTP(t, p)
	r := p.Want(http.StatusOK, http.MethodPost, "/v1/_verify?log=true", "")
	if strings.Contains(string(r.Body), `"missing"`) || strings.Contains(string(r.Body), `"differs"`) || !strings.Contains(string(r.Body), `"base"`) || last == "" {
		t.Fatalf("the log: %s", r.Body)
	}
	p.Stop(t)
}

// compactToNow begins a compaction up to where the process is, and returns the position. A replay may have to end first.
func compactToNow(t *testing.T, p *harness.Process) string {
	t.Helper()
	var status struct{ Position string }
	harness.Decode(t, p.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body, &status)
	harness.Await(t, "a compaction to begin", time.Minute, func() bool {
		r, err := p.Do(http.MethodPost, "/v1/_compact", fmt.Appendf(nil, `{"before":%q}`, status.Position), "Content-Type", "application/json")
		return err == nil && r.Status == http.StatusAccepted
	})
	return status.Position
}

// requireCounted checks the number in the document that is counted up; -1 stands for no document.
func requireCounted(t *testing.T, p *harness.Process, want int) {
	t.Helper()
	if want < 0 {
		return
	}
	var doc struct{ N int }
	harness.Decode(t, p.Want(http.StatusOK, http.MethodGet, "/v1/shelves/s?consistency=strong", "").Body, &doc)
	if doc.N != want {
		t.Fatalf("the document says %d, acknowledged was %d", doc.N, want)
	}
	p.Verify(t)
}

// requireSameByHTTP checks that a replay gives the rows that are served. It waits for what else is being built.
func requireSameByHTTP(t *testing.T, p *harness.Process) {
	t.Helper()
	harness.Await(t, "a replay to begin", time.Minute, func() bool {
		r, err := p.Do(http.MethodPost, "/v1/_replay", []byte(`{"check":true}`), "Content-Type", "application/json")
		return err == nil && r.Status == http.StatusAccepted
	})
	var status struct {
		Replay struct {
			Running bool
			Error   string
			Check   struct{ Rows, Different int64 }
		}
	}
	harness.Await(t, "the replay to end", time.Minute, func() bool {
		status.Replay.Running = false
		return json.Unmarshal(p.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body, &status) == nil && !status.Replay.Running
	})
	if r := status.Replay; r.Error != "" || r.Check.Different != 0 || r.Check.Rows == 0 {
		t.Fatalf("%+v", r)
	}
}

// TestCompactionOnFullDisk: where the disk has no room for a compaction, that fails, nothing has gone, and the store goes on.
func TestCompactionOnFullDisk(t *testing.T) {
	suite.PlainOnly(t, suite.OtherProcess)
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=32m"); err != nil {
		t.Skipf("this test mounts a small disk, which this machine does not allow: %v", err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	s := harness.Open(t, harness.Options{Dir: filepath.Join(dir, "data"), Configure: quickPurge})
	defer func() { s.Close() }()
	s.Put("others", "o", `{}`)
	for i := range 4 { // documents that no compaction makes smaller
		s.Put("shelves", fmt.Sprint(i), fmt.Sprintf(`{"text":%q}`, noise(1<<20)))
	}
	s.CatchUp()
	horizon := s.Node.Store.Applied.Seq()
	before := everything(t, s)
	filler := filepath.Join(dir, "filler")
	if out, err := exec.Command("sh", "-c", "df --output=avail -B1 "+dir+" | tail -1 | awk '{print $1-3000000}' | xargs -I{} fallocate -l {} "+filler).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	s.Want(http.StatusAccepted, http.MethodPost, "/v1/_compact", fmt.Sprintf(`{"before":"%d"}`, horizon), "Content-Type", "application/json")
	harness.Await(t, "the compaction to fail", time.Minute, func() bool { c := s.Node.Compaction(); return !c.Running })
	if c := s.Node.Compaction(); c.Error == "" {
		t.Fatalf("the compaction on a full disk: %+v", c)
	}
	if h, _, err := s.Node.Projector.Horizon(); err != nil || h.Seq != 0 {
		t.Fatalf("the store begins at %+v, %v", h, err)
	}
	if out, err := exec.Command("rm", filler).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	s = s.Reopen()
	if after := everything(t, s); after != before {
		t.Fatal("the documents are others")
	}
	s.Compact(horizon)
	requireSame(t, s)
	if after := everything(t, s); after != before {
		t.Fatal("the documents are others after the compaction")
	}
}

// noise returns letters that do not become fewer when they are compressed.
func noise(n int) string {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[r.IntN(64)]
	}
	return string(b)
}
