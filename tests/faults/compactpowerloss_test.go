package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// Files beside a noting process's data: further names of files that it may remove, and the step at which it kills itself.
const (
	keptFiles = "kept"
	killStep  = "kill-at-step"
)

// keepFiles gives further names to the files of a data directory's streams and read models, so that they are still there once they were removed.
func keepFiles(data string) error {
	kept := filepath.Join(data, keptFiles)
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return err
	}
	for _, pattern := range []string{"nats/jetstream/*/streams/*/msgs/*.blk", "readmodel/*"} {
		paths, err := filepath.Glob(filepath.Join(data, pattern))
		if err != nil {
			return err
		}
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				continue // it has gone
			}
			rel, err := filepath.Rel(data, path)
			if err != nil {
				return err
			}
			link := fmt.Sprintf("%d %s", inode(info), strings.ReplaceAll(rel, "/", "|"))
			if err := os.Link(path, filepath.Join(kept, link)); err != nil && !errors.Is(err, os.ErrExist) && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// stepsOf keeps files at each step of a compaction, and kills the process at the one that a file names, if the process began the compaction.
func stepsOf(data string) func(step string) error {
	var begun atomic.Bool
	return func(step string) error {
		if step == rebuild.StepBuilt {
			begun.Store(true)
		}
		if err := keepFiles(data); err != nil {
			return err
		}
		if at, err := os.ReadFile(filepath.Join(data, killStep)); err == nil && string(at) == step && begun.Load() {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}
}

// keptLinks returns the further names of files, by inode and path.
func keptLinks(t *testing.T, data string) map[string]map[uint64]string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(data, keptFiles))
	if err != nil {
		t.Fatal(err)
	}
	links := map[string]map[uint64]string{}
	for _, e := range entries {
		number, rel, _ := strings.Cut(e.Name(), " ")
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(data, strings.ReplaceAll(rel, "|", "/"))
		if links[path] == nil {
			links[path] = map[uint64]string{}
		}
		links[path][n] = filepath.Join(data, keptFiles, e.Name())
	}
	return links
}

// loseNames undoes some of what was done to the names of streams' files and not synced: a new stream or block goes, and a removed or replaced block
// comes back. Removed files of the read model come back, too. It returns which removed blocks came back.
func loseNames(t *testing.T, data string, c certain, r *rand.Rand) (back []string) {
	t.Helper()
	streams, err := filepath.Glob(filepath.Join(data, "nats/jetstream/*/streams/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range streams {
		if c.names[stream] != inodeAt(t, stream) && r.IntN(2) == 0 {
			t.Logf("the stream in %s was never certain", stream)
			must(t, os.RemoveAll(stream))
		}
	}
	paths := map[string]bool{}
	for _, path := range logBlocks(t, data) {
		paths[path] = true
	}
	links := keptLinks(t, data)
	for path := range links {
		paths[path] = true
	}
	for path := range paths {
		now, before := inodeAt(t, path), c.names[path]
		isBlock := filepath.Ext(path) == ".blk"
		if !isBlock && now == 0 && r.IntN(4) == 0 {
			for number := range links[path] {
				before = number
			}
		}
		if now == before || r.IntN(2) == 0 || !isBlock && now != 0 {
			continue
		}
		switch old := links[path][before]; {
		case before == 0:
			must(t, os.Remove(path))
		case old != "":
			b, err := os.ReadFile(old)
			must(t, err)
			must(t, os.WriteFile(path+".back", b, 0o600)) // what was certain of it is all of it
			must(t, os.Rename(path+".back", path))
			c.sizes[inodeAt(t, path)] = c.sizes[before]
			if isBlock && now == 0 {
				back = append(back, path)
			}
		}
	}
	must(t, os.RemoveAll(filepath.Join(data, keptFiles)))
	return back
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lifeOfCompaction: clients write, and the store compacts again and again. Everything acknowledged is there, the log and the base are whole, and the node
// does by itself what the last compact event asks for.
func lifeOfCompaction() *life {
	of := writing("compacting", suite.Amount(4, killWriters), 170, func(_ *lives, p *harness.Process) { compactUntilKilled(p) })
	of.stepFile, of.steps = killStep, steps
	of.deaths = map[string]int{"kill": 5, "stop": len(steps), "power": 5}
	of.holds = func(l *lives, p *harness.Process) { requireLife(l, p, l.last || l.n%8 == 7) }
	of.end = func(l *lives, p *harness.Process) {
		last := compactToNow(l.T, p)
		awaitCompacted(l.T, p)
		l.back = nil
		requireLife(l, p, true)
		if r := p.Want(http.StatusOK, http.MethodPost, "/v1/_verify?log=true", ""); !strings.Contains(string(r.Body), `"base"`) || last == "" {
			l.Fatalf("the log: %s", r.Body)
		}
		requireRebuilt(l, p)
	}
	return of
}

// keepReadModel copies the read model of a process that does not run.
func keepReadModel(t *testing.T, dir, to string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "readmodel")); err != nil {
		return
	}
	must(t, os.RemoveAll(to))
	copyTree(t, filepath.Join(dir, "readmodel"), to)
}

// compactUntilKilled compacts up to where the process is, again and again, until it does not answer.
func compactUntilKilled(p *harness.Process) {
	for ; ; time.Sleep(5 * time.Millisecond) {
		var status struct{ Position string }
		r, err := p.Do(http.MethodGet, "/v1/_status", nil)
		if err == nil {
			err = json.Unmarshal(r.Body, &status)
		}
		if err == nil {
			_, err = p.Do(http.MethodPost, "/v1/_compact", fmt.Appendf(nil, `{"before":%q}`, status.Position), "Content-Type", "application/json")
		}
		if err != nil {
			return
		}
	}
}

// awaitCompacted waits until the last compaction is over, its purge included.
func awaitCompacted(t *testing.T, p *harness.Process) {
	t.Helper()
	harness.Await(t, "the compaction to be over", time.Minute, func() bool {
		var c struct {
			Running      bool
			Error, Phase string
		}
		r, err := p.Do(http.MethodGet, "/v1/_compact", nil)
		must(t, err)
		if r.Status == http.StatusNotFound { // none ran, and no purge is to be done
			return true
		}
		harness.Decode(t, r.Body, &c)
		if c.Error != "" {
			t.Fatal(c.Error)
		}
		return !c.Running && (c.Phase == "" || c.Phase == "done")
	})
}

// requireLife checks a process after its start: what was acknowledged, the log, and that removed files of the log that came back go again.
// A replay must give the rows that are served, if replayed says so.
func requireLife(l *lives, p *harness.Process, replayed bool) {
	l.Helper()
	t := l.T
	checkAcked(t, p, l.acked, l.sent)
	checkTransactions(t, p)
	awaitCompacted(t, p)
	for _, path := range l.back {
		if strings.Contains(path, "OBJ_") {
			continue // another base may be in it
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s was removed, came back, and is still there", path)
		}
	}
	r := p.Want(http.StatusOK, http.MethodPost, "/v1/_verify?log=true", "")
	if strings.Contains(string(r.Body), `"missing"`) || strings.Contains(string(r.Body), `"differs"`) {
		t.Fatalf("the log: %s", r.Body)
	}
	if replayed {
		requireSameByHTTP(t, p)
	}
}
