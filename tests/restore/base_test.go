package restore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// compacted returns a store that begins in the middle of the script, and its horizon.
func compacted(t *testing.T, opt harness.Options) (*harness.Store, fanfold.Position) {
	t.Helper()
	s := scripted(t, opt)
	last, err := s.Node.Log.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	oldest := s.Compact(last / 2)
	if oldest == 0 {
		t.Fatal("the store has all its events")
	}
	for i := range 5 {
		s.Put("authors", fmt.Sprint("after", i), `{"name":"A"}`)
	}
	s.Put("authors", "keyed", `{"name":"K2"}`)
	return s, oldest
}

// TestRestoreAfterCompaction restores a store that begins later in every place that a log can have. The rows of every table, the log's digest and its
// times are the same as in the store before. It can be compacted again.
func TestRestoreAfterCompaction(t *testing.T) {
	places := []string{"embedded", "servers"}
	for _, from := range places {
		source := harness.Options{Dir: t.TempDir()}
		if from == "servers" {
			source.NATS, source.Replicas = strings.Join(natsserver.Start(t, 3), ","), 3
		}
		s, oldest := compacted(t, source)
		dir, rows := backUpWithRows(t, s)
		for _, to := range places {
			t.Run(from+" to "+to, func(t *testing.T) {
				restored, r := restoreRows(t, dir, to, rows)
				requireReplayed(t, restored)
				if r.Base != s.Node.Log.Prefix().Base().Seq || r.Base == 0 || r.Events != r.Last-r.Base {
					t.Fatalf("restored %+v", r)
				}
				requireWholeLog(t, restored, r)
				restored.Want(http.StatusGone, "GET", fmt.Sprintf("/v1/authors?at=%d", r.Base-1), "")
				restored.Want(http.StatusOK, "GET", "/v1/authors?at="+oldest.String(), "")
				restored.Put("authors", "new", `{"name":"N"}`)
				if restored.Compact(r.Last).Seq() <= r.Base {
					t.Fatal("the store cannot begin later once more")
				}
				requireReplayed(t, restored)
				second, _ := restore(t, harness.BackUp(t, restored), "")
				harness.RequireRows(t, harness.Options{Dir: second}, restored.Digest())
			})
		}
	}
}

// requireWholeLog requires that a restored log is whole, and has the digest that the restore says.
func requireWholeLog(t *testing.T, s *harness.Store, r *transfer.Restored) {
	t.Helper()
	report, err := s.Node.VerifyLog(t.Context(), nil)
	if err != nil || report.Err() != nil {
		t.Fatalf("the log is %+v, %v", report, err)
	}
	d := s.Node.Log.Prefix().Base().Digest
	err = s.Node.Log.Scan(t.Context(), r.Base+1, r.Last, func(_ uint64, _ int, event fanfold.Digest) error {
		d = d.Followed(event)
		return nil
	})
	if err != nil || d != r.Digest {
		t.Fatalf("the log has the digest %s, and the restore says %s: %v", d, r.Digest, err)
	}
}

// TestRestoreToAfterCompaction restores up to every event that is left, also up to events before the compact event. The log says nothing
// of that event then. A place before the horizon is refused.
func TestRestoreToAfterCompaction(t *testing.T) {
	s, _ := compacted(t, harness.Options{Dir: t.TempDir()})
	dir := harness.BackUp(t, s)
	b, err := backup.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, compact := s.Node.Log.Prefix().Compaction()
	if b.Base == nil || b.Base.Seq+2 > compact || compact >= b.Position {
		t.Fatalf("the base is %+v, and the compact event %d", b.Base, compact)
	}
	for seq := b.Base.Seq; seq <= b.Position; seq++ {
		data, r := restore(t, dir, fmt.Sprintf("%d-0", seq))
		if r.Last < seq || r.Base != b.Base.Seq {
			t.Fatalf("restored %+v, want event %d", r, seq)
		}
		if seq%6 == 0 || seq < b.Base.Seq+3 || seq >= compact-1 && seq <= compact+1 {
			requireState(t, s, data, r.Last)
			again := harness.Open(t, harness.Options{Dir: data})
			second, _ := restore(t, harness.BackUp(t, again), "")
			rows := again.Digest()
			again.Close()
			harness.RequireRows(t, harness.Options{Dir: second}, rows)
		}
	}
	if _, r := restore(t, dir, b.Base.Time.Add(time.Nanosecond).Format(time.RFC3339Nano)); r.Last < b.Base.Seq || r.Last >= compact {
		t.Fatalf("restored %+v, want what was at the horizon", r)
	}
	for _, to := range []string{"0", "1", fmt.Sprintf("%d-0", b.Base.Seq-1), b.Base.Time.Add(-time.Nanosecond).Format(time.RFC3339Nano)} {
		data := filepath.Join(t.TempDir(), "data")
		_, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{Data: data, To: to})
		if fanfold.CodeOf(err) != fanfold.Invalid || !strings.Contains(err.Error(), "before the backup's beginning") {
			t.Errorf("--to %s: %v", to, err)
		}
		if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a restore that was refused makes %s: %v", data, err)
		}
	}
}

// TestBackupGoesOnAfterCompaction continues a backup in its directory, by the command, while the store is compacted now and then. The backup begins where
// the store does, has nothing from before, and says so.
func TestBackupGoesOnAfterCompaction(t *testing.T) {
	s := scripted(t, harness.Options{Dir: t.TempDir()})
	dir := filepath.Join(t.TempDir(), "backup")
	run := func() string {
		t.Helper()
		s.CatchUp()
		out, err := harness.RunProgram(t, "backup", "--out", dir, "--server", s.URL)
		if err != nil {
			t.Fatalf("%v %s", err, out)
		}
		if check, err := harness.RunProgram(t, "backup", "--check", dir); err != nil || !strings.HasPrefix(check, "whole") {
			t.Fatalf("%v %s", err, check)
		}
		data, _ := restore(t, dir, "")
		harness.RequireRows(t, harness.Options{Dir: data}, s.Digest())
		return out
	}
	if out := run(); strings.Contains(out, "now begins") {
		t.Fatal(out)
	}
	for i := range 3 {
		last, err := s.Node.Log.LastSeq(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		oldest := s.Compact(last - 3)
		if out := run(); !strings.Contains(out, "the backup now begins at position "+oldest.String()) {
			t.Fatalf("after a compaction at %s: %s", oldest, out)
		}
		s.Put("authors", fmt.Sprint("later", i), `{"name":"L"}`)
		if out := run(); strings.Contains(out, "now begins") {
			t.Fatal(out)
		}
		b, err := backup.Open(dir)
		if err != nil || b.Base.Seq != s.Node.Log.Prefix().Base().Seq || b.Segments[0].First != b.Base.Seq+1 {
			t.Fatalf("the backup is %+v, %v", b, err)
		}
		if files, err := os.ReadDir(filepath.Join(dir, "base")); err != nil || len(files) != 1 {
			t.Fatalf("bases: %v, %v", files, err)
		}
	}
}

// TestDamageOfBaseIsRefused damages a backup with a base. Nothing is made then.
func TestDamageOfBaseIsRefused(t *testing.T) {
	s, _ := compacted(t, harness.Options{Dir: t.TempDir()})
	dir := harness.BackUp(t, s)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, filepath.Join(dir, "manifest.json")) {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(whole); i += 1 + len(whole)/30 {
			damaged := append([]byte(nil), whole...)
			damaged[i] ^= 1
			for _, content := range [][]byte{damaged, whole[:i], append(whole[:len(whole):len(whole)], whole[:i+1]...)} {
				if err := os.WriteFile(file, content, 0o600); err != nil {
					t.Fatal(err)
				}
				data := filepath.Join(t.TempDir(), "data")
				_, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{Data: data})
				var damage *backup.Damage
				if !errors.As(err, &damage) {
					t.Fatalf("damage of %s at %d: %v", file, i, err)
				}
				if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
					t.Fatalf("a damaged backup makes %s: %v", data, err)
				}
			}
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{Data: filepath.Join(t.TempDir(), "data")}); err != nil {
		t.Fatal(err)
	}
}

// TestReadModelsAfterCompaction builds read models of the past of a store that begins later, from a backup, the running server and its directory. A moment
// before the horizon is refused.
func TestReadModelsAfterCompaction(t *testing.T) {
	s, oldest := compacted(t, harness.Options{Dir: t.TempDir()})
	dir := harness.BackUp(t, s)
	b, err := backup.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	moments := []string{oldest.String(), fmt.Sprint(b.Base.Seq + 2), fmt.Sprint(b.Position)}
	for _, to := range moments {
		want[to] = string(s.Want(http.StatusOK, "GET", "/v1/authors?limit=1000&at="+to, "").Body)
	}
	build := func(from ...string) {
		t.Helper()
		for i, to := range moments {
			out := filepath.Join(t.TempDir(), fmt.Sprint("model", i))
			if text, err := harness.RunProgram(t, append([]string{"replay", "--to", to, "--out", out}, from...)...); err != nil {
				t.Fatalf("%v --to %s: %v %s", from, to, err, text)
			}
			requireReadModel(t, out, want[to], b)
		}
		out := filepath.Join(t.TempDir(), "before")
		if text, err := harness.RunProgram(t, append([]string{"replay", "--to", fmt.Sprint(b.Base.Seq - 1), "--out", out}, from...)...); err == nil || !strings.Contains(text, "no longer kept") {
			t.Errorf("%v: a moment before the horizon: %v %s", from, err, text)
		}
	}
	build("--backup", dir)
	build("--server", s.URL)
	data, _ := restore(t, dir, "")
	build("--data", data)
}

// requireReadModel serves the read model in a directory, and compares its authors.
func requireReadModel(t *testing.T, dir, want string, b *backup.Backup) {
	t.Helper()
	withReadModel(t, dir, func(c *harness.Client, store fanfold.StoreID) {
		got := c.Want(http.StatusOK, "GET", "/v1/authors?limit=1000", "").Body
		c.Want(http.StatusGone, "GET", fmt.Sprintf("/v1/authors?at=%d", b.Base.Seq-1), "")
		if got := strings.ReplaceAll(string(got), string(store), string(b.Store)); got != want {
			t.Fatalf("the authors are\n%s\nwant\n%s", got, want)
		}
	})
}

// withReadModel serves the read model in a directory, and calls fn with a client of it and the store's id in its positions.
func withReadModel(t *testing.T, dir string, fn func(c *harness.Client, store fanfold.StoreID)) {
	t.Helper()
	r, err := node.OpenReadOnly(t.Context(), node.Config{Data: dir, Listen: "127.0.0.1:0", Insecure: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the end of a read-only server: %v", err)
		}
	}()
	c := harness.NewClient(t, r.URL())
	defer c.HTTP.CloseIdleConnections()
	fn(c, r.Info.Store)
}

// TestRestoredActors: a backup has who wrote the documents, in its base and in its events. The keys are not in it.
func TestRestoredActors(t *testing.T) {
	s := open(t, harness.Options{Dir: t.TempDir()})
	s.CloseHouse()
	s.Model("collections: {notes: {derive: {by: {value: meta.updatedBy}, from: {value: meta.createdBy}}}}")
	s.Put("notes", "1", `{"n":1}`)
	s.Put("notes", "2", `{"n":1}`)
	s.CatchUp()
	s.Compact(s.Node.Store.Applied.Seq())
	s.As("admin").Merge("notes", "2", `{"n":2}`)
	want := []string{s.Get("notes", "1"), s.Get("notes", "2")}
	if !strings.Contains(want[0], `"by":"key:`) || !strings.Contains(want[1], `"from":"key:`) {
		t.Fatalf("the documents are %s", want)
	}
	dir, rows := backUpWithRows(t, s)
	restored, _ := restoreRows(t, dir, "embedded", rows)
	for i, doc := range want {
		if got := restored.Get("notes", fmt.Sprint(i+1)); got != doc {
			t.Errorf("the document is %s, want %s", got, doc)
		}
	}
	restored.Verify()
	requireReplayed(t, restored)
}
