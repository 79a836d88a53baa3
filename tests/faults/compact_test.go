package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/tests/harness"
)

// steps are the steps of a compaction, in order.
var steps = []string{rebuild.StepBuilt, rebuild.StepStored, rebuild.StepReadBack, rebuild.StepCompared, rebuild.StepAppended, rebuild.StepSwitched,
	forget.StepPurged, forget.StepRemoved}

// quickPurge has a node purge its log without waiting for writes that may come again.
func quickPurge(cfg *node.Config) { cfg.PurgeWait = time.Millisecond }

// everything returns what can be read of a store: all documents as they were written, and as they are in lists.
func everything(t *testing.T, s *harness.Store) string {
	t.Helper()
	s.CatchUp()
	out := string(s.Want(http.StatusOK, http.MethodGet, "/v1/_export", "").Body)
	seen := map[string]bool{}
	for line := range strings.Lines(out) {
		var doc struct{ Collection string }
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Collection != "" && !seen[doc.Collection] {
			seen[doc.Collection] = true
			out += string(s.Want(http.StatusOK, http.MethodGet, "/v1/"+doc.Collection+"?limit=1000", "").Body)
		}
	}
	if len(seen) < 2 {
		t.Fatalf("documents of %d collections", len(seen))
	}
	return out
}

// dirSize returns the bytes of the files of a directory.
func dirSize(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil //nolint:nilerr // a file that has gone meanwhile
		}
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// churn writes a document again and again, and returns the last event.
func churn(t *testing.T, s *harness.Store, writes int) uint64 {
	t.Helper()
	for i := range writes {
		s.Put("shelves", "s", fmt.Sprintf(`{"n":%d,"text":%q}`, i, strings.Repeat("x", 2000)))
	}
	s.CatchUp()
	return s.Node.Store.Applied.Seq()
}

// awaitPurged waits until a node has nothing left to do of a compaction.
func awaitPurged(t *testing.T, s *harness.Store) {
	t.Helper()
	harness.Await(t, "the end of the compaction", time.Minute, func() bool {
		c := s.Node.Forget.Compactor.Compaction()
		return c == nil || !c.Running && c.Phase != "purging"
	})
}

// TestCompact: a store that begins later has all its documents, goes on, has rows that a replay gives, and takes less room.
func TestCompact(t *testing.T) {
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir, Configure: quickPurge})
	defer func() { s.Close() }()
	harness.RunScript(t, s, harness.CrashScript)
	churn(t, s, 3000)
	horizon := s.Node.Store.Applied.Seq()
	s.Put("shelves", "later", `{"n":1}`)
	before, size := everything(t, s), dirSize(t, filepath.Join(dir, "readmodel"))
	oldest := s.Compact(horizon)
	if oldest.Seq() != horizon {
		t.Fatalf("the store begins at %s, not at %d", oldest, horizon)
	}
	if after := everything(t, s); after != before {
		t.Fatalf("after the compaction\n%s\nis there, before it was\n%s", after, before)
	}
	awaitPurged(t, s)
	requireSame(t, s)
	harness.Await(t, "the old read model to go", time.Minute, func() bool { return dirSize(t, filepath.Join(dir, "readmodel")) < size/2 })
	state, err := s.Node.Log.State(t.Context())
	if err != nil || !state.Complete() {
		t.Fatalf("the log is %+v, %v", state, err)
	}
	report, err := s.Node.VerifyLog(t.Context(), nil)
	if err != nil || report.Err() != nil || report.Base == nil || report.Base.Seq != horizon || report.Base.Bytes == 0 {
		t.Fatalf("the log: %+v, %v", report, err)
	}
	if problem := s.Want(http.StatusGone, http.MethodGet, "/v1/_changes?since=0", "").Problem(); !strings.HasSuffix(problem, ":position-gone") {
		t.Fatal(problem)
	}
	s.Put("shelves", "s", `{"n":-1}`)
	s.Delete("shelves", "later")
	compactAgain(t, s)
	s.Verify()
}

// compactAgain lets a store that begins later begin yet later, and starts it anew on what is left.
func compactAgain(t *testing.T, s *harness.Store) {
	t.Helper()
	before := everything(t, s)
	last := s.Node.Store.Applied.Seq()
	if oldest := s.Compact(last); oldest.Seq() != last {
		t.Fatalf("the store begins at %s, not at %d", oldest, last)
	}
	awaitPurged(t, s)
	requireSame(t, s)
	*s = *s.Reopen()
	if after := everything(t, s); after != before {
		t.Fatalf("after the restart\n%s\nis there, before it was\n%s", after, before)
	}
	requireSame(t, s)
	s.Put("shelves", "s", `{"n":-2}`)
}

// errStopped ends a compaction at a step.
var errStopped = errors.New("stopped by the test")

// cutCompactionAt: after any step a node that starts anew has all documents, and rows that a replay gives. Once the event is in
// the log it does the rest. Before that the compaction can be asked for again.
func cutCompactionAt(t *testing.T, step string) {
	var cut atomic.Bool
	cut.Store(true)
	reached := make(chan struct{}, 1)
	opt := harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) {
		quickPurge(cfg)
		cfg.Steps.Compact = func(at string) error {
			if at != step || !cut.Load() {
				return nil
			}
			select {
			case reached <- struct{}{}:
			default:
			}
			return errStopped
		}
	}}
	s := harness.Open(t, opt)
	defer func() { s.Close() }()
	harness.RunScript(t, s, harness.CrashScript)
	horizon := churn(t, s, 20)
	s.Put("shelves", "later", `{"n":1}`)
	before := everything(t, s)
	s.Want(http.StatusAccepted, http.MethodPost, "/v1/_compact", fmt.Sprintf(`{"before":"%d"}`, horizon), "Content-Type", "application/json")
	<-reached
	cut.Store(false)
	s = s.Abandon()
	requireCompactedOrNot(t, s, horizon, before, slices.Index(steps, step) >= 4)
}

// TestStoredBaseIsAnother: a base that comes back with other bytes than were written lets nothing go.
func TestStoredBaseIsAnother(t *testing.T) {
	dir := t.TempDir()
	var damage atomic.Bool
	damage.Store(true)
	s := harness.Open(t, harness.Options{Dir: dir, Configure: func(cfg *node.Config) {
		quickPurge(cfg)
		cfg.Steps.Compact = func(step string) error {
			if step != rebuild.StepBuilt || !damage.Load() {
				return nil
			}
			f, err := os.OpenFile(filepath.Join(dir, "base.new"), os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString("more")
				err = errors.Join(err, f.Close())
			}
			return err
		}
	}})
	defer func() { s.Close() }()
	harness.RunScript(t, s, harness.CrashScript)
	horizon := churn(t, s, 20)
	before := everything(t, s)
	s.Want(http.StatusAccepted, http.MethodPost, "/v1/_compact", fmt.Sprintf(`{"before":"%d"}`, horizon), "Content-Type", "application/json")
	harness.Await(t, "the compaction to fail", time.Minute, func() bool {
		c := s.Node.Forget.Compactor.Compaction()
		return c != nil && !c.Running && strings.Contains(c.Error, "and is stored with")
	})
	if h, _, err := s.Node.Projector.Horizon(); err != nil || h.Seq != 0 {
		t.Fatalf("the store begins at %+v, %v", h, err)
	}
	damage.Store(false)
	requireCompactedOrNot(t, s, horizon, before, false)
}

// requireCompactedOrNot checks a store in which a compaction was cut: whether it begins later, which it then does everywhere, and what it has.
func requireCompactedOrNot(t *testing.T, s *harness.Store, horizon uint64, before string, compacted bool) {
	t.Helper()
	if after := everything(t, s); after != before {
		t.Fatalf("after the cut\n%s\nis there, before it was\n%s", after, before)
	}
	if !compacted {
		harness.Await(t, "the compaction to be taken, unless the one that was cut off goes on by itself", time.Minute, func() bool {
			r, err := s.Do(http.MethodPost, "/v1/_compact", fmt.Appendf(nil, `{"before":"%d"}`, horizon), "Content-Type", "application/json")
			return err == nil && (r.Status == http.StatusAccepted || r.Status == http.StatusOK)
		})
	}
	harness.Await(t, "the read model to be built anew", time.Minute, func() bool {
		h, built, err := s.Node.Projector.Horizon()
		return err == nil && h.Seq == horizon && built == horizon
	})
	awaitPurged(t, s)
	if after := everything(t, s); after != before {
		t.Fatalf("after the compaction\n%s\nis there, before it was\n%s", after, before)
	}
	requireSame(t, s)
	var status struct {
		History struct{ Base struct{ Seq uint64 } }
	}
	if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body, &status); err != nil || status.History.Base.Seq != horizon {
		t.Fatalf("%+v, %v", status, err)
	}
	s.Verify()
}
