package faults_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
)

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

// compactOnFullDisk: where the disk has no room for a compaction, that fails, nothing has gone, and the store goes on.
func compactOnFullDisk(t *testing.T) {
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
	harness.Await(t, "the compaction to fail", time.Minute, func() bool { c := s.Node.Forget.Compactor.Compaction(); return !c.Running })
	if c := s.Node.Forget.Compactor.Compaction(); c.Error == "" {
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
