package faults_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// fillWithDocuments fills a small disk: what is refused is told clearly, nothing acknowledged is
// lost, and reads go on.
func fillWithDocuments(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("this test mounts a small disk, which this machine does not allow: %v", err)
	}
	defer func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	}()
	s := harness.Open(t, harness.Options{Dir: dir})
	defer s.Close()
	body, taken := strings.Repeat("y", 200_000), 0
	for ; taken < 1000; taken++ {
		r, err := s.Do("PUT", harness.Path("docs", fmt.Sprint(taken)), fmt.Appendf(nil, `{"x":%q}`, body), "Fanfold-Timeout", "1")
		if err != nil {
			t.Fatal(err)
		}
		if r.Status == http.StatusServiceUnavailable {
			if p := r.Problem(); p != "urn:fanfold:problem:unavailable" && p != "urn:fanfold:problem:outcome-unknown" {
				t.Fatalf("a full disk is told as %s", r.Body)
			}
			break
		}
		if r.Status != http.StatusCreated && r.Status != http.StatusAccepted {
			t.Fatalf("document %d: %d %s", taken, r.Status, r.Body)
		}
	}
	if taken == 0 || taken == 1000 {
		t.Fatalf("%d documents of %d bytes were taken on a disk of 24 MB", taken, len(body))
	}
	s.WantDoc("docs", "0", fmt.Sprintf(`{"id":"0","x":%q}`, body))
	s.Want(http.StatusOK, "GET", "/v1/docs?limit=2", "")
	s.Want(http.StatusOK, "GET", "/healthz", "")
	s.Want(http.StatusOK, "GET", "/v1/_status", "")
}
