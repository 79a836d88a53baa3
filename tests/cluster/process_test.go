package cluster_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestTwoProcesses lets two API processes on one outside NATS server write the same documents
// with If-Match: no update is lost, and both end with identical read models.
func TestTwoProcesses(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	dirs := []string{t.TempDir(), t.TempDir()}
	nodes := make([]*harness.Process, 2)
	for i := range nodes {
		nodes[i] = harness.StartProcess(t, "--data", dirs[i], "--nats", url)
	}
	nodes[0].Model(harness.CrashModel)
	const writers, increments, documents = 8, 25, 3
	made := ""
	for d := range documents {
		made = nodes[0].Put("authors", fmt.Sprint(d), `{"name":"x","n":0}`).Header.Get("Fanfold-Position")
	}
	nodes[1].Want(http.StatusOK, "GET", "/v1/authors", "", "Fanfold-Min-Position", made)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range increments {
				increment(t, nodes[w%2], fmt.Sprint((w+i)%documents))
				nodes[w%2].Put("books", fmt.Sprintf("%d-%d", w, i), fmt.Sprintf(`{"authors":[{"id":%d}]}`, i%documents))
			}
		})
	}
	wg.Wait()
	total := 0
	for d := range documents {
		var doc struct{ N, CountOfBooks int }
		r := nodes[1].Want(http.StatusOK, "GET", harness.Path("authors", fmt.Sprint(d))+"?consistency=strong", "")
		if err := json.Unmarshal(r.Body, &doc); err != nil {
			t.Fatal(err)
		}
		total += doc.N
	}
	if total != writers*increments {
		t.Fatalf("%d increments are there of %d", total, writers*increments)
	}
	position := nodes[1].Want(http.StatusOK, "GET", "/v1/authors?consistency=strong", "").Header.Get("Fanfold-Position")
	nodes[0].Want(http.StatusOK, "GET", "/v1/authors", "", "Fanfold-Min-Position", position)
	requireSameFiles(t, nodes, dirs)
}

// increment adds one to a document's n by GET and PUT with If-Match.
func increment(t *testing.T, p *harness.Process, id string) {
	for {
		r := p.Want(http.StatusOK, "GET", harness.Path("authors", id), "")
		var doc struct {
			ID, Name string
			N        int
		}
		if err := json.Unmarshal(r.Body, &doc); err != nil {
			t.Error(err)
			return
		}
		w, err := p.Do("PUT", harness.Path("authors", id), fmt.Appendf(nil, `{"id":%q,"name":%q,"n":%d}`, doc.ID, doc.Name, doc.N+1), "If-Match", r.Header.Get("ETag"))
		switch {
		case err != nil:
			t.Error(err)
			return
		case w.Status == http.StatusNoContent:
			return
		case w.Status != http.StatusPreconditionFailed:
			t.Errorf("increment: %d %s", w.Status, w.Body)
			return
		}
		// The answer names the revision that won; a read at that position shows it.
		var lost struct{ Revision uint64 }
		if err := json.Unmarshal(w.Body, &lost); err == nil && lost.Revision > 0 {
			p.Want(http.StatusOK, "GET", harness.Path("authors", id), "", "Fanfold-Min-Position", fmt.Sprintf("%d-0", lost.Revision))
		}
	}
}

// requireSameFiles stops the nodes and compares every row of their read models.
func requireSameFiles(t *testing.T, nodes []*harness.Process, dirs []string) {
	t.Helper()
	for _, p := range nodes {
		p.Verify(t)
	}
	sums := make([]string, len(nodes))
	for i, p := range nodes {
		p.Signal(syscall.SIGTERM)
		files, err := filepath.Glob(filepath.Join(dirs[i], "readmodel", "*.db"))
		if err != nil || len(files) != 1 {
			t.Fatalf("read models %v, %v", files, err)
		}
		if sums[i], err = harness.DigestFile(files[0]); err != nil {
			t.Fatal(err)
		}
	}
	if len(slices.Compact(slices.Clone(sums))) != 1 {
		t.Fatalf("the read models differ: %v", sums)
	}
}

// TestDataDirectoryRefusals: a directory that is in use, or cannot be written, is refused in one line.
func TestDataDirectoryRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.StartProcess(t, "--data", dir)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{dir: "in use by another fanfold process", file: "cannot make the data directory", "/proc/nowhere": "cannot make the data directory"} {
		out, err := harness.RunProgram(t, "serve", "--data", data, "--listen", "127.0.0.1:0")
		if err == nil || !strings.Contains(out, want) || strings.Count(out, "\n") != 1 {
			t.Errorf("--data %s: %v, %q; want one line with %q", data, err, out, want)
		}
	}
}
