package restore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// TestRestore restores a store in every place that a log can have. The rows of every table, the log's digest and its times are the same as
// in the store before. A request under a key that was used happens no second time.
func TestRestore(t *testing.T) {
	places := []string{"embedded", "servers"}
	for _, from := range places {
		source := harness.Options{Dir: t.TempDir()}
		if from == "servers" {
			source.NATS, source.Replicas = strings.Join(natsserver.Start(t, 3), ","), 3
		}
		s := scripted(t, source)
		dir, rows := backUpWithRows(t, s)
		for _, to := range places {
			t.Run(from+" to "+to, func(t *testing.T) {
				restored, r := restoreRows(t, dir, to, rows)
				requireReplayed(t, restored)
				if digest := digestUpTo(t, restored, r.Last); digest != r.Digest || digest != digestUpTo(t, s, r.Last) {
					t.Fatalf("the log has the digest %s, and the restore says %s", digest, r.Digest)
				}
				if report, err := restored.Node.VerifyLog(t.Context(), nil); err != nil || report.Err() != nil {
					t.Fatalf("the log is %+v, %v", report, err)
				}
				if restored.Node.Log.Window() != s.Node.Log.Window() {
					t.Fatal("the window in which the server drops duplicates is another")
				}
				again := restored.Want(201, "PUT", "/v1/authors/once", `{"name":"O"}`, "Idempotency-Key", `"k1"`)
				if last, _ := restored.Node.Log.LastSeq(t.Context()); again.Header.Get("Fanfold-Revision") == "" || harness.SeqOf(again.Header.Get("Fanfold-Position")) > r.Last {
					t.Fatalf("a request under a key was done again: %v, the log ends at %d", again.Header, last)
				}
				restored.Put("authors", "new", `{"name":"N"}`)
				restored.Put("authors", "keyed", `{"name":"KK"}`)
			})
		}
	}
}

// backUpWithRows returns a backup, and the rows that the store had then: a node on servers appends fences now and then.
func backUpWithRows(t *testing.T, s *harness.Store) (dir, rows string) {
	t.Helper()
	for range 10 {
		rows = s.Digest()
		if dir = harness.BackUp(t, s); s.Digest() == rows {
			return dir, rows
		}
	}
	t.Fatal("fences come without end")
	return "", ""
}

// restoreRows restores a backup to servers, or into a directory, and fails the test unless the store has the rows of the store before. It
// tries again where the node has appended a fence before the rows were read.
func restoreRows(t *testing.T, dir, to, rows string) (*harness.Store, *transfer.Restored) {
	t.Helper()
	b, err := backup.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for try := range 10 {
		target, cfg := harness.Options{Dir: t.TempDir(), Replicas: 3}, transfer.RestoreConfig{}
		if to == "servers" {
			target.NATS = strings.Join(natsserver.Start(t, 3), ",")
			cfg.NATS, cfg.Replicas = target.NATS, 3
		} else {
			target.Dir, target.Replicas = t.TempDir()+"/data", 1
			cfg.Data = target.Dir
		}
		r, err := harness.Restore(t.Context(), dir, cfg)
		if err != nil {
			t.Fatal(err)
		}
		restored := open(t, target)
		if restored.Digest() == rows {
			return restored, r
		}
		if last, err := restored.Node.Log.LastSeq(t.Context()); err != nil || last == r.Last {
			t.Fatalf("the rows are not those of the store before, %v", err)
		}
		if b.Base != nil && try == 2 { // on a slow machine the fence of a start comes before the base is loaded; a replay judges the rows then
			return restored, r
		}
	}
	t.Fatal("fences come without end")
	return nil, nil
}

// TestBackupIsNoDataDirectory: a node makes no empty store beside a backup, and the stream of one is not taken for its directory. Both
// refusals say how the backup is restored.
func TestBackupIsNoDataDirectory(t *testing.T) {
	dir := harness.BackUp(t, open(t, harness.Options{Dir: t.TempDir()}))
	if s, err := harness.Start(t, harness.Options{Dir: dir}); err == nil {
		s.Close()
		t.Error("a node has started on the directory of a backup")
	} else if fanfold.CodeOf(err) != fanfold.Invalid || !strings.Contains(err.Error(), "fanfold restore "+dir) {
		t.Errorf("the refusal is %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("the backup holds %v, %v", left, err)
	}
	stream := filepath.Join(t.TempDir(), "shop.tar")
	if err := os.WriteFile(stream, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Open(stream); fanfold.CodeOf(err) != fanfold.NotFound || !strings.Contains(err.Error(), "fanfold restore - < "+stream) {
		t.Errorf("the stream is refused with %v", err)
	}
}
